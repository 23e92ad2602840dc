import { type BudgetPeriod, isWindow, windowStart, type WindowPeriod } from '../../domain/budget-period.ts'
import { periodStartsAt, latestPeriodStarts } from '../../domain/budget.ts'
import { ask, type Query, type QueryProgram } from '../query.ts'
import type { WriterIdentity } from '../writer-identity.ts'

type Zoned = Pick<WriterIdentity, 'zone'>

/** The amount that a key spends, and the hold that is released. */
export type Spending = {
  readonly keyId: string
  readonly amount: number
  readonly heldBack: number
  readonly at: number
}

type Period = 'day' | 'month'

/**
 * Whether a key's period is the current one. A period that begins within the hour counts as current: an amount spent
 * just before midnight that is written after a booking of the new day counts on the new day, because two clocks that
 * differ must not open a budget twice. A period further ahead comes from a wrong clock.
 */
const isNow = (period: Period): string => `${period}_start BETWEEN ? AND ?`

/** The amount spent in a period that the key has left before a clock jumped; 0 in a new period. */
const before = (period: Period): string =>
  `coalesce((SELECT spent FROM spell WHERE spell.key_id = key.id AND spell.period = '${period}' AND spell.start = ?), 0)`

/** The spending of a key in the current period, as SQL with `periodParams` for parameters. */
const spentNow = (period: Period): string =>
  `CASE WHEN ${isNow(period)} THEN ${period}_spent ELSE ${before(period)} END`

/** Books an amount, as SQL, on a key's total, day and month; `bookingParams` are its parameters. */
export const booking = (amount: string): string =>
  `spent = spent + ${amount},
   day_spent = ${spentNow('day')} + ${amount}, day_start = CASE WHEN ${isNow('day')} THEN day_start ELSE ? END,
   month_spent = ${spentNow('month')} + ${amount}, month_start = CASE WHEN ${isNow('month')} THEN month_start ELSE ? END`

/** @param amount only if the amount is a parameter too */
export function bookingParams(zoned: Zoned, at: number, ...amount: readonly [] | readonly [number]): readonly number[] {
  const [day, dayAhead, month, monthAhead] = bounds(zoned, at)
  const [ofDay, ofMonth] = [
    [day, dayAhead, day],
    [month, monthAhead, month],
  ]
  return [...amount, ...ofDay, ...amount, ...ofDay, ...ofMonth, ...amount, ...ofMonth]
}

const spendOne = `UPDATE key SET ${booking('?')}, held = held - ? WHERE id = ?`

/** Columns of a key that the events of its budget need. */
export const foundColumns =
  'id, user_name, budget, budget_period, budget_soft, held, spent, day_start, day_spent, month_start, month_spent, budget_told'
const spendBounded = `${spendOne} RETURNING ${foundColumns}`

/** The rest of a day and a month is stored (table `spell`). */
export function spend(zoned: Zoned, { keyId, amount, heldBack, at }: Spending): Query {
  return ask(spendOne, ...bookingParams(zoned, at, amount), heldBack, keyId)
}

/** The same for a key with a budget: returns `foundColumns`. */
export function spendOfBudget(zoned: Zoned, spending: Spending): Query {
  return { ...spend(zoned, spending), sql: spendBounded }
}

/**
 * Returns a key to the current day and month, in the transaction that has booked an amount of an earlier day, so that
 * no other transaction sees it there. A transaction that waited would read the earlier result.
 */
export function comeBack(zoned: Zoned, keyId: string, now: number): Query {
  return spend(zoned, { keyId, amount: 0, heldBack: 0, at: now })
}

const takenFrom = (period: Period): string =>
  `CASE WHEN ${period}_start <> ? THEN ${period}_spent WHEN ${period}_spent < ? THEN 0 ELSE ${period}_spent - ? END`

/**
 * Returns a refund to the key: from the total, and from the day and the month of the charge, by their names. These may
 * not contain an amount that was booked on the next ones around midnight.
 */
export function* giveBack(
  keyId: string,
  amount: number,
  { day, month }: { readonly day: number; readonly month: number },
): QueryProgram<void> {
  yield ask(
    `UPDATE key SET spent = spent - ?, day_spent = ${takenFrom('day')}, month_spent = ${takenFrom('month')} WHERE id = ?`,
    amount,
    day,
    amount,
    amount,
    month,
    amount,
    amount,
    keyId,
  )
  yield ask(
    `UPDATE spell SET spent = CASE WHEN spent < ? THEN 0 ELSE spent - ? END
     WHERE key_id = ? AND ((period = 'day' AND start = ?) OR (period = 'month' AND start = ?))
       AND NOT EXISTS (SELECT 1 FROM key WHERE key.id = spell.key_id
         AND ((spell.period = 'day' AND key.day_start = spell.start) OR (spell.period = 'month' AND key.month_start = spell.start)))`,
    amount,
    amount,
    keyId,
    day,
    month,
  )
}

/** The current period by its name: that of a row if it is current by correct clocks. */
export function currentStart(zoned: Zoned, period: Period, start: number, at: number): number {
  const [day, dayAhead, month, monthAhead] = bounds(zoned, at)
  const [first, last] = period === 'day' ? [day, dayAhead] : [month, monthAhead]
  return start >= first && start <= last ? start : first
}

/** The rest of a key's budget whose period is not a window, as SQL with `leftParams` for parameters. */
export const left = `(budget - held - CASE budget_period WHEN 'total' THEN spent
  WHEN 'day' THEN ${spentNow('day')} ELSE ${spentNow('month')} END)`

export function leftParams(zoned: Zoned, at: number): readonly number[] {
  const [day, dayAhead, month, monthAhead] = bounds(zoned, at)
  return [day, dayAhead, day, month, monthAhead, month]
}

/**
 * The spending of a key in a window, as SQL with `windowParams` for parameters: the day of its row, and earlier ones.
 */
export const spentInWindow = `(CASE WHEN key.day_start BETWEEN ? AND ? THEN key.day_spent ELSE 0 END
  + coalesce((SELECT sum(s.spent) FROM spell s WHERE s.key_id = key.id AND s.period = 'day' AND s.start BETWEEN ? AND ?
      AND s.start <> key.day_start), 0))`

/** The first and the last day of a window, for the row of a payer and for its earlier days. */
export function windowParams(zoned: Zoned, period: WindowPeriod, at: number): readonly number[] {
  const [day, dayAhead] = bounds(zoned, at)
  const first = windowStart(period, day)
  return [first, dayAhead, first, dayAhead]
}

/** The current period of a budget by its name, from the days and months of its row. */
export function periodNow(
  zoned: Zoned,
  period: BudgetPeriod,
  { day, month }: { readonly day: number; readonly month: number },
  at: number,
): number {
  if (period === 'total') return 0
  if (isWindow(period)) return windowStart(period, currentStart(zoned, 'day', day, at))
  return currentStart(zoned, period, period === 'day' ? day : month, at)
}

/** The current days and months, by correct clocks. */
export function bounds(
  { zone }: Zoned,
  at: number,
): readonly [day: number, dayAhead: number, month: number, monthAhead: number] {
  const { day, month } = periodStartsAt(at, zone)
  const ahead = latestPeriodStarts(at, zone)
  return [day, ahead.day, month, ahead.month]
}
