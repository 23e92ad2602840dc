import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asEffort,
  asList,
  asNumber,
  asObject,
  asText,
  type CallPart,
  checkTypes,
  type Conversation,
  type Feature,
  type FieldTypes,
  groupRuns,
  isAbsent,
  joinTurns,
  type JsonObject,
  type Loss,
  type NativeRequest,
  optional,
  type OutputShape,
  type Part,
  RequestFault,
  type Sampling,
  type ServiceTier,
  type Tool,
  type ToolChoice,
  type Turn,
  unknownFields,
  unpackSeal,
  valueAt,
} from '../neutral/index.ts'
import { parseSchema } from '../openai/settings.ts'
import { argumentsOf } from './parse-answer.ts'
import { parseContent } from './parse-content.ts'

/** Fields of a request without a member in a conversation, with their features. */
const lost: { readonly [field: string]: Feature } = {
  audio: 'output_modality',
  web_search_options: 'hosted_tool',
  metadata: 'metadata',
  prediction: 'unknown_field',
}

const types: FieldTypes = {
  number:
    'max_completion_tokens max_tokens n temperature top_p top_k seed presence_penalty frequency_penalty top_logprobs',
  boolean: 'logprobs parallel_tool_calls store',
  text: 'reasoning_effort service_tier verbosity prompt_cache_key user safety_identifier',
  list: 'tools functions modalities',
  object: 'response_format logit_bias stream_options',
  'text or list': 'stop',
  'text or object': 'tool_choice function_call',
}

const known: ReadonlySet<string> = new Set([
  ...'model messages tools tool_choice functions function_call parallel_tool_calls response_format'.split(' '),
  ...'reasoning_effort max_completion_tokens max_tokens n temperature top_p top_k seed presence_penalty'.split(' '),
  ...'frequency_penalty logit_bias stop logprobs top_logprobs service_tier verbosity prompt_cache_key user'.split(' '),
  ...'safety_identifier store stream stream_options modalities'.split(' '),
  ...Object.keys(lost),
])

export function parseRequest({ body, stream, issuer }: NativeRequest): Conversation {
  checkTypes(body, types)
  const losses: Loss[] = []
  const messages = body['messages']
  if (!Array.isArray(messages)) throw new RequestFault('messages', 'a list')
  const turns = asList(messages).map((message, i) => parseMessage(message, `messages[${i}]`, issuer, losses))
  const maxTokens = asNumber(body['max_completion_tokens']) ?? asNumber(body['max_tokens'])
  const user = asText(body['safety_identifier']) ?? asText(body['user'])
  return {
    turns: mergeResults(turns),
    tools: parseTools(body, losses),
    ...optional('toolChoice', parseToolChoice(body['tool_choice'] ?? body['function_call'], losses)),
    ...optional('parallelCalls', asBoolean(body['parallel_tool_calls'])),
    ...optional('output', parseOutput(body['response_format'])),
    ...optional('reasoning', parseReasoning(body)),
    ...optional('maxTokens', maxTokens),
    ...optional('n', asNumber(body['n'])),
    sampling: parseSampling(body),
    ...optional('stop', parseStop(body['stop'])),
    ...(body['logprobs'] === true && { logprobs: { top: asNumber(body['top_logprobs']) ?? 0 } }),
    ...optional('serviceTier', parseTier(body['service_tier'], losses)),
    ...optional('verbosity', asText(body['verbosity']) as Conversation['verbosity']),
    ...optional('cacheKey', asText(body['prompt_cache_key'])),
    ...optional('user', user),
    stream,
    streamUsage: valueAt(body['stream_options'], 'include_usage') === true,
    losses: [...losses, ...lossesOf(body)],
  }
}

function lossesOf(body: JsonObject): readonly Loss[] {
  const found: Loss[] = Object.keys(lost)
    .filter(field => !isAbsent(body[field]))
    .map(field => ({ feature: lost[field] as Feature, field }))
  if (body['store'] === true) found.push({ feature: 'state', field: 'store' })
  if (asList(body['modalities']).some(one => one !== 'text'))
    found.push({ feature: 'output_modality', field: 'modalities' })
  return [...found, ...unknownFields(body, known).map(field => ({ feature: 'unknown_field' as const, field }))]
}

function parseMessage(value: Json, field: string, issuer: string, losses: Loss[]): Turn {
  const message = asObject(value)
  if (!message) throw new RequestFault(field, 'an object')
  const { role, content } = message
  const name = asText(message['name'])
  const named = name === undefined ? {} : { name }
  const parts = parseContent(content, `${field}.content`, losses)
  if (role === 'system' || role === 'developer') return { role: 'system', parts, ...named }
  if (role === 'user') return { role: 'user', parts, ...named }
  if (role === 'assistant')
    return { role: 'assistant', parts: parseAssistant(message, parts, { field, issuer, losses }) }
  if (role !== 'tool' && role !== 'function')
    throw new RequestFault(`${field}.role`, 'system, developer, user, assistant or tool')
  const id = asText(message['tool_call_id']) ?? name
  if (id === undefined) throw new RequestFault(`${field}.tool_call_id`, 'the id of a call')
  const results = parts.filter(part => part.kind === 'text' || part.kind === 'media')
  return { role: 'user', parts: [{ kind: 'result', id, ...named, parts: results }] }
}

type Place = { readonly field: string; readonly issuer: string; readonly losses: Loss[] }

/** Thoughts are first, then the text, then the calls, because this format has no other order. */
function parseAssistant(
  message: JsonObject,
  content: readonly Part[],
  { field, issuer, losses }: Place,
): readonly Part[] {
  const calls = asList(message['tool_calls']).map((call, i) => parseCall(call, `${field}.tool_calls[${i}]`, issuer))
  const old = asObject(message['function_call'])
  const oldName = asText(old?.['name'])
  const refusal = asText(message['refusal'])
  if (!isAbsent(message['audio'])) losses.push({ feature: 'media', field: `${field}.audio` })
  return [
    ...parseThoughts(message, issuer),
    ...content,
    ...(refusal ? [{ kind: 'refusal', text: refusal } as const] : []),
    ...calls,
    ...(old && oldName ? [{ kind: 'call', id: oldName, name: oldName, arguments: argumentsOf(old) } as const] : []),
  ]
}

/** `thinking_blocks` contains the seals; other gateways use this name too. */
function parseThoughts(message: JsonObject, issuer: string): readonly Part[] {
  const blocks = asList(message['thinking_blocks']).flatMap(block => {
    const text = asText(valueAt(block, 'thinking')) ?? ''
    const sealed = asText(valueAt(block, 'signature')) ?? asText(valueAt(block, 'data'))
    if (text === '' && sealed === undefined) return []
    const seal = sealed === undefined ? {} : { seal: unpackSeal(sealed, issuer) }
    return [{ kind: 'thought' as const, form: text === '' ? ('hidden' as const) : ('full' as const), text, ...seal }]
  })
  if (blocks.length > 0) return blocks
  const text = asText(message['reasoning_content']) ?? asText(message['reasoning'])
  return text ? [{ kind: 'thought', form: 'full', text }] : []
}

function parseCall(value: Json, field: string, issuer: string): CallPart {
  const id = asText(valueAt(value, 'id'))
  const own = asObject(valueAt(value, 'function'))
  const custom = asObject(valueAt(value, 'custom'))
  const name = asText((own ?? custom)?.['name'])
  if (id === undefined || name === undefined) throw new RequestFault(field, 'a call with an id and a name')
  const sealed = asText(valueAt(value, 'extra_content', 'google', 'thought_signature'))
  const seal = sealed === undefined ? {} : { seal: unpackSeal(sealed, issuer) }
  if (custom) return { kind: 'call', id, name, arguments: asText(custom['input']) ?? '', freeform: true, ...seal }
  return { kind: 'call', id, name, arguments: argumentsOf(own), ...seal }
}

/** Combines the results of one step into one turn. */
function mergeResults(turns: readonly Turn[]): readonly Turn[] {
  const isResult = ({ role, parts }: Turn): boolean => role === 'user' && parts[0]?.kind === 'result'
  return groupRuns(turns, (first, turn) => isResult(first) && isResult(turn)).map(joinTurns)
}

function parseTools(body: JsonObject, losses: Loss[]): readonly Tool[] {
  const old = asList(body['functions']).map(one => ({ type: 'function', function: one }))
  return [...asList(body['tools']), ...old].flatMap((tool, i): readonly Tool[] => {
    const own = asObject(valueAt(tool, 'function'))
    const custom = asObject(valueAt(tool, 'custom'))
    const name = asText((own ?? custom)?.['name'])
    if (name === undefined) {
      losses.push({ feature: 'hosted_tool', field: `tools[${i}]` })
      return []
    }
    const description = asText((own ?? custom)?.['description'])
    const described = optional('description', description)
    if (custom) {
      const grammar = asObject(custom['format'])
      return [{ name, strict: false, ...described, freeform: grammar && grammar['type'] !== 'text' ? { grammar } : {} }]
    }
    const schema = asObject(own?.['parameters'])
    return [{ name, strict: own?.['strict'] === true, ...described, ...(schema && { schema }) }]
  })
}

function parseToolChoice(value: Json | undefined, losses: Loss[]): ToolChoice | undefined {
  if (isAbsent(value)) return undefined
  if (value === 'auto' || value === 'none' || value === 'required') return { kind: value }
  const allowed = asObject(valueAt(value, 'allowed_tools'))
  if (allowed) {
    const names = asList(allowed['tools']).flatMap(
      tool => asText(valueAt(tool, 'function', 'name')) ?? asText(valueAt(tool, 'custom', 'name')) ?? [],
    )
    return { kind: 'allowed', names, isRequired: allowed['mode'] === 'required' }
  }
  const name =
    asText(valueAt(value, 'function', 'name')) ??
    asText(valueAt(value, 'custom', 'name')) ??
    asText(valueAt(value, 'name'))
  if (name !== undefined) return { kind: 'tool', name }
  losses.push({ feature: 'tool_choice', field: 'tool_choice' })
  return undefined
}

function parseOutput(value: Json | undefined): OutputShape | undefined {
  const type = asText(valueAt(value, 'type'))
  if (type === 'json_object') return { kind: 'json' }
  if (type !== 'json_schema') return type === 'text' ? { kind: 'text' } : undefined
  return parseSchema(asObject(valueAt(value, 'json_schema')), 'response_format.json_schema')
}

/** In this format, thoughts are always shown if the upstream sends them. */
function parseReasoning(body: JsonObject): Conversation['reasoning'] {
  const effort = asEffort(asText(body['reasoning_effort']), 'reasoning_effort')
  return effort === undefined ? undefined : { effort }
}

function parseSampling(body: JsonObject): Sampling {
  const bias = asObject(body['logit_bias'])
  return {
    ...optional('temperature', asNumber(body['temperature'])),
    ...optional('topP', asNumber(body['top_p'])),
    ...optional('topK', asNumber(body['top_k'])),
    ...optional('seed', asNumber(body['seed'])),
    ...optional('presencePenalty', asNumber(body['presence_penalty'])),
    ...optional('frequencyPenalty', asNumber(body['frequency_penalty'])),
    ...(bias && Object.keys(bias).length > 0 && { logitBias: bias as { readonly [token: string]: number } }),
  }
}

function parseStop(value: Json | undefined): readonly string[] | undefined {
  if (typeof value === 'string') return [value]
  const texts = asList(value).filter(one => typeof one === 'string')
  return texts.length > 0 ? texts : undefined
}

function parseTier(value: Json | undefined, losses: Loss[]): ServiceTier | undefined {
  const tier = asText(value)
  if (tier === undefined) return undefined
  if (tier === 'default') return 'standard'
  if (tier === 'auto' || tier === 'flex' || tier === 'priority') return tier
  losses.push({ feature: 'service_tier', field: 'service_tier' })
  return undefined
}

function asBoolean(value: Json | undefined): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}
