import type { ServerResponse } from 'node:http'
import type { Answer, Dialect, Failure } from '../kit/index.ts'

/** The two names under which SDKs look for a request's id. */
export function idHeaders(id: string): { 'x-request-id': string; 'request-id': string } {
  return { 'x-request-id': id, 'request-id': id }
}

/** Sends a whole answer of ours. */
export function sendAnswer(
  res: ServerResponse,
  id: string,
  answer: Answer,
  more: { readonly [name: string]: string },
): void {
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body
  res.writeHead(answer.status, {
    ...idHeaders(id),
    ...answer.headers,
    ...more,
    // RFC 9110 8.6: a 204 carries none.
    ...(answer.status !== 204 && { 'content-length': String(body.length) }),
  })
  res.end(body)
}

/** An error in the caller's style, with the headers that tell SDKs whether and when to try again. */
export function errorAnswer(dialect: Dialect, failure: Failure, id: string): Answer {
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
