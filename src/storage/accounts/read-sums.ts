import type { WindowPeriod } from '../../domain/budget-period.ts'
import type { LevelKind } from '../../domain/budget.ts'
import { type LevelName, type LevelSums, type NamedSums, splitEndUser } from '../../domain/levels.ts'
import { selectIn } from '../select-in.ts'
import { namesOfLabels } from '../labels.ts'
import { bounds, windowParams } from '../keys/spend.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { spentInWindow, spentNow } from './hold.ts'

const sums = (which: string): string => `SELECT kind, name, sum(spent) AS spent, sum(held) AS held,
    sum(${spentNow('account', 'day')}) AS day, sum(${spentNow('account', 'month')}) AS month
  FROM account ${which} GROUP BY kind, name ORDER BY kind, name`

const sumsOfWindow = (which: string): string => `SELECT kind, name, sum(${spentInWindow('account')}) AS spent
  FROM account ${which} GROUP BY kind, name`
const ofNames = 'WHERE kind = ? AND name IN (…)'

/**
 * The number of end users' accounts that are read, those that spent last first: the default limit of the attribution.
 */
const endUsersMax = 10_000
const lastSpent = `WHERE kind = 'end_user' AND name IN (SELECT name FROM account WHERE kind = 'end_user'
  ORDER BY day_start DESC, name LIMIT ${endUsersMax})`
const notEndUsers = `WHERE kind <> 'end_user'`

/**
 * The spending of users, balances and groups so far, and their holds, as budgets count them: the sum of each account's
 * rows. Reads the named accounts, or all; end users have their own query.
 */
export function* readSums({
  at,
  zone,
  of,
  windows = [],
}: {
  readonly at: number
  readonly zone: string
  readonly of: readonly LevelName[] | 'end users' | null
  readonly windows?: readonly WindowPeriod[]
}): QueryProgram<readonly LevelSums[]> {
  const byKind = of !== null && of !== 'end users' && Map.groupBy(of, one => one.kind)
  const which = of === 'end users' ? lastSpent : notEndUsers
  const names = byKind && [...byKind].map(([kind, some]) => [kind, [...new Set(some.map(({ name }) => name))]] as const)
  const inWindows = new Map<string, { [window in WindowPeriod]?: number }>()
  for (const window of windows)
    for (const row of yield* readOf(sumsOfWindow, windowParams({ zone }, window, at), names || which)) {
      const account = `${text(row, 'kind')} ${text(row, 'name')}`
      inWindows.set(account, { ...inWindows.get(account), [window]: whole(row, 'spent') })
    }
  const [day, dayAhead, month, monthAhead] = bounds({ zone }, at)
  const starts = [day, dayAhead, day, month, monthAhead, month]
  return (yield* readOf(sums, starts, names || which)).map(row => {
    const found = toSums(row)
    return { ...found, spent: { ...found.spent, ...inWindows.get(`${found.kind} ${found.name}`) } }
  })
}

/** The same for end users, with their names. */
export function* readEndUserSums(
  given: Omit<Parameters<typeof readSums>[0], 'of'>,
): QueryProgram<readonly NamedSums[]> {
  const sums = yield* readSums({ ...given, of: 'end users' })
  const idOf = ({ name }: LevelSums): string => splitEndUser(name).id
  const names = yield* namesOfLabels(sums.map(idOf))
  return sums.map(one => ({ ...one, called: names.get(idOf(one)) ?? idOf(one) }))
}

/** Rows of the accounts that match a condition, or of the named ones. */
function* readOf(
  sql: (which: string) => string,
  params: readonly number[],
  names: readonly (readonly [kind: LevelKind, names: readonly string[]])[] | string,
): QueryProgram<readonly Row[]> {
  if (typeof names === 'string') return yield ask(sql(names), ...params)
  const found: Row[] = []
  for (const [kind, some] of names) found.push(...(yield* selectIn(sql(ofNames), some, [...params, kind])))
  return found
}

function toSums(row: Row): LevelSums {
  return {
    kind: text(row, 'kind') as LevelKind,
    name: text(row, 'name'),
    held: whole(row, 'held'),
    spent: { total: whole(row, 'spent'), day: whole(row, 'day'), month: whole(row, 'month') },
  }
}
