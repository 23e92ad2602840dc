import type { LevelKind } from '../../domain/budget.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'

type Account = { readonly kind: LevelKind; readonly name: string }

const add = `INSERT INTO account_spell (kind, name, part, period, start, spent, turn) VALUES (?, ?, ?, 'day', ?, ?,
    (SELECT coalesce(max(s.turn), 0) + 1 FROM account_spell s WHERE s.kind = ? AND s.name = ? AND s.part = ? AND s.period = 'day'))
  ON CONFLICT (kind, name, part, period, start) DO UPDATE SET spent = account_spell.spent + excluded.spent`
const addToRow = `UPDATE account SET day_spent = day_spent + ?
  WHERE kind = ? AND name = ? AND part = ? AND day_start = ? RETURNING part`

/** Adds to the spending of an account's row on a day: its current day, or an earlier one. */
export function* addToDay(
  { kind, name, part }: Account & { readonly part: string },
  day: number,
  amount: number,
): QueryProgram<void> {
  if (amount === 0) return
  const [row] = yield ask(addToRow, amount, kind, name, part, day)
  if (!row) yield ask(add, kind, name, part, day, amount, kind, name, part)
}

type Period = 'day' | 'month'

const rowsOf = (period: Period): string =>
  `SELECT part, ${period}_spent AS spent, 1 AS is_current FROM account WHERE kind = ? AND name = ? AND ${period}_start = ?
  UNION ALL SELECT s.part, s.spent, 0 FROM account_spell s JOIN account a ON a.kind = s.kind AND a.name = s.name AND a.part = s.part
    WHERE s.kind = ? AND s.name = ? AND s.period = '${period}' AND s.start = ? AND a.${period}_start <> s.start`
const takeFromRow = (period: Period): string =>
  `UPDATE account SET ${period}_spent = ${period}_spent - ? WHERE kind = ? AND name = ? AND part = ?`
const takeFromPeriod = (period: Period): string =>
  `UPDATE account_spell SET spent = spent - ? WHERE kind = ? AND name = ? AND part = ? AND period = '${period}' AND start = ?`

/**
 * Returns a refund to a day or month: the current one, a past one, or a later one if a clock was ahead. Each row of the
 * account gives back at most what it spent then. A remainder counts nowhere: its row no longer stores that period, or
 * the amount was booked on the next one around midnight. The rows are locked.
 */
export function* refundPeriod(
  { kind, name }: Account,
  period: Period,
  start: number,
  amount: number,
): QueryProgram<void> {
  const rows = yield ask(rowsOf(period), kind, name, start, kind, name, start)
  let left = amount
  for (const row of rows.toSorted((a, b) => (text(a, 'part') < text(b, 'part') ? -1 : 1))) {
    const taken = Math.min(left, Math.max(0, whole(row, 'spent')))
    if (taken === 0) continue
    const part = text(row, 'part')
    if (whole(row, 'is_current') === 1) yield ask(takeFromRow(period), taken, kind, name, part)
    else yield ask(takeFromPeriod(period), taken, kind, name, part, start)
    left -= taken
  }
}
