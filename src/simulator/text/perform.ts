import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { Failure } from '../../domain/index.ts'
import { answerJson } from '../answer.ts'
import { fail } from '../errors.ts'
import type { Call, Handler, Played } from '../upstream.ts'
import type { Marks } from './marks.ts'
import type { Style } from './styles.ts'

type Piece = string | Buffer

/** A complete answer without faults, before any of it is sent. */
export type Script = { readonly type: string; readonly stream: boolean; readonly pieces: readonly Piece[] }

export function scriptJson(value: unknown): Script {
  return { type: 'application/json', stream: false, pieces: [JSON.stringify(value)] }
}

/** Server-sent events: each piece is one record with its blank line. */
export function scriptEvents(pieces: readonly string[]): Script {
  return { type: 'text/event-stream; charset=utf-8', stream: true, pieces }
}

/** A record without a name, as in streams of chat completions and of the generative-language style. */
export function writeRecord(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

/** A record named by its `type`: clients of the messages style drop records without a name. */
export function writeNamedRecord(data: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${data.type}\n${writeRecord(data)}`
}

export type Rehearsed = { readonly marks: Marks; readonly script: Script }

/**
 * Makes a handler that adds the demanded faults to an answer, and words refusals in the style.
 * @param rehearse makes the whole answer; throws a Failure to refuse the request
 */
export function perform(style: Style, rehearse: (call: Call) => Rehearsed | Promise<Rehearsed>): Handler {
  return async call => {
    try {
      const { marks, script } = await rehearse(call)
      // `ref: false`: a wait does not keep the process running; the open connection does.
      if (marks.slowMs > 0) await wait(marks.slowMs, undefined, { ref: false })
      if (marks.refusal) throw refuse(marks.refusal)
      return play(style, marks, script)
    } catch (cause) {
      const failure = cause instanceof Failure ? cause : fail('server_error', { reason: String(cause) }, { cause })
      const { status, retryAfterMs } = failure
      return answerJson(
        status,
        style.body(failure),
        retryAfterMs === undefined ? {} : { 'retry-after': String(retryAfterMs / 1000) },
      )
    }
  }
}

function play(style: Style, marks: Marks, { type, stream, pieces }: Script): Played {
  const headers = { 'content-type': type, ...(stream && { 'cache-control': 'no-cache' }) }
  if (marks.errorEvent) {
    const failure = refuse({ status: 503, retryAfterS: undefined })
    if (!stream) return answerJson(200, style.body(failure))
    const before = half(pieces)
    return { status: 200, headers, body: emit([...before, style.record(failure, before.length)], marks.pauseMs, false) }
  }
  if (marks.cut) return { status: 200, headers, body: emit(half(pieces), marks.pauseMs, true) }
  const [only] = pieces
  if (!stream && only !== undefined && pieces.length === 1) return { status: 200, headers, body: only }
  return { status: 200, headers, body: emit(pieces, stream ? marks.pauseMs : 0, false) }
}

/** The first half of the pieces; of a single piece, the first half of its bytes. */
function half(pieces: readonly Piece[]): readonly Piece[] {
  const [only = ''] = pieces
  return pieces.length > 1 ? pieces.slice(0, Math.ceil(pieces.length / 2)) : [only.slice(0, only.length >> 1)]
}

async function* emit(pieces: readonly Piece[], pauseMs: number, cut: boolean): AsyncIterable<Piece> {
  for (const piece of pieces) {
    if (pauseMs > 0) await wait(pauseMs, undefined, { ref: false })
    yield piece
  }
  // The pieces have to be sent before the connection breaks.
  if (cut) {
    await nextTurn()
    throw new Error('cut on demand')
  }
}

const words = new Map([
  [401, { type: 'invalid_request_error', code: 'invalid_api_key' }],
  [403, { type: 'request_forbidden', code: 'forbidden' }],
  [404, { type: 'invalid_request_error', code: 'model_not_found' }],
  [429, { type: 'requests', code: 'rate_limit_exceeded' }],
  [503, { type: 'service_unavailable_error', code: 'server_is_overloaded' }],
])

/** The refusal that a prompt demands. */
export function refuse({ status, retryAfterS }: NonNullable<Marks['refusal']>): Failure {
  const { type, code } =
    words.get(status) ??
    (status < 500
      ? { type: 'invalid_request_error', code: 'invalid_value' }
      : { type: 'server_error', code: 'server_error' })
  const text = `The simulator refuses with ${status}, as the prompt demands.`
  return new Failure(code, { status, type, text }, text, {
    ...(retryAfterS !== undefined && { retryAfterMs: retryAfterS * 1000 }),
  })
}
