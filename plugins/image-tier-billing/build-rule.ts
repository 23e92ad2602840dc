import { type AskedSize, defaultSize, type Model, type TierRule, metadataNames } from '../../src/plugin-api/index.ts'
import { readRequestField, type Sent } from './request-fields.ts'
import { fail } from './errors.ts'
import { lineRules, type Measured, nameOf, priceRow } from './line-rules.ts'
import { imageLabel, sameLabel, wordsOf } from './price-image.ts'
import type { BillingFacet } from './schema.ts'
import { requestedTierOf } from './tier.ts'

/** Inputs of a rule. `sent` is absent without a request, as for the price page. */
export type RuleOf = {
  readonly facet: BillingFacet
  readonly model: Model
  readonly requestedSize: AskedSize
  readonly sent?: Sent | undefined
  readonly measured?: Measured | undefined
}

/**
 * The rule of a charge: everything that its price depends on, except the answer.
 * @throws Failure price_missing, price_field_repeated, invalid_quantity
 */
export function buildRule(of: RuleOf): Omit<TierRule, 'warnings'> {
  const { facet, model, requestedSize } = of
  const goesBy = labelsOf(facet)
  const tiers = (facet.tiers ?? []).map(({ tier, long_edge_max, pixels_max }) => {
    const { price, at } = goesBy ? { price: 0, at: whereOf(model) } : priceRow(model, tier)
    return {
      tier,
      longEdgeMax: long_edge_max ?? null,
      ...(isByPixels(facet) && { pixelsMax: pixels_max ?? null }),
      price,
      at,
    }
  })
  const requestedTier = requestedTierOf(requestedSize, tiers)?.tier ?? null
  const tierFrom = facet.tier_from ?? (measuresOutput(facet) ? (['told', 'output', 'request'] as const) : [])
  const { largest_output: largestOutput } = facet
  const plain = {
    kind: 'tiers',
    tiers,
    tierFrom,
    otherwise: facet.otherwise ?? imageLabel,
    requestedTier,
    ...(largestOutput !== undefined && { largestOutput }),
  } as const
  return isPlain(facet, model) ? plain : { ...plain, ...moreOf(of, goesBy) }
}

/** Members that rules with only tiers do not have. */
function moreOf(
  { facet, model, requestedSize, sent, measured }: RuleOf,
  by: readonly string[] | undefined,
): Partial<TierRule> {
  const { facts: reported, refusals } = metadataNames(model.family)
  const names = namesOf(facet)
  const facts = names.filter(name => reported.has(name))
  const values = sent ? names.flatMap(name => entryOf(name, readRequestField(sent, name))) : []
  const lines = lineRules(facet, model, sent, measured)
  const expectedSize =
    requestedSize.expected ?? (requestedSize.size.kind === 'pixels' ? requestedSize.size : defaultSize(model.family))
  return {
    ...(by && { by, prices: pricesOf(facet, model, by) }),
    ...(values.length > 0 && { asked: Object.fromEntries(values) }),
    ...(facts.length > 0 && { facts }),
    ...(expectedSize &&
      measuresOutput(facet) && { askedSize: { width: expectedSize.width, height: expectedSize.height } }),
    ...(facet.times && { times: facet.times.map(one => ({ if: writeConditions(one.if), by: one.by })) }),
    ...(lines.length > 0 && { lines }),
    ...(refusals.size > 0 &&
      !model.free && { refusals: [...refusals].map(name => ({ name, ...refusalRow(model, name) })) }),
  }
}

function refusalRow(model: Model, name: string): { readonly price: number; readonly at: string } {
  if (!model.prices.has(name)) throw fail('price_missing', { model: model.name, tier: name })
  return priceRow(model, name)
}

function entryOf(name: string, value: string | undefined): readonly (readonly [string, string])[] {
  return value === undefined ? [] : [[name, value]]
}

function writeConditions(conditions: NonNullable<BillingFacet['times']>[number]['if']): {
  readonly [name: string]: string | readonly string[]
} {
  const all = Object.entries(conditions as { readonly [name: string]: unknown })
  return Object.fromEntries(
    all.map(([name, wanted]) => [name, Array.isArray(wanted) ? wanted.map(String) : String(wanted)]),
  )
}

/** Whether prices depend on tiers alone. */
function isPlain(facet: BillingFacet, model: Model): boolean {
  if (goesBySent(facet) || !facet.tiers) return false
  return metadataNames(model.family).refusals.size === 0
}

/** Whether the price depends on request fields other than its size. */
export function goesBySent({ price_by, lines, times }: BillingFacet): boolean {
  return price_by !== undefined || lines !== undefined || times !== undefined
}

/** The names whose values select a price; undefined if tiers do, empty if one price applies to all. */
function labelsOf(facet: BillingFacet): readonly string[] | undefined {
  return facet.price_by ?? (facet.tiers ? undefined : [])
}

/** Every name that prices depend on, except the tier. */
export function namesOf({ price_by, times, lines }: BillingFacet): readonly string[] {
  const conditions = (times ?? []).flatMap(one => Object.keys(one.if))
  const froms = (lines ?? []).flatMap(({ from }) => from ?? [])
  return [...new Set([...(price_by ?? []), ...conditions, ...froms])].filter(name => name !== 'tier')
}

/** Prices of images by name: names with one word for each value, and the `otherwise` price. */
export function pricesOf(facet: BillingFacet, model: Model, by: readonly string[]): NonNullable<TierRule['prices']> {
  if (model.free) return []
  if (by.length === 0) return [{ label: imageLabel, ...priceRow(model, imageLabel) }]
  const others = otherNames(facet, model)
  const labels = [...model.prices.keys()].filter(label => {
    if (facet.otherwise !== undefined && sameLabel(label, facet.otherwise, true)) return true
    return !others.has(label) && (by.length === 1 || wordsOf(label).length === by.length)
  })
  return labels.map(label => ({ label, ...priceRow(model, label) }))
}

/** Names of prices that do not belong to images. */
export function otherNames({ lines }: BillingFacet, model: Model): ReadonlySet<string> {
  const ofLines = (lines ?? []).flatMap(line => [nameOf(line), ...(line.first === undefined ? [] : [line.first])])
  return new Set([...ofLines, ...metadataNames(model.family).refusals])
}

export function isByPixels(facet: BillingFacet): boolean {
  return facet.tiers?.some(row => row.pixels_max !== undefined) ?? false
}

function measuresOutput({ lines }: BillingFacet): boolean {
  return lines?.some(line => line.per === 'megapixel' && line.of !== 'input') ?? false
}

function whereOf({ origin: { file, line } }: Model): string {
  return `${file}:${line}`
}
