import type { LevelKind } from '../../domain/budget.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { lockOne } from './move.ts'

type Account = { readonly kind: LevelKind; readonly name: string }

const add = `INSERT INTO account_spell (kind, name, part, period, start, spent, turn) VALUES (?, ?, ?, 'day', ?, ?,
    (SELECT coalesce(max(s.turn), 0) + 1 FROM account_spell s WHERE s.kind = ? AND s.name = ? AND s.part = ? AND s.period = 'day'))
  ON CONFLICT (kind, name, part, period, start) DO UPDATE SET spent = account_spell.spent + excluded.spent`
const addToRow = `UPDATE account SET day_spent = day_spent + ?
  WHERE kind = ? AND name = ? AND part = ? AND day_start = ? RETURNING part`

/** Adds to what a row of an account has spent on a day, which it may be in or have left. */
export function* addToDay(
  { kind, name, part }: Account & { readonly part: string },
  day: number,
  amount: number,
): QueryProgram<void> {
  if (amount === 0) return
  const [row] = yield ask(addToRow, amount, kind, name, part, day)
  if (!row) yield ask(add, kind, name, part, day, amount, kind, name, part)
}

const rowsOfDay = `SELECT part, day_spent AS spent FROM account WHERE kind = ? AND name = ? AND day_start = ?
  UNION ALL SELECT s.part, s.spent FROM account_spell s JOIN account a ON a.kind = s.kind AND a.name = s.name AND a.part = s.part
    WHERE s.kind = ? AND s.name = ? AND s.period = 'day' AND s.start = ? AND a.day_start <> s.start`

/**
 * Returns a refund to a past day: of the rows that have spent anything on it, as far as they have. What is not known of
 * the day any more is in no window.
 */
export function* giveDayBack({ kind, name }: Account, day: number, amount: number): QueryProgram<void> {
  yield ask(lockOne, kind, name)
  const rows = yield ask(rowsOfDay, kind, name, day, kind, name, day)
  let left = amount
  for (const row of rows.toSorted((a, b) => (text(a, 'part') < text(b, 'part') ? -1 : 1))) {
    const taken = Math.min(left, Math.max(0, whole(row, 'spent')))
    yield* addToDay({ kind, name, part: text(row, 'part') }, day, -taken)
    left -= taken
  }
}
