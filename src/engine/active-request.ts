import type { IncomingMessage, ServerResponse } from 'node:http'
import type {
  AttemptRecord,
  Body,
  Candidate,
  Failure,
  Json,
  Marks,
  CompiledConfig,
  Model,
  Reply,
} from '../domain/index.ts'
import type { RequestContext, Outbound, Target } from '../plugin-api/index.ts'
import type { Clock, Member } from '../util/index.ts'
import type { IncomingBody } from './body-reader.ts'
import type { ErrorSnippet } from './error-snippet.ts'
import type { Pipeline } from './pipeline.ts'
import type { WantedForm } from './response-form.ts'
import type { PumpTarget, ResponsePump } from './response-pump.ts'
import { answerHeaders } from './respond.ts'
import type { Retries } from './retries.ts'
import type { Router } from './router.ts'
import type { Pin } from './stored-objects/object-records.ts'
import type { Call } from './transport.ts'
import type { CallerSocket } from './sessions/caller-socket.ts'
import type { Opening } from './sessions/handshake.ts'
import type { Stopwatch } from './event-loop-watch.ts'
import type { KeyAttempt } from './vendor-keys/key-attempt.ts'
import type { KeyUser } from './vendor-keys/suspicions.ts'

/** The most answers that are read on after their clients left. */
const detachedMax = 64

/** Everything that a configuration decides; replaced as a whole. A request keeps the one that it began with. */
export type Running = {
  readonly plan: CompiledConfig
  readonly pipeline: Pipeline
  readonly router: Router
}

/** A request as one of the models that may answer it gets it. */
export type Reached = { readonly context: RequestContext; readonly target: Target; readonly body: Body }

/** The client left during a wait. */
export class CallerGone extends Error {}

/** A WebSocket that is open. */
export type LiveSession = {
  /** No new turn begins, and it ends when none runs. */
  drain(): void
  stop(failure: Failure): void
  /** Ends it for a reason that clients cannot change: running turns are cancelled, and charged. */
  end(failure: Failure): void
}

/** State shared by all requests of an engine. */
export type Shared = {
  readonly clock: Clock
  /** Answers that are read although their clients have left. */
  detached: number
}

/**
 * A request while it runs: what the steps have found so far, and how its answer reaches the client. Plugins see its
 * request context.
 */
export class ActiveRequest implements Member, PumpTarget {
  place = -1
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly running: Running
  readonly id: string
  readonly startedAt: number
  readonly startedTick: number
  readonly stopwatch: Stopwatch
  /** Which phases it has reached, and when. */
  readonly marks: { -readonly [N in keyof Marks]: Marks[N] } = {
    received: null,
    asked: null,
    askedAgain: null,
    firstByte: null,
    lastByte: null,
    committed: null,
  }
  readonly #shared: Shared
  /** Of a request that opens a WebSocket. */
  readonly socket: CallerSocket | undefined
  opening: Opening | undefined
  session: LiveSession | undefined
  /** Frees its slot among the open sessions of its key. */
  freeSlot: (() => void) | undefined
  /** The client's WebSocket is open, and its upstream is not known yet. */
  opened: { refuse(failure: Failure): void } | undefined
  /** Request in the setup message of a session. */
  setup: { readonly [name: string]: Json } | undefined
  context: RequestContext | undefined
  body: Body | undefined
  /** As the client sent it: a plugin may have turned it into one of another operation. */
  clientRequest: { readonly context: RequestContext; readonly body: Body } | undefined
  incoming: IncomingBody | undefined
  target: Target | undefined
  call: Call | undefined
  /** The last call that its upstream refused before another upstream was to be tried. */
  refused: Call | undefined
  /** Its attempts with the keys of an upstream that has several. */
  keys: KeyAttempt | undefined
  /** The client as upstream keys see it; set once a key was used. */
  keyUser: KeyUser | undefined
  /** Another upstream was called after one that may have sold it: `on_unknown: pay_twice`. */
  inDoubt = false
  /** How often it may be sent again; absent for a model without `retry_on`. */
  retries: Retries | undefined
  /** Its requests to upstreams that have ended. */
  readonly attempts: AttemptRecord[] = []
  /** Ends the wait before it is sent again, while it waits. */
  endRest: (() => void) | undefined
  /** The client has left and the answer is read on. */
  detached = false
  /** The upstream and key of the stored objects that it names; absent if it names none. */
  pin: Pin | undefined
  /** A value that all requests of its conversation share; absent for a request of its own. */
  affinity: string | undefined
  /** What the client reads; undefined for an unknown operation. */
  wanted: WantedForm | undefined
  /** The model's upstreams, in the order of attempts. */
  order: readonly Candidate[] = []
  /** Those that are tried before the next wait, and the place of the one that is called. */
  round: readonly Candidate[] = []
  at = 0
  /** How a fallback gets the request; undefined if it cannot. Absent for models without fallbacks. */
  reach: ((model: Model) => Reached | undefined) | undefined
  /** The answer as the client gets it, once its head is known. */
  reply: Reply | undefined
  /** The upstream's message of a refusal. */
  errorSnippet: ErrorSnippet | undefined
  /** Only the end of the connection ends the answer. */
  endUnknown = false
  #out: Outbound | undefined
  #pump: ResponsePump | undefined
  #isFollowed = false

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    running: Running,
    id: string,
    startedAt: number,
    stopwatch: Stopwatch,
    shared: Shared,
    socket?: CallerSocket,
  ) {
    this.socket = socket
    this.req = req
    this.res = res
    this.running = running
    this.id = id
    this.stopwatch = stopwatch
    this.#shared = shared
    this.startedAt = startedAt
    this.startedTick = shared.clock.tick()
  }

  /** No upstream is left to try before the next wait. */
  get isLast(): boolean {
    const { round, reach } = this
    for (let i = this.at + 1; i < round.length; i++) {
      const { fallback } = round[i] as Candidate
      if (!fallback || reach?.(fallback)) return false
    }
    return true
  }

  /** Marks a phase as reached: now, or at a moment of the clock's `tick`. */
  mark(name: keyof Marks, tick = this.#shared.clock.tick()): void {
    this.marks[name] = Math.round(tick - this.startedTick)
  }

  /** An upstream is called; from now on the client's leaving affects that call too. */
  asks(call: Call, out: Outbound, sentTick: number): void {
    this.mark(this.marks.asked === null ? 'asked' : 'askedAgain', sentTick)
    // Bytes of an earlier upstream's answer do not count here.
    this.marks.firstByte = null
    this.call = call
    this.#out = out
    if (!this.#isFollowed) {
      this.#isFollowed = true
      this.res.once('close', this.#onClose)
    }
    if (this.res.destroyed) this.#onClose()
  }

  /** Its body was a stream and was sent: it cannot be sent again. */
  get isSpent(): boolean {
    return this.#out?.body.kind === 'stream' && this.call !== undefined && this.call.reach !== 'untouched'
  }

  /** From now on the pump sends the answer. */
  pumps(pump: ResponsePump): void {
    this.#pump = pump
  }

  /** The request as its upstream got it. */
  get out(): Outbound | undefined {
    return this.#out
  }

  readonly #onClose = (): void => {
    // It ends by itself, and has what runs reported.
    if (this.session) return
    if (this.#pump) this.#pump.callerGone()
    else if (!this.detach()) this.call?.abort(new CallerGone())
  }

  detach(): boolean {
    const shared = this.#shared
    if (!this.detached) {
      if (!readsOn(this.#out) || shared.detached >= detachedMax) return false
      shared.detached++
      this.detached = true
    }
    this.call?.leave()
    return true
  }

  /** Releases everything that is held of it. */
  letGo(): void {
    if (this.body?.kind === 'form') this.body.discard()
    this.incoming?.release(this.#isUnread)
    this.freeSlot?.()
    if (this.detached) this.#shared.detached--
  }

  /** The client's body is not read any more: every upstream that was sent it has all of it, and none ended it early. */
  get #isUnread(): boolean {
    const { call, refused } = this
    return call === undefined || (call.isSent && refused === undefined)
  }

  begin(): void {
    const { res, reply, context } = this
    if (res.destroyed || !reply || !context) return
    if (this.endUnknown && reply.provesEnd !== true) {
      res.shouldKeepAlive = false
      res.useChunkedEncodingByDefault = false
    }
    res.writeHead(reply.status, answerHeaders(context, reply.headers, this.#shared.clock.now()))
  }

  streamError(failure: Failure): string | undefined {
    const { context } = this
    if (!context) return undefined
    const { dialect, route } = context.client ?? context
    return dialect.streamError(failure, context.id, route.operation)
  }
}

function readsOn(out: Outbound | undefined): boolean {
  const detach = out?.detach
  return typeof detach === 'function' ? detach() : detach === true
}
