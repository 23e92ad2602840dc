import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asEffort,
  asList,
  asNumber,
  asObject,
  asText,
  checkTypes,
  compact,
  type Conversation,
  type Feature,
  type FieldTypes,
  fitsStrict,
  isAbsent,
  type JsonObject,
  type Loss,
  type NativeRequest,
  optional,
  type OutputShape,
  type Reasoning,
  type ServiceTier,
  type Tool,
  type ToolChoice,
  unknownFields,
  valueAt,
} from '../neutral/index.ts'
import { parseSchema } from '../openai/settings.ts'
import { joinedName } from './namespaces.ts'
import { parseInput } from './parse-input.ts'

/** Fields of a request without a member in a conversation, with their features. */
const lost: { readonly [field: string]: Feature } = {
  previous_response_id: 'state',
  conversation: 'state',
  prompt: 'state',
  metadata: 'metadata',
}

const types: FieldTypes = {
  number: 'max_output_tokens temperature top_p top_logprobs',
  boolean: 'parallel_tool_calls store background',
  text: 'instructions service_tier prompt_cache_key user safety_identifier',
  list: 'tools include',
  object: 'text reasoning',
  'text or object': 'tool_choice',
}

const known: ReadonlySet<string> = new Set([
  ...'model input instructions tools tool_choice parallel_tool_calls text reasoning'.split(' '),
  ...'max_output_tokens temperature top_p top_logprobs include service_tier store background'.split(' '),
  ...'safety_identifier user prompt_cache_key stream stream_options truncation'.split(' '),
  ...Object.keys(lost),
])

export function parseRequest({ body, stream, issuer }: NativeRequest): Conversation {
  checkTypes(body, types)
  const losses: Loss[] = []
  const instructions = asText(body['instructions'])
  const include = asList(body['include'])
  const top = asNumber(body['top_logprobs'])
  const wantsLogprobs = include.includes('message.output_text.logprobs') || (top ?? 0) > 0
  const user = asText(body['safety_identifier']) ?? asText(body['user'])
  const turns = parseInput(body['input'], { issuer, losses })
  return {
    turns: instructions ? [{ role: 'system', parts: [{ kind: 'text', text: instructions }] }, ...turns] : turns,
    tools: parseAllTools(body, losses),
    ...optional('toolChoice', parseToolChoice(body['tool_choice'], losses)),
    ...(typeof body['parallel_tool_calls'] === 'boolean' && { parallelCalls: body['parallel_tool_calls'] }),
    ...optional('output', parseOutput(valueAt(body['text'], 'format'))),
    ...optional(
      'reasoning',
      parseReasoning(asObject(body['reasoning']), include.includes('reasoning.encrypted_content')),
    ),
    ...optional('maxTokens', asNumber(body['max_output_tokens'])),
    sampling: compact({ temperature: asNumber(body['temperature']), topP: asNumber(body['top_p']) }),
    ...(wantsLogprobs && { logprobs: { top: top ?? 0 } }),
    ...optional('serviceTier', parseTier(body['service_tier'], losses)),
    ...optional('verbosity', asText(valueAt(body['text'], 'verbosity')) as Conversation['verbosity']),
    ...optional('cacheKey', asText(body['prompt_cache_key'])),
    ...optional('user', user),
    stream,
    streamUsage: true,
    losses: [...losses, ...lossesOf(body)],
  }
}

/**
 * A request without `store` is answered, but the response is not stored, and reports that. A request that requires
 * storage is refused.
 */
function lossesOf(body: JsonObject): readonly Loss[] {
  const found: Loss[] = Object.keys(lost)
    .filter(field => !isAbsent(body[field]) && Object.keys(asObject(body[field]) ?? { one: 1 }).length > 0)
    .map(field => ({ feature: lost[field] as Feature, field }))
  for (const field of ['store', 'background']) if (body[field] === true) found.push({ feature: 'state', field })
  if (body['truncation'] === 'auto') found.push({ feature: 'unknown_field', field: 'truncation' })
  return [...found, ...unknownFields(body, known).map(field => ({ feature: 'unknown_field' as const, field }))]
}

/** Tools may be in the input too; the last definition of a name counts. */
function parseAllTools(body: JsonObject, losses: Loss[]): readonly Tool[] {
  const later = asList(body['input']).flatMap((item, i) =>
    valueAt(item, 'type') === 'additional_tools' ? parseTools(valueAt(item, 'tools'), losses, `input[${i}].tools`) : [],
  )
  const all = [...parseTools(body['tools'], losses), ...later]
  return [...new Map(all.map(tool => [tool.name, tool])).values()]
}

/**
 * Tools that run at the vendor. Without a tool search, the model gets all tools of a request, so that it is not needed.
 */
function hostedFeature(type: string | undefined): Feature {
  if (type?.startsWith('web_search')) return 'web_search'
  return type === 'tool_search' ? 'tool_search' : 'hosted_tool'
}

function parseTools(value: Json | undefined, losses: Loss[], at = 'tools'): readonly Tool[] {
  return asList(value).flatMap((tool, i): readonly Tool[] => {
    const own = asObject(tool) ?? {}
    const name = asText(own['name'])
    const { type } = own
    if (type === 'namespace' && name !== undefined)
      return parseTools(own['tools'], losses, `${at}[${i}].tools`).map(one => ({
        ...one,
        name: joinedName(name, one.name),
        space: { name, own: one.name },
      }))
    if (name === undefined || (type !== 'function' && type !== 'custom')) {
      losses.push({ feature: hostedFeature(asText(type)), field: `${at}[${i}]` })
      return []
    }
    const described = optional('description', asText(own['description']))
    if (type === 'custom') {
      const format = asObject(own['format'])
      const isGrammar = format?.['type'] === 'grammar'
      const { syntax, definition } = format ?? {}
      const grammar = { type: 'grammar', grammar: compact({ syntax, definition }) }
      return [{ name, strict: false, ...described, freeform: isGrammar ? { grammar } : {} }]
    }
    const schema = asObject(own['parameters'])
    // The format's default is strict, except for schemas that do not conform.
    const strict = isAbsent(own['strict']) ? schema !== undefined && fitsStrict(schema) : own['strict'] === true
    return [{ name, strict, ...described, ...optional('schema', schema) }]
  })
}

function parseToolChoice(value: Json | undefined, losses: Loss[]): ToolChoice | undefined {
  if (isAbsent(value)) return undefined
  if (value === 'auto' || value === 'none' || value === 'required') return { kind: value }
  const type = asText(valueAt(value, 'type'))
  if (type === 'allowed_tools') {
    const names = asList(valueAt(value, 'tools')).flatMap(tool => asText(valueAt(tool, 'name')) ?? [])
    return { kind: 'allowed', names, isRequired: valueAt(value, 'mode') === 'required' }
  }
  const name = asText(valueAt(value, 'name'))
  if (name !== undefined && (type === 'function' || type === 'custom')) return { kind: 'tool', name }
  losses.push({ feature: 'tool_choice', field: 'tool_choice' })
  return undefined
}

function parseOutput(format: Json | undefined): OutputShape | undefined {
  const type = asText(valueAt(format, 'type'))
  if (type === 'json_object') return { kind: 'json' }
  if (type !== 'json_schema') return type === 'text' ? { kind: 'text' } : undefined
  return parseSchema(asObject(format), 'text.format')
}

function parseReasoning(own: JsonObject | undefined, wantsSeal: boolean): Reasoning | undefined {
  const effort = asEffort(asText(own?.['effort']), 'reasoning.effort')
  const show = asText(own?.['summary']) ?? asText(own?.['generate_summary'])
  if (effort === undefined && show === undefined && !wantsSeal) return undefined
  return {
    ...optional('effort', effort),
    ...(show !== undefined && { show: show === 'concise' || show === 'detailed' ? show : 'auto' }),
    ...(wantsSeal && { wantsSeal }),
  }
}

function parseTier(value: Json | undefined, losses: Loss[]): ServiceTier | undefined {
  if (isAbsent(value)) return undefined
  if (value === 'default') return 'standard'
  if (value === 'auto' || value === 'flex' || value === 'priority') return value
  losses.push({ feature: 'service_tier', field: 'service_tier' })
  return undefined
}
