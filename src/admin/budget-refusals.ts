import type { BudgetStatus, StoredEvent } from '../domain/index.ts'
import { stillOpen } from './current-state.ts'
import { findAlerts } from './alerts.ts'

const nothing = { webhooks: [], open: [], newest: { review: null, undelivered: new Map() }, certificateEnds: null }

/**
 * By budget, the time since which it has refused requests in its current period, in milliseconds since the epoch, even
 * if something is left. A budget that was raised since, or that got a refund of the amount, is not included.
 */
export function refusalsOf(
  events: readonly StoredEvent[],
  budgets: readonly BudgetStatus[],
  now: number,
): ReadonlyMap<BudgetStatus, number> {
  const alerts = findAlerts(
    events.filter(({ kind }) => kind.startsWith('budget.')),
    { ...nothing, now },
  ).filter(({ kind, data }) => kind === 'budget.exhausted' && data['refused'] === true)
  return new Map(
    budgets.flatMap((one): [BudgetStatus, number][] => {
      const own = alerts.filter(({ data }) => data['level'] === one.level && data['name'] === one.name)
      const [open] = stillOpen(own, {
        keysOf: () => undefined,
        budgetOf: () => ({
          budgets: [{ amount: one.amount, per: one.per }],
          spent: { day: 0, month: 0, total: 0, [one.per]: one.spent },
        }),
      })
      return open?.at && !one.soft ? [[one, open.at]] : []
    }),
  )
}
