import type { Answer, Failure, Json, Usage } from '../domain/index.ts'
import type { ApiFormat, Head, ListedModel } from '../plugin-api/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { listOperations } from './list-operations.ts'
import { readCount, readMember } from './read-members.ts'
import { firstCount, UsageReport } from './usage-report.ts'
import { xRateLimitHeaders } from './x-ratelimit.ts'
import { listAfter } from './object-lists.ts'

const knownUnits = new Set(['input_tokens', 'output_tokens', 'image_tokens', 'search_units', 'images'])

/** The rerank style, v1 and v2. `docs/wire.md#rerank` describes what its SDK sends and expects. */
export const cohere: ApiFormat = {
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

  // This style has no streams.
  streamError: () => undefined,
  heartbeat: undefined,
  lastEvents: ['event: message-end'],
  usageOfEvent: () => null,

  /** Billed units take precedence; some upstreams of this format report tokens in `usage` instead, or only a total. */
  usageOf(_operation: string, body: Json): Usage | null {
    const meta = readMember(body, 'meta')
    const billed = readMember(meta, 'billed_units')
    const report = new UsageReport()
    report.set(
      'input',
      readCount(billed, 'input_tokens') ??
        readCount(meta, 'tokens', 'input_tokens') ??
        firstCount(readMember(body, 'usage'), 'prompt_tokens', 'total_tokens'),
    )
    report.set('output', readCount(billed, 'output_tokens') ?? readCount(meta, 'tokens', 'output_tokens'))
    report.add('input_image', readCount(billed, 'image_tokens'))
    report.set('search_unit', readCount(billed, 'search_units'))
    report.unread(billed, knownUnits)
    return report.result()
  },

  modelList(models: readonly ListedModel[]): object {
    return { models: models.map(model => modelObject(model)) }
  },

  modelOne: modelObject,
  objectList: listAfter,
  limitHeaders: xRateLimitHeaders,
}

function modelObject({ name, operations }: ListedModel): object {
  return { name, endpoints: listOperations('cohere', operations), finetuned: false }
}
