import type { BudgetPeriod } from '../../../domain/index.ts'
import type { Asked } from '../new-api/foreign-book.ts'
import { periodOfLength } from '../litellm-period.ts'
import { microsIn, momentIn } from './cells.ts'

export type TakenBudget = { readonly amount: number; readonly per: BudgetPeriod }

export type BudgetRead =
  /**
   * `spent`: in the running time there, micro-units; nothing where that is over by now, and `stale` then says what it was.
   * `length`: as it was there. `renewsAt`: when it begins again there, where that is known.
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
 * What a user may spend: their own setting, or else that of the budget that they name. For ever what is left of it; what begins
 * again there does so here in a period that is not shorter, so that it is never more in all.
 */
export function readBudget(row: Asked, shared: Asked | undefined, now: number): BudgetRead {
  const from = row.text('max_budget') === undefined ? shared : row
  const said = from?.text('max_budget')
  const length = from?.text('budget_duration') ?? row.text('budget_duration')
  const spend = row.text('spend')
  if (from === undefined || said === undefined) return { kind: 'none' }
  const amount = microsIn(from, 'max_budget', 0n)
  // What was given back may come to less than nothing.
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
  // It begins again there by a job that runs now and then.
  const isOver = renewsAt !== undefined && renewsAt <= now
  const [running, stale] = isOver ? [0, Number(spent)] : [Number(spent), 0]
  return { kind: 'budget', budget: { amount: Number(amount), per }, spent: running, stale, renewsAt, length }
}
