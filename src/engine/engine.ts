import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Answer,
  type Body,
  type Candidate,
  callerSlot,
  type Clock,
  type Connect,
  type Dialect,
  type Exchange,
  Failure,
  type Head,
  type Ids,
  isPromise,
  type Log,
  type LogRow,
  type Member,
  type Notes,
  type Outbound,
  type Outcome,
  type Plan,
  type Random,
  type Reach,
  Roster,
  Slots,
  type Stage,
  type Target,
  type Upstream,
} from '../kit/index.ts'
import { ByteBudget, ByteClaim } from '../wire/index.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import { DecodedAnswer, type Source } from './decode.ts'
import { fail } from './errors.ts'
import { readHead } from './front.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { replyHeaders, requestHeaders, upstreamQuery } from './headers.ts'
import { type BodyPace, type BodyPatience, bodyPace, discardRest, type Taken, takeBody } from './intake.ts'
import { orderCandidates } from './order-candidates.ts'
import { HookFault, type Pipeline } from './pipeline.ts'
import { createRedaction } from './redact.ts'
import { Relay, writeIdleMs } from './relay.ts'
import { errorAnswer, idHeaders, sendAnswer } from './respond.ts'
import { Router } from './router.ts'
import { applyForward, findTarget } from './target.ts'
import { type AnswerHead, Transport, type UpstreamCall } from './transport.ts'
import { type LongTurn, Stopwatch, Turns } from './turns.ts'

/** Answers whose callers have left and that are still read, at most. */
const detachedMax = 64
/** Of a request's field names a row keeps so many, and so much of each. */
const namesMax = 100
const nameCharsMax = 100

/** What keeps proxies between us and the caller from collecting events, or changing them. */
const unbuffered = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' }

/** A route that the gateway answers by itself. */
export type LocalAnswer = (ex: Exchange) => Answer | Promise<Answer>

/** Everything that a configuration decides; swapped whole. A request keeps the one it began with. */
export type Running = {
  readonly plan: Plan
  readonly pipeline: Pipeline
  readonly router: Router
}

export type EngineParts = {
  /** The dialect of a route, by the name that the route gives; for `by-caller` it is the caller's. */
  dialect(name: string, head: Head): Dialect | undefined
  /** The style of errors raised before a route is known. */
  guessDialect(path: string, headers: IncomingMessage['headers']): Dialect
  readonly local: ReadonlyMap<string, LocalAnswer>
  /** Turns an upstream's url as written into one that can be dialled. */
  resolveUrl(url: string): string
  /** A request has come. */
  began(): void
  /** An upstream's head has come (status), or never came (null), after so many milliseconds. */
  upstreamAnswered(upstream: string, status: number | null, durationMs: number): void
  /** A request kept all others waiting for too long. */
  turnWasLong?(turn: LongTurn): void
  /** Follows what upstreams are asked, where somebody wants to know. */
  readonly trace?: {
    /** One is about to be asked. @returns headers that go with the request */
    began(ex: Exchange, upstream: string): { readonly [name: string]: string }
    /** Its head has come (status), or never came (null). */
    answered(ex: Exchange, status: number | null): void
  }
  /** Takes the row of every exchange, once. */
  record(row: LogRow, ex: Exchange): void
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  /** Opens connections to upstreams; the engine's own by default. */
  readonly connect?: Connect | undefined
  readonly log: Log
  /** How slow callers may be; for tests of it, which have no minutes. */
  readonly callers?: { readonly bodyPace?: BodyPace; readonly writeIdleMs?: number }
}

/** One request while it runs: what the steps below have found so far. Plugins see its exchange. */
type RequestState = Member & {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly running: Running
  readonly id: string
  readonly startedAt: number
  readonly startedTick: number
  readonly stopwatch: Stopwatch
  ex: Exchange | undefined
  body: Body | undefined
  taken: Taken | undefined
  target: Target | undefined
  call: UpstreamCall | undefined
  /** The last call that its upstream refused, and that another upstream was to follow. */
  refused: UpstreamCall | undefined
  /** The caller has left and the answer is read on. */
  detached: boolean
  /** The model's upstreams, in the order in which they are tried. */
  order: readonly Candidate[]
}

/** Moves bytes between callers and upstreams by a plan, and knows nothing of what they mean. */
export class Engine {
  readonly #parts: EngineParts
  readonly #transport: Transport
  readonly #budget = new ByteBudget()
  readonly #breaker = new CircuitBreaker()
  readonly #patience: Deadlines
  readonly #bodyPatience: BodyPatience
  readonly #turns: Turns
  #running: Running
  #detached = 0
  #draining = false
  /** Why no request goes on any more, once that is so. */
  #stopped: Failure | undefined
  #onIdle: (() => void) | undefined
  /** Configurations that have been replaced, with the requests that still use them. */
  readonly #users = new Map<Running, number>()
  /** The exchanges that have not settled yet. */
  readonly #requests = new Roster<RequestState>()

  constructor(parts: EngineParts, running: Running) {
    this.#parts = parts
    this.#running = running
    const { clock } = parts
    this.#patience = new Deadlines(clock)
    this.#bodyPatience = { deadlines: new Deadlines(clock), pace: parts.callers?.bodyPace ?? bodyPace }
    this.#transport = new Transport(url => parts.resolveUrl(url), clock, parts.connect)
    this.#turns = new Turns(clock, turn => {
      parts.turnWasLong?.(turn)
      const { request, step, ms } = turn
      parts.log.warn({ request, step, ms: Math.round(ms) }, 'a request kept all others waiting')
    })
  }

  get running(): Running {
    return this.#running
  }

  /** Exchanges that have not settled yet. */
  get open(): number {
    return this.#requests.size
  }

  get heldBytes(): number {
    return this.#budget.held
  }

  /** Whether an upstream is paused after failures: its circuit breaker is open. */
  isPaused(upstream: string): boolean {
    return this.#breaker.isOpen(upstream, this.#parts.clock.tick())
  }

  /** How long an upstream stays paused yet, in milliseconds; 0 when it is asked. */
  restMs(upstream: string): number {
    return this.#breaker.restMs(upstream, this.#parts.clock.tick())
  }

  /** From now on new requests use `running`; those under way keep theirs, and the last one closes it. */
  swap(running: Running): void {
    const before = this.#running
    this.#running = running
    if (!this.#users.has(before)) this.#retire(before)
  }

  /** Refuses new requests; resolves when the last one has settled. */
  drain(): Promise<void> {
    this.#draining = true
    return new Promise(resolve => {
      if (this.#requests.size === 0) resolve()
      else this.#onIdle = resolve
    })
  }

  /** Ends the requests that are still under way, those too whose callers have left; their charges end as they stand. */
  stop(): void {
    this.#stopped = fail('drain_deadline')
    const reason = this.#stopped
    this.#requests.each(({ call }) => call?.stop(reason))
  }

  async close(): Promise<void> {
    await this.#transport.close()
    await this.#running.pipeline.close()
  }

  #enter(state: RequestState): void {
    const { running } = state
    this.#requests.add(state)
    this.#users.set(running, (this.#users.get(running) ?? 0) + 1)
  }

  #leave(state: RequestState): void {
    const { running } = state
    this.#requests.delete(state)
    const users = (this.#users.get(running) ?? 1) - 1
    if (users > 0) this.#users.set(running, users)
    else {
      this.#users.delete(running)
      if (running !== this.#running) this.#retire(running)
    }
    if (this.#requests.size === 0) this.#onIdle?.()
  }

  #retire(running: Running): void {
    running.pipeline
      .close()
      .catch((error: unknown) => this.#parts.log.error({ error: String(error) }, 'a replaced plugin did not close'))
  }

  /** One request, from its head to its settlement. Never rejects. */
  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { clock, ids } = this.#parts
    const now = clock.now()
    const id = ids.next('req_', now)
    const stopwatch = new Stopwatch(this.#turns, id)
    stopwatch.start()
    const state: RequestState = {
      place: -1,
      req,
      res,
      running: this.#running,
      id,
      stopwatch,
      startedAt: now,
      startedTick: clock.tick(),
      ex: undefined,
      body: undefined,
      taken: undefined,
      target: undefined,
      call: undefined,
      refused: undefined,
      detached: false,
      order: [],
    }
    this.#enter(state)
    this.#parts.began()
    let outcome: Outcome
    try {
      outcome = await this.#run(state)
    } catch (error) {
      stopwatch.start()
      outcome = this.#refuse(state, error)
    }
    try {
      await this.#settle(state, outcome)
    } catch (error) {
      const stack = error instanceof Error ? error.stack : String(error)
      this.#parts.log.error({ request: state.id, stack }, 'fault after the end of a request')
    } finally {
      stopwatch.stop('end')
      this.#leave(state)
    }
  }

  /** The answer to what was no request: `code` is what Node's parser or its clock says of it. No exchange, no log row. */
  refuseUnread(code: string | undefined): Answer {
    const id = this.#parts.ids.next('req_', this.#parts.clock.now())
    const answer = errorAnswer(this.#parts.guessDialect('/', {}), unreadFailure(code), id)
    return { ...answer, headers: { ...idHeaders(id), ...answer.headers } }
  }

  /** The whole way of a request; every step may refuse by throwing. */
  async #run(state: RequestState): Promise<Outcome> {
    const { req, res, running, stopwatch } = state
    const { plan, pipeline } = running
    const ex = this.#begin(state)

    const guarded = pipeline.onRequest(ex)
    if (isPromise(guarded)) await stopwatch.wait('request', guarded)
    const memory = new ByteClaim(this.#budget, plan.server.memoryBytesMax, ex.payer)
    const taking = takeBody(req, res, ex.route, memory, this.#bodyPatience, stopwatch)
    const taken = isPromise(taking) ? await stopwatch.wait('request', taking) : taking
    state.taken = taken
    if (ex.route.serve !== undefined) return this.#serve(state, ex, ex.route.serve)

    const reading = pipeline.onBody(ex, taken.body)
    const body = isPromise(reading) ? await stopwatch.wait('request', reading) : reading
    state.body = body

    const target = this.#firstChoice(findTarget(plan, ex.route, body, ex.params['model']), state)
    state.target = target
    const checked = pipeline.onTarget(ex, target)
    if (isPromise(checked)) await stopwatch.wait('request', checked)
    const admitting = pipeline.onAdmit(ex, target)
    const answer = isPromise(admitting) ? await stopwatch.wait('request', admitting) : admitting
    if (answer) return this.#answer(state, ex, answer)
    return this.#forward(state, ex, target)
  }

  /** Tries the upstreams in their order until one takes the request, and carries its answer back. */
  async #forward(state: RequestState, ex: Exchange, target: Target): Promise<Outcome> {
    for (const [i, candidate] of state.order.entries()) {
      const tried = i === 0 ? target : withCandidate(target, candidate)
      state.target = tried
      const last = i === state.order.length - 1
      const out = await this.#shape(state, ex, tried, last)
      const outcome = out && (await this.#attempt(state, ex, tried, out, last))
      if (outcome) return outcome
    }
    throw new Error('the last attempt neither answered nor failed')
  }

  /** What the upstream is to receive; undefined when a hook says that it cannot take it now, and another may be asked. */
  async #shape(state: RequestState, ex: Exchange, target: Target, last: boolean): Promise<Outbound | undefined> {
    try {
      const shaping = state.running.pipeline.onForward(ex, shapeOutbound(ex, target), target)
      return isPromise(shaping) ? await state.stopwatch.wait('request', shaping) : shaping
    } catch (error) {
      if (last || !(error instanceof Failure) || !error.elsewhere) throw error
      return undefined
    }
  }

  /** One upstream's try: undefined when it took nothing and said so, and another may be asked without doubt. */
  async #attempt(
    state: RequestState,
    ex: Exchange,
    target: Target,
    out: Outbound,
    last: boolean,
  ): Promise<Outcome | undefined> {
    const { req, res } = state
    if (res.destroyed) throw fail('body_incomplete')
    if (this.#stopped) throw this.#stopped
    const { upstream } = target
    this.#breaker.began(upstream, this.#parts.clock.tick())
    const traced = this.#parts.trace?.began(ex, upstream.name)
    const call = this.#transport.send(req, res, {
      upstream,
      method: ex.route.method,
      path: upstreamPath(ex, target),
      headers: outgoingHeaders(ex, target, traced ? { ...out, headers: { ...out.headers, ...traced } } : out),
      body: out.body,
      reuse: upstream.reuse ?? ex.route.reuse ?? true,
    })
    state.call = call
    const detach = (): boolean => {
      if (!state.detached) {
        if (!out.detach || this.#detached >= detachedMax) return false
        this.#detached++
        state.detached = true
      }
      call.leave()
      return true
    }
    const { stopwatch } = state
    const head = await stopwatch.wait('request', this.#headOrNext(state, ex, upstream, call, detach, last))
    if (!head) return undefined
    const source = openSource(call, head, upstream)
    // A coding has an end of its own: half of what was packed is told from all of it.
    const endUnknown = head.endsWithConnection && source === call
    const headers = replyHeaders(head.headers, ex.dialect)
    const shaped = state.running.pipeline.onReply(
      ex,
      {
        status: head.status,
        headers: source === call ? headers : withoutMeasures(headers),
        stages: firstStages(head.status, upstream),
        endUnknown,
      },
      target,
    )
    const reply = isPromise(shaped) ? await stopwatch.wait('answer', shaped) : shaped
    const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true
    const shown = isStream ? { ...reply.headers, ...unbuffered } : reply.headers
    const begin = (): void =>
      sendHead(
        res,
        reply.status,
        { ...idHeaders(ex.id), ...shown, ...this.#ownHeaders(ex) },
        endUnknown && reply.provesEnd !== true,
      )
    // Events are worth little late: their head goes at once. Others travel with their first bytes, so that what fails
    // before those is an error that says whether to try again, and not a connection that SDKs take up once more.
    if (isStream) begin()
    // A caller may be silent for no longer than an upstream may.
    const callerIdleMs = this.#parts.callers?.writeIdleMs ?? writeIdleMs
    const relay = new Relay(
      res,
      source,
      reply,
      detach,
      begin,
      isStream ? failure => ex.dialect.streamError(failure, ex.id, ex.route.operation) : undefined,
      { deadlines: this.#patience, writeIdleMs: Math.min(callerIdleMs, upstream.timeouts.idleMs) },
      stopwatch,
    )
    const { heartbeatMs } = ex.plan.server
    if (isStream && heartbeatMs !== undefined && ex.dialect.heartbeat !== undefined)
      relay.keepAlive(ex.dialect.heartbeat, heartbeatMs)
    const relayed = await stopwatch.wait('answer', relay.done)
    const answered: Reach = head.status < 400 ? 'complete' : 'refused'
    if (relayed.kind === 'whole') return { kind: 'answered', status: head.status, reach: answered }
    const { by, failure } = relayed
    if (failure && !res.headersSent && !res.destroyed) throw failure
    const reach = relayed.complete ? answered : 'truncated'
    return { kind: 'cut', by, status: head.status, reach, ...(failure && { failure }) }
  }

  /**
   * The head of the answer, or undefined when another upstream is to be asked: where no byte of the request was sent, or a
   * definite refusal came. Never after a byte that may have been taken: a second request could be a second sale.
   */
  async #headOrNext(
    state: RequestState,
    ex: Exchange,
    upstream: Upstream,
    call: UpstreamCall,
    detach: () => boolean,
    last: boolean,
  ): Promise<AnswerHead | undefined> {
    const { clock, log } = this.#parts
    const sentTick = clock.tick()
    try {
      const head = await this.#awaitHead(call, ex, state.res, detach)
      this.#parts.upstreamAnswered(upstream.name, head.status, clock.tick() - sentTick)
      this.#parts.trace?.answered(ex, head.status)
      if (!saysNo(head.status)) {
        this.#breaker.succeeded(upstream)
        return head
      }
      this.#breaker.failed(upstream, clock.tick(), retryAfterMs(head.headers['retry-after'], clock.now()))
      if (last || !isDefiniteRefusal(head.status)) return head
      state.refused = call
      call.abort(fail('upstream_cut', { reason: 'another upstream is asked' }))
      log.warn(
        { request: ex.id, upstream: upstream.name, status: head.status },
        'an upstream refused; the next is asked',
      )
      return undefined
    } catch (error) {
      this.#parts.upstreamAnswered(upstream.name, null, clock.tick() - sentTick)
      this.#parts.trace?.answered(ex, null)
      if (error instanceof CallerGone) this.#breaker.undecided(upstream)
      else this.#breaker.failed(upstream, clock.tick())
      if (last || call.reach !== 'untouched' || !(error instanceof Failure)) throw error
      log.warn(
        { request: ex.id, upstream: upstream.name, code: error.code },
        'an upstream could not be reached; the next is asked',
      )
      return undefined
    }
  }

  /** Puts the model's upstreams in their order, and the target on the first. */
  #firstChoice(target: Target, state: RequestState): Target {
    const { upstreams } = target.model
    if (upstreams.length > 1) {
      const { clock, random } = this.#parts
      const now = clock.tick()
      state.order = orderCandidates(
        upstreams,
        one => this.#breaker.admits(one.upstream, now),
        () => random.unit(),
      )
      return withCandidate(target, state.order[0] as Candidate)
    }
    state.order = upstreams
    return target
  }

  /** Waits for the answer's head; a caller who leaves meanwhile ends the wait, unless the answer is to be read anyway. */
  async #awaitHead(call: UpstreamCall, ex: Exchange, res: ServerResponse, detach: () => boolean): Promise<AnswerHead> {
    const patience = createPatience(ex, res, this.#patience)
    if (patience) this.#patience.watch(patience)
    const onGone = (): void => {
      if (!detach()) call.abort(new CallerGone())
    }
    if (res.destroyed) onGone()
    else res.once('close', onGone)
    try {
      return await call.head
    } finally {
      res.off('close', onGone)
      if (patience) this.#patience.forget(patience)
    }
  }

  #begin(state: RequestState): Exchange {
    const { req, running, id, startedAt } = state
    const head = readHead(req, running.plan.server.trustedProxies)
    const match = running.router.find(head.method, head.path)
    if (head.path === '*') throw new Preflight({ allow: running.router.methods.join(', ') })
    const { corsOrigins } = running.plan.server
    if (match.kind === 'method' && corsOrigins.length > 0) {
      const headers = preflightHeaders(req, corsOrigins, match.allow)
      if (headers) throw new Preflight(headers)
    }
    if (match.kind === 'none')
      throw fail('not_found', { method: head.method.slice(0, 16), path: head.path.slice(0, 200) })
    if (match.kind === 'method')
      throw fail(
        'method_not_allowed',
        { path: head.path.slice(0, 200), allow: match.allow.join(', '), method: head.method.slice(0, 16) },
        { headers: { allow: match.allow.join(', ') } },
      )
    if (this.#draining) throw fail('draining', {}, { retryAfterMs: 1_000, headers: { connection: 'close' } })
    const dialect = this.#parts.dialect(match.route.dialect, head)
    if (!dialect) throw new Error(`no dialect '${match.route.dialect}'`)
    const ex: Exchange = {
      id,
      startedAt,
      head,
      route: match.route,
      params: match.params,
      dialect,
      plan: running.plan,
      slots: new Slots(),
      notes: createNotes(),
      payer: '',
      limits: [],
      answerHeaders: corsOrigins.length > 0 ? { ...corsHeaders(req, corsOrigins) } : {},
    }
    state.ex = ex
    return ex
  }

  async #serve(state: RequestState, ex: Exchange, name: string): Promise<Outcome> {
    const local = this.#parts.local.get(name)
    if (!local) throw new Error(`no local answer '${name}'`)
    const answering = local(ex)
    return this.#answer(state, ex, isPromise(answering) ? await state.stopwatch.wait('request', answering) : answering)
  }

  #answer(state: RequestState, ex: Exchange, answer: Answer): Outcome {
    sendAnswer(state.res, ex.id, answer, this.#ownHeaders(ex))
    discardRest(state.req, this.#parts.clock)
    return { kind: 'answered', status: answer.status, reach: 'untouched' }
  }

  /** Turns what was thrown into an error of the caller's style, or into a cut once bytes have left. */
  #refuse(state: RequestState, error: unknown): Outcome {
    const { req, res, call, ex } = state
    const reach = reachOf(state)
    if (error instanceof Preflight) {
      sendAnswer(res, state.id, { status: 204, headers: error.headers, body: '' }, {})
      discardRest(req, this.#parts.clock)
      return { kind: 'answered', status: 204, reach }
    }
    if (error instanceof CallerGone || (res.destroyed && !res.writableEnded)) {
      call?.abort(new CallerGone())
      return { kind: 'cut', by: 'caller', status: undefined, reach }
    }
    const failure = this.#asFailure(state, error)
    call?.abort(failure)
    if (res.headersSent) {
      res.socket?.resetAndDestroy()
      return { kind: 'cut', by: 'gateway', status: res.statusCode, reach, failure }
    }
    const dialect = ex?.dialect ?? this.#parts.guessDialect(req.url ?? '/', req.headers)
    const inDoubt = reach === 'unknown' || reach === 'truncated'
    const shown = inDoubt && ex?.notes.charge ? withoutRetry(failure) : failure
    sendAnswer(res, state.id, errorAnswer(dialect, shown, state.id), {
      ...(ex ? this.#ownHeaders(ex) : corsHeaders(req, state.running.plan.server.corsOrigins)),
    })
    discardRest(req, this.#parts.clock)
    return { kind: 'refused', status: failure.status, failure, reach }
  }

  #asFailure(state: RequestState, error: unknown): Failure {
    if (error instanceof Failure) {
      if (error.status >= 500)
        this.#parts.log.warn({ request: state.id, code: error.code, cause: causeText(error) }, error.message)
      return error
    }
    const stack = error instanceof Error ? error.stack : String(error)
    this.#parts.log.error(
      { request: state.id, stack },
      error instanceof HookFault ? error.message : 'fault in the engine',
    )
    return fail('internal_error', {}, { cause: error })
  }

  /** What every answer to an exchange carries: its limits in the dialect's words, and what plugins put there. */
  #ownHeaders({ answerHeaders, dialect, limits }: Exchange): { readonly [name: string]: string } {
    if (limits.length === 0) return answerHeaders
    return { ...dialect.limitHeaders(limits, this.#parts.clock.now()), ...answerHeaders }
  }

  async #settle(state: RequestState, outcome: Outcome): Promise<void> {
    const { ex, running, target } = state
    if (ex) {
      const settled = running.pipeline.onSettle(ex, outcome, target, fault =>
        this.#parts.log.error({ request: ex.id, stack: fault.stack }, fault.message),
      )
      if (isPromise(settled)) await state.stopwatch.wait('end', settled)
    }
    if (state.body?.kind === 'form') state.body.discard()
    state.taken?.release()
    if (state.detached) this.#detached--
    if (!ex) return
    this.#parts.record(this.#row(state, ex, outcome), ex)
  }

  #row(state: RequestState, ex: Exchange, outcome: Outcome): LogRow {
    const { target } = state
    const caller = ex.slots.get(callerSlot)
    const client = ex.head.headers['x-request-id']
    return {
      id: ex.id,
      time: ex.startedAt,
      keyId: caller?.key.id ?? null,
      user: caller?.key.user ?? null,
      group: caller?.group.name ?? null,
      model: target?.model.name ?? null,
      operation: ex.route.operation,
      status: outcome.status ?? null,
      outcome: outcome.kind === 'answered' && ex.notes.failed !== undefined ? 'upstream_cut' : outcomeName(outcome),
      errorCode: ('failure' in outcome && outcome.failure ? outcome.failure.code : ex.notes.failed) ?? null,
      durationMs: Math.round(this.#parts.clock.tick() - state.startedTick),
      upstream: state.call?.request.upstream.name ?? null,
      configRevision: ex.plan.revision,
      forwarded: clipNames(ex.notes.forwarded),
      dropped: clipNames(ex.notes.dropped),
      clientRequestId: typeof client === 'string' ? client.slice(0, 128) : null,
      inputTokens: ex.notes.inputTokens,
      outputTokens: ex.notes.outputTokens,
    }
  }
}

/**
 * How far the request came: what one upstream has refused is not untouched because the next could not be reached, and is
 * not in doubt because the next was not asked at all.
 */
function reachOf({ call, refused }: RequestState): Reach {
  const reach = call?.reach ?? 'untouched'
  return refused && (call === refused || reach === 'untouched') ? 'refused' : reach
}

function unreadFailure(code: string | undefined): Failure {
  if (code === 'CONNECT') return fail('connect_unsupported')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return fail('request_too_slow')
  if (code === 'HPE_HEADER_OVERFLOW') return fail('headers_too_large')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return fail('chunk_extensions_too_large')
  return fail('request_malformed', {
    why: code?.replace(/^HPE_/, '').toLowerCase().replaceAll('_', ' ') ?? 'unreadable',
  })
}

/** The names as a row keeps them: callers make them up, and may make up megabytes of them. */
function clipNames(names: readonly string[]): readonly string[] {
  if (names.length <= namesMax && names.every(name => name.length <= nameCharsMax)) return names
  const kept = names
    .slice(0, namesMax)
    .map(name => (name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}…` : name))
  return names.length > namesMax ? [...kept, `… ${names.length - namesMax} more`] : kept
}

/** The caller left while we waited. */
class CallerGone extends Error {}

/** A question about what may be asked, a browser's for one: answered before anybody looks for a key. */
class Preflight extends Error {
  readonly headers: { readonly [name: string]: string }

  constructor(headers: { readonly [name: string]: string }) {
    super('preflight')
    this.headers = headers
  }
}

/** Statuses by which an upstream says that it cannot, whoever asks. */
function saysNo(status: number): boolean {
  return status === 429 || status === 529 || (status >= 500 && status !== 501)
}

/** Statuses that say that nothing was begun: another upstream may be asked without doubt. */
function isDefiniteRefusal(status: number): boolean {
  return status === 429 || status === 503 || status === 529
}

/** Retry-After in milliseconds: seconds or a date (RFC 9110 10.2.3); undefined where it says nothing. */
function retryAfterMs(value: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined
  const seconds = Number(value)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - nowMs
  return ms > 0 ? ms : undefined
}

function withCandidate(target: Target, candidate: Candidate): Target {
  return { ...target, upstream: candidate.upstream, sendAs: candidate.sendAs }
}

/** Tells a caller who waits for an answer, and whose client understands it, that the wait goes on; undefined for others. */
function createPatience(ex: Exchange, res: ServerResponse, deadlines: Deadlines): Timed | undefined {
  const { heartbeatMs, agentsAccepting102 } = ex.plan.server
  const agent = ex.head.headers['user-agent']
  if (heartbeatMs === undefined || typeof agent !== 'string') return undefined
  if (!agentsAccepting102.some(part => agent.includes(part)) || res.req.httpVersionMinor === 0) return undefined
  const everyMs = heartbeatMs
  return {
    place: -1,
    deadlineAt: deadlines.in(everyMs),
    onDeadline() {
      if (res.headersSent || res.destroyed) return undefined
      res.writeProcessing()
      return deadlines.in(everyMs)
    },
  }
}

function createNotes(): Notes {
  return {
    forwarded: [],
    dropped: [],
    charge: false,
    inputTokens: null,
    outputTokens: null,
  }
}

function shapeOutbound(ex: Exchange, target: Target): Outbound {
  const rule = target.family.forward.get(ex.route.operation)
  const { body, forwarded, dropped } = applyForward(target.body, rule, target)
  ex.notes.forwarded = forwarded
  ex.notes.dropped = dropped
  return { body, headers: {}, detach: false }
}

function upstreamPath(ex: Exchange, target: Target): string {
  const { upstreamPath: template } = ex.route
  const path = template.includes('{') ? fillPath(template, { ...ex.params, model: target.sendAs }) : template
  const query = upstreamQuery(ex.head.query)
  return query === '' ? path : `${path}?${query}`
}

/** The template with its names filled in; slashes and colons of a value stay, everything else is escaped. */
function fillPath(template: string, params: { readonly [name: string]: string }): string {
  return template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encodeURIComponent(params[name] ?? '')
      .replaceAll('%2F', '/')
      .replaceAll('%3A', ':'),
  )
}

/** Where the answer's bytes come from: the call, or what undoes the codings that nobody asked for. */
function openSource(call: UpstreamCall, head: AnswerHead, upstream: Upstream): Source {
  return head.codings.length === 0 ? call : new DecodedAnswer(call, head.codings, upstream.answerBytesMax)
}

/** Headers that measure the bytes as they were packed. */
const measures: ReadonlySet<string> = new Set([
  'content-length',
  'content-encoding',
  'etag',
  'digest',
  'content-digest',
  'repr-digest',
  'content-md5',
  'accept-ranges',
])

function withoutMeasures(headers: { readonly [name: string]: string }): { readonly [name: string]: string } {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !measures.has(name)))
}

/** What stands before every plugin's stages: upstreams quote the key that they refuse. */
function firstStages(status: number, upstream: Upstream): readonly Stage[] {
  const redaction = status < 400 ? undefined : createRedaction(upstream.credential)
  return redaction ? [redaction] : []
}

function outgoingHeaders(ex: Exchange, target: Target, out: Outbound): string[] {
  const headers = requestHeaders(ex.head, ex.dialect, target.upstream, out.headers)
  if (out.body.kind === 'json') headers.push('content-type', 'application/json')
  else if (out.body.kind === 'stream') headers.push('content-type', out.body.contentType)
  return headers
}

function sendHead(
  res: ServerResponse,
  status: number,
  headers: { readonly [name: string]: string },
  endsWithConnection: boolean,
): void {
  if (res.destroyed) return
  if (endsWithConnection) {
    res.shouldKeepAlive = false
    res.useChunkedEncodingByDefault = false
  }
  res.writeHead(status, headers)
  if (headers['content-length'] === undefined) res.flushHeaders()
}

function withoutRetry(failure: Failure): Failure {
  const { code, status, type, param, message } = failure
  return new Failure(code, { status, type, text: message, retry: false }, message, {
    ...(param !== null && { param }),
    headers: failure.headers,
  })
}

function causeText(error: Error): string | undefined {
  return error.cause instanceof Error ? error.cause.message : undefined
}

function outcomeName(outcome: Outcome): LogRow['outcome'] {
  if (outcome.kind !== 'cut') return outcome.kind
  if (outcome.by === 'caller') return 'caller_gone'
  return outcome.by === 'deadline' ? 'deadline' : 'upstream_cut'
}
