import type { PlainPeriod, WindowPeriod } from './budget-period.ts'
import type { Budget, LevelKind } from './budget.ts'
import type { Caller } from './caller.ts'
import type { Group } from './model.ts'
import type { Key } from './shapes/key.ts'
import type { Micros } from '../util/units.ts'

/** An account other than the key that bounds what a request may cost. A balance is bounded by the books. */
export type Level = Budget & LevelName

/** Whose account it is. */
export type LevelName = { readonly kind: LevelKind; readonly name: string }

/** What a level has spent by now in each period, and what is held of it. */
export type LevelSums = {
  readonly kind: LevelKind
  readonly name: string
  readonly held: Micros
  /** In windows, those that were asked for. */
  readonly spent: { readonly [period in PlainPeriod]: Micros } & { readonly [window in WindowPeriod]?: Micros }
}

const none: readonly Level[] = []
/** Found once for a key as it is and its group as it is. */
const levelsOfKeys = new WeakMap<Key, { readonly group: Group; readonly levels: readonly Level[] }>()

/** The levels above the key that bound what it may spend; none where none has a budget. */
export function levelsOf({ key, group }: Caller): readonly Level[] {
  const known = levelsOfKeys.get(key)
  if (known?.group === group) return known.levels
  const levels = findLevels(key, group)
  levelsOfKeys.set(key, { group, levels })
  return levels
}

/** What a user may spend: as was said of them, or what the group gives each of its users. */
export function budgetOfUser(
  user: { readonly budget: number | null; readonly budgetPeriod: Budget['per']; readonly budgetSoft: boolean },
  group: Pick<Group, 'userBudget'> | undefined,
): Budget | undefined {
  const { budget: amount, budgetPeriod: per, budgetSoft } = user
  return amount === null ? group?.userBudget : { amount, per, ...(budgetSoft && { soft: true }) }
}

const ownerOf = (key: Key) => ({
  budget: key.userBudget,
  budgetPeriod: key.userBudgetPeriod,
  budgetSoft: key.userBudgetSoft,
})

function findLevels(key: Key, group: Group): readonly Level[] {
  const ofUser = budgetOfUser(ownerOf(key), group)
  const levels: Level[] = []
  if (ofUser) levels.push({ kind: 'user', name: key.user, ...ofUser })
  if (key.userBalance !== null) levels.push({ kind: 'balance', name: key.user, amount: key.userBalance, per: 'total' })
  if (group.budget) levels.push({ kind: 'group', name: group.name, ...group.budget })
  return levels.length === 0 ? none : levels
}

/** Whether a budget counts what a request may cost: then it is held before an upstream is called. A soft one counts too. */
export function isBounded(caller: Caller): boolean {
  return caller.key.budget !== null || levelsOf(caller).length > 0
}
