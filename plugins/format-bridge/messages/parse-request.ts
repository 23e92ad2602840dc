import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asEffort,
  asList,
  asNumber,
  asObject,
  asText,
  checkTypes,
  type Conversation,
  type Feature,
  type FieldTypes,
  isAbsent,
  type JsonObject,
  type Loss,
  type NativeRequest,
  optional,
  type OutputShape,
  type Part,
  type Reasoning,
  RequestFault,
  type ServiceTier,
  type Tool,
  type ToolChoice,
  type Turn,
  unknownFields,
  valueAt,
} from '../neutral/index.ts'
import { cacheOf, parseBlocks } from './parse-blocks.ts'

/** Fields of a request without a member in a conversation, with their features. */
const lost: { readonly [field: string]: Feature } = {
  container: 'state',
  mcp_servers: 'hosted_tool',
  speed: 'service_tier',
  inference_geo: 'service_tier',
  context_management: 'unknown_field',
  user_profile_id: 'metadata',
  workspace_id: 'metadata',
}

const types: FieldTypes = {
  number: 'max_tokens temperature top_p top_k',
  text: 'service_tier',
  list: 'stop_sequences tools',
  object: 'tool_choice thinking output_config output_format metadata',
}

const known: ReadonlySet<string> = new Set([
  ...'model messages system max_tokens temperature top_p top_k stop_sequences stream tools tool_choice'.split(' '),
  ...'thinking output_config output_format metadata service_tier cache_control diagnostics'.split(' '),
  ...Object.keys(lost),
])

export function parseRequest({ body, stream, issuer }: NativeRequest): Conversation {
  checkTypes(body, types)
  const losses: Loss[] = []
  const messages = body['messages']
  if (!Array.isArray(messages)) throw new RequestFault('messages', 'a list')
  const system = parseBlocks(withoutNonce(body['system'], losses), { field: 'system', issuer, losses })
  const turns = asList(messages).map((message, i) => parseMessage(message, `messages[${i}]`, issuer, losses))
  const stop = asList(body['stop_sequences']).filter(one => typeof one === 'string')
  return {
    turns: [...(system.length > 0 ? [{ role: 'system', parts: system } as const] : []), ...turns],
    tools: parseTools(body['tools'], losses),
    ...parseChoice(asObject(body['tool_choice']), losses),
    ...optional('output', parseOutput(valueAt(body['output_config'], 'format') ?? body['output_format'])),
    ...optional('reasoning', parseReasoning(body)),
    ...optional('maxTokens', asNumber(body['max_tokens'])),
    sampling: {
      ...optional('temperature', asNumber(body['temperature'])),
      ...optional('topP', asNumber(body['top_p'])),
      ...optional('topK', asNumber(body['top_k'])),
    },
    ...(stop.length > 0 && { stop }),
    ...optional('serviceTier', parseTier(body['service_tier'])),
    ...optional('user', asText(valueAt(body['metadata'], 'user_id'))),
    stream,
    streamUsage: true,
    losses: [...losses, ...lossesOf(body)],
  }
}

/**
 * One client sends data for this format's vendor that differs in each request, so that prefixes would never be equal.
 */
const nonce = 'x-anthropic-billing-header:'

function withoutNonce(system: Json | undefined, losses: Loss[]): Json | undefined {
  const [first, ...rest] = asList(system)
  if (!asText(valueAt(first, 'text'))?.startsWith(nonce)) return system
  losses.push({ feature: 'metadata', field: 'system[0]' })
  return rest
}

function lossesOf(body: JsonObject): readonly Loss[] {
  const found = Object.keys(lost)
    .filter(field => !isAbsent(body[field]) && body[field] !== 'standard' && body[field] !== 'global')
    .map(field => ({ feature: lost[field] as Feature, field }))
  return [...found, ...unknownFields(body, known).map(field => ({ feature: 'unknown_field' as const, field }))]
}

function parseMessage(value: Json, field: string, issuer: string, losses: Loss[]): Turn {
  const role = valueAt(value, 'role')
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw new RequestFault(`${field}.role`, 'user or assistant')
  const parts: readonly Part[] = parseBlocks(valueAt(value, 'content'), { field: `${field}.content`, issuer, losses })
  return { role, parts }
}

/** Without a tool search, the model gets all tools of a request, so that it is not needed. */
function hostedFeature(type: string | undefined): Feature {
  if (type?.startsWith('web_search_')) return 'web_search'
  return type?.startsWith('tool_search_tool_') ? 'tool_search' : 'hosted_tool'
}

function parseTools(tools: Json | undefined, losses: Loss[]): readonly Tool[] {
  return asList(tools).flatMap((tool, i): readonly Tool[] => {
    const type = asText(valueAt(tool, 'type'))
    const name = asText(valueAt(tool, 'name'))
    // Every other type is a tool of the vendor, even if it runs at the client.
    if (name === undefined || (type !== undefined && type !== 'custom')) {
      losses.push({ feature: hostedFeature(type), field: `tools[${i}]` })
      return []
    }
    return [
      {
        name,
        strict: valueAt(tool, 'strict') === true,
        ...optional('description', asText(valueAt(tool, 'description'))),
        ...optional('schema', asObject(valueAt(tool, 'input_schema'))),
        ...cacheOf(tool),
      },
    ]
  })
}

function parseChoice(
  choice: JsonObject | undefined,
  losses: Loss[],
): { readonly toolChoice?: ToolChoice; readonly parallelCalls?: boolean } {
  if (!choice) return {}
  const parallel = choice['disable_parallel_tool_use'] === true ? { parallelCalls: false } : {}
  const { type } = choice
  const name = asText(choice['name'])
  if (type === 'auto' || type === 'none') return { toolChoice: { kind: type }, ...parallel }
  if (type === 'any') return { toolChoice: { kind: 'required' }, ...parallel }
  if (type === 'tool' && name !== undefined) return { toolChoice: { kind: 'tool', name }, ...parallel }
  losses.push({ feature: 'tool_choice', field: 'tool_choice' })
  return parallel
}

function parseOutput(format: Json | undefined): OutputShape | undefined {
  const schema = asObject(valueAt(format, 'schema'))
  return schema && { kind: 'schema', schema, strict: true }
}

function parseReasoning(body: JsonObject): Reasoning | undefined {
  const thinking = asObject(body['thinking'])
  const effort = asEffort(asText(valueAt(body['output_config'], 'effort')), 'output_config.effort')
  const type = asText(thinking?.['type'])
  if (type === undefined) return effort === undefined ? undefined : { effort }
  if (type === 'disabled') return { effort: 'none' }
  const show = thinking?.['display'] === 'omitted' ? ('none' as const) : ('auto' as const)
  const about = { show, wantsSeal: true }
  if (effort !== undefined) return { effort, ...about }
  const budget = type === 'enabled' ? asNumber(thinking?.['budget_tokens']) : undefined
  return { budget: budget ?? 'auto', ...about }
}

function parseTier(tier: Json | undefined): ServiceTier | undefined {
  if (tier === 'auto') return 'auto'
  return tier === 'standard_only' ? 'standard' : undefined
}
