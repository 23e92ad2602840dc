import {
  type Diagnostic,
  type Family,
  type Model,
  type OperationsByName,
  rootOf,
  units,
} from '../../src/plugin-api/index.ts'
import { conditionDiagnostics, unknownUnit } from './inspect-conditions.ts'
import type { UsageFacet } from './schema.ts'
import { isFree, priceNames } from './usage-rule.ts'

/** Checks beyond the schema: every model of the family has a price for its usage. */
export function inspect(
  facet: UsageFacet,
  family: Family,
  models: readonly Model[],
  operations: OperationsByName = new Map(),
): Diagnostic[] {
  return [
    ...toolDiagnostics(facet, family),
    ...models.flatMap(model => [
      ...modelDiagnostics(facet, family, model),
      ...unreportedSeconds(family, model, operations),
      ...givenAway(facet, family, model, operations),
    ]),
  ]
}

/** Reports images of tools that neither plugin charges. */
function toolDiagnostics(facet: UsageFacet, family: Family): Diagnostic[] {
  if (facet.image_tools !== 'bill' || family.facets.has('image-tier-billing')) return []
  const message = `family ${family.name} bills images of tools, but has no tiers for them`
  const remedy = 'add an image-tier-billing section with answers: { responses: output }, or set image_tools: refuse'
  return [{ severity: 'error', code: 'image_tools_unpriced', message, remedy, path: ['image_tools'] }]
}

function* modelDiagnostics(facet: UsageFacet, family: Family, model: Model): Iterable<Diagnostic> {
  if (model.free) return
  const priced = priceNames.filter(unit => model.prices.has(unit))
  const finding = { severity: 'error', model: model.name } as const
  if (priced.length === 0) {
    const message = `model ${model.name} of family ${family.name} has no price for its usage`
    const remedy = `add one of ${priceNames.join(', ')}, or set price: free`
    yield { ...finding, code: 'usage_price_missing', message, remedy, path: ['prices'] }
  }
  for (const unit of priced) {
    const parent = units.get(unit)?.parent
    if (parent === undefined || hasParentPrice(parent, priced)) continue
    const head = rootOf(unit)
    const message = `model ${model.name} has a price for ${unit} but none for ${head}, which includes it`
    const remedy = `add a price for ${head}`
    yield { ...finding, code: 'usage_price_missing', message, remedy, path: ['prices', unit] }
  }
  yield* conditionDiagnostics(model)
  if (priced.includes('character') && facet.count_characters_of === undefined) {
    const message = `model ${model.name} is priced by the character, but family ${family.name} does not set the field to count`
    const remedy = 'set count_characters_of: input in its token-usage section'
    yield { ...finding, code: 'usage_field_missing', message, remedy, path: ['prices', 'character'] }
  }
  if (family.facets.has('image-tier-billing')) return
  for (const unit of model.prices.keys())
    if (!priceNames.includes(unit)) yield { ...finding, ...unknownUnit(unit, []), path: ['prices', unit] }
}

/** Reports models priced only by time, although responses need not report the length of a recording. */
function unreportedSeconds({ forward }: Family, model: Model, operations: OperationsByName): Diagnostic[] {
  const priced = priceNames.filter(unit => model.prices.has(unit))
  if (model.free || priced.length === 0 || !priced.every(unit => timeUnits.has(unit))) return []
  const names = [...forward.keys()]
  if (names.length > 0 && names.every(name => operations.get(name)?.reportsSeconds)) return []
  const message = `model ${model.name} is priced only by the second: responses that do not report seconds (text, srt, vtt, streams, speech) are charged by the size of the audio`
  const remedy = 'set a price per request instead, unless the upstream always reports seconds'
  const path = ['prices', priced[0] as string]
  return [{ severity: 'note', model: model.name, code: 'usage_seconds_untold', message, remedy, path }]
}

const timeUnits: ReadonlySet<string> = new Set(['second', 'minute', 'hour'])

function hasParentPrice(unit: string, priced: readonly string[]): boolean {
  const parent = units.get(unit)?.parent
  return priced.includes(unit) || (parent !== undefined && hasParentPrice(parent, priced))
}

/**
 * Reports chargeable usage that is free: tokens of one side of a model priced by the other, or all of them. A price of
 * `"0"` marks intentionally free usage. Existing gateways must continue, so a start does not refuse these.
 */
function* givenAway(
  facet: UsageFacet,
  family: Family,
  model: Model,
  operations: OperationsByName,
): Iterable<Diagnostic> {
  const { name, free, enabled, prices } = model
  if (free || !enabled) return
  const answering = [...family.forward.keys()].filter(operation => {
    const traits = operations.get(operation)
    return traits?.answersTokens && !isFree({ operation, traits }, facet)
  })
  // A family with images has prices by tier, unless it also answers with text.
  if (answering.length === 0 && family.facets.has('image-tier-billing')) return
  const onlyTokens = answering.some(operation => operations.get(operation)?.answersTokens === 'only')
  const [input, output] = [prices.has('input'), prices.has('output')]
  const unpaid = onlyTokens && !input && !output && !prices.has('request') && prices.size > 0
  const finding = { severity: 'warning', code: 'usage_price_untold', model: name, path: ['prices'] } as const
  if (!output && ((input && answering.length > 0) || unpaid)) {
    const message = `model ${name} has no price for output: its responses (${answering.join(', ')}) are free`
    yield { ...finding, message, remedy: remedyFor('output') }
  }
  if (!input && !prices.has('cached_input') && (output || unpaid)) {
    const message = `model ${name} has no price for input: its input is free`
    yield { ...finding, message, remedy: remedyFor('input') }
  }
}

function remedyFor(unit: string): string {
  return `add ${unit}, per million tokens; ${unit}: "0" if it is free`
}
