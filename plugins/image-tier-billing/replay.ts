import type { Charge, Replayed, TierRule } from '../../src/kit/index.ts'
import { priceOf } from './quote.ts'
import { rateTier } from './tier.ts'

/** Rates a stored charge again from its rule, the tier of the size asked for, and the pixels of each line. */
export function replay(charge: Charge): readonly Replayed[] {
  // Charges of this kind are written by this plugin alone.
  const rule = charge.rule as TierRule
  return charge.lines.map(({ index, width, height, flags }) => {
    const { tier, source } = rateTier(rule, width === null || height === null ? null : { width, height })
    return { index, tier, source, price: flags.includes('capped') ? 0 : priceOf(rule, tier) }
  })
}
