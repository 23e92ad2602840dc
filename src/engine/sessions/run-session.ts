import type { Duplex } from 'node:stream'
import type { LogRow } from '../../domain/index.ts'
import type { Log, Outcome, RequestContext } from '../../plugin-api/index.ts'
import type { Clock, Ids } from '../../util/index.ts'
import { type ActiveRequest, CallerGone } from '../active-request.ts'
import type { AnswerHead } from '../call-request.ts'
import type { Deadlines } from '../deadlines.ts'
import { fail } from '../errors.ts'
import type { HookFault } from '../pipeline.ts'
import { idHeaders } from '../respond.ts'
import { UpstreamCall } from '../upstream-call.ts'
import { findOpeningFault, openingAnswer } from './handshake.ts'
import { headersOfMessages, sendInner } from './inner-request.ts'
import { MessageSession } from './message-session.ts'
import { openMessages } from './message-socket.ts'
import { Session } from './session.ts'

/** `retry-after` for a key with too many open sessions. */
const limitMs = 1_000

type RunnerParts = {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly deadlines: Deadlines
  readonly onFault: (fault: HookFault, context: RequestContext) => void
  record(row: LogRow, context: RequestContext): void
}

/** Model name in the path; for a session, in the query. */
export function modelNamed({ params, head, part }: RequestContext): string | undefined {
  return part ? (new URLSearchParams(head.query).get('model') ?? undefined) : params['model']
}

/** Runs WebSocket sessions and counts those of each key. */
export class SessionRunner {
  open = 0
  readonly #parts: RunnerParts

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** Serves in-memory connections. */
  accept: ((connection: Duplex) => void) | undefined
  readonly #byKey = new Map<string, number>()

  /** Runs a session whose messages are requests. @throws Failure, CallerGone before the client's WebSocket is open */
  async runMessages(request: ActiveRequest, context: RequestContext): Promise<Outcome> {
    const { req, socket, opening } = request
    const { accept } = this
    const { dialect, head, route } = context
    const each = route.session?.each
    if (!socket || !opening || !each || !accept) throw new Error('messages without a WebSocket')
    const headers = headersOfMessages(head, dialect.credentials(head), context.id)
    const remote = req.socket.remoteAddress ?? ''
    const host = { ...this.#parts, send: (body: Buffer) => sendInner(accept, { ...each, body }, headers, remote) }
    if (socket.isGone) throw new CallerGone()
    const messageBytesMax = route.session?.messageBytesMax ?? 0
    const own = { ...idHeaders(context.id), ...context.answerHeaders }
    return this.#count(context, async () => {
      const opened = await openMessages(req, socket, opening, { messageBytesMax, headers: own }).catch(() => {
        throw new CallerGone()
      })
      return untilDone(request, new MessageSession(host, context, opened))
    })
  }

  /** @throws Failure session_limit */
  async #count(context: RequestContext, run: () => Promise<Outcome>): Promise<Outcome> {
    const { payer, route } = context
    const open = this.#byKey.get(payer) ?? 0
    const max = route.session?.perKeyMax ?? Infinity
    if (open >= max) throw fail('session_limit', { max }, { retryAfterMs: limitMs })
    this.#byKey.set(payer, open + 1)
    this.open++
    try {
      return await run()
    } finally {
      this.open--
      const left = (this.#byKey.get(payer) ?? 1) - 1
      if (left > 0) this.#byKey.set(payer, left)
      else this.#byKey.delete(payer)
    }
  }

  /** Runs a session after the upstream's 101. @throws Failure, CallerGone before the client's WebSocket is open */
  async run(request: ActiveRequest, context: RequestContext, head: AnswerHead): Promise<Outcome> {
    const { call, socket, opening, running, target, marks, stopwatch } = request
    const format = context.dialect.session
    if (!socket || !opening || !target || !(call instanceof UpstreamCall))
      throw new Error('an upstream switched protocols where no WebSocket was wanted')
    if (!format) throw new Error(`the API format '${context.dialect.name}' has no sessions`)
    const fault = findOpeningFault(opening, head)
    if (fault !== undefined) throw fail('upstream_invalid', { reason: fault })
    const host = { ...this.#parts, pipeline: running.pipeline, call, marks }
    const session = new Session(host, context, target, socket, format)
    await stopwatch.wait('request', session.admit())
    if (socket.isGone) {
      await session.abandon()
      throw new CallerGone()
    }
    const chosen = head.headers['sec-websocket-protocol']
    const protocol = typeof chosen === 'string' ? chosen : undefined
    const run = async (): Promise<Outcome> => {
      session.start(openingAnswer(opening, protocol, { ...idHeaders(context.id), ...context.answerHeaders }))
      return untilDone(request, session)
    }
    return this.#count(context, run).catch(async error => {
      await session.abandon()
      throw error
    })
  }
}

/** The time of a session is not the gateway's own. */
async function untilDone(request: ActiveRequest, session: MessageSession | Session): Promise<Outcome> {
  request.session = session
  request.stopwatch.stop('answer')
  try {
    return await session.done
  } finally {
    request.stopwatch.start()
  }
}
