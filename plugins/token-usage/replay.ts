import type { Charge, Replayed, UsageRule } from '../../src/kit/index.ts'
import { priceByRule } from './price-use.ts'

/** Prices a stored charge again from its rule and the quantity of each line. Who counted is not to be known again. */
export function replay(charge: Charge): readonly Replayed[] {
  // Charges of this kind are written by this plugin alone.
  const rule = charge.rule as UsageRule
  return charge.lines.map(({ index, tier, source, quantity }) =>
    rule.prices.some(row => row.unit === tier)
      ? { index, tier, source, price: priceByRule(rule, tier, quantity ?? 0) }
      : { index, fault: `is for ${tier}, which its own prices do not have` },
  )
}
