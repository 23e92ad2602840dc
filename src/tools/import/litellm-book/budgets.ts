import type { BudgetPeriod } from '../../../domain/index.ts'
import type { TrackedRow } from '../new-api/foreign-book.ts'
import { periodOfLength } from '../litellm-period.ts'
import { microsIn, momentIn } from './cells.ts'

export type TakenBudget = { readonly amount: number; readonly per: BudgetPeriod }

export type BudgetRead =
  /**
   * `spent`: micro-units spent in the current period of LiteLLM; 0 if the period is over by now, and `stale` is then
   * the amount. `length`: as in LiteLLM. `renewsAt`: when the period renews in LiteLLM, if known.
   */
  | {
      readonly kind: 'budget'
      readonly budget: TakenBudget
      readonly spent: number
      readonly stale: number
      readonly renewsAt: number | undefined
      readonly length: string | undefined
    }
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly column: string }

/**
 * The budget of a user: their own setting, or else that of the budget that they refer to. A budget without renewal is
 * the rest of it; a budget that renews gets a period here that is not shorter, so that it never allows more in total.
 */
export function readBudget(row: TrackedRow, shared: TrackedRow | undefined, now: number): BudgetRead {
  const from = row.text('max_budget') === undefined ? shared : row
  const limit = from?.text('max_budget')
  const length = from?.text('budget_duration') ?? row.text('budget_duration')
  const spend = row.text('spend')
  if (from === undefined || limit === undefined) return { kind: 'none' }
  const amount = microsIn(from, 'max_budget', 0n)
  // Refunds may exceed the spending.
  const spent = spend === undefined || spend.startsWith('-') ? 0n : microsIn(row, 'spend', 1n)
  if (amount === undefined) return { kind: 'unreadable', column: 'max_budget' }
  if (spent === undefined) return { kind: 'unreadable', column: 'spend' }
  const per = length === undefined ? 'total' : periodOfLength(length)
  if (per === undefined) return { kind: 'unreadable', column: 'budget_duration' }
  const left = amount > spent ? amount - spent : 0n
  if (per === 'total') {
    const budget = { amount: Number(left), per }
    return { kind: 'budget', budget, spent: 0, stale: 0, renewsAt: undefined, length }
  }
  const renewsAt = momentIn(from, 'budget_reset_at') ?? momentIn(row, 'budget_reset_at')
  // A job that runs periodically renews budgets in LiteLLM.
  const isOver = renewsAt !== undefined && renewsAt <= now
  const [running, stale] = isOver ? [0, Number(spent)] : [Number(spent), 0]
  return { kind: 'budget', budget: { amount: Number(amount), per }, spent: running, stale, renewsAt, length }
}
