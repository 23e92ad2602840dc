import type { Family, Model, OperationsByName, Diagnostic } from '../../src/kit/index.ts'
import type { BillingFacet } from './schema.ts'

/** What the schema cannot see: tiers in their order, a known answer of each operation, and a price of every model for each tier. */
export function inspect(
  facet: BillingFacet,
  family: Family,
  models: readonly Model[],
  operations: OperationsByName,
): Diagnostic[] {
  return [
    ...tierDiagnostics(facet),
    ...answerDiagnostics(facet, family, operations),
    ...models.flatMap(model => priceDiagnostics(facet, family, model)),
  ]
}

function tierDiagnostics(facet: BillingFacet): Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  const seen = new Set<string>()
  let below = 0
  facet.tiers.forEach(({ tier, long_edge_max }, i) => {
    const last = i === facet.tiers.length - 1
    // Requested labels such as `1k` find their tier in any case, so two may not differ by case alone.
    if (seen.has(tier.toLowerCase())) {
      diagnostics.push(
        error('tier_twice', `tier ${tier} is listed twice`, ['tiers', i, 'tier'], 'give each tier its own label'),
      )
    }
    seen.add(tier.toLowerCase())
    if (last && long_edge_max !== undefined) {
      diagnostics.push(
        error(
          'tiers_end',
          `the last tier ${tier} stops at ${long_edge_max} pixels, and a larger image would have none`,
          ['tiers', i, 'long_edge_max'],
          'leave long_edge_max out of the last tier',
        ),
      )
    } else if (!last && long_edge_max === undefined) {
      diagnostics.push(
        error(
          'tiers_end',
          `tier ${tier} takes every size, so those after it cannot occur`,
          ['tiers', i],
          'give it a long_edge_max',
        ),
      )
    }
    if (long_edge_max === undefined) return
    if (long_edge_max <= below) {
      diagnostics.push(
        error(
          'tiers_not_rising',
          `tier ${tier} ends at ${long_edge_max}, not above the ${below} of the tier before it`,
          ['tiers', i, 'long_edge_max'],
          'list the tiers with rising long_edge_max',
        ),
      )
    }
    below = Math.max(below, long_edge_max)
  })
  if (!facet.tiers.some(row => row.tier === facet.otherwise)) {
    const labels = facet.tiers.map(row => row.tier).join(', ')
    diagnostics.push(
      error('tier_unknown', `otherwise names ${facet.otherwise}, which is no tier`, ['otherwise'], `one of ${labels}`),
    )
  }
  return diagnostics
}

/** An answer of which nobody knows where its images stand is never handed out; those of image operations need no word. */
function answerDiagnostics(facet: BillingFacet, family: Family, operations: OperationsByName): Diagnostic[] {
  const unknown = [...family.forward.keys()].filter(
    operation => operations.get(operation)?.images === undefined && facet.answers?.[operation] === undefined,
  )
  return unknown.map(operation =>
    error(
      'answer_shape_unknown',
      `family ${family.name} forwards ${operation}, and nothing says where images stand in its answers`,
      ['answers'],
      `say answers: { ${operation}: data }, output where tools make them, or none where it makes none`,
    ),
  )
}

function priceDiagnostics(facet: BillingFacet, family: Family, model: Model): Diagnostic[] {
  if (model.free) return []
  const diagnostics: Diagnostic[] = []
  for (const { tier } of facet.tiers) {
    if (model.prices.has(tier)) continue
    const remedy = `add ${tier}: "…" to its prices`
    const message = `model ${model.name} has no price for tier ${tier} of family ${family.name}`
    diagnostics.push({ ...error('tier_unpriced', message, ['prices'], remedy), model: model.name })
  }
  for (const label of model.prices.keys()) {
    if (facet.tiers.some(row => row.tier === label)) continue
    const message = `the price for ${label} is of no tier of family ${family.name}, so no image is ever charged it`
    diagnostics.push({ severity: 'note', code: 'price_unused', message, path: ['prices', label], model: model.name })
  }
  return diagnostics
}

function error(code: string, message: string, path: readonly (string | number)[], remedy: string): Diagnostic {
  return { severity: 'error', code, message, path, remedy }
}
