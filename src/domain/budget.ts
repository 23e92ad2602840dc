import type { Micros } from '../util/units.ts'
import { beginningOf, dateIn } from '../util/zone.ts'
import { type BudgetPeriod, isWindow, rollingDays, windowEnd, type WindowPeriod, windowStart } from './budget-period.ts'

/**
 * Besides the key: whose money is held and spent, in the order in which their accounts are locked. `end_user`: one of a
 * user's; `balance`: what a user has paid in and not spent.
 */
export const levelKinds = ['end_user', 'user', 'balance', 'group'] as const
export type LevelKind = (typeof levelKinds)[number]

/** Booked with every charge. The others are booked only with charges that were held from them. */
export const alwaysBooked: ReadonlySet<LevelKind> = new Set(['user', 'group'])

/** Percents of a budget at which an event reports how much of it is spent. */
export const defaultThresholds: readonly number[] = [80, 100]

/** What may be spent in a period. `soft`: events report how much of it is spent, and nothing is refused. */
export type Budget = { readonly amount: Micros; readonly per: BudgetPeriod; readonly soft?: true }

/** What was spent in the day or month that is named `from`: midnight of its first date in UTC, whatever the zone. */
export type Spell = { readonly from: number; readonly spent: Micros }

/**
 * What was spent: in all, and in the last day and month in which anything was. `days`: in earlier days, as far as the
 * budget needs them.
 */
export type Spent = {
  readonly spent: Micros
  readonly spentIn: { readonly day: Spell; readonly month: Spell; readonly days: readonly Spell[] }
}

/** What a key has spent of what it may. */
export type Spending = Spent & { readonly budgetPeriod: BudgetPeriod }

/** The names of the day and of the month in a zone in which `at` lies: midnight of their first dates in UTC. */
export function spellsAt(at: number, zone: string): { readonly day: number; readonly month: number } {
  const day = dateIn(zone, at)
  const date = new Date(day)
  return { day, month: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) }
}

/** What clocks of one fleet may differ by. A time further ahead was written by a clock that was wrong. */
export const aheadMs = 3_600_000

/** The last day and month that a clock may be in which is ahead of `at` and still right. */
export function spellsAhead(at: number, zone: string): { readonly day: number; readonly month: number } {
  return spellsAt(at + aheadMs, zone)
}

/** Whether clocks that are right may be on both sides of midnight. */
export function isAroundMidnight(at: number, zone: string): boolean {
  return spellsAt(at - aheadMs, zone).day !== spellsAhead(at, zone).day
}

/** Whether something that ended at `at` is booked on a later day: rows that it is booked on may say of that one already. */
export function isLate(at: number, now: number, zone: string): boolean {
  return spellsAt(now, zone).day > spellsAhead(at, zone).day
}

/**
 * When a budget begins again after `at`; null for one that is for all of a key's life. A rolling one never does: its
 * earliest day falls out at the next midnight.
 */
export function renewalAt(period: BudgetPeriod, at: number, zone: string): number | null {
  return period === 'total' ? null : renewalOf(period, startAt(period, at, zone), zone)
}

/** The name of the period in which `at` lies; of a rolling one, its first day. */
export function startAt(period: Exclude<BudgetPeriod, 'total'>, at: number, zone: string): number {
  const spells = spellsAt(at, zone)
  return isWindow(period) ? windowStart(period, spells.day) : spells[period]
}

/** When the period begins that follows the one named `start`; null for a budget that does not renew. */
export function renewalOf(period: BudgetPeriod, start: number, zone: string): number | null {
  if (period === 'total') return null
  if (period === 'day') return beginningOf(zone, start + 86_400_000)
  if (isWindow(period)) return beginningOf(zone, windowEnd(period, start))
  const date = new Date(start)
  return beginningOf(zone, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1))
}

/** From when to when a period lasts in which `at` lies. */
export type Lasting = { readonly from: number; readonly until: number }

/** The period in a zone in which `at` lies. */
export function spellOf(period: Exclude<BudgetPeriod, 'total'>, at: number, zone: string): Lasting {
  return { from: beginningOf(zone, startAt(period, at, zone)), until: renewalAt(period, at, zone) as number }
}

/** The same of a budget whose pace says what it will come to: a rolling one has no end, and one without a period neither. */
export function paceOf(period: BudgetPeriod, at: number, zone: string): Lasting | undefined {
  return period === 'total' || rollingDays(period) !== undefined ? undefined : spellOf(period, at, zone)
}

/** The part of a period after which its pace allows a forecast. */
const paceShare = 24

/** The forecast for the end of a period at the pace so far; null while it is too early. */
export function forecastOf(spent: Micros, { from, until }: Lasting, now: number): Micros | null {
  const [passed, length] = [now - from, until - from]
  if (passed * paceShare < length) return null
  return Number((BigInt(spent) * BigInt(length)) / BigInt(Math.min(passed, length)))
}

/** What a key has spent of its budget: in all, or in the day or month in which `at` lies. */
export function budgetUsed(key: Spending, at: number, zone: string): Micros {
  return spentIn(key, key.budgetPeriod, at, zone)
}

/** What was spent in all, or in the day or month in which `at` lies. */
export function spentIn(of: Spent, period: BudgetPeriod, at: number, zone: string): Micros {
  if (period === 'total') return of.spent
  if (isWindow(period)) return spentInWindow(of, period, at, zone)
  const { from, spent } = of.spentIn[period]
  const isNow = from >= spellsAt(at, zone)[period] && from <= spellsAhead(at, zone)[period]
  return isNow ? spent : 0
}

/** The sum of the days of a window, with one that a clock ahead may be in. */
function spentInWindow({ spentIn }: Spent, period: WindowPeriod, at: number, zone: string): Micros {
  const [first, last] = [startAt(period, at, zone), spellsAhead(at, zone).day]
  return [spentIn.day, ...spentIn.days.filter(({ from }) => from !== spentIn.day.from)]
    .filter(({ from }) => from >= first && from <= last)
    .reduce((sum, { spent }) => sum + spent, 0)
}
