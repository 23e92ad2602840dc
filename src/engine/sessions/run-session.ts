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
import { Session } from './session.ts'

type RunnerParts = {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly deadlines: Deadlines
  readonly onFault: (fault: HookFault, context: RequestContext) => void
  record(row: LogRow, context: RequestContext): void
}

/** The model that a request names in its path; a session names it in the query. */
export function modelNamed({ params, head, part }: RequestContext): string | undefined {
  return part ? (new URLSearchParams(head.query).get('model') ?? undefined) : params['model']
}

/** Runs WebSockets, from the upstream's 101 to their end. */
export class SessionRunner {
  open = 0
  readonly #parts: RunnerParts

  constructor(parts: RunnerParts) {
    this.#parts = parts
  }

  /** @throws Failure as long as the caller's WebSocket is not open */
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
    request.session = session
    const chosen = head.headers['sec-websocket-protocol']
    const protocol = typeof chosen === 'string' ? chosen : undefined
    this.open++
    try {
      session.start(openingAnswer(opening, protocol, { ...idHeaders(context.id), ...context.answerHeaders }))
      stopwatch.stop('answer')
      return await session.done
    } finally {
      this.open--
      stopwatch.start()
    }
  }
}
