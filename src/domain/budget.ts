import type { Micros } from '../util/units.ts'
import { beginningOf, dateIn } from '../util/zone.ts'
import { type BudgetPeriod, isWindow, rollingDays, windowEnd, type WindowPeriod, windowStart } from './budget-period.ts'

/**
 * Accounts besides the key from which money is held and spent, in the order in which they are locked. `end_user`: an
 * end user of a user. `balance`: the prepaid money of a user.
 */
export const levelKinds = ['end_user', 'user', 'balance', 'group'] as const
export type LevelKind = (typeof levelKinds)[number]

/** Accounts that every charge is booked to. The others are booked only for charges that held money from them. */
export const alwaysBooked: ReadonlySet<LevelKind> = new Set(['user', 'group'])

/** Percents of a budget at which an event reports how much of it is spent. */
export const defaultThresholds: readonly number[] = [80, 100]

/** The amount that may be spent in a period. `soft`: only events report the spending, and nothing is refused. */
export type Budget = { readonly amount: Micros; readonly per: BudgetPeriod; readonly soft?: true }

/** The amount spent in the day or month `from`, which is midnight of its first date in UTC, whatever the zone. */
export type PeriodSpending = { readonly from: number; readonly spent: Micros }

/**
 * Spent amounts: in total, and in the last day and month with any. `days`: earlier days, as far as the budget needs
 * them.
 */
export type Spent = {
  readonly spent: Micros
  readonly spentIn: {
    readonly day: PeriodSpending
    readonly month: PeriodSpending
    readonly days: readonly PeriodSpending[]
  }
}

/** The spent amount of a key's budget. */
export type Spending = Spent & { readonly budgetPeriod: BudgetPeriod }

/** The day and the month of `at` in a zone, each as midnight of its first date in UTC. */
export function periodStartsAt(at: number, zone: string): { readonly day: number; readonly month: number } {
  const day = dateIn(zone, at)
  const date = new Date(day)
  return { day, month: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) }
}

/** The allowed clock difference within a fleet. A time further ahead is from a wrong clock. */
export const aheadMs = 3_600_000

/** The latest day and month for a valid clock that is ahead of `at`. */
export function latestPeriodStarts(at: number, zone: string): { readonly day: number; readonly month: number } {
  return periodStartsAt(at + aheadMs, zone)
}

/** Whether valid clocks may be on both sides of midnight. */
export function isAroundMidnight(at: number, zone: string): boolean {
  return periodStartsAt(at - aheadMs, zone).day !== latestPeriodStarts(at, zone).day
}

/** Whether a charge that ended at `at` is booked on a later day, because its rows may already have that day. */
export function isLate(at: number, now: number, zone: string): boolean {
  return periodStartsAt(now, zone).day > latestPeriodStarts(at, zone).day
}

/**
 * The next renewal of a budget after `at`; null for a lifetime budget. A rolling budget never renews as a whole: its
 * earliest day drops out at the next midnight.
 */
export function renewalAt(period: BudgetPeriod, at: number, zone: string): number | null {
  return period === 'total' ? null : renewalOf(period, startAt(period, at, zone), zone)
}

/** The start of the period that contains `at`; of a rolling period, its first day. */
export function startAt(period: Exclude<BudgetPeriod, 'total'>, at: number, zone: string): number {
  const starts = periodStartsAt(at, zone)
  return isWindow(period) ? windowStart(period, starts.day) : starts[period]
}

/** The start of the period after the one that begins at `start`; null for a budget that does not renew. */
export function renewalOf(period: BudgetPeriod, start: number, zone: string): number | null {
  if (period === 'total') return null
  if (period === 'day') return beginningOf(zone, start + 86_400_000)
  if (isWindow(period)) return beginningOf(zone, windowEnd(period, start))
  const date = new Date(start)
  return beginningOf(zone, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1))
}

/** The start and end of the period that contains `at`. */
export type Lasting = { readonly from: number; readonly until: number }

/** The period in a zone that contains `at`. */
export function periodSpan(period: Exclude<BudgetPeriod, 'total'>, at: number, zone: string): Lasting {
  return { from: beginningOf(zone, startAt(period, at, zone)), until: renewalAt(period, at, zone) as number }
}

/** The period for a forecast; undefined for a rolling budget, which has no end, and for a lifetime budget. */
export function paceOf(period: BudgetPeriod, at: number, zone: string): Lasting | undefined {
  return period === 'total' || rollingDays(period) !== undefined ? undefined : periodSpan(period, at, zone)
}

/** A forecast needs at least this fraction of the period, as 1/24. */
const paceShare = 24

/** The forecast for the end of a period at the current rate; null while it is too early. */
export function forecastOf(spent: Micros, { from, until }: Lasting, now: number): Micros | null {
  const [passed, length] = [now - from, until - from]
  if (passed * paceShare < length) return null
  return Number((BigInt(spent) * BigInt(length)) / BigInt(Math.min(passed, length)))
}

/** The spent amount of a key's budget: in total, or in the day or month of `at`. */
export function budgetUsed(key: Spending, at: number, zone: string): Micros {
  return spentIn(key, key.budgetPeriod, at, zone)
}

/** The spent amount in total, or in the day or month of `at`. */
export function spentIn(of: Spent, period: BudgetPeriod, at: number, zone: string): Micros {
  if (period === 'total') return of.spent
  if (isWindow(period)) return spentInWindow(of, period, at, zone)
  const { from, spent } = of.spentIn[period]
  const isNow = from >= periodStartsAt(at, zone)[period] && from <= latestPeriodStarts(at, zone)[period]
  return isNow ? spent : 0
}

/** The sum of the days of a window, including the day of a clock that is ahead. */
function spentInWindow({ spentIn }: Spent, period: WindowPeriod, at: number, zone: string): Micros {
  const [first, last] = [startAt(period, at, zone), latestPeriodStarts(at, zone).day]
  return [spentIn.day, ...spentIn.days.filter(({ from }) => from !== spentIn.day.from)]
    .filter(({ from }) => from >= first && from <= last)
    .reduce((sum, { spent }) => sum + spent, 0)
}
