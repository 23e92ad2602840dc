import type { Answer, Failure } from '../domain/index.ts'
import type { ApiFormat, Head, ListedModel } from '../plugin-api/index.ts'
import { findOperation } from '../operations/index.ts'
import { bearerKey, headerKey } from './bearer.ts'
import { openaiMessages } from './openai-messages.ts'
import { openaiSession } from './openai-session.ts'
import { readOpenaiEventUsage, readOpenaiUsage } from './openai-usage.ts'
import { queryKeys } from './query-key.ts'
import { xRateLimitHeaders } from './x-ratelimit.ts'
import { listAfter } from './object-lists.ts'

/**
 * Sequence numbers of the last events of a response: the numbers of its earlier events are not known here, and all are
 * smaller.
 */
const lastSequence = 2 ** 31 - 1

/** The chat-completions style. `docs/wire.md` describes what its SDKs send and expect. */
export const openai: ApiFormat = {
  name: 'openai',
  requestHeaders: ['openai-beta'],
  replyHeaders: new Set(['openai-processing-ms', 'openai-version']),

  credentials(head: Head): readonly string[] {
    const keys = [bearerKey(head), headerKey(head, 'x-api-key'), ...keysOfSocket(head)]
    return keys.filter(key => key !== undefined)
  },

  error(failure: Failure): Answer {
    return {
      status: failure.status,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ error: errorObject(failure) }),
    }
  },

  streamError(failure: Failure, requestId: string, operation: string): string {
    if (findOperation(operation)?.usage?.inside === 'response') return responseError(failure, requestId)
    return `data: ${JSON.stringify({ error: errorObject(failure) })}\n\n`
  },

  heartbeat: ': \n\n',
  lastEvents: [
    'data: [DONE]',
    'event: response.completed',
    'event: response.incomplete',
    'event: response.failed',
    'event: transcript.text.done',
    'event: speech.audio.done',
  ],
  usageOf: readOpenaiUsage,
  usageOfEvent: readOpenaiEventUsage,
  session: openaiSession,
  messages: openaiMessages,

  modelList(models: readonly ListedModel[]): object {
    return { object: 'list', data: models.map(model => modelObject(model)) }
  },

  modelOne: modelObject,
  objectList: listAfter,
  limitHeaders: xRateLimitHeaders,
}

const keyProtocol = 'openai-insecure-api-key.'

/** Browsers cannot set headers of a WebSocket: their key is in a subprotocol, or in the query. */
function keysOfSocket(head: Head): readonly (string | undefined)[] {
  if (head.headers['upgrade'] === undefined) return []
  const offered = head.headers['sec-websocket-protocol']
  const protocols = typeof offered === 'string' ? offered.split(',').map(one => one.trim()) : []
  const keys = protocols.filter(one => one.startsWith(keyProtocol)).map(one => one.slice(keyProtocol.length))
  return [headerKey(head, 'api-key'), ...keys, ...queryKeys(head.query)]
}

function errorObject(failure: Failure): object {
  return { message: failure.message, type: failure.type, param: failure.param, code: failure.code }
}

/**
 * The end of a response that failed. The `error` event is flat, as the style defines it, and repeats the error as a
 * member, because SDKs before version 7 and the Python SDK throw only for that member. It is the first of two events:
 * for a `response.failed` with an id other than the response's own, an SDK reports only that the identity changed.
 * Clients without an SDK use that second event.
 */
function responseError(failure: Failure, requestId: string): string {
  const { code, message, param } = failure
  const flat = { type: 'error', code, message, param, sequence_number: lastSequence - 1 }
  const error = JSON.stringify({ ...flat, error: errorObject(failure) })
  const response = { id: requestId, object: 'response', status: 'failed', error: { code, message }, output: [] }
  const failed = JSON.stringify({ type: 'response.failed', response, sequence_number: lastSequence })
  return `event: error\ndata: ${error}\n\nevent: response.failed\ndata: ${failed}\n\n`
}

function modelObject({ name, since, family, ends }: ListedModel): object {
  const model = { id: name, object: 'model', created: Math.floor(since / 1000), owned_by: family }
  return ends === undefined ? model : { ...model, deprecation_date: ends }
}
