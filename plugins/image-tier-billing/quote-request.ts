import { type Imagined, type Quote as PluginQuote, withField } from '../../src/plugin-api/index.ts'
import { goesBySent } from './build-rule.ts'
import { countPaths } from './count-paths.ts'
import { type Shaped, shapeFields, shapeTools } from './forward-fields.ts'
import { shapeNative } from './forward-native.ts'
import { conditionsText, factorsOf } from './price-image.ts'
import { quote } from './quote.ts'
import { countsInput, fieldsOf } from './line-rules.ts'
import { countPictures, type Sent } from './request-fields.ts'
import { readCount } from './read-count.ts'
import { readToolLimit } from './read-tool-limit.ts'
import { extraLinesOf, rowsOf } from './rows.ts'
import type { BillingFacet, Shape } from './schema.ts'
import { readRequestedSize, chargesImages, shapeOf } from './what-charges.ts'

/**
 * The hold for a request for images, and the form in which it would be forwarded.
 * @throws Failure invalid_n, count_repeated, price_unknown, price_field_repeated, invalid_quantity
 */
export function quoteRequest(request: Imagined, facet: BillingFacet): PluginQuote | undefined {
  const { body, family, model, operation, out, slots } = request
  if (!chargesImages(operation, body, facet)) return undefined
  const shape = shapeOf(operation, facet)
  const n = shape === 'output' ? (readToolLimit(body) ?? 1) : readCount(body, family.nMax, countPaths(facet, shape))
  const { rule, mismatch, expected, expectedAmount, atMost } = quote({
    facet,
    family,
    model,
    requestedSize: readRequestedSize(slots, body),
    n,
    ...(goesBySent(facet) && { sent: { body, family, operation } }),
  })
  // The facts of the answer may change them.
  const factors = expected ? factorsOf(rule, undefined) : []
  return {
    ...shapeSent(out, facet, shape),
    price: {
      n,
      tier: expected?.tier ?? null,
      source: expected?.source ?? null,
      price: expected?.price ?? null,
      priceAt: rowsOf(rule).find(row => row.tier === expected?.tier)?.at ?? null,
      expected: sendsInputs(facet, { body, family, operation }) ? null : expectedAmount,
      atMost,
      prices: rowsOf(rule),
      ...(rule.lines && { beside: extraLinesOf(rule.lines) }),
    },
    warnings: [...rule.warnings, ...factors.map(one => `times ${one.by} for ${conditionsText(one.if)}`)],
    mismatch,
  }
}

/** Whether the request has pictures whose sizes are charged, which only a real request measures. */
function sendsInputs({ lines }: BillingFacet, sent: Sent): boolean {
  return lines?.some(line => countsInput(line) && countPictures(sent, fieldsOf(line)) > 0) ?? false
}

/** A body as forwarded to the upstream, and the paths of dropped fields. @throws Failure count_repeated */
export function shapeSent(
  out: Imagined['out'],
  facet: BillingFacet,
  shape: Shape,
): { readonly out: Imagined['out']; readonly dropped: readonly string[] } {
  const { body, dropped } = shapeBody(out, facet, shape)
  // If the image is rendered here, the field is never sent to the upstream (decision 6).
  return { out: facet.render && shape === 'data' ? withField(body, 'response_format', undefined) : body, dropped }
}

function shapeBody(out: Imagined['out'], facet: BillingFacet, shape: Shape): Shaped {
  if (shape === 'output') return shapeTools(out)
  const paths = countPaths(facet, shape)
  return shape === 'described' ? shapeNative(out, paths) : shapeFields(out, paths)
}
