import type { Duplex } from 'node:stream'
import type { Body, Counters, Failure, LogRow, OpenSession, Upstream } from '../../domain/index.ts'
import type { Log, Outcome, RequestContext } from '../../plugin-api/index.ts'
import type { Clock, Ids } from '../../util/index.ts'
import { type ByteBudget, ByteClaim } from '../../wire/index.ts'
import { type ActiveRequest, CallerGone } from '../active-request.ts'
import type { AnswerHead } from '../call-request.ts'
import type { Deadlines } from '../deadlines.ts'
import { fail } from '../errors.ts'
import type { HookFault } from '../pipeline.ts'
import { idHeaders } from '../respond.ts'
import { classify } from '../classify-response/classify.ts'
import { UpstreamCall } from '../upstream-call.ts'
import type { ObjectRecords } from '../stored-objects/object-records.ts'
import { findOpeningFault, openingAnswer } from './handshake.ts'
import { headersOfMessages, sendInner } from './inner-request.ts'
import { MessageSession } from './message-session.ts'
import { openMessages } from './message-socket.ts'
import { Session } from './session.ts'
import { SessionSlots } from './session-slots.ts'
import { SetupSocket } from './setup-socket.ts'

type RunnerParts = {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly deadlines: Deadlines
  /** The memory that the bodies of all requests share. */
  readonly memory: ByteBudget
  readonly objects: Pick<ObjectRecords, 'record'>
  readonly onFault: (fault: HookFault, context: RequestContext) => void
  record(row: LogRow, context: RequestContext): void
  readonly counters?: Pick<Counters, 'take' | 'settle'>
  sessionOpened?(session: OpenSession): void
  sessionClosed?(id: string): void
}

/** The number of days for which an upstream can continue a session. */
const handleDays = 1

/** The name of the model in the path; for a session, in the query. */
export function modelNamed({ params, head, part }: RequestContext): string | undefined {
  return part ? (new URLSearchParams(head.query).get('model') ?? undefined) : params['model']
}

/** Runs WebSocket sessions, counts those of each key, and announces them. */
export class SessionRunner {
  open = 0
  readonly #parts: RunnerParts
  readonly #slots: SessionSlots

  constructor(parts: RunnerParts) {
    this.#parts = parts
    this.#slots = new SessionSlots(parts.counters)
  }

  /** Serves in-memory connections. */
  accept: ((connection: Duplex) => void) | undefined

  /** Runs a session whose messages are requests. @throws Failure, CallerGone before the client's WebSocket is open */
  async runMessages(request: ActiveRequest, context: RequestContext): Promise<Outcome> {
    const { req, socket, opening } = request
    const { accept } = this
    const { dialect, head, route } = context
    const each = route.session?.each
    if (!socket || !opening || !each || !accept) throw new Error('messages without a WebSocket')
    const headers = headersOfMessages(head, dialect.credentials(head), context.id)
    const remote = req.socket.remoteAddress ?? ''
    const host = {
      ...this.#parts,
      connection: socket.socket,
      memory: new ByteClaim(this.#parts.memory, context.plan.server.memoryBytesMax, context.payer),
      send: (body: Buffer) => sendInner(accept, { ...each, body }, headers, remote),
    }
    if (socket.isGone) throw new CallerGone()
    const messageBytesMax = route.session?.messageBytesMax ?? 0
    const own = { ...idHeaders(context.id), ...context.answerHeaders }
    return this.#count(request, context, async () => {
      const opened = await openMessages(req, socket, opening, { messageBytesMax, headers: own }).catch(() => {
        throw new CallerGone()
      })
      return untilDone(request, new MessageSession(host, context, opened))
    })
  }

  /**
   * Opens the client's WebSocket, and reads its setup message if that contains the model.
   * @returns the request in it; undefined for other sessions
   * @throws Failure session_limit, session_setup, session_message; CallerGone
   */
  async readSetup(request: ActiveRequest, context: RequestContext): Promise<Body | undefined> {
    const { socket, opening, stopwatch } = request
    if (!socket || !opening || !context.dialect.session?.setup) return undefined
    request.freeSlot = await this.#slots.take(context)
    if (socket.isGone) throw new CallerGone()
    const opened = new SetupSocket(socket, context, this.#parts.clock)
    request.opened = opened
    request.session = opened
    stopwatch.stop('request')
    try {
      const { request: setup, body } = await opened.read(answerOf(request, context, opening.protocols[0]))
      request.setup = setup
      return body
    } finally {
      request.session = undefined
      stopwatch.start()
    }
  }

  /** Counts the session and announces it while it runs. @throws Failure session_limit */
  async #count(request: ActiveRequest, context: RequestContext, run: () => Promise<Outcome>): Promise<Outcome> {
    request.freeSlot ??= await this.#slots.take(context)
    const { id, payer, route } = context
    const { target } = request
    this.open++
    this.#parts.sessionOpened?.({
      id,
      keyId: payer,
      operation: route.operation,
      model: target?.model.name ?? null,
      upstream: target?.upstream.name ?? null,
      openedAt: this.#parts.clock.now(),
    })
    try {
      return await run()
    } finally {
      this.open--
      this.#parts.sessionClosed?.(id)
      request.freeSlot()
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
    const record = (id: string): Promise<void> =>
      this.#parts.objects.record(context, target, { kind: 'session handle', id, days: handleDays })
    const refusedSetup = (reason: string): Failure | undefined => judgeClose(request, target.upstream, reason)
    const host = { ...this.#parts, pipeline: running.pipeline, call, marks, recordHandle: record, refusedSetup }
    const { out, opened } = request
    const setup = opened && format.setup && out?.body.kind === 'json' ? out.body.json.bytes : undefined
    const session = new Session(host, context, target, socket, format, setup)
    await stopwatch.wait('request', session.admit())
    if (socket.isGone) {
      await session.abandon()
      throw new CallerGone()
    }
    const chosen = head.headers['sec-websocket-protocol']
    const protocol = typeof chosen === 'string' ? chosen : undefined
    const run = async (): Promise<Outcome> => {
      // From now on, the session ends the client's WebSocket.
      request.opened = undefined
      session.start(opened ? '' : answerOf(request, context, protocol))
      return untilDone(request, session)
    }
    return this.#count(request, context, run).catch(async error => {
      await session.abandon()
      throw error
    })
  }
}

/**
 * The failure if the reason of a close frame refuses the gateway's key at the upstream, which counts against that key.
 */
function judgeClose({ keys }: ActiveRequest, { name, outcomes }: Upstream, reason: string): Failure | undefined {
  const body = { error: { message: reason } }
  const found = classify({ status: 400, isInside: false, body, retryAfterMs: undefined }, outcomes)
  if (found.class !== 'not_sold' || (found.key !== 'invalid' && found.key !== 'no_credit')) return undefined
  keys?.refused(found)
  // The client's next session uses another key.
  if (keys?.key && keys.key.isOnly !== true)
    return fail('session_upstream_gone', { why: "it refused the gateway's key" })
  return fail('upstream_credentials', { upstream: name })
}

/** The 101 for the client. */
function answerOf(
  { opening }: ActiveRequest,
  { id, answerHeaders }: RequestContext,
  chosen: string | undefined,
): string {
  if (!opening) throw new Error('a response to a handshake that was not read')
  return openingAnswer(opening, chosen, { ...idHeaders(id), ...answerHeaders })
}

/** The duration of a session is not part of the gateway's own time. */
async function untilDone(request: ActiveRequest, session: MessageSession | Session): Promise<Outcome> {
  request.session = session
  request.stopwatch.stop('answer')
  try {
    return await session.done
  } finally {
    request.stopwatch.start()
  }
}
