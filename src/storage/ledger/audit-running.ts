import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { readZoneSince } from './budget-zone.ts'
import type { Findings } from './findings.ts'
import { RunningSums } from './running-sums.ts'

/** Later than any day or month. */
const never = Infinity

/**
 * A day in any zone begins less than this before it begins in UTC, by a clock that is an hour ahead: rows may already
 * be on a day that begins later in this zone.
 */
const widestMs = 15 * 3_600_000

const words = { day: 'today', month: 'this month' } as const

/**
 * The sums for the verification of the current day and month, and the time since which days follow this zone: earlier
 * days cannot be verified.
 */
export function* openRunning(
  zone: string | undefined,
  at: number,
): QueryProgram<{ readonly running: RunningSums | undefined; readonly since: number }> {
  if (zone === undefined) return { running: undefined, since: never }
  return { running: new RunningSums(zone, at), since: (yield* readZoneSince(zone)) ?? never }
}

/** The rows of each account by kind and name. There are several if several gateways book at once. */
export function* rowsOfAccounts(): QueryProgram<ReadonlyMap<string, readonly Row[]>> {
  const rows = yield ask(
    'SELECT kind, name, spent, held, day_start, day_spent, month_start, month_spent FROM account ORDER BY kind, name',
  )
  return Map.groupBy(rows, row => `${text(row, 'kind')} ${text(row, 'name')}`)
}

/** Amounts of days and months that a row no longer counts as its current ones, by payer, period and start. */
type LeftBehind = ReadonlyMap<string, number>

/** Data besides the rows: the time since which days follow this zone, and amounts that rows no longer have. */
export type Behind = { readonly since: number; readonly left: LeftBehind }

/**
 * Reads amounts of periods that may be current but are not the current ones of their row: a late booking or a clock
 * jump has moved the row to another period.
 */
export function* readLeftBehind({ running }: Pick<Findings, 'running'>): QueryProgram<LeftBehind> {
  const left = new Map<string, number>()
  for (const period of ['day', 'month'] as const) {
    for (const { start } of running?.periodsOf(period) ?? []) {
      const rows = yield ask(
        `SELECT 'key ' || s.key_id AS payer, s.spent AS spent FROM spell s JOIN key k ON k.id = s.key_id
           WHERE s.period = '${period}' AND s.start = ? AND k.${period}_start <> s.start
         UNION ALL SELECT s.kind || ' ' || s.name AS payer, s.spent AS spent FROM account_spell s
           JOIN account a ON a.kind = s.kind AND a.name = s.name AND a.part = s.part
           WHERE s.period = '${period}' AND s.start = ? AND a.${period}_start <> s.start`,
        start,
        start,
      )
      for (const row of rows) {
        const place = placeOf(text(row, 'payer'), period, start)
        left.set(place, (left.get(place) ?? 0) + whole(row, 'spent'))
      }
    }
  }
  return left
}

const placeOf = (payer: string, period: 'day' | 'month', start: number): string => `${payer} ${period} ${start}`

/**
 * Verifies the spending of a payer in the current day and month. A charge that ended in the hour before midnight may
 * count on the new day, if another charge of the new day was booked before it.
 * @returns the problems
 */
export function auditRunning(
  { running }: Findings,
  payer: string,
  rows: readonly Row[],
  { since, left }: Behind,
): readonly string[] {
  return (['day', 'month'] as const).flatMap(period => {
    const periods = running?.periodsOf(period) ?? []
    const found = periods.filter(({ start }) => rows.some(row => whole(row, `${period}_start`) === start))
    // A row of another day or month has spent nothing in the current one, except what it has left there.
    const [current] = found.length > 0 ? found : periods
    // At midnight some rows may already be on the new day; they can be verified a little later.
    if (!running || !current || found.length > 1 || current.start <= since + widestMs) return []
    const { has, spent, isRight } = compare(running, payer, rows, { period, start: current.start, left })
    return isRight ? [] : [`${payer}: has spent ${has} ${words[period]}, its charges say ${spent}`]
  })
}

/**
 * The correction of the current day or month of a payer with wrong sums. It is also computed if the payer has no row
 * yet, or if the period began before the zone changed.
 */
export function missingOf(
  { running }: Findings,
  period: 'day' | 'month',
  payer: string,
  rows: readonly Row[],
  { left }: Behind,
): { readonly start: number; readonly spent: number } {
  const periods = running?.periodsOf(period) ?? []
  const current =
    periods.findLast(({ start }) => rows.some(row => whole(row, `${period}_start`) === start)) ?? periods[0]
  if (!running || !current) return { start: 0, spent: 0 }
  const { start } = current
  const { has, spent, isRight } = compare(running, payer, rows, { period, start, left })
  return { start, spent: isRight ? 0 : spent - has }
}

function compare(
  running: RunningSums,
  payer: string,
  rows: readonly Row[],
  { period, start, left }: { readonly period: 'day' | 'month'; readonly start: number; readonly left: LeftBehind },
) {
  const has = rows
    .filter(row => whole(row, `${period}_start`) === start)
    .reduce((sum, row) => sum + whole(row, `${period}_spent`), left.get(placeOf(payer, period, start)) ?? 0)
  const { spent, late, lateBack } = running.of(payer, period, start)
  return { has, spent, isRight: has >= spent - lateBack && has <= spent + late }
}
