import type { Json, Usage } from '../domain/index.ts'
import { findOperation } from '../operations/index.ts'
import { readCount, readMember, readSeconds } from './read-members.ts'
import { firstCount, firstMember, UsageReport } from './usage-report.ts'

const knownMembers = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'prompt_cache_hit_tokens',
  'prompt_cache_miss_tokens',
  'reasoning_tokens',
  'seconds',
  'num_sources_used',
  'num_search_queries',
  'cost',
  'cost_in_usd_ticks',
  // A count of images.
  'generated_images',
])
const knownDetails = new Set([
  'text_tokens',
  'audio_tokens',
  'image_tokens',
  'video_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'cache_creation_tokens',
  'reasoning_tokens',
  // Part of the completion count, whether the prediction was used or not.
  'accepted_prediction_tokens',
  'rejected_prediction_tokens',
])

/**
 * Usage in the chat-completions API format, for every operation: chat and embeddings report `prompt_tokens` and
 * `completion_tokens`, all others `input_tokens` and `output_tokens`; a transcription may count seconds instead
 * (`docs/wire.md#usage`). Cached tokens are part of the input, reasoning tokens of the output.
 */
export function readOpenaiUsage(operation: string, body: Json): Usage | null {
  const report = new UsageReport()
  const usage = readMember(body, 'usage') ?? usageOfChoice(readMember(body, 'choices'))
  readTokens(report, usage)
  addDrawings(report, body)
  if (findOperation(operation)?.usage?.seconds) report.set('second', readDuration(body))
  readCalls(report, usage, body)
  report.fact('service_tier', firstMember(usage, 'service_tier') ?? readMember(body, 'service_tier'))
  report.cost(readMember(usage, 'cost'))
  return report.result()
}

/**
 * The usage in one event: the last chunk of a chat and the events that end an image, a transcript or a speech have
 * `usage`, the event that ends a response has it inside its `response`.
 */
export function readOpenaiEventUsage(operation: string, data: Json): Usage | null {
  const inside = findOperation(operation)?.usage?.inside
  if (inside === undefined) return readOpenaiUsage(operation, data)
  // Additional work, such as a transcription, reports its own usage.
  const isOwn = readMember(data, 'usage') !== undefined
  return readOpenaiUsage(operation, readMember(data, inside) ?? (isOwn ? data : null))
}

function readTokens(report: UsageReport, usage: Json | undefined): void {
  const input = firstCount(usage, 'prompt_tokens', 'input_tokens')
  const completion = firstCount(usage, 'completion_tokens', 'output_tokens')
  const total = readCount(usage, 'total_tokens')
  // A reranker reports only a total.
  report.set('input', input ?? (completion === null ? total : null))
  const inputDetails = firstMember(usage, 'prompt_tokens_details', 'input_tokens_details', 'input_token_details')
  const outputDetails = firstMember(usage, 'completion_tokens_details', 'output_tokens_details', 'output_token_details')
  const reasoning = readCount(outputDetails, 'reasoning_tokens') ?? readCount(usage, 'reasoning_tokens')
  report.set('output', outputOf(input, completion, total, reasoning))
  if (inputDetails !== undefined || usage !== undefined) readInputDetails(report, usage, inputDetails)
  report.add('reasoning', reasoning)
  report.add('output_audio', readCount(outputDetails, 'audio_tokens'))
  report.add('output_image', readCount(outputDetails, 'image_tokens'))
  report.separateCached()
  report.unread(usage, knownMembers)
  report.unread(inputDetails, knownDetails)
  report.unread(outputDetails, knownDetails)
}

/**
 * Some upstreams count reasoning only in the total and not in the completion; reasoning above the completion was not
 * part of it either.
 */
function outputOf(
  input: number | null,
  completion: number | null,
  total: number | null,
  reasoning: number | null,
): number | null {
  const rest = total !== null && input !== null ? total - input : 0
  if (completion === null) return rest > 0 ? rest : null
  if (rest > completion) return rest
  return total === null && reasoning !== null && reasoning > completion ? completion + reasoning : completion
}

function readInputDetails(report: UsageReport, usage: Json | undefined, details: Json | undefined): void {
  const cached = readCount(details, 'cached_tokens') ?? firstCount(usage, 'prompt_cache_hit_tokens', 'cached_tokens')
  report.set('cached_input', cached)
  const kinds = readMember(details, 'cached_tokens_details')
  report.add('cached_input_audio', readCount(kinds, 'audio_tokens'))
  report.add('cached_input_image', readCount(kinds, 'image_tokens'))
  report.add('cache_write', firstCount(details, 'cache_write_tokens', 'cache_creation_tokens'))
  // The part of the writes that is cached for longer than half an hour.
  report.add('cache_write_1h', readCount(readMember(details, 'cache_write_tokens_details'), 'ttl_12h_tokens'))
  report.add('input_audio', readCount(details, 'audio_tokens'))
  report.add('input_image', readCount(details, 'image_tokens'))
  report.add('input_video', readCount(details, 'video_tokens'))
}

/** Tokens of the model that writes a drawing (SVG): next to the usage of images, or in the output item of the tool. */
function addDrawings(report: UsageReport, body: Json): void {
  for (const one of [body, ...outputOfBody(body)]) {
    const drawing = readMember(one, 'svg_usage')
    report.add('input', readCount(drawing, 'input_tokens'))
    report.add('output', readCount(drawing, 'output_tokens'))
    report.add('reasoning', readCount(drawing, 'reasoning_tokens'))
  }
}

function outputOfBody(body: Json): readonly Json[] {
  const output = readMember(body, 'output')
  return Array.isArray(output) ? (output as readonly Json[]) : []
}

/** Calls of tools that the upstream runs: counts of charged calls, or one output item each. */
function readCalls(report: UsageReport, usage: Json | undefined, body: Json): void {
  const counted = readMember(usage, 'server_tool_use')
  const searches =
    readCount(counted, 'web_search_requests') ??
    readCount(readMember(body, 'tool_usage'), 'web_search', 'num_requests') ??
    firstCount(usage, 'num_search_queries', 'num_sources_used')
  report.add('web_search', searches)
  report.add('code_execution', readCount(counted, 'code_execution_requests'))
  const containers = new Set<Json>()
  for (const item of outputOfBody(body)) {
    const type = readMember(item, 'type')
    if (type === 'web_search_call' && searches === null && isSearch(item)) report.add('web_search', 1)
    if (type === 'file_search_call') report.add('file_search', 1)
    if (type === 'code_interpreter_call') containers.add(readMember(item, 'container_id') ?? containers.size)
    // A shell at the client has no container.
    const container = type === 'shell_call' ? readMember(item, 'environment', 'container_id') : undefined
    if (container !== undefined) containers.add(container)
  }
  report.add('code_execution', containers.size)
}

/** Opening a page from the results is part of the search; only the search itself is charged. */
function isSearch(item: Json): boolean {
  const action = readMember(item, 'action', 'type')
  return action === undefined || action === 'search'
}

/** Some upstreams report the usage of a stream in its last choice. */
function usageOfChoice(choices: Json | undefined): Json | undefined {
  if (!Array.isArray(choices)) return undefined
  for (const choice of choices as readonly Json[]) {
    const usage = readMember(choice, 'usage')
    if (usage !== undefined && usage !== null) return usage
  }
  return undefined
}

/**
 * Seconds of a transcription that is charged by time; a detailed one reports its length next to its usage, or instead
 * of it.
 */
function readDuration(body: Json): number | null {
  return readSeconds(body, 'usage', 'seconds') ?? readSeconds(body, 'duration')
}
