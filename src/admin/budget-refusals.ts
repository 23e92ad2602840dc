import type { BudgetStatus, StoredEvent } from '../domain/index.ts'
import { stillOpen } from './current-state.ts'
import { findAlerts, textOf } from './alerts.ts'

const nothing = { webhooks: [], open: [], newest: { review: null, undelivered: new Map() }, certificateEnds: null }

/**
 * Finds the time since which a budget has refused requests in its current period, in milliseconds since the epoch, even
 * if something is left. A budget that was raised since, or that got a refund of the amount, is not included.
 */
export function refusalFinder(events: readonly StoredEvent[], now: number): (one: BudgetStatus) => number | undefined {
  const alerts = findAlerts(
    events.filter(({ kind }) => kind.startsWith('budget.')),
    { ...nothing, now },
  ).filter(({ kind, data }) => kind === 'budget.exhausted' && data['refused'] === true)
  // A budget has at most one alert.
  const byBudget = new Map(alerts.map(alert => [`${textOf(alert.data, 'level')} ${textOf(alert.data, 'name')}`, alert]))
  return one => {
    const own = byBudget.get(`${one.level} ${one.name}`)
    if (!own || one.soft) return undefined
    const [open] = stillOpen([own], {
      keysOf: () => undefined,
      budgetOf: () => ({
        budgets: [{ amount: one.amount, per: one.per }],
        spent: { day: 0, month: 0, total: 0, [one.per]: one.spent },
      }),
    })
    return open?.at ?? undefined
  }
}
