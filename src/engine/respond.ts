import type { ServerResponse } from 'node:http'
import type { Answer, Failure } from '../domain/index.ts'
import type { ApiFormat, RequestContext } from '../plugin-api/index.ts'

/** The two names under which SDKs look for a request's id. */
export function idHeaders(id: string): { 'x-request-id': string; 'request-id': string } {
  return { 'x-request-id': id, 'request-id': id }
}

/** What keeps proxies between us and the caller from collecting events, or changing them. */
export const unbuffered = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }

/** What every answer to an exchange carries: its limits in the dialect's words, and what plugins put there. */
export function ownHeaders(
  { answerHeaders: given, dialect, limits }: RequestContext,
  now: number,
): { readonly [name: string]: string } {
  return limits.length === 0 ? given : { ...dialect.limitHeaders(limits, now), ...given }
}

/** The head of an upstream's answer as the caller gets it: our headers replace the upstream's. */
export function answerHeaders(
  context: RequestContext,
  shown: { readonly [name: string]: string },
  now: number,
): { readonly [name: string]: string } {
  return Object.assign(idHeaders(context.id), shown, ownHeaders(context, now))
}

/** Sends a whole answer of ours. */
export function sendAnswer(
  res: ServerResponse,
  id: string,
  answer: Answer,
  more: { readonly [name: string]: string },
): void {
  const { body, status } = answer
  const headers: { [name: string]: string } = idHeaders(id)
  Object.assign(headers, answer.headers, more)
  // RFC 9110 8.6: a 204 carries none.
  if (status !== 204) headers['content-length'] = String(Buffer.byteLength(body))
  res.writeHead(status, headers)
  res.end(body)
}

/** An error in the caller's API format, with the headers that control the retries of SDKs. */
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
