import type {
  AskedSize,
  Family,
  Micros,
  Model,
  SizeMismatch,
  TierRule,
  TierSource,
} from '../../src/plugin-api/index.ts'
import type { Sent } from './request-fields.ts'
import { buildRule } from './build-rule.ts'
import { checkCombination, highestPrice, isDecided } from './combinations.ts'
import type { Measured } from './line-rules.ts'
import { cheaperBy, describeMismatch, findMismatch } from './mismatch.ts'
import { priceImage } from './price-image.ts'
import { mostOf, rateLinesBefore } from './rate-lines.ts'
import type { BillingFacet } from './schema.ts'

/** The cost of a request, as far as it is known before the upstream call. */
export type Quote = {
  readonly rule: TierRule
  /** A warning for the client before it pays (`docs/rules.md#tiers-and-prices`); the rule's warning has the text. */
  readonly mismatch: SizeMismatch | null
  readonly n: number
  /** The expected image; null if only the returned image decides. */
  readonly expected: { readonly tier: string; readonly source: TierSource; readonly price: Micros } | null
  /** n × the expected price, and the additional charges; null if only the answer decides. */
  readonly expectedAmount: Micros | null
  /** The hold: n × the highest possible price, and the maximum of the additional charges. */
  readonly atMost: Micros
}

/**
 * Computes a price in advance, for the hold, `explain`, the playground and the price page. Without `sent` only the
 * size of the request is known.
 * @throws Failure `price_missing` if the model has no price for a tier (a checked configuration has all);
 * `price_unknown` for a combination without a price; `price_field_repeated`, `invalid_quantity`
 */
export function quote(request: {
  readonly facet: BillingFacet
  readonly family: Family
  readonly model: Model
  readonly requestedSize: AskedSize
  readonly n: number
  readonly sent?: Sent
  readonly measured?: Measured | undefined
}): Quote {
  const { family, model, requestedSize, n, sent } = request
  const rating = buildRule(request)
  if (sent && rating.by && !model.free) checkCombination(rating, model)
  const isKnown = isDecided(rating)
  const mismatch = rating.by ? null : findMismatch(rating, requestedSize, isKnown)
  const warnings = mismatch ? [describeMismatch(mismatch, family.name)] : []
  const rule: TierRule = { ...rating, ...(mismatch && cheaperBy(mismatch)), warnings }
  const knownBefore = (requestedSize.expected !== null && !rule.facts) || isKnown
  const come = { output: requestedSize.expected, reported: null, facts: undefined }
  const image = knownBefore ? priceImage(rule, come) : undefined
  const expected = image ? { tier: image.label, source: image.source, price: image.price } : null
  const beside = rateLinesBefore(rule, n, come)
  const images = n * highestPrice(rule) + mostOf(rule, n)
  return {
    rule,
    mismatch,
    n,
    expected,
    expectedAmount: expected && beside !== null ? expected.price * n + beside : null,
    atMost: Math.max(images, ...(rule.refusals ?? []).map(({ price }) => price)),
  }
}
