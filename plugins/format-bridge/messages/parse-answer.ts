import type { Json } from '../../../src/plugin-api/index.ts'
import {
  type Answer,
  AnswerFault,
  type AnswerUsage,
  asList,
  asNumber,
  asObject,
  asText,
  optional,
  type ParseFacts,
  type Part,
  type Problem,
  type Stop,
  valueAt,
} from '../neutral/index.ts'
import { parseBlocks } from './parse-blocks.ts'

export function parseAnswer(body: Json, { issuer }: ParseFacts): Answer {
  if (!Array.isArray(valueAt(body, 'content'))) throw new AnswerFault('it has no list of content')
  const parts = parseBlocks(valueAt(body, 'content'), { field: 'content', issuer, losses: [] })
  const usage = parseUsage(valueAt(body, 'usage'))
  return {
    ...optional('id', asText(valueAt(body, 'id'))),
    ...optional('model', asText(valueAt(body, 'model'))),
    parts,
    stop: parseStop(valueAt(body, 'stop_reason'), valueAt(body, 'stop_sequence'), parts),
    ...(usage && { usage: { input: 0, output: 0, ...usage } }),
    ...optional('serviceTier', asText(valueAt(body, 'usage', 'service_tier'))),
  }
}

/** Only a turn with the vendor's own tools can pause, and translated requests do not have these. */
export function parseStop(
  reason: Json | undefined,
  sequence: Json | undefined,
  parts: readonly Pick<Part, 'kind'>[],
): Stop {
  const raw = optional('raw', asText(reason))
  if (reason === 'max_tokens') return { why: 'length', ...raw }
  if (reason === 'model_context_window_exceeded') return { why: 'context', ...raw }
  if (reason === 'refusal') return { why: 'refused', ...raw }
  if (reason === 'stop_sequence') return { why: 'sequence', ...optional('sequence', asText(sequence)), ...raw }
  return { why: parts.some(part => part.kind === 'call') ? 'calls' : 'end', ...raw }
}

/** `input_tokens` excludes cached input here. Members that a record omits keep their value. */
export function parseUsage(usage: Json | undefined): Partial<AnswerUsage> | undefined {
  const own = asObject(usage)
  if (!own) return undefined
  const created = asNumber(own['cache_creation_input_tokens'])
  const hour = asNumber(valueAt(own['cache_creation'], 'ephemeral_1h_input_tokens'))
  const read = asNumber(own['cache_read_input_tokens'])
  const input = asNumber(own['input_tokens'])
  return {
    ...(input !== undefined && { input: input + (read ?? 0) + (created ?? 0) }),
    ...optional('output', asNumber(own['output_tokens'])),
    ...optional('cacheRead', read),
    ...(created !== undefined && { cacheWrite5m: created - (hour ?? 0) }),
    ...optional('cacheWrite1h', hour),
    ...optional('reasoning', asNumber(valueAt(own['output_tokens_details'], 'thinking_tokens'))),
  }
}

const statuses: { readonly [type: string]: number } = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 503,
}

/** @param status the status of the response; 0 for an event of a stream, whose type decides */
export function parseProblem(status: number, body: Json): Problem {
  const type = asText(valueAt(body, 'error', 'type'))
  const found = status === 0 || status === 529 ? statuses[type ?? ''] : status
  const message = asText(valueAt(body, 'error', 'message')) ?? asText(asList(valueAt(body, 'errors'))[0]) ?? ''
  return { status: found ?? 502, message, ...optional('code', type) }
}
