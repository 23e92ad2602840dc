import type { Diagnostic, Family, Model } from '../../src/plugin-api/index.ts'
import { adapterOf, formatNames, isTranslated, upstreamFormat } from './formats.ts'
import { wordOf } from './check-losses.ts'
import { clientOf, type Kind, kinds, upstreamOf } from './kinds.ts'
import { type Adapter, type Feature, losses } from './neutral/index.ts'
import type { BridgeFacet } from './schema.ts'

/** The kinds of requests that are not conversations. */
const others: readonly Kind<Pick<Adapter, 'operation' | 'says'>, Pick<Adapter, 'operation' | 'carries'>>[] =
  Object.values(kinds)

/** Reports untranslatable features, for each model and each format that it accepts. */
export function inspect(facet: BridgeFacet, family: Family, models: readonly Model[]): readonly Diagnostic[] {
  const wanted = facet.upstream_format
  const upstream = upstreamFormat({ family }, wanted)
  const problems: Diagnostic[] = []
  if (wanted !== undefined && upstream?.operation !== wanted)
    problems.push({
      severity: 'error',
      code: 'bridge_format',
      message: `'${wanted}' is not an API format that this family forwards and the plugin translates`,
      remedy: `write one of ${formatNames.join(', ')} that forward names`,
      path: ['upstream_format'],
    })
  const reported = new Set<string>()
  for (const model of models) {
    problems.push(...unpricedMarks(model, facet, upstream))
    for (const [i, operation] of [...(model.accepts ?? [])].entries())
      for (const one of inspectFormat({ model, operation, path: ['accepts', i], upstream, facet })) {
        // Reported only once if all models of the family have the same losses.
        if (one.severity !== 'note' || !reported.has(one.message)) problems.push(one)
        reported.add(one.message)
      }
  }
  return problems
}

/** The gateway's marks make vendors write to their cache, which has its own price. */
function unpricedMarks(model: Model, facet: BridgeFacet, upstream: Adapter | undefined): readonly Diagnostic[] {
  const isMarked = facet.prompt_cache === 'auto' && upstream?.writesCacheMarks === true
  const isUsed = [...(model.accepts ?? [])].some(operation => isTranslated(model, operation))
  if (!isMarked || !isUsed || model.free || model.prices.has('cache_write')) return []
  return [
    {
      severity: 'warning',
      code: 'cache_write_unpriced',
      message: `'${model.name}' gets prompts with cache marks, but has no price for cache_write`,
      remedy: 'add prices for cache_write and cached_input, or leave out prompt_cache',
      model: model.name,
      path: ['prices'],
    },
  ]
}

type Accepted = {
  readonly model: Model
  readonly operation: string
  readonly path: readonly (string | number)[]
  readonly upstream: Adapter | undefined
  readonly facet: BridgeFacet
}

function inspectFormat({ model, operation, path, upstream, facet }: Accepted): readonly Diagnostic[] {
  const { client, own, known } = translatorOf(operation, model.family, upstream)
  const about = { model: model.name, path }
  if (!client)
    return [
      {
        severity: 'error',
        code: 'accepts_unknown',
        message: `'${operation}' is not an API format that can be translated`,
        remedy: `write some of ${[...formatNames, ...others.flatMap(({ clients }) => namesOf(clients))].join(', ')}`,
        ...about,
      },
    ]
  // The family serves this operation without a translation.
  if (model.family.forward.size === 0 || model.family.forward.has(operation)) return []
  if (!own)
    return [
      {
        severity: 'error',
        code: 'accepts_nothing',
        message: `the family of '${model.name}' forwards no API format that can be translated`,
        remedy: `add one of ${known.join(', ')} to forward of the family`,
        ...about,
      },
    ]
  const lost = lostFeatures(client, own, facet)
  const refused = lost.filter(feature => (model.onLoss ?? losses[feature]) === 'refuse')
  const dropped = lost.filter(feature => !refused.includes(feature))
  const list = (features: readonly Feature[]): string => features.map(wordOf).join(', ') || 'nothing'
  return [
    {
      severity: 'note',
      code: 'accepts_losses',
      message: `'${operation}' is translated to ${own.operation}: requests with ${list(refused)} are refused; dropped: ${list(dropped)}`,
      ...about,
    },
  ]
}

/**
 * The client format of an operation, the upstream format of the family, and the names of all possible upstream formats.
 */
function translatorOf(operation: string, family: Family, upstream: Adapter | undefined) {
  for (const kind of others) {
    const client = clientOf(kind, operation)
    if (client) return { client, own: upstreamOf(kind, family), known: namesOf(kind.upstreams) }
  }
  return { client: adapterOf(operation), own: upstream, known: formatNames }
}

function namesOf(formats: readonly Pick<Adapter, 'operation'>[]): readonly string[] {
  return formats.map(({ operation }) => operation)
}

/** The features of requests in one format that the other does not support. */
export function lostFeatures(
  client: Pick<Adapter, 'says'>,
  upstream: Pick<Adapter, 'carries'>,
  facet: BridgeFacet,
): readonly Feature[] {
  const isCarried = (feature: Feature): boolean => {
    if (feature === 'media_link' && !facet.links) return false
    if (feature === 'sampling' && !facet.sampling) return false
    if (feature === 'reasoning' && facet.reasoning === 'none') return false
    return feature !== 'n' && upstream.carries.has(feature)
  }
  return (Object.keys(client.says) as Feature[]).filter(feature => !isCarried(feature))
}
