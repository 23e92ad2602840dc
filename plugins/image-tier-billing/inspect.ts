import type { Diagnostic, Family, Model, OperationsByName } from '../../src/plugin-api/index.ts'
import { problem } from './diagnostic.ts'
import { inspectDescribed } from './inspect-described.ts'
import { inspectLines } from './inspect-lines.ts'
import { inspectPrices } from './inspect-prices.ts'
import type { BillingFacet } from './schema.ts'

/**
 * Checks beyond the schema: the order of tiers, a known answer for each operation, and a price in every model for every
 * outcome.
 */
export function inspect(
  facet: BillingFacet,
  family: Family,
  models: readonly Model[],
  operations: OperationsByName,
): Diagnostic[] {
  return [
    ...tierDiagnostics(facet),
    ...answerDiagnostics(facet, family, operations),
    ...inspectDescribed(facet, family),
    ...inspectLines(facet, family),
    ...inspectPrices(facet, family, models),
    ...textDiagnostics(family, models, operations),
  ]
}

/**
 * Reports free text: answers without an image still cost the vendor's tokens, but are free here. Existing gateways
 * must continue, so only `check` reports this, and a start does not refuse it.
 */
function textDiagnostics(family: Family, models: readonly Model[], operations: OperationsByName): Diagnostic[] {
  if (family.facets.has('token-usage')) return []
  const answering = [...family.forward.keys()].filter(name => operations.get(name)?.answersTokens)
  if (answering.length === 0) return []
  const priced = models.filter(({ free, enabled }) => enabled && !free)
  return priced.map(({ name }) => ({
    severity: 'warning',
    code: 'text_unpriced',
    model: name,
    message: `model ${name} may respond with text only (${answering.join(', ')}), which family ${family.name} does not charge`,
    remedy: `add token-usage: { beside_images: free } to the family, and input and output to the model's prices, or request: the minimum price of a response without an image; "0" if it is free`,
    path: ['prices'],
  }))
}

function tierDiagnostics(facet: BillingFacet): Diagnostic[] {
  const { tiers } = facet
  if (!tiers) return withoutTiers(facet)
  const diagnostics: Diagnostic[] = []
  const seen = new Set<string>()
  const byPixels = tiers.some(row => row.pixels_max !== undefined)
  const bound = byPixels ? 'pixels_max' : 'long_edge_max'
  let below = 0
  tiers.forEach((row, i) => {
    const { tier } = row
    const max = row[bound]
    const last = i === tiers.length - 1
    // Requested labels such as `1k` match tiers in any case, so no two tiers may differ by case alone.
    if (seen.has(tier.toLowerCase())) {
      diagnostics.push(
        problem('tier_twice', `tier ${tier} is listed twice`, ['tiers', i, 'tier'], 'give each tier a unique label'),
      )
    }
    seen.add(tier.toLowerCase())
    if (byPixels && row.long_edge_max !== undefined) {
      diagnostics.push(
        problem(
          'tiers_mixed',
          `tier ${tier} is limited by its long edge, but other tiers by their pixels`,
          ['tiers', i, 'long_edge_max'],
          'use long_edge_max for all tiers, or pixels_max for all tiers',
        ),
      )
    } else if (last && max !== undefined) {
      diagnostics.push(
        problem(
          'tiers_end',
          `the last tier ${tier} ends at ${max} pixels, so a larger image would have no tier`,
          ['tiers', i, bound],
          `remove ${bound} from the last tier`,
        ),
      )
    } else if (!last && max === undefined) {
      diagnostics.push(
        problem(
          'tiers_end',
          `tier ${tier} matches every size, so the tiers after it never apply`,
          ['tiers', i],
          `give it a ${bound}`,
        ),
      )
    }
    if (max === undefined) return
    if (max <= below) {
      diagnostics.push(
        problem(
          'tiers_not_rising',
          `tier ${tier} ends at ${max}, not above the ${below} of the tier before it`,
          ['tiers', i, bound],
          `list the tiers in ascending order of ${bound}`,
        ),
      )
    }
    below = Math.max(below, max)
  })
  return [...diagnostics, ...sourceDiagnostics(facet, tiers)]
}

/** The sources of a tier, and the default. */
function sourceDiagnostics(facet: BillingFacet, tiers: NonNullable<BillingFacet['tiers']>): Diagnostic[] {
  const { largest_output, otherwise, price_by, tier_from } = facet
  const diagnostics: Diagnostic[] = []
  const labels = tiers.map(row => row.tier).join(', ')
  if (price_by && !price_by.includes('tier')) {
    const text = 'price_by does not name tier, so these tiers have no effect on prices'
    diagnostics.push(problem('tiers_unused', text, ['tiers'], 'add tier to price_by, or remove tiers'))
    return diagnostics
  }
  if (!tier_from) {
    const text = 'tiers needs tier_from, which determines the size of an image'
    diagnostics.push(problem('tier_from_missing', text, ['tiers'], 'add tier_from: [output], or [request]'))
  }
  if (otherwise === undefined) {
    const text = 'tiers has no otherwise: an image that cannot be measured would have no price'
    diagnostics.push(problem('otherwise_missing', text, ['tiers'], `add otherwise: one of ${labels}`))
  } else if (!price_by && !tiers.some(row => row.tier === otherwise)) {
    const text = `otherwise names ${otherwise}, which is not a tier`
    diagnostics.push(problem('tier_unknown', text, ['otherwise'], `one of ${labels}`))
  }
  if (largest_output !== undefined && !tiers.some(row => row.tier === largest_output)) {
    const text = `largest_output names ${largest_output}, which is not a tier`
    diagnostics.push(problem('tier_unknown', text, ['largest_output'], `one of ${labels}`))
  }
  return diagnostics
}

function withoutTiers({ largest_output, lines, otherwise, price_by, tier_from }: BillingFacet): Diagnostic[] {
  const remedy = 'add tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }]'
  const measures = lines?.some(line => line.per === 'megapixel' && line.of !== 'input')
  if (price_by?.includes('tier'))
    return [problem('tiers_missing', 'price_by names tier, but the family has no tiers', ['price_by'], remedy)]
  if (tier_from && !measures)
    return [problem('tiers_missing', 'tier_from is set, but the family has no tiers', ['tier_from'], remedy)]
  if (largest_output !== undefined) {
    const text = `largest_output names ${largest_output}, but the family has no tiers`
    return [problem('tiers_missing', text, ['largest_output'], remedy)]
  }
  if (otherwise !== undefined && !price_by)
    return [
      problem('tiers_missing', `otherwise names ${otherwise}, but the family has no tiers`, ['otherwise'], remedy),
    ]
  return []
}

/**
 * Reports operations without a description of their answers: an answer whose images are in unknown places is never
 * delivered. Image operations need no description.
 */
function answerDiagnostics(facet: BillingFacet, family: Family, operations: OperationsByName): Diagnostic[] {
  const unknown = [...family.forward.keys()].filter(
    operation => operations.get(operation)?.images === undefined && facet.answers?.[operation] === undefined,
  )
  return unknown.map(operation =>
    problem(
      'answer_shape_unknown',
      `family ${family.name} forwards ${operation}, but the location of images in its responses is not configured`,
      ['answers'],
      `set answers: { ${operation}: data }, or output for images of tools, { at: …, picture: … } for other locations, or none for no images`,
    ),
  )
}
