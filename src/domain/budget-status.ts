import type { Awaitable } from '../util/awaitable.ts'
import { type WindowPeriod, windowsAmong } from './budget-period.ts'
import { budgetUsed, renewalAt } from './budget.ts'
import {
  budgetOfEndUser,
  budgetOfUser,
  type Level,
  levelsOf,
  type LevelSums,
  type NamedSums,
  splitEndUser,
  userOfLevel,
} from './levels.ts'
import type { CompiledConfig } from './compiled-config.ts'
import type { BudgetStatus } from './shapes/budget.ts'
import type { Key } from './shapes/key.ts'
import type { User } from './shapes/user.ts'

/** The data for budget states. `plan`: the current configuration. */
type Books = {
  readonly plan: Pick<CompiledConfig, 'groups' | 'timeZone'>
  readonly sums: readonly LevelSums[]
  readonly now: number
}

/** The state of every budget, groups first. Accounts without a budget are left out. */
export function budgetStatuses(from: Books & People): readonly BudgetStatus[] {
  const { plan, users, keys } = from
  const stand = standFrom(from)
  return [
    ...[...plan.groups.values()].flatMap(({ name, budget }) =>
      budget ? [stand({ kind: 'group', name, ...budget })] : [],
    ),
    ...users.flatMap(({ name, group, balance, ...user }) => {
      const budget = budgetOfUser(user, plan.groups.get(group))
      const paidIn = balance === null ? [] : [stand({ kind: 'balance', name, amount: balance, per: 'total' })]
      return budget ? [stand({ kind: 'user', name, ...budget }), ...paidIn] : paidIn
    }),
    ...keys.flatMap(key => (key.status === 'revoked' ? [] : keyStatuses(from, key))),
  ]
}

/** The maximum number of listed end users: those with the least remaining budget. */
const endUsersShown = 100

type People = { readonly users: readonly User[]; readonly keys: readonly Key[] }

/** Reads the sums of accounts in the windows that budgets use. */
type SumsReader = {
  levels(of: undefined, periods: ReturnType<typeof windowsIn>): Awaitable<readonly LevelSums[]>
  endUsers(periods: ReturnType<typeof windowsIn>): Awaitable<readonly NamedSums[]>
}

/** The states of budgets for lists. */
export type BudgetList = {
  /** The states of groups, users, balances and keys; empty if a single end user is requested. */
  readonly above: readonly BudgetStatus[]
  /** The states of the end users with the least remaining budget, at most 100. */
  readonly shown: readonly BudgetStatus[]
  /** The number of end users with a budget and with spent or held amounts. */
  readonly endUsers: number
}

/** Reads the states of all budgets. `owner`: only end users of this user. `called`: only end users with this name. */
export async function listBudgetStatuses(
  reader: SumsReader,
  from: Omit<Books, 'sums'> & People & { readonly owner?: string | undefined; readonly called?: string | undefined },
): Promise<BudgetList> {
  const { plan, users, owner, called } = from
  const windows = windowsIn(plan, users)
  const [sums, ofEndUsers] = await Promise.all([
    called === undefined ? reader.levels(undefined, windows) : undefined,
    boundsEndUsers(plan) ? reader.endUsers(windows) : [],
  ])
  const endUsers = endUserStatuses({ ...from, sums: ofEndUsers }).filter(
    ({ user }) => owner === undefined || user === owner,
  )
  return {
    above: sums ? budgetStatuses({ ...from, sums }) : [],
    shown: endUsers.slice(0, endUsersShown),
    endUsers: endUsers.length,
  }
}

/**
 * The states of the budgets of end users with spent or held amounts, the lowest remainder first. An end user whose user
 * has keys in several groups counts once, with the group that leaves the least. `called`: only end users with this
 * name.
 */
function endUserStatuses(
  from: Omit<Books, 'sums'> & People & { readonly sums: readonly NamedSums[]; readonly called?: string | undefined },
): readonly BudgetStatus[] {
  const { plan, users, keys, sums, called } = from
  const stand = standFrom(from)
  const groupsOf = new Map(users.map(({ name, group }) => [name, new Set([group])]))
  for (const { status, user, group } of keys) if (status !== 'revoked' && group) groupsOf.get(user)?.add(group)
  const share = ({ left, amount }: BudgetStatus): number => (amount === 0 ? 0 : left / amount)
  return sums
    .filter(one => called === undefined || one.called === called)
    .flatMap(one => {
      const groups = groupsOf.get(splitEndUser(one.name).user) ?? []
      const states = [...groups].flatMap(name => {
        const group = plan.groups.get(name)
        const budget = group && budgetOfEndUser(one.called, group)
        return budget ? [stand({ kind: one.kind, name: one.name, ...budget })] : []
      })
      return states
        .toSorted((a, b) => a.left - b.left)
        .slice(0, 1)
        .map(state => ({ ...state, name: one.called }))
    })
    .sort((a, b) => share(a) - share(b))
}

/** Whether any group has a budget for end users. */
function boundsEndUsers({ groups }: Pick<Books['plan'], 'groups'>): boolean {
  return groups.values().some(({ endUserBudget, endUserBudgets }) => (endUserBudget ?? endUserBudgets) !== undefined)
}

/** The periods of budgets in the configuration and of users that are sums of days. */
export function windowsIn(plan: Books['plan'], users: readonly User[]): readonly WindowPeriod[] {
  const ofGroups = plan.groups
    .values()
    .flatMap(({ budget, userBudget, endUserBudget, endUserBudgets }) =>
      [budget, userBudget, endUserBudget, ...(endUserBudgets?.values() ?? [])].map(one => one?.per),
    )
  return windowsAmong([...ofGroups, ...users.map(({ budgetPeriod }) => budgetPeriod)])
}

/** The accounts whose sums `tightestOf` needs for some keys, without duplicates per period. */
export function levelsAbove(plan: Books['plan'], keys: readonly Key[]): readonly Level[] {
  const found = new Map<string, Level>()
  for (const key of keys) {
    const group = plan.groups.get(key.group ?? key.userGroup)
    for (const level of group ? levelsOf({ key, group }) : [])
      found.set(`${level.kind} ${level.name} ${level.per}`, level)
  }
  return [...found.values()]
}

/** The state of the key's applicable budget with the least remaining. */
export function tightestOf(from: Books, key: Key): BudgetStatus | undefined {
  const group = from.plan.groups.get(key.group ?? key.userGroup)
  const above = group
    ? levelsOf({ key, group })
        .filter(level => level.soft !== true)
        .map(standFrom(from))
    : []
  return [...keyStatuses(from, key).filter(one => !one.soft), ...above].toSorted((a, b) => a.left - b.left)[0]
}

function standFrom({ plan, sums, now }: Books): (level: Level) => BudgetStatus {
  const known = new Map(sums.map(one => [`${one.kind} ${one.name}`, one]))
  return ({ kind, name, amount, per, soft = false }) => {
    const found = known.get(`${kind} ${name}`)
    const [spent, held] = [found?.spent[per] ?? 0, found?.held ?? 0]
    const renews = renewalAt(per, now, plan.timeZone)
    const user = userOfLevel({ kind, name })
    return status({ level: kind, name, user, amount, per, soft, spent, held, renews })
  }
}

function keyStatuses({ plan, now }: Books, key: Key): readonly BudgetStatus[] {
  const { id, user, budget, budgetPeriod: per, budgetSoft: soft, held } = key
  if (budget === null) return []
  const spent = budgetUsed(key, now, plan.timeZone)
  const renews = renewalAt(per, now, plan.timeZone)
  return [status({ level: 'key', name: id, user, amount: budget, per, soft, spent, held, renews })]
}

function status(known: Omit<BudgetStatus, 'left'>): BudgetStatus {
  return { ...known, left: Math.max(0, known.amount - known.spent - known.held) }
}
