import { type BudgetPeriod, joinPeriod } from '../../domain/budget-period.ts'

const dayS = 86_400
const seconds: { readonly [unit: string]: number } = {
  s: 1,
  m: 60,
  h: 3_600,
  d: dayS,
  w: 7 * dayS,
  mo: 30 * dayS,
  M: 30 * dayS,
}

/**
 * The period for a budget length of LiteLLM, in which the budget allows no more in total than in LiteLLM. LiteLLM
 * begins weeks on Monday and months on their first day; every other length becomes a rolling window of days. Longer
 * ones are `total`: the rest of the budget, without renewal. Undefined for an invalid length.
 */
export function periodOfLength(length: string): BudgetPeriod | undefined {
  const [, count, unit = ''] = /^(\d{1,6})(s|m|h|d|w|mo|M)$/.exec(length) ?? []
  const factor = seconds[unit]
  if (count === undefined || factor === undefined) return undefined
  const days = Math.ceil((Number(count) * factor) / dayS)
  if (days <= 1) return 'day'
  if (days === 7) return 'week'
  if (days === 30 || days === 31) return 'month'
  return joinPeriod(`${days}d`) ?? 'total'
}
