import type { Json, Usage } from '../kit/index.ts'
import { findOperation } from '../operations/index.ts'
import { makeUsage, readCount, readMember, readSeconds } from './read-members.ts'

/**
 * Usage as the chat-completions style counts it, of every operation: chat and embeddings say `prompt_tokens` and
 * `completion_tokens`, all others `input_tokens` and `output_tokens`; a transcription may count seconds instead
 * (`docs/wire.md#usage`). Cached tokens are among the input's, reasoning among the output's.
 */
export function readOpenaiUsage(operation: string, body: Json): Usage | null {
  const usage = readMember(body, 'usage')
  const input = readCount(usage, 'prompt_tokens') ?? readCount(usage, 'input_tokens')
  const outputTokens = readCount(usage, 'completion_tokens') ?? readCount(usage, 'output_tokens')
  return makeUsage({
    // A reranker tells nothing but a total.
    inputTokens: input ?? (outputTokens === null ? readCount(usage, 'total_tokens') : null),
    cachedInputTokens:
      readCount(usage, 'prompt_tokens_details', 'cached_tokens') ??
      readCount(usage, 'input_tokens_details', 'cached_tokens'),
    outputTokens,
    seconds: findOperation(operation)?.usage?.seconds ? readDuration(body) : null,
  })
}

/**
 * What one event reports: the last chunk of a chat and the events that end an image, a transcript or a speech have
 * `usage`, the event that ends a response has it inside its `response`.
 */
export function readOpenaiEventUsage(operation: string, data: Json): Usage | null {
  const inside = findOperation(operation)?.usage?.inside
  return readOpenaiUsage(operation, inside === undefined ? data : (readMember(data, inside) ?? null))
}

/** Seconds of a transcription that is counted by time; a detailed one tells its length beside or instead of a usage. */
function readDuration(body: Json): number | null {
  return readSeconds(body, 'usage', 'seconds') ?? readSeconds(body, 'duration')
}
