import type { AskedSize, Family, Micros, Model, SizeMismatch, TierRule, TierSource } from '../../src/kit/index.ts'
import { fail } from './errors.ts'
import { describeMismatch, findMismatch } from './mismatch.ts'
import type { BillingFacet } from './schema.ts'
import { rateTier, requestedTierOf } from './tier.ts'

/** What a request will cost as far as it can be known before the upstream is called. */
export type Quote = {
  readonly rule: TierRule
  /**
   * What the caller should hear before it costs (`docs/rules.md#tiers-and-prices`); in words it is the rule's warning.
   */
  readonly mismatch: SizeMismatch | null
  readonly n: number
  /** What one image is expected to be; null where only the image itself can tell. */
  readonly expected: { readonly tier: string; readonly source: TierSource; readonly price: Micros } | null
  /** n × the expected price. */
  readonly expectedAmount: Micros | null
  /** n × the dearest tier that can come out: what is held. */
  readonly atMost: Micros
}

/**
 * The one computation of a price before the fact: the hold, `explain`, the playground and the pricing page all take it
 * from here.
 * @throws Failure `price_missing` when the model has no price for a tier; a checked configuration has all.
 */
export function quote(request: {
  readonly facet: BillingFacet
  readonly family: Family
  readonly model: Model
  readonly asked: AskedSize
  readonly n: number
}): Quote {
  const { facet, family, model, asked, n } = request
  const tiers = facet.tiers.map(row => {
    const price = model.prices.get(row.tier)
    if (!price && !model.free) throw fail('price_missing', { model: model.name, tier: row.tier })
    const { file, line } = price?.origin ?? model.origin
    return {
      tier: row.tier,
      longEdgeMax: row.long_edge_max ?? null,
      price: price?.micros ?? 0,
      at: `${file}:${line}`,
    }
  })
  const requestedTier = requestedTierOf(asked, tiers)?.tier ?? null
  const rating = { tiers, tierFrom: facet.tier_from, otherwise: facet.otherwise, requestedTier }
  const mismatch = findMismatch(rating, asked, decidedByRequest(rating))
  const warnings = mismatch ? [describeMismatch(mismatch, family.name)] : []
  const rule: TierRule = { kind: 'tiers', ...rating, warnings }
  const knownBefore = asked.expected !== null || decidedByRequest(rating)
  const expectedTier = knownBefore ? rateTier(rating, asked.expected) : undefined
  const expected = expectedTier ? { ...expectedTier, price: priceOf(rule, expectedTier.tier) } : null
  return {
    rule,
    mismatch,
    n,
    expected,
    expectedAmount: expected ? expected.price * n : null,
    atMost: n * dearest(rating),
  }
}

/** The price of a tier by the rule of its charge, in micro-units. */
export function priceOf(rule: Pick<TierRule, 'tiers'>, tier: string): Micros {
  const row = rule.tiers.find(candidate => candidate.tier === tier)
  if (!row) throw new Error(`tier '${tier}' is not one of the charge's own tiers`)
  return row.price
}

type Rating = Omit<TierRule, 'kind' | 'warnings'>

/** The pixels that come back cannot change the tier. */
function decidedByRequest(rating: Rating): boolean {
  const [first] = rating.tierFrom
  return !rating.tierFrom.includes('output') || (first === 'request' && rating.requestedTier !== null)
}

function dearest(rating: Rating): Micros {
  if (decidedByRequest(rating)) return priceOf(rating, rateTier(rating, null).tier)
  return Math.max(...rating.tiers.map(row => row.price))
}
