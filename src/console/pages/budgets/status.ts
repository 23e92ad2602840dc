import type { Budget } from '../../api/shapes.ts'
import { microsOf } from '../../money.ts'

/** The percentage from which a budget is nearly spent. */
const nearPercent = 80n

/**
 * The state of a budget: spent, refusing requests that may cost more than the rest, nearly spent, forecast to exceed,
 * or none of these. The budget nearest to exhaustion ranks first.
 */
export function statusOf({ amount, spent, held, left, forecast, soft, refused_since: refused }: Budget) {
  const [whole, taken] = [microsOf(amount), microsOf(spent) + microsOf(held)]
  const share = whole === 0n ? 1000 : Number((taken * 1000n) / whole)
  if (soft && microsOf(left) === 0n) return { state: 'budget_soft', tone: 'warn', rank: 2_500_000 + share } as const
  if (microsOf(left) === 0n) return { state: 'budget_spent', tone: 'bad', rank: 3_000_000 + share } as const
  if (refused !== null) return { state: 'budget_refusing', tone: 'bad', rank: 2_700_000 + share } as const
  if (taken * 100n >= whole * nearPercent)
    return { state: 'budget_near', tone: 'warn', rank: 2_000_000 + share } as const
  const isAhead = forecast !== null && microsOf(forecast) > whole
  if (isAhead) return { state: 'budget_ahead', tone: 'warn', rank: 1_000_000 + share } as const
  return { state: 'budget_fine', tone: 'idle', rank: share } as const
}

/**
 * Sorts the budgets of one person by when they block the person. Last are budgets that block nothing, and those of end
 * users, which block only these.
 */
export function byTightness(a: Budget, b: Budget): number {
  const [isLater, isLaterB] = [a, b].map(one => one.soft || one.level === 'end_user')
  if (isLater !== isLaterB) return isLater ? 1 : -1
  const [x, y] = [microsOf(a.left), microsOf(b.left)]
  return x === y ? 0 : x < y ? -1 : 1
}
