import type { PlainPeriod, WindowPeriod } from './budget-period.ts'
import type { Budget, LevelKind } from './budget.ts'
import type { Caller } from './caller.ts'
import type { Attribution } from './labels.ts'
import type { Group } from './model.ts'
import type { Key } from './shapes/key.ts'
import type { Micros } from '../util/units.ts'

/**
 * An account other than the key that limits the cost of a request. For a balance, the store uses its current amount
 * instead of `amount`. `called`: the name for messages, if `name` is an id.
 */
export type Level = Budget & LevelName & { readonly called?: string }

/** The owner of the account. */
export type LevelName = { readonly kind: LevelKind; readonly name: string }

/** The spent amounts of a level in each period, and the held amount. */
export type LevelSums = {
  readonly kind: LevelKind
  readonly name: string
  readonly held: Micros
  /** Amounts by period; of windows, only the requested ones. */
  readonly spent: { readonly [period in PlainPeriod]: Micros } & { readonly [window in WindowPeriod]?: Micros }
}

/**
 * The account of an end user of a user: two users may have end users with the same name. It contains the id, because
 * names of end users may be erased.
 */
export function accountOfEndUser(id: string, user: string): string {
  return `${id} ${user}`
}

/** Splits such an account name into the id and the user's name. */
export function splitEndUser(account: string): { readonly id: string; readonly user: string } {
  const at = account.indexOf(' ')
  return { id: account.slice(0, at), user: account.slice(at + 1) }
}

/** The user that an account belongs to; null for a group's. */
export function userOfLevel({ kind, name }: LevelName): string | null {
  if (kind === 'group') return null
  return kind === 'end_user' ? splitEndUser(name).user : name
}

/** The owner of an account: the id of an end user, or the name of a user or a group. */
export function ownNameOf({ kind, name }: LevelName): string {
  return kind === 'end_user' ? splitEndUser(name).id : name
}

/** Sums with the name of the end user, whose account has only an id. */
export type NamedSums = LevelSums & { readonly called: string }

const none: readonly Level[] = []
/** Levels by key object, valid for one group object. */
const levelsOfKeys = new WeakMap<Key, { readonly group: Group; readonly levels: readonly Level[] }>()

/** The accounts above the key that limit its spending, and its end user's; none if none has a budget. */
export function levelsOf(caller: Caller, attribution?: Attribution): readonly Level[] {
  const levels = levelsOfKey(caller)
  const ofEndUser = levelOfEndUser(caller, attribution)
  return ofEndUser ? [ofEndUser, ...levels] : levels
}

function levelsOfKey({ key, group }: Caller): readonly Level[] {
  const known = levelsOfKeys.get(key)
  if (known?.group === group) return known.levels
  const levels = findLevels(key, group)
  levelsOfKeys.set(key, { group, levels })
  return levels
}

function levelOfEndUser({ key, group }: Caller, attribution: Attribution | undefined): Level | undefined {
  const { endUser, endUserId } = attribution ?? { endUser: null, endUserId: null }
  if (endUser === null || endUserId === null) return undefined
  const budget = budgetOfEndUser(endUser, group)
  return budget && { kind: 'end_user', name: accountOfEndUser(endUserId, key.user), called: endUser, ...budget }
}

/** The budget of an end user: the group's own for this name, or the group's default for each end user. */
export function budgetOfEndUser(
  name: string,
  group: Pick<Group, 'endUserBudget' | 'endUserBudgets'>,
): Budget | undefined {
  return group.endUserBudgets?.get(name) ?? group.endUserBudget
}

/** A user's budget: their own, or the group's default for each of its users. */
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

/** Whether a budget requires holds before an upstream is called. A soft budget counts too. */
export function isBounded(caller: Caller, attribution?: Attribution): boolean {
  return caller.key.budget !== null || levelsOf(caller, attribution).length > 0
}
