import type { Micros } from './units.ts'

/** What a budget lasts for: all of a key's life, or each day or month of UTC. */
export type BudgetPeriod = 'total' | 'day' | 'month'

/** What was spent in the day or month that begins at `from`, milliseconds since the epoch. */
export type Spell = { readonly from: number; readonly spent: Micros }

/** What a key has spent: in all its life, and in the last day and month in which anything was. */
export type Spending = {
  readonly budgetPeriod: BudgetPeriod
  readonly spent: Micros
  readonly spentIn: { readonly day: Spell; readonly month: Spell }
}

/** The first millisecond of the day and of the month, UTC, in which `at` lies. */
export function spellsAt(at: number): { readonly day: number; readonly month: number } {
  const date = new Date(at)
  const month = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return { day: Math.floor(at / 86_400_000) * 86_400_000, month }
}

/** What clocks of one fleet may differ by. A time further ahead was written by a clock that was wrong. */
export const aheadMs = 3_600_000

/** The last day and month that a clock may be in which is ahead of `at` and still right. */
export function spellsAhead(at: number): { readonly day: number; readonly month: number } {
  return spellsAt(at + aheadMs)
}

/** When a budget begins anew after `at`; null for one that is for all of a key's life. */
export function renewalAt(period: BudgetPeriod, at: number): number | null {
  if (period === 'total') return null
  if (period === 'day') return spellsAt(at).day + 86_400_000
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** What a key has spent of its budget: in all, or in the day or month in which `at` lies. */
export function budgetUsed(key: Spending, at: number): Micros {
  if (key.budgetPeriod === 'total') return key.spent
  const { from, spent } = key.spentIn[key.budgetPeriod]
  const isNow = from >= spellsAt(at)[key.budgetPeriod] && from <= spellsAhead(at)[key.budgetPeriod]
  return isNow ? spent : 0
}
