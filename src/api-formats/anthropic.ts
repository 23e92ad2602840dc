import type { Answer, Failure, Json, Usage } from '../domain/index.ts'
import type { ApiFormat, Head, LimitState, ListedModel } from '../plugin-api/index.ts'
import { findOperation } from '../operations/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { pageAfter, pageBefore, readPageLength } from './page.ts'
import { readAnthropicUsage } from './anthropic-usage.ts'
import { countingUsage, readCount, readMember } from './read-members.ts'
import { listAround } from './object-lists.ts'

/** Error types by status; other statuses have the type of their hundred. */
const words: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
])

/** The messages style. `docs/wire.md` describes what its SDKs send and expect. */
export const anthropic: ApiFormat = {
  name: 'anthropic',
  requestHeaders: ['anthropic-version', 'anthropic-beta'],
  requestDefaults: { 'anthropic-version': '2023-06-01' },
  replyHeaders: new Set(),

  credentials(head: Head): readonly string[] {
    return [bearerKey(head), headerKey(head, 'x-api-key')].filter(key => key !== undefined)
  },

  error(failure: Failure, requestId: string): Answer {
    return {
      status: failure.status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(errorBody(failure, requestId)),
    }
  },

  // SDKs of this style drop records without an `event:` line.
  streamError(failure: Failure, requestId: string): string {
    return `event: error\ndata: ${JSON.stringify(errorBody(failure, requestId))}\n\n`
  },

  heartbeat: 'event: ping\ndata: {"type":"ping"}\n\n',
  lastEvents: ['event: message_stop'],

  usageOf(operation: string, body: Json): Usage | null {
    const counted = findOperation(operation)?.usage?.counted
    if (counted !== undefined) return countingUsage(readCount(body, counted))
    return readAnthropicUsage(readMember(body, 'usage'))
  },

  /** `message_start` reports the input, each `message_delta` the usage so far. */
  usageOfEvent(_operation: string, data: Json): Usage | null {
    return readAnthropicUsage(readMember(data, 'usage') ?? readMember(data, 'message', 'usage'))
  },

  modelList(models: readonly ListedModel[], query: string): object {
    const params = new URLSearchParams(query)
    const limit = readPageLength(params.get('limit'), 20, 1000)
    const before = params.get('before_id')
    const page = before === null ? pageAfter(models, params.get('after_id'), limit) : pageBefore(models, before, limit)
    return {
      data: page.models.map(model => modelObject(model)),
      has_more: page.more,
      first_id: page.models[0]?.name ?? null,
      last_id: page.models.at(-1)?.name ?? null,
    }
  },

  modelOne: modelObject,

  objectList: listAround,
  limitHeaders(limits: readonly LimitState[], nowMs: number): { readonly [name: string]: string } {
    const headers: { [name: string]: string } = {}
    for (const { kind, limit, remaining, resetMs } of limits) {
      headers[`anthropic-ratelimit-${kind}-limit`] = String(limit)
      headers[`anthropic-ratelimit-${kind}-remaining`] = String(remaining)
      headers[`anthropic-ratelimit-${kind}-reset`] = formatInstant(Math.ceil((nowMs + resetMs) / 1000) * 1000)
    }
    return headers
  },
}

function errorBody(failure: Failure, requestId: string): object {
  const { status, message, code } = failure
  const type = words.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message, details: { error_code: code } }, request_id: requestId }
}

function modelObject(model: ListedModel): object {
  return {
    type: 'model',
    id: model.name,
    display_name: model.name,
    created_at: formatInstant(model.since),
    lifecycle: 'active',
  }
}

/** A time as RFC 3339 in whole seconds: `2026-11-20T12:40:59Z`. */
function formatInstant(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
