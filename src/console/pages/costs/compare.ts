import { microsOf } from '../../money.ts'
import type { Part } from './currency-costs.ts'
import { type UnitOfCosts, unitCostsOf, unitsOfCosts } from './unit-cost.ts'

export type Comparison = {
  readonly unit: UnitOfCosts
  readonly dear: Part
  readonly cheap: Part
  /** The average costs of one unit. */
  readonly more: string
  readonly less: string
  /** The price ratio in tenths: 90 is nine times the price. Undefined if the other one is free. */
  readonly tenths: number | undefined
}

/** The part to compare a single selected part with: the most expensive other one with a price for the same unit. */
export function partnerOf(of: Part, parts: readonly Part[]): Part | undefined {
  const units = unitCostsOf(of)
  const own = unitsOfCosts.find(one => units[one] !== undefined)
  return parts.find(one => one !== of && one.what !== null && comparisonOf(of, one)?.unit === own)
}

/** Two parts by the average cost of the first unit that both have; undefined if they have none in common. */
export function comparisonOf(a: Part, b: Part): Comparison | undefined {
  const [ofA, ofB] = [unitCostsOf(a), unitCostsOf(b)]
  const unit = unitsOfCosts.find(one => ofA[one] !== undefined && ofB[one] !== undefined)
  if (unit === undefined) return undefined
  const [x, y] = [ofA[unit] ?? '0', ofB[unit] ?? '0']
  const isADear = microsOf(x) >= microsOf(y)
  const [more, less] = isADear ? [x, y] : [y, x]
  const tenths =
    microsOf(less) > 0n ? Number((microsOf(more) * 20n + microsOf(less)) / (microsOf(less) * 2n)) : undefined
  return { unit, dear: isADear ? a : b, cheap: isADear ? b : a, more, less, tenths }
}
