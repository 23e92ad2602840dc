import type { Model } from '../../src/plugin-api/index.ts'
import { policyOf } from './usage-rule.ts'
import type { UsageFacet } from './schema.ts'

/** Whether a charge needs a review. Something that the client omitted is not a fault of the upstream's report. */
export function needsReview(
  facet: UsageFacet,
  model: Model,
  found: {
    readonly implausible: readonly string[]
    readonly missing: readonly string[]
    readonly unpriced: readonly string[]
  },
): boolean {
  const { implausible, missing, unpriced } = found
  if (implausible.length > 0 || (unpriced.length > 0 && policyOf(model, facet) !== 'parent')) return true
  return facet.missing_usage !== 'estimate' && missing.some(unit => unit !== 'character')
}
