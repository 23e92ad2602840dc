import type { Answer, Failure, Json, Usage } from '../domain/index.ts'
import type { ApiFormat, Head, ListedModel } from '../plugin-api/index.ts'
import { findOperation } from '../operations/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { errorObject } from './google-error.ts'
import { googleSession } from './google-session.ts'
import { readGoogleUsage } from './google-usage.ts'
import { listOperations } from './list-operations.ts'
import { pageAfter, readPageLength } from './page.ts'
import { queryKeys } from './query-key.ts'
import { countingUsage, readCount, readMember } from './read-members.ts'
import { storageUsage } from './storage-usage.ts'
import { xRateLimitHeaders } from './x-ratelimit.ts'
import { listByToken } from './object-lists.ts'

const rpc = 'type.googleapis.com/google.rpc'

/** The generative-language style. `docs/wire.md#generative-language-paths` describes what its SDKs send and expect. */
export const google: ApiFormat = {
  name: 'google',
  requestHeaders: [
    'x-goog-upload-protocol',
    'x-goog-upload-command',
    'x-goog-upload-offset',
    'x-goog-upload-file-name',
    'x-goog-upload-header-content-length',
    'x-goog-upload-header-content-type',
  ],
  replyHeaders: new Set([
    'x-goog-upload-status',
    'x-goog-upload-url',
    'x-goog-upload-size-received',
    'x-goog-upload-chunk-granularity',
  ]),
  session: googleSession,

  keyPlaces: '"x-goog-api-key: <API_KEY>" or "?key=<API_KEY>"',

  credentials(head: Head): readonly string[] {
    const named = [bearerKey(head), headerKey(head, 'x-api-key'), headerKey(head, 'x-goog-api-key')]
    return [
      ...named.filter(key => key !== undefined),
      ...queryKeys(head.query),
      ...queryKeys(head.query, 'access_token'),
    ]
  },

  error(failure: Failure, requestId: string): Answer {
    const error = { ...errorObject(failure), details: errorDetails(failure, requestId) }
    return {
      status: failure.status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ error }),
    }
  },

  /**
   * SDKs throw a record whose `error.code` is a number from 400 to 599, but version 1 of the JavaScript SDK takes it
   * for content. Further data without an end of its own makes that version throw too; others ignore it, as event
   * parsers must (WHATWG HTML 9.2.6).
   */
  streamError(failure: Failure): string {
    const error = JSON.stringify({ error: errorObject(failure) })
    return `data: ${error}\n\n${error}`
  },

  /** Without `alt=sse` a stream is one JSON list, whose elements are sent one after another. */
  streamForm({ query }: Head): 'events' | 'list' {
    const params = new URLSearchParams(query)
    return (params.get('alt') ?? params.get('$alt'))?.toLowerCase() === 'sse' ? 'events' : 'list'
  },

  // The JavaScript SDK accepts a comment; whether other clients of this style do is not known.
  heartbeat: undefined,

  usageOf(operation: string, body: Json, before?: Json): Usage | null {
    const { counted, stored } = findOperation(operation)?.usage ?? {}
    if (stored) return storageUsage(stored, body, before)
    if (counted !== undefined) return countingUsage(readCount(body, counted))
    // A stream that was not requested as events is one list of what would have been events.
    const whole = Array.isArray(body) ? (body.at(-1) ?? null) : body
    return readGoogleUsage(whole, true)
  },

  usageOfEvent(_operation: string, data: Json): Usage | null {
    return readGoogleUsage(data, endsAnswer(data))
  },

  modelList(models: readonly ListedModel[], query: string): object {
    const params = new URLSearchParams(query)
    const token = params.get('pageToken')
    const after = token ? Buffer.from(token, 'base64url').toString() : null
    const page = pageAfter(models, after, readPageLength(params.get('pageSize'), 50, 1000))
    const last = page.models.at(-1)
    return {
      models: page.models.map(model => modelObject(model)),
      ...(page.more && last && { nextPageToken: Buffer.from(last.name).toString('base64url') }),
    }
  },

  modelOne: modelObject,
  objectList: listByToken,
  limitHeaders: xRateLimitHeaders,
}

/** The reason (the code), the field, when to retry, and the request id. */
function errorDetails(failure: Failure, requestId: string): readonly object[] {
  const { code, message, param, retryAfterMs } = failure
  const details: object[] = [
    code === 'invalid_api_key'
      ? { '@type': `${rpc}.ErrorInfo`, reason: 'API_KEY_INVALID', domain: 'googleapis.com', metadata: {} }
      : { '@type': `${rpc}.ErrorInfo`, reason: code.toUpperCase(), domain: 'tollgate', metadata: {} },
  ]
  if (param !== null)
    details.push({ '@type': `${rpc}.BadRequest`, fieldViolations: [{ field: param, description: message }] })
  if (retryAfterMs !== undefined)
    details.push({ '@type': `${rpc}.RetryInfo`, retryDelay: `${Math.max(1, Math.ceil(retryAfterMs / 1000))}s` })
  details.push({ '@type': `${rpc}.RequestInfo`, requestId })
  return details
}

/** Whether the answer is complete: a candidate has finished, or the prompt was refused. */
function endsAnswer(data: Json): boolean {
  if (readMember(data, 'promptFeedback', 'blockReason') !== undefined) return true
  const candidates = readMember(data, 'candidates')
  return Array.isArray(candidates) && candidates.some((one: Json) => readMember(one, 'finishReason') !== undefined)
}

function modelObject({ name, operations }: ListedModel): object {
  return {
    name: `models/${name}`,
    displayName: name,
    supportedGenerationMethods: listOperations('google', operations),
  }
}
