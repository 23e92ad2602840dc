import type { Json } from '../../../src/plugin-api/index.ts'
import {
  allowedTools,
  compact,
  type Conversation,
  effortOf,
  fitsStrict,
  type Feature,
  type JsonObject,
  type Loss,
  lostHints,
  nearestEffort,
  type OutputShape,
  type Part,
  type Tool,
  type ToolChoice,
  toToolSchema,
  type Turn,
  type UpstreamFacts,
  userWithin,
  type WrittenRequest,
} from '../neutral/index.ts'
import { userCharsMax, writeSchema, writeTier } from '../openai/settings.ts'
import { writeParts, writeText } from './write-content.ts'

/** The maximum number of stop sequences in a request. */
const stopMax = 4

/** The features that this format supports. */
export const carries: ReadonlySet<Feature> = new Set([
  ...(['stop', 'service_tier', 'media', 'media_link', 'output_schema', 'json_output', 'tool_choice'] as const),
  ...(['parallel_calls', 'logprobs', 'sampling', 'seed', 'penalties', 'logit_bias', 'reasoning', 'detail'] as const),
  ...(['speaker_name', 'media_name', 'user', 'cache_hint', 'result_media', 'thought'] as const),
])

export function writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest {
  const losses: Loss[] = []
  const { sampling, stop, logprobs, stream, toolChoice, parallelCalls } = conversation
  const tools = allowedTools(conversation)
  const messages = conversation.turns.flatMap(turn => writeTurn(turn, { to, losses }))
  const body = compact({
    model: to.model,
    messages,
    tools: tools.length > 0 ? tools.map(tool => writeTool(tool, losses)) : undefined,
    tool_choice: tools.length > 0 && toolChoice ? writeChoice(toolChoice) : undefined,
    parallel_tool_calls: tools.length > 0 ? parallelCalls : undefined,
    response_format: writeOutput(conversation.output, losses),
    reasoning_effort: writeEffort(conversation, to, losses),
    [to.limitField]: conversation.maxTokens,
    ...(to.sampling && {
      temperature: sampling.temperature,
      top_p: sampling.topP,
      presence_penalty: sampling.presencePenalty,
      frequency_penalty: sampling.frequencyPenalty,
    }),
    seed: sampling.seed,
    logit_bias: sampling.logitBias,
    stop: stop?.slice(0, stopMax),
    logprobs: logprobs && true,
    top_logprobs: logprobs && logprobs.top > 0 ? logprobs.top : undefined,
    service_tier: writeTier(conversation.serviceTier),
    user: conversation.user && userWithin(conversation.user, userCharsMax),
    stream: stream || undefined,
    // The gateway counts usage, even if the client does not request it.
    stream_options: stream ? { include_usage: true } : undefined,
  })
  if (!to.sampling && (sampling.temperature !== undefined || sampling.topP !== undefined))
    losses.push({ feature: 'sampling' })
  if (stop && stop.length > stopMax) losses.push({ feature: 'stop' })
  return { body, losses: [...losses, ...lostHints(conversation, carries)] }
}

type Place = { readonly to: UpstreamFacts; readonly losses: Loss[] }

function writeTurn(turn: Turn, place: Place): readonly JsonObject[] {
  if (turn.role === 'assistant') return [writeAssistant(turn, place)]
  if (turn.role === 'system')
    return [compact({ role: 'system', content: writeParts(turn.parts, place), name: turn.name })]
  const results = turn.parts.filter(part => part.kind === 'result')
  // A result cannot contain images, so they follow all results of the step, in a user message.
  const shown = results.flatMap(result => result.parts.filter(part => part.kind === 'media'))
  const others = [...shown, ...turn.parts.filter(part => part.kind !== 'result')]
  const messages = results.map(({ id, parts, failed }) => ({
    role: 'tool',
    tool_call_id: id,
    content: (failed ? 'Error: ' : '') + (writeText(parts) || (parts.length > 0 ? 'See the next message.' : '')),
  }))
  if (others.length === 0 && results.length > 0) return messages
  return [...messages, compact({ role: 'user', content: writeParts(others, place), name: turn.name })]
}

function writeAssistant({ parts, name }: Turn, { to, losses }: Place): JsonObject {
  const calls = parts.filter(part => part.kind === 'call')
  const text = writeText(parts)
  const refusal = parts.find(part => part.kind === 'refusal')?.text
  if (parts.some(part => part.kind === 'media')) losses.push({ feature: 'media' })
  return compact({
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== undefined) ? null : text,
    name,
    refusal,
    reasoning_content: writeThoughts(parts, { to, losses }),
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(call => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments === '' ? '{}' : call.arguments },
            ...(call.seal?.issuer === to.issuer && {
              extra_content: { google: { thought_signature: call.seal.value } },
            }),
          })),
  })
}

/** Vendors that send thoughts require them in the next request; no other vendor gets them. */
function writeThoughts(parts: readonly Part[], { to, losses }: Place): string | undefined {
  const thoughts = parts.filter(part => part.kind === 'thought')
  const own = thoughts.filter(({ seal }) => seal?.issuer === to.issuer)
  if (own.length < thoughts.length) losses.push({ feature: 'thought' })
  const text = own.map(thought => thought.text).join('')
  return text === '' ? undefined : text
}

function writeTool({ name, description, schema, strict }: Tool, losses: Loss[]): JsonObject {
  const parameters = toToolSchema(schema)
  const isStrict = strict && fitsStrict(parameters)
  if (strict && !isStrict) losses.push({ feature: 'strict' })
  return { type: 'function', function: compact({ name, description, parameters, strict: isStrict || undefined }) }
}

function writeChoice(choice: ToolChoice): Json {
  if (choice.kind === 'tool') return { type: 'function', function: { name: choice.name } }
  if (choice.kind === 'allowed') return choice.isRequired ? 'required' : 'auto'
  return choice.kind
}

function writeOutput(output: OutputShape | undefined, losses: Loss[]): Json | undefined {
  if (!output || output.kind === 'text') return undefined
  if (output.kind === 'json') return { type: 'json_object' }
  return { type: 'json_schema', json_schema: writeSchema(output, losses) }
}

function writeEffort({ reasoning }: Conversation, to: UpstreamFacts, losses: Loss[]): string | undefined {
  const effort = reasoning && effortOf(reasoning)
  if (effort === undefined) return undefined
  if (to.reasoning !== 'none') return nearestEffort(effort, to.efforts)
  if (effort !== 'none') losses.push({ feature: 'reasoning' })
  return undefined
}
