import type { IncomingMessage } from 'node:http'
import { Failure } from '../domain/index.ts'
import type { ApiFormat, Log, Outcome, Reach } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import { type ActiveRequest, CallerGone } from './active-request.ts'
import { Preflight } from './begin-request.ts'
import { corsHeaders } from './cors.ts'
import { discardRest } from './discard-rest.ts'
import { fail } from './errors.ts'
import { HookFault } from './pipeline.ts'
import { clientFormat, errorAnswer, ownHeaders, sendAnswer } from './respond.ts'

type RefusalParts = {
  readonly clock: Clock
  readonly log: Log
  guessApiFormat(path: string, headers: IncomingMessage['headers']): ApiFormat
}

/**
 * Sends an error in the client's API format, or cuts the connection once bytes have left. @returns how the request
 * ended
 */
export function refuse(request: ActiveRequest, error: unknown, parts: RefusalParts): Outcome {
  const { clock, log } = parts
  const { req, res, call, context } = request
  const reach = reachOf(request)
  if (error instanceof Preflight) {
    sendAnswer(res, request.id, { status: 204, headers: error.headers, body: '' }, {})
    discardRest(req, clock)
    return { kind: 'answered', status: 204, reach }
  }
  if (error instanceof CallerGone || (res.destroyed && !res.writableEnded)) {
    call?.abort(new CallerGone())
    return { kind: 'cut', by: 'caller', status: undefined, reach }
  }
  const failure = toFailure(request, error, log)
  call?.abort(failure)
  if (request.opened) {
    request.opened.refuse(failure)
    return { kind: 'refused', status: failure.status, failure, reach }
  }
  if (res.headersSent) {
    res.socket?.resetAndDestroy()
    return { kind: 'cut', by: 'gateway', status: res.statusCode, reach, failure }
  }
  const format = (context && clientFormat(context)) ?? parts.guessApiFormat(req.url ?? '/', req.headers)
  const isInDoubt = reach === 'unknown' || reach === 'truncated'
  const shown = isInDoubt && context?.notes.charge ? withoutRetry(failure) : failure
  const headers = context ? ownHeaders(context, clock.now()) : corsHeaders(req, request.running.plan.server.corsOrigins)
  sendAnswer(res, request.id, errorAnswer(format, shown, request.id), { ...headers })
  discardRest(req, clock)
  return { kind: 'refused', status: failure.status, failure, reach }
}

/** The failure of data that Node's parser could not read as a request, or of its timeout. */
export function unreadFailure(code: string | undefined): Failure {
  if (code === 'CONNECT') return fail('connect_unsupported')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return fail('request_too_slow')
  if (code === 'HPE_HEADER_OVERFLOW') return fail('headers_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return fail('chunk_extensions_too_large')
  return fail('request_malformed', {
    why: code?.replace(/^HPE_/, '').toLowerCase().replaceAll('_', ' ') ?? 'unreadable',
  })
}

/**
 * How far the request came. One that an upstream has refused was sent, even if the next could not be reached; it is not
 * in doubt because the next was not called at all.
 */
function reachOf({ call, refused, inDoubt }: ActiveRequest): Reach {
  const reach = call?.reach ?? 'untouched'
  // An earlier upstream may have sold it.
  if (inDoubt) return reach === 'untouched' || call === refused ? 'unknown' : reach
  return refused && (call === refused || reach === 'untouched') ? 'refused' : reach
}

function toFailure({ id }: ActiveRequest, error: unknown, log: Log): Failure {
  if (error instanceof Failure) {
    if (error.status >= 500) log.warn({ request: id, code: error.code, cause: causeText(error) }, error.message)
    return error
  }
  const stack = error instanceof Error ? error.stack : String(error)
  log.error({ request: id, stack }, error instanceof HookFault ? error.message : 'internal error')
  return fail('internal_error', {}, { cause: error })
}

function causeText(error: Error): string | undefined {
  return error.cause instanceof Error ? error.cause.message : undefined
}

/** The same failure for SDKs that must not retry: the first request may have been sold. */
function withoutRetry(failure: Failure): Failure {
  const { code, status, type, param, message } = failure
  return new Failure(code, { status, type, text: message, retry: false }, message, {
    ...(param !== null && { param }),
    headers: failure.headers,
  })
}
