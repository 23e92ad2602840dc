import type { Effort, Reasoning } from './conversation.ts'

/** In ascending order. */
const order: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Tokens of reasoning for each effort, as in other gateways. */
const budgets: { readonly [effort in Effort]: number } = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 2048,
  high: 4096,
  xhigh: 8192,
  max: 16384,
}

/** The effort of a request; undefined if the model decides. */
export function effortOf({ effort, budget }: Reasoning): Effort | undefined {
  if (effort !== undefined || budget === undefined || budget === 'auto') return effort
  if (budget === 0) return 'none'
  return order.find(one => one !== 'none' && one !== 'minimal' && budgets[one] >= budget) ?? 'max'
}

/** The budget of a request; undefined if the model decides. */
export function budgetOf({ effort, budget }: Reasoning): number | undefined {
  if (budget === 'auto') return undefined
  return budget ?? (effort === undefined ? undefined : budgets[effort])
}

/** The nearest of a model's efforts that is not higher; the lowest if all are higher. */
export function nearestEffort(effort: Effort, known: readonly Effort[]): Effort {
  const most = order.indexOf(effort)
  const sorted = known.toSorted((one, other) => order.indexOf(one) - order.indexOf(other))
  return sorted.findLast(one => order.indexOf(one) <= most) ?? sorted[0] ?? effort
}
