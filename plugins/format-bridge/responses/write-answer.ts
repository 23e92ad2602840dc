import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type Answer,
  type AnswerUsage,
  type Citation,
  compact,
  type JsonObject,
  packSeal,
  type Part,
  type Seal,
  type Stop,
  type TokenLogprob,
  type Tool,
  type WriteFacts,
} from '../neutral/index.ts'
import { writeLogprob } from '../openai/logprobs.ts'
import { namesOfTool } from './namespaces.ts'
import { writeChoice, writeTool } from './write-request.ts'

export function writeAnswer(answer: Answer, facts: WriteFacts): JsonObject {
  const { stop, usage, serviceTier } = answer
  const output = answer.parts.flatMap((part, at): readonly JsonObject[] => {
    const item = writeItem(part, `${facts.id}_${at}`, facts.request.tools)
    return item ? [item] : []
  })
  return writeResponse(facts, { ...stateOf(stop, answer.parts.some(isRefusal)), output, usage, serviceTier })
}

const isRefusal = ({ kind }: Part): boolean => kind === 'refusal'

export type ResponseState = {
  readonly status: 'in_progress' | 'completed' | 'incomplete'
  readonly reason?: string
  readonly output: readonly JsonObject[]
  readonly usage?: AnswerUsage | undefined
  readonly serviceTier?: string | undefined
}

/** The response with its items. It repeats the settings of the request, as the format requires. */
export function writeResponse(
  { id, created, model, request, state: requested }: WriteFacts,
  state: ResponseState,
): JsonObject {
  const { status, reason, output, usage, serviceTier } = state
  const { sampling, tools, toolChoice, reasoning } = request
  return compact({
    id: `resp_${id}`,
    object: 'response',
    created_at: created,
    completed_at: status === 'completed' ? created : null,
    status,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: request.maxTokens ?? null,
    model,
    output,
    parallel_tool_calls: request.parallelCalls ?? true,
    previous_response_id: requested?.before ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.show ?? null },
    service_tier: serviceTier,
    store: requested?.isStored ?? false,
    temperature: sampling.temperature ?? null,
    text: { format: writeFormat(request.output) },
    tool_choice: toolChoice ? writeChoice(toolChoice, tools) : 'auto',
    tools: tools.map(tool => writeTool(tool, [])),
    top_p: sampling.topP ?? null,
    truncation: 'disabled',
    usage: usage ? writeUsage(usage) : null,
    user: null,
    metadata: {},
  })
}

function writeFormat(output: WriteFacts['request']['output']): Json {
  if (output?.kind === 'json') return { type: 'json_object' }
  if (output?.kind !== 'schema') return { type: 'text' }
  const { name = 'answer', schema, strict, description } = output
  return compact({ type: 'json_schema', name, schema, strict, description })
}

/** The item for a part: each part has its own, so that the order is preserved. */
export function writeItem(part: Part, id: string, tools: readonly Tool[]): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      return writeMessage(id, [writeText(part.text, part)])
    case 'refusal':
      return writeMessage(id, [{ type: 'refusal', refusal: part.text }])
    case 'thought':
      return writeThought(id, part.text, part.seal)
    case 'call':
      if (part.freeform)
        return {
          type: 'custom_tool_call',
          id: `ctc_${id}`,
          call_id: part.id,
          ...namesOfTool(part.name, tools),
          input: part.arguments,
          status: 'completed',
        }
      return {
        type: 'function_call',
        id: `fc_${id}`,
        call_id: part.id,
        ...namesOfTool(part.name, tools),
        arguments: part.arguments === '' ? '{}' : part.arguments,
        status: 'completed',
      }
    case 'media':
      return part.source.kind === 'bytes'
        ? { type: 'image_generation_call', id: `ig_${id}`, status: 'completed', result: part.source.base64 }
        : undefined
    default:
      return undefined
  }
}

export function writeMessage(id: string, content: readonly JsonObject[], status = 'completed'): JsonObject {
  return { type: 'message', id: `msg_${id}`, role: 'assistant', status, content }
}

export function writeText(
  text: string,
  more: { readonly citations?: readonly Citation[]; readonly logprobs?: readonly TokenLogprob[] } = {},
): JsonObject {
  const annotations = (more.citations ?? []).flatMap(one => writeCitation(one, text.length))
  return { type: 'output_text', text, annotations, logprobs: (more.logprobs ?? []).map(writeLogprob) }
}

export function writeThought(id: string, text: string, seal: Seal | undefined): JsonObject {
  return compact({
    type: 'reasoning',
    id: `rs_${id}`,
    summary: text === '' ? [] : [{ type: 'summary_text', text }],
    encrypted_content: seal && packSeal(seal),
  })
}

/** The format supports only citations of links. */
export function writeCitation({ url, title, from = 0, to }: Citation, length: number): readonly JsonObject[] {
  if (url === undefined) return []
  return [{ type: 'url_citation', url, title: title ?? url, start_index: from, end_index: to ?? length }]
}

/** A refusal in words completes a response, but a refusal by a filter does not. */
export function stateOf({ why }: Stop, hasRefusal = false): Pick<ResponseState, 'status' | 'reason'> {
  if (why === 'length' || why === 'context') return { status: 'incomplete', reason: 'max_output_tokens' }
  return why === 'refused' && !hasRefusal ? { status: 'incomplete', reason: 'content_filter' } : { status: 'completed' }
}

function writeUsage({
  input,
  output,
  cacheRead = 0,
  cacheWrite5m = 0,
  cacheWrite1h = 0,
  reasoning = 0,
}: AnswerUsage): JsonObject {
  const written = cacheWrite5m + cacheWrite1h
  return {
    input_tokens: input,
    input_tokens_details: compact({
      cached_tokens: cacheRead,
      cache_write_tokens: written > 0 ? written : undefined,
    }),
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  }
}
