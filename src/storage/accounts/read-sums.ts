import type { WindowPeriod } from '../../domain/budget-period.ts'
import type { LevelKind } from '../../domain/budget.ts'
import type { LevelName, LevelSums } from '../../domain/levels.ts'
import { askIn } from '../ask-in.ts'
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
 * What users, balances and groups have spent so far, and what is held from them, as budgets see it: the sum of each
 * account's rows. Of those named, or of all.
 */
export function* readSums({
  at,
  zone,
  of,
  windows = [],
}: {
  readonly at: number
  readonly zone: string
  readonly of: readonly LevelName[] | null
  readonly windows?: readonly WindowPeriod[]
}): QueryProgram<readonly LevelSums[]> {
  const byKind = of && Map.groupBy(of, one => one.kind)
  const names = byKind && [...byKind].map(([kind, some]) => [kind, [...new Set(some.map(({ name }) => name))]] as const)
  const inWindows = new Map<string, { [window in WindowPeriod]?: number }>()
  for (const window of windows)
    for (const row of yield* readOf(sumsOfWindow, windowParams({ zone }, window, at), names)) {
      const account = `${text(row, 'kind')} ${text(row, 'name')}`
      inWindows.set(account, { ...inWindows.get(account), [window]: whole(row, 'spent') })
    }
  const [day, dayAhead, month, monthAhead] = bounds({ zone }, at)
  const spells = [day, dayAhead, day, month, monthAhead, month]
  return (yield* readOf(sums, spells, names)).map(row => {
    const found = toSums(row)
    return { ...found, spent: { ...found.spent, ...inWindows.get(`${found.kind} ${found.name}`) } }
  })
}

/** Rows of all accounts, or of those that are named. */
function* readOf(
  sql: (which: string) => string,
  params: readonly number[],
  names: readonly (readonly [kind: LevelKind, names: readonly string[]])[] | null,
): QueryProgram<readonly Row[]> {
  if (names === null) return yield ask(sql(''), ...params)
  const found: Row[] = []
  for (const [kind, some] of names) found.push(...(yield* askIn(sql(ofNames), some, [...params, kind])))
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
