import type { ServerResponse } from 'node:http'
import type { Answer, Failure } from '../domain/index.ts'
import type { ApiFormat, RequestContext } from '../plugin-api/index.ts'
import { endInTurn } from './end-in-turn.ts'

/** The two header names in which SDKs look for a request's id. */
export function idHeaders(id: string): { 'x-request-id': string; 'request-id': string } {
  return { 'x-request-id': id, 'request-id': id }
}

/** Keeps proxies between us and the client from buffering or changing events. */
export const unbuffered = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }

/** The API format in which the client reads its answer. */
export function clientFormat({ client, dialect }: RequestContext): ApiFormat {
  return client?.dialect ?? dialect
}

/** The headers of every answer: limits in the API format's names, and what plugins set. */
export function ownHeaders(context: RequestContext, now: number): { readonly [name: string]: string } {
  const { answerHeaders: given, limits } = context
  return limits.length === 0 ? given : { ...clientFormat(context).limitHeaders(limits, now), ...given }
}

/** The head of an upstream's answer as the client gets it: our headers replace the upstream's. */
export function answerHeaders(
  context: RequestContext,
  shown: { readonly [name: string]: string },
  now: number,
): { readonly [name: string]: string } {
  return Object.assign(idHeaders(context.id), shown, ownHeaders(context, now))
}

/** Sends a complete answer of the gateway. */
export function sendAnswer(
  res: ServerResponse,
  id: string,
  answer: Answer,
  more: { readonly [name: string]: string },
): void {
  const { body, status } = answer
  const headers: { [name: string]: string } = idHeaders(id)
  Object.assign(headers, answer.headers, more)
  // RFC 9110 8.6: a 204 has none.
  if (status !== 204) headers['content-length'] = String(Buffer.byteLength(body))
  res.writeHead(status, headers)
  endInTurn(res, body)
}

/** An error in the client's API format, with the headers that control retries of SDKs. */
export function errorAnswer(dialect: ApiFormat, failure: Failure, id: string): Answer {
  const answer = dialect.error(failure, id)
  return { ...answer, headers: { ...answer.headers, ...retryHeaders(failure), ...failure.headers } }
}

function retryHeaders(failure: Failure): { [name: string]: string } {
  const headers: { [name: string]: string } = {}
  if (failure.retryAfterMs !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(failure.retryAfterMs / 1000)))
    headers['retry-after-ms'] = String(Math.max(1, Math.ceil(failure.retryAfterMs)))
  }
  if (failure.retry !== undefined) headers['x-should-retry'] = String(failure.retry)
  return headers
}
