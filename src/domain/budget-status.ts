import type { Awaitable } from '../util/awaitable.ts'
import { eachPage } from '../util/each-page.ts'
import type { BudgetPeriod } from './budget-period.ts'
import { budgetUsed, renewalAt } from './budget.ts'
import {
  budgetOfEndUser,
  budgetOfUser,
  type Level,
  type LevelName,
  levelsOf,
  type LevelSums,
  type NamedSums,
  splitEndUser,
  userOfLevel,
} from './levels.ts'
import type { CompiledConfig } from './compiled-config.ts'
import type { BudgetStatus } from './shapes/budget.ts'
import type { KeyStore } from './keys.ts'
import type { Key } from './shapes/key.ts'
import type { User } from './shapes/user.ts'
import type { UserStore } from './users.ts'

/** The data for budget states. `plan`: the current configuration. */
type Books = {
  readonly plan: Pick<CompiledConfig, 'groups' | 'timeZone'>
  readonly sums: readonly LevelSums[]
  readonly now: number
}

/** The state of every budget, groups first. Accounts without a budget are left out. */
export function budgetStatuses(from: Books & People): readonly BudgetStatus[] {
  const { plan, users, keys } = from
  return [...[...groupLevels(plan), ...userLevels(plan, users)].map(standFrom(from)), ...statusesOfKeys(from, keys)]
}

function groupLevels({ groups }: Books['plan']): readonly Level[] {
  return [...groups.values()].flatMap(({ name, budget }) => (budget ? [{ kind: 'group', name, ...budget }] : []))
}

/** The budgets and balances of users. */
function userLevels({ groups }: Books['plan'], users: readonly User[]): readonly Level[] {
  return users.flatMap(({ name, group, balance, ...user }): readonly Level[] => {
    const budget = budgetOfUser(user, groups.get(group))
    const paidIn: readonly Level[] = balance === null ? [] : [{ kind: 'balance', name, amount: balance, per: 'total' }]
    return budget ? [{ kind: 'user', name, ...budget }, ...paidIn] : paidIn
  })
}

function statusesOfKeys(from: Books, keys: readonly Key[]): readonly BudgetStatus[] {
  return keys.flatMap(key => (key.status === 'revoked' ? [] : keyStatuses(from, key)))
}

/** The maximum number of listed end users: those with the least remaining budget. */
const endUsersShown = 100
/** Users or keys that are read at once. */
const pageRows = 500

type People = { readonly users: readonly User[]; readonly keys: readonly Key[] }

/** The part of a storage that has the budgets. */
type BudgetStore = {
  readonly users: Pick<UserStore, 'find' | 'list'>
  readonly keys: Pick<KeyStore, 'list'>
  readonly books: {
    levels(of: readonly LevelName[], periods: readonly BudgetPeriod[]): Awaitable<readonly LevelSums[]>
    endUsers(periods: readonly BudgetPeriod[]): Awaitable<readonly NamedSums[]>
  }
}

/** A part of the list of budgets. */
export type BudgetPage = {
  readonly budgets: readonly BudgetStatus[]
  /** The names of the keys in `budgets`, by id. */
  readonly names: ReadonlyMap<string, string>
  /** The number of end users with a budget and with spent or held amounts; 0 before the last page. */
  readonly endUsers: number
}

type BudgetQuery = Omit<Books, 'sums'> & {
  /** Only the budgets that apply to this user: of the user, of their keys, groups and end users. */
  readonly owner?: string | undefined
  /** Only end users with this name. */
  readonly called?: string | undefined
}

/**
 * Reads the states of budgets: those of groups, of users with their balances, of keys, and of the end users with the
 * least remaining budget, at most 100. Some at a time, because the states of all users and keys may be very many.
 */
export async function* readBudgets(store: BudgetStore, query: BudgetQuery): AsyncGenerator<BudgetPage> {
  const { plan, now, owner, called } = query
  const own = owner === undefined ? undefined : await readOwn(store, owner)
  const userPages = own ? [own.users] : eachPage<User>(pageRows, last => store.users.list(afterUser(last)))
  const keyPages = own ? [own.keys] : eachPage<Key>(pageRows, last => store.keys.list(beforeKey(last)))
  const page = (budgets: readonly BudgetStatus[], names: BudgetPage['names'] = new Map(), endUsers = 0) =>
    ({ budgets, names, endUsers }) satisfies BudgetPage
  const readStatuses = async (levels: readonly Level[]) => {
    const periods = levels.map(({ per }) => per)
    const sums = levels.length === 0 ? [] : await store.books.levels(levels, periods)
    return page(levels.map(standFrom({ plan, sums, now })))
  }
  const isAll = called === undefined
  const hasEndUsers = boundsEndUsers(plan)
  if (isAll) yield await readStatuses(groupLevels(plan).filter(({ name }) => !own || own.groups.has(name)))
  const groupsOf: GroupsOf = new Map()
  if (isAll || hasEndUsers)
    for await (const users of userPages) {
      if (hasEndUsers) for (const { name, group } of users) groupsOf.set(name, new Set([group]))
      if (isAll) yield await readStatuses(userLevels(plan, users))
    }
  if (isAll || hasEndUsers)
    for await (const keys of keyPages) {
      if (hasEndUsers)
        for (const { status, user, group } of keys) if (status !== 'revoked' && group) groupsOf.get(user)?.add(group)
      const names = new Map(keys.map(({ id, name }) => [id, name]))
      if (isAll) yield page(statusesOfKeys({ plan, sums: [], now }, keys), names)
    }
  if (!hasEndUsers) return
  const sums = await store.books.endUsers(endUserPeriods(plan))
  const endUsers = endUserStatuses({ plan, now, sums, called }, groupsOf)
  yield page(endUsers.slice(0, endUsersShown), undefined, endUsers.length)
}

const afterUser = (last: User | undefined) => ({ limit: pageRows, ...(last && { after: last.name }) })
const beforeKey = (last: Key | undefined) => ({
  ownRules: true as const,
  limit: pageRows,
  ...(last && { before: last.id }),
})

/** A user, the user's keys that have rules of their own, and the groups of both. */
async function readOwn({ users, keys }: BudgetStore, name: string) {
  const [user, own] = await Promise.all([users.find(name), keys.list({ ownRules: true, user: name })])
  const groups = own.flatMap(({ status, group, userGroup }) => (status === 'revoked' ? [] : [group ?? userGroup]))
  return { users: user ? [user] : [], keys: own, groups: new Set(user ? [user.group, ...groups] : groups) }
}

/** The groups of a user and of the user's keys, by user. */
type GroupsOf = Map<string, Set<string>>

/**
 * The states of the budgets of end users with spent or held amounts, the lowest remainder first. An end user whose user
 * has keys in several groups counts once, with the group that leaves the least. End users of users without groups here
 * are left out. `called`: only end users with this name.
 */
function endUserStatuses(
  from: Omit<Books, 'sums'> & { readonly sums: readonly NamedSums[]; readonly called?: string | undefined },
  groupsOf: GroupsOf,
): readonly BudgetStatus[] {
  const { plan, sums, called } = from
  const stand = standFrom(from)
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

/** The periods of end users' budgets. */
function endUserPeriods({ groups }: Books['plan']): readonly BudgetPeriod[] {
  return [...groups.values()].flatMap(({ endUserBudget, endUserBudgets }) =>
    [...(endUserBudget ? [endUserBudget] : []), ...(endUserBudgets?.values() ?? [])].map(({ per }) => per),
  )
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
