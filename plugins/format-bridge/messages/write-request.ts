import {
  allowedTools,
  asObject,
  compact,
  type Conversation,
  fitsStrict,
  type Feature,
  hashedUser,
  type JsonObject,
  type Loss,
  lostHints,
  type OutputShape,
  type ServiceTier,
  type Tool,
  toToolSchema,
  type UpstreamFacts,
  userWithin,
  type WrittenRequest,
} from '../neutral/index.ts'
import { toOutputSchema } from './schema.ts'
import { limitCacheHints, writeCache } from './write-cache.ts'
import { writeThinking } from './write-thinking.ts'
import { writeBlocks, writeTurns } from './write-turns.ts'

/** The features that this format supports. */
export const carries: ReadonlySet<Feature> = new Set([
  ...(['stop', 'service_tier', 'media', 'media_link', 'output_schema', 'tool_choice', 'parallel_calls'] as const),
  ...(['result_media', 'sampling', 'top_k', 'reasoning', 'thought', 'cache_hint', 'media_name', 'user'] as const),
])

export function writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest {
  const losses: Loss[] = []
  const { turns } = conversation
  const tools = allowedTools(conversation)
  const place = { to, losses }
  const leading = turns.findIndex(turn => turn.role !== 'system')
  const [first, rest] = leading === -1 ? [turns, []] : [turns.slice(0, leading), turns.slice(leading)]
  const system = first.flatMap(turn => writeBlocks(turn.parts, place))
  const maxTokens = Math.max(1, conversation.maxTokens ?? to.maxTokens)
  const { thinking, effort } = writeThinking(conversation, to, maxTokens, losses)
  const format = writeOutput(conversation.output, losses)
  const body = compact({
    model: to.model,
    max_tokens: maxTokens,
    system: system.length > 0 ? system : undefined,
    messages: writeTurns(rest, place),
    tools: tools.length > 0 ? tools.map(tool => writeTool(tool, losses)) : undefined,
    tool_choice: tools.length > 0 ? writeChoice(conversation) : undefined,
    thinking,
    output_config: effort === undefined && !format ? undefined : compact({ effort, format }),
    ...writeSampling(conversation, {
      to,
      isThinking: thinking !== undefined && thinking['type'] !== 'disabled',
      losses,
    }),
    stop_sequences: writeStop(conversation.stop, losses),
    service_tier: writeTier(conversation.serviceTier, losses),
    metadata: conversation.user === undefined ? undefined : { user_id: writeUser(conversation.user) },
    stream: conversation.stream || undefined,
  })
  if (conversation.sampling.presencePenalty || conversation.sampling.frequencyPenalty)
    losses.push({ feature: 'penalties' })
  return { body: limitCacheHints(body, losses), losses: [...losses, ...lostHints(conversation, carries)] }
}

function writeTool({ name, description, schema, strict, cache }: Tool, losses: Loss[]): JsonObject {
  const own = toToolSchema(schema)
  const isStrict = strict && fitsStrict(own)
  if (strict && !isStrict) losses.push({ feature: 'strict' })
  return compact({ name, description, input_schema: own, strict: isStrict || undefined, ...writeCache(cache) })
}

function writeChoice({ toolChoice, parallelCalls }: Conversation): JsonObject | undefined {
  const single = parallelCalls === false ? { disable_parallel_tool_use: true } : {}
  if (!toolChoice) return parallelCalls === false ? { type: 'auto', ...single } : undefined
  if (toolChoice.kind === 'none') return { type: 'none' }
  if (toolChoice.kind === 'required' || (toolChoice.kind === 'allowed' && toolChoice.isRequired))
    return { type: 'any', ...single }
  if (toolChoice.kind === 'tool') return { type: 'tool', name: toolChoice.name, ...single }
  return { type: 'auto', ...single }
}

function writeOutput(output: OutputShape | undefined, losses: Loss[]): JsonObject | undefined {
  if (output?.kind === 'json') losses.push({ feature: 'json_output' })
  if (output?.kind !== 'schema') return undefined
  if (
    !asObject(output.schema['properties']) &&
    output.schema['anyOf'] === undefined &&
    output.schema['$ref'] === undefined
  )
    losses.push({ feature: 'output_schema' })
  return { type: 'json_schema', schema: toOutputSchema(output.schema) }
}

type SamplingPlace = { readonly to: UpstreamFacts; readonly isThinking: boolean; readonly losses: Loss[] }

/** The maximum temperature is 1 here. A reasoning model accepts none of these settings. */
function writeSampling({ sampling }: Conversation, { to, isThinking, losses }: SamplingPlace) {
  const { temperature, topP, topK } = sampling
  if (!to.sampling || isThinking) {
    if ((temperature !== undefined && temperature !== 1) || topP !== undefined) losses.push({ feature: 'sampling' })
    if (topK !== undefined) losses.push({ feature: 'top_k' })
    return {}
  }
  if ((temperature !== undefined && temperature > 1) || (temperature !== undefined && topP !== undefined))
    losses.push({ feature: 'sampling' })
  return {
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    // Newer models refuse both together.
    top_p: temperature === undefined ? topP : undefined,
    top_k: topK,
  }
}

/** Blank sequences are dropped, because the vendor refuses them. */
function writeStop(stop: Conversation['stop'], losses: Loss[]): readonly string[] | undefined {
  const written = stop?.filter(one => one.trim() !== '')
  if (written && written.length < (stop?.length ?? 0)) losses.push({ feature: 'stop' })
  return written && written.length > 0 ? written : undefined
}

function writeTier(tier: ServiceTier | undefined, losses: Loss[]): string | undefined {
  if (tier === 'auto') return 'auto'
  if (tier === 'standard') return 'standard_only'
  if (tier !== undefined) losses.push({ feature: 'service_tier' })
  return undefined
}

/** The maximum length of an end user's id. */
const userCharsMax = 256

/** This field must not contain a person's name or address, so an e-mail address is hashed. */
function writeUser(user: string): string {
  return user.includes('@') ? hashedUser(user) : userWithin(user, userCharsMax)
}
