import type { Family, ForwardRule, Model, CompiledConfig, Route } from '../../domain/index.ts'
import { type Field, type Fields, findOperation } from '../../operations/index.ts'
import type { Language } from '../pages/language.ts'
import { type ApiWords, apiWords } from './api-words.ts'
import type { OperationObject, ParameterObject, PathItems, ResponseObject } from './types.ts'

export type GatewayFacts = { readonly plan: CompiledConfig; readonly baseUrl: string; readonly language: Language }

/** The gateway's endpoints from its routes and families. Each route is one path, which lists its aliases. */
export function describeGateway(facts: GatewayFacts): PathItems {
  const paths: { [path: string]: { [method: string]: OperationObject } } = {}
  for (const route of facts.plan.routes) {
    if (route.path !== route.upstreamPath) continue
    const path = (paths[route.path] ??= {})
    path[route.method.toLowerCase()] = describeRoute(facts, route)
  }
  return paths
}

function describeRoute(facts: GatewayFacts, route: Route): OperationObject {
  const { plan, language } = facts
  const words = apiWords[language]
  const models = route.serve === undefined ? modelsOf(plan, route.operation) : []
  const aliases = plan.routes.filter(one => one.path !== route.path && isSpelling(one, route)).map(one => one.path)
  const samplePath = route.stream === 'always' ? `${route.path}?alt=sse` : route.path
  const known = findOperation(route.operation)
  const [sampleModel] = models.length > 0 ? models : modelsOf(plan, known?.modelsOf ?? route.operation)
  const sample = sampleModel?.name ?? 'MODEL'
  const samples = known?.samples?.({ baseUrl: facts.baseUrl, path: samplePath, model: sample }) ?? []
  return {
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[^A-Za-z0-9]+/g, '_')}`,
    summary: (known?.words[language].summary ?? route.operation) + (route.stream === 'always' ? words.streamed : ''),
    description: describeLimits(words, route, aliases),
    tags: ['gateway'],
    security: securityOf(route.dialect),
    parameters: parametersOf(words, plan, route, models),
    ...(route.body !== 'none' && { requestBody: bodyOf(words, language, route, models) }),
    responses: responsesOf(words, language, plan, route, models),
    // Samples with an SDK call the method without streaming.
    'x-codeSamples': route.stream === 'always' ? samples.slice(0, 1) : samples,
    'x-models': models.map(model => model.name),
  }
}

function isSpelling(one: Route, route: Route): boolean {
  return one.upstreamPath === route.upstreamPath && one.method === route.method && one.operation === route.operation
}

function modelsOf(plan: CompiledConfig, operation: string): readonly Model[] {
  return [...plan.models.values()].filter(({ enabled, family }) => {
    return enabled && (family.forward.size === 0 || family.forward.has(operation))
  })
}

function describeLimits(words: ApiWords, route: Route, aliases: readonly string[]): string {
  const sentences = [
    ...(route.body === 'form' ? [words.formOnly] : []),
    ...(route.body === 'none' ? [] : [words.bodyMax(route.bodyBytesMax)]),
    ...(aliases.length > 0 ? [words.aliases(aliases)] : []),
  ]
  return sentences.join(' ')
}

function securityOf(dialect: string): OperationObject['security'] {
  const schemes = [
    'bearer',
    'xApiKey',
    ...(dialect === 'elevenlabs' || dialect === 'by-caller' ? ['xiApiKey'] : []),
    ...(dialect === 'google' || dialect === 'by-caller' ? ['googHeader', 'googQuery'] : []),
  ]
  return schemes.map(scheme => ({ [scheme]: [] }))
}

function parametersOf(
  words: ApiWords,
  plan: CompiledConfig,
  route: Route,
  models: readonly Model[],
): readonly ParameterObject[] {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): ParameterObject => {
    const description = name === 'model' ? words.pathModel : words.pathId
    return { name, in: 'path', required: true, description, schema: { type: 'string' } }
  })
  if (!repeatable(plan, route, models)) return inPath
  const schema = { type: 'string', minLength: 1, maxLength: 255 }
  return [...inPath, { name: 'Idempotency-Key', in: 'header', description: words.idempotencyKey, schema }]
}

/** Whether a plugin that charges one of the models stores an Idempotency-Key. */
function repeatable({ plugins }: CompiledConfig, { operation }: Route, models: readonly Model[]): boolean {
  return models.some(({ family }) =>
    plugins.inUse.some(plugin => {
      // The plugin's own schema has validated the facet, and its type follows from it.
      const facet = family.facets.get(plugin.name) as never
      return (plugin.facet === undefined || facet !== undefined) && plugin.keepsKeys?.(operation, facet) === true
    }),
  )
}

function bodyOf(
  words: ApiWords,
  language: Language,
  { operation, body }: Route,
  models: readonly Model[],
): NonNullable<OperationObject['requestBody']> {
  const families = [...new Set(models.map(model => model.family))]
  const rules = families.map(family => family.forward.get(operation))
  const fields = fieldsOf(operation, new Set(rules.flatMap(rule => (rule?.kind === 'only' ? [...rule.names] : []))))
  const properties = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      { ...field.schema, description: describeField(words, language, { name, field, operation, families }) },
    ]),
  )
  const required = Object.keys(fields).filter(name => fields[name]?.required)
  const schema = { type: 'object', ...(required.length > 0 && { required }), properties, additionalProperties: true }
  const types = [...(body === 'json' ? [] : ['multipart/form-data']), ...(body === 'form' ? [] : ['application/json'])]
  return { required: true, content: Object.fromEntries(types.map(type => [type, { schema }])) }
}

type FieldUse = {
  readonly name: string
  readonly field: Field
  readonly operation: string
  readonly families: readonly Family[]
}

/** The description of a field, and the families that forward it, if not all of them do. */
function describeField(words: ApiWords, language: Language, { name, field, operation, families }: FieldUse): string {
  const own = field[language]
  // The plugin that parses forms accepts files, regardless of the settings of fields.
  if ('contentMediaType' in field.schema || name === 'image' || families.length === 0) return own
  const takers = families.filter(family => forwards(family.forward.get(operation), name)).map(family => family.name)
  if (takers.length === families.length) return own
  return `${own} ${takers.length === 0 ? words.nowhere : words.somewhere(takers)}`.trim()
}

function forwards(rule: ForwardRule | undefined, name: string): boolean {
  if (!rule) return true
  return rule.kind === 'only' ? rule.names.has(name) : !rule.except.has(name)
}

function responsesOf(
  words: ApiWords,
  language: Language,
  plan: CompiledConfig,
  route: Route,
  models: readonly Model[],
): OperationObject['responses'] {
  const statuses = [
    ...(route.body === 'none' ? [401, 403, 404] : [400, 401, 402, 403, 404]),
    ...(repeatable(plan, route, models) ? [409, 422] : []),
    ...(route.body === 'none' ? [] : [413, 415]),
    ...(route.serve === undefined ? [429, 500, 502, 503, 504] : [429, 500, 503]),
  ].toSorted((a, b) => a - b)
  return {
    200: okOf(words, language, route, models),
    ...Object.fromEntries(
      statuses.map(status => [status, { $ref: `#/components/responses/${route.dialect}-${status}` }]),
    ),
  }
}

function okOf(words: ApiWords, language: Language, route: Route, models: readonly Model[]): ResponseObject {
  const streams = models.some(({ family }) => family.streams.has(route.operation)) && route.stream !== 'never'
  const answer = findOperation(route.operation)?.answer
  const schema = route.serve === 'charge' ? { $ref: '#/components/schemas/Charge' } : answer?.schema(language)
  const content = {
    ...(route.stream !== 'always' && {
      [answer?.type ?? 'application/json']: {
        schema: schema ?? { type: 'object' },
        ...(answer?.example && { example: answer.example }),
      },
    }),
    ...(streams && { 'text/event-stream': { schema: { type: 'string' } } }),
  }
  const limits = route.dialect === 'anthropic' ? 'anthropic-ratelimit' : 'x-ratelimit'
  const headers = Object.fromEntries(
    ['limit', 'remaining', 'reset'].flatMap(what =>
      ['requests', 'tokens'].map(kind => {
        const name = limits === 'x-ratelimit' ? `${limits}-${what}-${kind}` : `${limits}-${kind}-${what}`
        return [name, { $ref: '#/components/headers/limit' }] as const
      }),
    ),
  )
  return {
    description: words.answer,
    headers: {
      'x-request-id': { $ref: '#/components/headers/x-request-id' },
      ...(route.serve === undefined && headers),
    },
    content,
  }
}

/** The fields of an operation: those of its API format, and additional ones of families. */
function fieldsOf(operation: string, named: Iterable<string>): Fields {
  const fields: { [name: string]: Field } = { ...findOperation(operation)?.fields }
  for (const name of named) fields[name] ??= { schema: {}, en: '', zh: '' }
  return fields
}
