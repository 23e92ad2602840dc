import type { Answer, Dialect, Failure, Head, Json, ListedModel, Usage } from '../kit/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { listOperations } from './list-operations.ts'
import { makeUsage, readCount, readMember } from './read-members.ts'
import { xRateLimitHeaders } from './x-ratelimit.ts'

/** The rerank style, v1 and v2. What its SDK sends and expects: `docs/wire.md#rerank`. */
export const cohere: Dialect = {
  name: 'cohere',
  requestHeaders: [],
  replyHeaders: new Set(),

  credentials(head: Head): readonly string[] {
    return [bearerKey(head), headerKey(head, 'x-api-key')].filter(key => key !== undefined)
  },

  error(failure: Failure, requestId: string): Answer {
    return {
      status: failure.status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message: failure.message, id: requestId }),
    }
  },

  // Nothing streams in this style.
  streamError: () => undefined,
  heartbeat: undefined,
  usageOfEvent: () => null,

  /** What is billed comes first; some upstreams of this style tell tokens in `usage` instead, or nothing but a total. */
  usageOf(_operation: string, body: Json): Usage | null {
    const meta = readMember(body, 'meta')
    const inputTokens =
      readCount(meta, 'billed_units', 'input_tokens') ??
      readCount(meta, 'tokens', 'input_tokens') ??
      readCount(body, 'usage', 'prompt_tokens') ??
      readCount(body, 'usage', 'total_tokens')
    const outputTokens = readCount(meta, 'billed_units', 'output_tokens') ?? readCount(meta, 'tokens', 'output_tokens')
    return makeUsage({ inputTokens, outputTokens, searchUnits: readCount(meta, 'billed_units', 'search_units') })
  },

  modelList(models: readonly ListedModel[]): object {
    return { models: models.map(model => modelObject(model)) }
  },

  modelOne: modelObject,
  limitHeaders: xRateLimitHeaders,
}

function modelObject({ name, operations }: ListedModel): object {
  return { name, endpoints: listOperations('cohere', operations), finetuned: false }
}
