import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Answer,
  type Awaitable,
  type Candidate,
  type Clock,
  type Connect,
  type CallUpstream,
  type Counters,
  type ApiFormat,
  type RequestContext,
  Failure,
  type Head,
  type Ids,
  isPromise,
  type Job,
  jobSlot,
  type Log,
  type LogRow,
  type Notes,
  type Outbound,
  type Outcome,
  type UpstreamRequest,
  type Reply,
  type Random,
  type KeyStatus,
  type KeyTrial,
  type Reach,
  IntrusiveSet,
  type SignerHost,
  Slots,
  type StoredAnswer,
  type Target,
  tokenUseSlot,
  type Upstream,
  type VendorKey,
  withoutLength,
} from '../kit/index.ts'
import { ByteBudget, ByteClaim } from '../wire/index.ts'
import { FormJudge, formReader, wantedForm, type WantedForm } from './answer-form.ts'
import { firstStages, openSource, secretsOfCall, struckHeaders } from './answer-source.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { Deadlines, type Timed } from './deadlines.ts'
import type { Source } from './decode.ts'
import { fail } from './errors.ts'
import { isDirect } from './is-direct.ts'
import { readHead } from './read-head.ts'
import type { CallRequest } from './call-request.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { UpstreamSession, type Sent } from './upstream-session.ts'
import { replyHeaders } from './headers.ts'
import { discardRest } from './discard-rest.ts'
import {
  type BodyPace,
  type BodyPatience,
  bodyPace,
  noRoom,
  paidBytes,
  type IncomingBody,
  readBody,
} from './body-reader.ts'
import { toLogRow } from './log-row.ts'
import { orderCandidates } from './order-candidates.ts'
import { addressOf, callOf, outgoingHeaders, shapeOutbound, upstreamPath } from './outbound.ts'
import { ErrorSnippet } from './error-snippet.ts'
import { ownWords } from './own-words.ts'
import { HookFault } from './pipeline.ts'
import { ResponsePump, type PumpResult, writeIdleMs } from './response-pump.ts'
import { CallerGone, ActiveRequest, type Running, type Shared } from './active-request.ts'
import { collect, planJob } from './resume.ts'
import { errorAnswer, idHeaders, ownHeaders, sendAnswer, unbuffered } from './respond.ts'
import { notTogether, runAllOn } from './fallback-models.ts'
import { findTarget } from './target.ts'
import { toRequest } from './upstream-request.ts'
import { type AnswerHead, type Call, type SignerOf, Transport } from './transport.ts'
import type { PoolStatus } from './upstream/index.ts'
import { type LongTurn, Stopwatch, EventLoopWatch } from './event-loop-watch.ts'
import type { Judgement } from './vendor-keys/judge.ts'
import { JudgedCall } from './vendor-keys/judged-call.ts'
import type { KeyAttempt, Verdict } from './vendor-keys/key-attempt.ts'
import { kindToHear } from './vendor-keys/may-be-refusal.ts'
import { probe } from './vendor-keys/probe.ts'
import { VendorKeys } from './vendor-keys/vendor-keys.ts'
import { digestBody } from './vendor-keys/digest-body.ts'
import { isDefiniteRefusal, retryAfterMs, isRetryableStatus } from './retryable-status.ts'

/** Answers of ours that are longer count as bodies held in memory. */
const smallAnswerBytes = 65_536
/** How often, and how many times, a job's answer waits for memory. */
const roomEveryMs = 100
const roomTries = 600

/** A route that the gateway answers by itself. */
export type LocalAnswer = (ex: RequestContext) => Answer | Promise<Answer>

export type EngineParts = {
  /** The dialect of a route, by the name that the route gives; for `by-caller` it is the caller's. */
  dialect(name: string, head: Head): ApiFormat | undefined
  /** The style of errors raised before a route is known. */
  guessDialect(path: string, headers: IncomingMessage['headers']): ApiFormat
  readonly local: ReadonlyMap<string, LocalAnswer>
  /** Turns an upstream's url as written into one that can be dialled. */
  resolveUrl(url: string): string
  /** A request has come. */
  began(): void
  /** An upstream's head has come (status), or never came (null), after so many milliseconds. */
  upstreamAnswered(upstream: string, status: number | null, durationMs: number): void
  /** A request kept all others waiting for too long. */
  turnWasLong?(turn: LongTurn): void
  /** Follows the requests to upstreams, for tracing. */
  readonly trace?: {
    /** A request is about to be sent. @returns headers that go with it */
    began(ex: RequestContext, upstream: string): { readonly [name: string]: string }
    /** Its head has come (status), or never came (null). */
    answered(ex: RequestContext, status: number | null): void
  }
  /** A request has ended for which no route was found: why it was refused, or undefined where a preflight was answered. */
  unrouted?(failure: Failure | undefined, req: IncomingMessage): void
  /** What came was no request. */
  unread?(failure: Failure): void
  /** Takes the row of every exchange, once. */
  record(row: LogRow, ex: RequestContext): void
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  /** Opens connections to upstreams; the engine's own by default. */
  readonly connect?: Connect | undefined
  /** Who signs for an upstream. */
  readonly signerOf?: SignerOf
  readonly log: Log
  /** Where the limits of upstreams' keys are counted; without it they are not. */
  readonly counters?: Pick<Counters, 'take' | 'settle'>
  /** Called for each upstream's key whose state has changed. */
  readonly keyChanged?: (standing: KeyStatus, before: KeyStatus | undefined) => void
  /** How slow callers may be; for tests of it, which have no minutes. */
  readonly callers?: { readonly bodyPace?: BodyPace; readonly writeIdleMs?: number }
}

/** Moves bytes between callers and upstreams by a plan, and knows nothing of what they mean. */
export class Engine {
  readonly #parts: EngineParts
  readonly #transport: Transport
  readonly #budget = new ByteBudget()
  readonly #breaker = new CircuitBreaker()
  /** Of upstreams with several keys: which are used, and their states. */
  readonly vendorKeys: VendorKeys
  readonly #patience: Deadlines
  readonly #bodyPatience: BodyPatience
  readonly #turns: EventLoopWatch
  #running: Running
  #draining = false
  /** Why no request goes on any more, once that is so. */
  #stopped: Failure | undefined
  #onIdle: (() => void) | undefined
  /** Configurations that have been replaced, with the requests that still use them. */
  readonly #users = new Map<Running, number>()
  /** The exchanges that have not settled yet. */
  readonly #requests = new IntrusiveSet<ActiveRequest>()
  readonly #shared: Shared
  /** Jobs that are polled after their clients have left. */
  readonly #resumed = new Set<UpstreamSession>()

  constructor(parts: EngineParts, running: Running) {
    this.#parts = parts
    this.#running = running
    const { clock } = parts
    this.#shared = { clock, detached: 0 }
    this.#patience = new Deadlines(clock)
    this.#bodyPatience = { deadlines: new Deadlines(clock), pace: parts.callers?.bodyPace ?? bodyPace }
    this.#transport = new Transport(url => parts.resolveUrl(url), clock, parts.connect, parts.signerOf)
    const { random, log, counters, keyChanged: onChange } = parts
    this.vendorKeys = new VendorKeys({ clock, random, log, zone: running.plan.timeZone, counters, onChange })
    this.#turns = new EventLoopWatch(clock, turn => {
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

  /** Asks where a signer's tokens are minted. @throws Failure upstream_* */
  get post(): SignerHost['post'] {
    return this.#transport.post
  }

  /** Whether an upstream is paused after failures: its circuit breaker is open. */
  isPaused(upstream: string): boolean {
    return this.#breaker.isOpen(upstream, this.#parts.clock.tick())
  }

  /** The connections to an upstream; undefined before its first request. */
  connectionsOf(upstream: Upstream): PoolStatus | undefined {
    return this.#transport.standingOf(upstream)
  }

  /** Requests that were refused because too many waited for a connection to an upstream. */
  turnedAway(upstream: Upstream): number {
    return this.#transport.turnedAway(upstream)
  }

  /** How long an upstream stays paused yet, in milliseconds; 0 when it takes requests. */
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

  /** Ends the requests that are still under way, those too whose callers have left; their charges end as they are. */
  stop(): void {
    this.#stopped = fail('drain_deadline')
    const reason = this.#stopped
    this.#requests.each(({ call }) => call?.stop(reason))
    for (const call of this.#resumed) call.stop(reason)
  }

  async close(): Promise<void> {
    await this.#transport.close()
    await this.#running.pipeline.close()
  }

  #enter(state: ActiveRequest): void {
    const { running } = state
    this.#requests.add(state)
    this.#use(running)
  }

  #use(running: Running): void {
    this.#users.set(running, (this.#users.get(running) ?? 0) + 1)
  }

  #unuse(running: Running): void {
    const users = (this.#users.get(running) ?? 1) - 1
    if (users > 0) this.#users.set(running, users)
    else {
      this.#users.delete(running)
      if (running !== this.#running) this.#retire(running)
    }
  }

  #leave(state: ActiveRequest): void {
    const { running } = state
    this.#requests.delete(state)
    this.#unuse(running)
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
    const state = new ActiveRequest(req, res, this.#running, id, now, stopwatch, this.#shared)
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
      const settling = this.#settle(state, outcome)
      if (settling) await settling
    } catch (error) {
      const stack = error instanceof Error ? error.stack : String(error)
      this.#parts.log.error({ request: state.id, stack }, 'fault after the end of a request')
    } finally {
      stopwatch.stop('end')
      this.#leave(state)
    }
  }

  /**
   * Takes a job up again whose caller is gone, or was never waiting: its upstream is asked on, its answer goes through the
   * plugins as any other, and its charge ends. No row of the log.
   * @throws Failure where no answer comes of it; the job may go on all the same
   */
  async resume(job: Job): Promise<StoredAnswer> {
    const running = this.#running
    const { ex, target } = planJob(running.plan, job, (name, head) => this.#parts.dialect(name, head))
    this.#use(running)
    let outcome: Outcome = { kind: 'refused', status: 500, failure: fail('internal_error'), reach: 'unknown' }
    let call: UpstreamSession | undefined
    const memory = new ByteClaim(this.#budget, running.plan.server.memoryBytesMax)
    try {
      const resuming = running.pipeline.onResume(ex, target)
      if (isPromise(resuming)) await resuming
      const converse = running.pipeline.onAsk(ex, { body: target.body, headers: {}, detach: true }, target)
      if (!converse) throw fail('job_unplanned', { model: job.model, upstream: job.upstream })
      call = this.#converse(ex, target, converse, {}, request => this.#transport.sendAlone(request))
      this.#resumed.add(call)
      if (this.#stopped) throw this.#stopped
      const head = await call.head
      const headers = struckHeaders(replyHeaders(head.headers, ex.dialect), head.status, call)
      const stages = firstStages(head, call)
      const shaping = running.pipeline.onReply(ex, { status: head.status, headers, stages }, target)
      const hold = (bytes: number): Promise<void> => this.#waitForRoom(memory, bytes)
      const answer = await collect(call, head, isPromise(shaping) ? await shaping : shaping, hold)
      outcome = { kind: 'answered', status: head.status, reach: head.status < 400 ? 'complete' : 'refused' }
      return answer
    } catch (error) {
      const failure = error instanceof Failure ? error : fail('internal_error', {}, { cause: error })
      call?.abort(failure)
      outcome = { kind: 'refused', status: failure.status, failure, reach: 'unknown' }
      throw failure
    } finally {
      memory.free()
      if (call) this.#resumed.delete(call)
      const settling = running.pipeline.onSettle(ex, outcome, target, this.#onSettleFault)
      if (isPromise(settling)) await settling
      this.#unuse(running)
    }
  }

  /** Nobody waits for a job's answer, so it waits for memory: it has been paid. @throws Failure over_capacity after a minute */
  async #waitForRoom(memory: ByteClaim, bytes: number): Promise<void> {
    const wanted = paidBytes(bytes, this.#running.plan.server.memoryBytesMax)
    for (let tries = 0; !memory.hold(wanted); tries++) {
      if (tries === roomTries) throw noRoom()
      await this.#parts.clock.sleep(roomEveryMs)
    }
  }

  /** Tries a key at what costs nothing. Never rejects. */
  probe(key: VendorKey): Promise<KeyTrial> {
    return probe(key, { clock: this.#parts.clock, send: request => this.#transport.sendAlone(request) })
  }

  #converse(
    ex: RequestContext,
    target: Target,
    converse: CallUpstream,
    headers: { readonly [name: string]: string },
    ask: (request: CallRequest) => Call,
  ): UpstreamSession {
    const { upstream } = target
    const address = addressOf(ex, target)
    const reuse = upstream.reuse ?? ex.route.reuse ?? true
    const resolve = (url: string): string => this.#parts.resolveUrl(url)
    // What a conversation sends after its first request is about work that was begun, as is all of one that is resumed.
    let isFollowUp = ex.slots.get(jobSlot)?.resumed !== undefined
    const send = (question: UpstreamRequest): Sent => {
      const request = toRequest(question, { upstream, address, reuse, headers, resolve })
      const call = ask({ ...request, payer: ex.payer, isFollowUp })
      isFollowUp = true
      return { call, open: head => openSource(call, head, upstream) }
    }
    return new UpstreamSession(converse, { upstream, send, clock: this.#parts.clock })
  }

  /** The answer to what was no request: `code` is what Node's parser or its clock says of it. No exchange, no log row. */
  refuseUnread(code: string | undefined): Answer {
    const id = this.#parts.ids.next('req_', this.#parts.clock.now())
    const failure = unreadFailure(code)
    this.#parts.unread?.(failure)
    const answer = errorAnswer(this.#parts.guessDialect('/', {}), failure, id)
    return { ...answer, headers: { ...idHeaders(id), ...answer.headers } }
  }

  /**
   * The whole way of a request; every step may refuse by throwing. It waits for three things in the life of most requests:
   * the body, the head of the answer, and its end.
   */
  async #run(state: ActiveRequest): Promise<Outcome> {
    const { running, stopwatch } = state
    const { pipeline } = running
    const ex = this.#begin(state)
    const guarded = pipeline.onRequest(ex)
    if (isPromise(guarded)) await stopwatch.wait('request', guarded)
    const taking = this.#take(state, ex)
    if (isPromise(taking)) {
      stopwatch.stop('request')
      state.taken = await taking
      stopwatch.start()
    } else state.taken = taking
    state.mark('received', stopwatch.since)
    if (ex.route.serve !== undefined) return this.#serve(state, ex, ex.route.serve)

    const reading = pipeline.onBody(ex, state.taken.body)
    const body = isPromise(reading) ? await stopwatch.wait('request', reading) : reading
    state.body = body

    const target = this.#firstChoice(findTarget(running.plan, ex.route, body, ex.params['model']), state)
    state.target = target
    // RFC 8594: every client of a model that ends is informed, whatever becomes of the request.
    if (target.model.ends !== undefined) ex.answerHeaders['sunset'] = target.model.ends.sunset
    const checked = pipeline.onTarget(ex, target)
    if (isPromise(checked)) await stopwatch.wait('request', checked)
    const admitting = pipeline.onAdmit(ex, target)
    const answer = isPromise(admitting) ? await stopwatch.wait('request', admitting) : admitting
    if (answer) return this.#answer(state, ex, answer)

    for (let i = 0; i < state.order.length; i++) {
      const tried = i === 0 ? target : withCandidate(target, state.order[i] as Candidate)
      state.target = tried
      const isLast = i === state.order.length - 1
      const head = await this.#ask(state, ex, tried, isLast)
      if (!head) continue
      const relaying = this.#relay(state, ex, state.target, head)
      const relay = isPromise(relaying) ? await stopwatch.wait('answer', relaying) : relaying
      relay.start()
      stopwatch.stop('answer')
      const relayed = await relay.done
      stopwatch.start()
      const outcome = outcomeOf(state.res, head.status, relayed)
      return state.inDoubt && outcome.reach === 'refused' ? { ...outcome, reach: 'unknown' } : outcome
    }
    throw new Error('the last attempt neither answered nor failed')
  }

  #take(state: ActiveRequest, ex: RequestContext): Awaitable<IncomingBody> {
    const { req, res, running, stopwatch } = state
    const memory = new ByteClaim(this.#budget, running.plan.server.memoryBytesMax, ex.payer)
    return readBody(req, res, ex.route, memory, this.#bodyPatience, stopwatch)
  }

  /** What the upstream is to receive; undefined when a hook says that it cannot take it now, and another may be tried. */
  #shape(state: ActiveRequest, ex: RequestContext, target: Target, isLast: boolean): Awaitable<Outbound | undefined> {
    const goElsewhere = (error: unknown): undefined => {
      if (isLast || !(error instanceof Failure) || !error.elsewhere) throw error
    }
    try {
      const shaping = state.running.pipeline.onForward(ex, shapeOutbound(ex, target), target)
      return isPromise(shaping) ? shaping.catch(goElsewhere) : shaping
    } catch (error) {
      return goElsewhere(error)
    }
  }

  #send(state: ActiveRequest, ex: RequestContext, target: Target, out: Outbound): Call {
    const { req, res } = state
    if (res.destroyed) throw fail('body_incomplete')
    if (this.#stopped) throw this.#stopped
    const { upstream } = target
    this.#breaker.began(upstream, this.#parts.clock.tick())
    state.keys?.sent()
    const traced = this.#parts.trace?.began(ex, upstream.name)
    const converse = state.running.pipeline.onAsk(ex, out, target)
    if (converse)
      return this.#converse(ex, target, converse, traced ?? {}, request => this.#transport.send(req, res, request))
    const place = callOf(ex, target)
    const told = place || traced ? { ...out, headers: { ...place?.headers, ...out.headers, ...traced } } : out
    return this.#transport.send(req, res, {
      upstream,
      method: place?.method ?? ex.route.method,
      path: upstreamPath(ex, target, place),
      headers: outgoingHeaders(ex, target, told),
      body: out.body,
      reuse: upstream.reuse ?? ex.route.reuse ?? true,
      payer: ex.payer,
    })
  }

  /**
   * Asks one upstream and waits for the head of its answer; a caller who leaves meanwhile ends the wait, unless the answer
   * is to be read anyway. Undefined when another upstream is to be asked: where no byte of the request was sent, or a
   * definite refusal came. Never after a byte that may have been taken: a second request could be a second sale. An upstream
   * with keys is asked with one after another, until one is served: what was not sold goes to the next key at once; what may
   * have been sold goes nowhere, unless the operator pays twice.
   * @throws Failure upstream_credentials, upstream_limited where no key is left
   */
  async #ask(
    state: ActiveRequest,
    ex: RequestContext,
    target: Target,
    isLast: boolean,
  ): Promise<AnswerHead | undefined> {
    const { clock } = this.#parts
    const { stopwatch } = state
    const attempt = this.#attempt(state, ex, target, isLast)
    let refused: AnswerHead | undefined
    let verdict: Verdict = 'next_key'
    const wanted = wantedForm(ex, target)
    while (verdict === 'next_key' || verdict === 'same_key') {
      const choosing = verdict === 'same_key' ? attempt?.key?.upstream : attempt ? attempt.next() : target.upstream
      const upstream = isPromise(choosing) ? await stopwatch.wait('request', choosing) : choosing
      if (!upstream) break
      if (attempt && refused) this.#passOver(state, attempt.isInDoubt)
      refused = undefined
      const tried = attempt ? { ...target, upstream } : target
      state.target = tried
      const shaping = this.#shape(state, ex, tried, isLast)
      const out = isPromise(shaping) ? await stopwatch.wait('request', shaping) : shaping
      if (!out) return this.#endAttempt(state)
      const call = this.#send(state, ex, tried, out)
      const sentTick = clock.tick()
      const waiting = this.#waits(state, ex, call, out, sentTick)
      let judged: JudgedCall | undefined
      try {
        const head = await call.head
        stopwatch.start()
        const headTick = clock.tick()
        state.mark('firstByte', headTick)
        judged = this.#hear(state, call, head, wanted)
        refused = judged ? await stopwatch.wait('answer', judged.head) : head
        this.#answered(ex, upstream, refused.status, headTick - sentTick)
      } catch (error) {
        stopwatch.start()
        this.#noHead(ex, upstream, sentTick, error)
        verdict = this.#lost(state, upstream, call, error, isLast)
      } finally {
        if (waiting) this.#patience.forget(waiting)
      }
      if (refused) verdict = this.#judge(state, upstream, refused, judged, isLast)
      if (verdict === 'take') return refused
      // What was read as it came cannot be sent again.
      if (out.body.kind === 'stream' && call.reach !== 'untouched') verdict = 'next_upstream'
    }
    return attempt && this.#noKeyLeft(state, attempt, refused, isLast)
  }

  /** The way through the keys of an upstream that has any. */
  #attempt(
    state: ActiveRequest,
    ex: RequestContext,
    { upstream, model }: Target,
    isLast: boolean,
  ): KeyAttempt | undefined {
    if (!upstream.keys) return (state.keys = undefined)
    const tokens = ex.slots.get(tokenUseSlot)
    // The same for all upstreams: of all their keys one may change for what it is refused.
    state.asker ??= {
      request: ex.id,
      client: ex.payer,
      digest: () => digestBody(state.body),
      ...(tokens && { tokens: tokens.estimate }),
      hasChanged: false,
    }
    const asked = { model: model.name, request: ex.id, asker: state.asker, tokens, isLast }
    return (state.keys = this.vendorKeys.attempt(upstream, asked))
  }

  /** The wait for a head begins. @returns what informs the caller meanwhile */
  #waits(state: ActiveRequest, ex: RequestContext, call: Call, out: Outbound, sentTick: number): Timed | undefined {
    const waiting = createPatience(ex, state.res, this.#patience)
    if (waiting) this.#patience.watch(waiting)
    state.asks(call, out, sentTick)
    state.stopwatch.stop('request')
    return waiting
  }

  /** Hears an answer until it is known whether it is one, and of what form; undefined where what came with its head shows that. */
  #hear(state: ActiveRequest, call: Call, head: AnswerHead, wanted: WantedForm | undefined): JudgedCall | undefined {
    const { keys } = state
    const conversation = call instanceof UpstreamSession ? call : undefined
    const formOf = formReader(head, wanted)
    const kind = kindToHear(head, {
      hasKey: keys !== undefined,
      call: conversation ? undefined : call,
      formOf,
      wantsEvents: wanted === 'events',
    })
    if (!kind) return undefined
    const isAlone = keys === undefined || keys.key?.isOnly === true
    const judged = new JudgedCall(call, this.#parts.clock, { conversation, isAlone, kind, formOf })
    state.call = judged
    return judged
  }

  /** Its keys are used no more for this request. */
  #endAttempt(state: ActiveRequest): undefined {
    state.keys?.end({ kind: 'answered', status: 0, reach: 'refused' }, undefined)
    state.keys = undefined
    this.vendorKeys.budgets.forget(state.id)
  }

  /** The answer of the key before is discarded. */
  #passOver(state: ActiveRequest, isInDoubt: boolean): void {
    if (!isInDoubt) state.refused = state.call
    state.inDoubt ||= isInDoubt
    state.call?.abort(fail('upstream_cut', { reason: 'another key or upstream is asked' }))
  }

  /** Undefined when another upstream is to be tried. @throws Failure where none is left */
  #noKeyLeft(
    state: ActiveRequest,
    attempt: KeyAttempt,
    refused: AnswerHead | undefined,
    isLast: boolean,
  ): AnswerHead | undefined {
    if (isLast && refused && attempt.isLastShown) return refused
    if (refused) this.#passOver(state, attempt.isInDoubt)
    state.inDoubt ||= attempt.isInDoubt
    if (isLast) throw attempt.failure
    const { code } = attempt.failure
    const { name: upstream } = attempt.upstream
    this.#parts.log.warn({ request: state.id, upstream, code }, 'no key is left; the next is asked')
    return this.#endAttempt(state)
  }

  /** No head came. @returns the next attempt @throws what ends the exchange */
  #lost(state: ActiveRequest, upstream: Upstream, call: Call, error: unknown, isLast: boolean): Verdict {
    const { keys: attempt } = state
    const isUntouched = call.reach === 'untouched'
    const verdict = attempt ? attempt.lost(error, isUntouched) : isUntouched && !isLast ? 'next_upstream' : 'take'
    if (verdict === 'take' || !(error instanceof Failure)) throw error
    if (attempt) state.inDoubt ||= attempt.isInDoubt
    const { log } = this.#parts
    const { code } = error
    const request = state.id
    if (attempt) log.warn({ request, ...namesOf(upstream), code }, 'a key could not be asked; the next is')
    else log.warn({ request, upstream: upstream.name, code }, 'an upstream could not be reached; the next is asked')
    return verdict
  }

  #answered(ex: RequestContext, upstream: Upstream, status: number, tookMs: number): void {
    this.#parts.upstreamAnswered(upstream.name, status, tookMs)
    this.#parts.trace?.answered(ex, status)
  }

  #noHead(ex: RequestContext, upstream: Upstream, sentTick: number, error: unknown): void {
    const now = this.#parts.clock.tick()
    this.#parts.upstreamAnswered(upstream.name, null, now - sentTick)
    this.#parts.trace?.answered(ex, null)
    // That all its connections are in use is no failure of the upstream's.
    const isQueue = error instanceof Failure && error.code === 'upstream_queue_full'
    if (error instanceof CallerGone || isQueue) this.#breaker.undecided(upstream)
    else this.#breaker.failed(upstream, now)
  }

  /** Whether an answer is the caller's, or what is tried next. */
  #judge(
    state: ActiveRequest,
    upstream: Upstream,
    head: AnswerHead,
    judged: JudgedCall | undefined,
    isLast: boolean,
  ): Verdict {
    const { clock, log } = this.#parts
    const { keys: attempt } = state
    const judgement = judged?.judgement
    // That one key is limited says nothing of the upstream, unless it is the only one.
    const isLimited = judgement?.key === 'cooling' && attempt?.key?.isOnly === true
    const isOfKey = attempt !== undefined && judgement !== undefined && judgement.key !== 'none'
    if (!isLimited && (isOfKey || !isRetryableStatus(head.status))) this.#breaker.succeeded(upstream)
    else this.#breaker.failed(upstream, clock.tick(), retryAfterMs(head.headers['retry-after'], clock.now()))
    if (!attempt) return this.#judgeUnkeyed(state, upstream, head.status, judgement, isLast)
    if (!judgement) {
      attempt.succeeded()
      return 'take'
    }
    const verdict = judged?.isOutdated ? attempt.outdated(judgement) : attempt.refused(judgement)
    const told = { request: state.id, ...namesOf(upstream), answer: judgement.code }
    if (verdict === 'same_key') log.info(told, 'a token was refused before its end; a new one is made')
    else if (verdict !== 'take') log.warn(told, 'a key was refused; the next is asked')
    return verdict
  }

  /** Of an upstream that is sent no key. */
  #judgeUnkeyed(
    state: ActiveRequest,
    { name: upstream }: Upstream,
    status: number,
    judgement: Judgement | undefined,
    isLast: boolean,
  ): Verdict {
    const { log } = this.#parts
    const request = state.id
    if (judgement)
      log.warn(
        { request, upstream, status, answer: judgement.code },
        'an upstream answered with a stream whose first event is an error',
      )
    // A status inferred from its first event is no proof: what has begun well may have been sold.
    const isUnsold = judgement ? judgement.class === 'not_sold' : isDefiniteRefusal(status)
    if (isLast || !isRetryableStatus(status) || !isUnsold) return 'take'
    state.refused = state.call
    state.call?.abort(fail('upstream_cut', { reason: 'another upstream is asked' }))
    log.warn({ request, upstream, status }, 'an upstream refused; the next is asked')
    return 'next_upstream'
  }

  /** Shapes the answer and makes what carries it to the caller. */
  #relay(state: ActiveRequest, ex: RequestContext, target: Target, head: AnswerHead): Awaitable<ResponsePump> {
    const { upstream } = target
    const call = state.call as Call
    const source = openSource(call, head, upstream)
    // A coding has an end of its own: half of what was packed differs from all of it.
    state.endUnknown = head.endsWithConnection && source === call
    const headers = struckHeaders(replyHeaders(head.headers, ex.dialect), head.status, call)
    const first = firstStages(head, call)
    if (head.status >= 400) state.overheard = new ErrorSnippet(secretsOfCall(call), ownWords(state.body))
    const judge = new FormJudge(ex, target, { ...head, headers }, call, source === call)
    const { stage, turnInto } = judge
    const shaping = state.running.pipeline.onReply(
      ex,
      {
        status: head.status,
        headers: source === call ? judge.headers : withoutLength(judge.headers),
        stages: [...first, ...(stage ? [stage] : []), ...(state.overheard ? [state.overheard] : [])],
        endUnknown: state.endUnknown,
        ...(turnInto && { turnInto }),
      },
      target,
    )
    const open = (reply: Reply): ResponsePump => {
      judge.demand(reply)
      return this.#openRelay(state, ex, source, reply, upstream, judge.isTurned)
    }
    return isPromise(shaping) ? shaping.then(open) : open(shaping)
  }

  #openRelay(
    state: ActiveRequest,
    ex: RequestContext,
    source: Source,
    reply: Reply,
    upstream: Upstream,
    isTurned: boolean,
  ): ResponsePump {
    const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true
    state.reply = isStream ? { ...reply, headers: { ...reply.headers, ...unbuffered } } : reply
    // Events are worth little late: their head goes at once. Others travel with their first bytes, so that what fails
    // before those is an error that says whether to try again, and not a connection that SDKs take up once more. So do
    // events that a plugin makes of an answer in one piece.
    if (isStream && !isTurned) {
      state.begin()
      state.res.flushHeaders()
    }
    // A caller may be silent for no longer than an upstream may.
    const callerIdleMs = this.#parts.callers?.writeIdleMs ?? writeIdleMs
    const relay = new ResponsePump(state, source, reply, isStream, {
      deadlines: this.#patience,
      writeIdleMs: Math.min(callerIdleMs, upstream.timeouts.idleMs),
      lastEvents: ex.dialect.lastEvents,
    })
    state.relays(relay)
    const { heartbeatMs } = ex.plan.server
    if (isStream && heartbeatMs !== undefined && ex.dialect.heartbeat !== undefined)
      relay.keepAlive(ex.dialect.heartbeat, heartbeatMs)
    return relay
  }

  /** Puts the model's upstreams in their order, and the target on the first. */
  #firstChoice(target: Target, state: ActiveRequest): Target {
    const { further } = target
    const upstreams = further
      ? target.model.upstreams.filter(({ upstream }) => runAllOn(upstream, further))
      : target.model.upstreams
    if (further && upstreams.length === 0) throw notTogether(target.model, further)
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
    return upstreams === target.model.upstreams ? target : withCandidate(target, upstreams[0] as Candidate)
  }

  #begin(state: ActiveRequest): RequestContext {
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
    if (match.kind === 'method' && /\bwebsocket\b/i.test(req.headers.upgrade ?? ''))
      // RFC 9110 15.5.22: clients that retry by HTTP do so at once, where a 405 had them try seven times.
      throw fail(
        'websocket_unsupported',
        { path: head.path.slice(0, 200) },
        { headers: { upgrade: 'HTTP/1.1', connection: 'upgrade, close' } },
      )
    if (match.kind === 'method')
      throw fail(
        'method_not_allowed',
        { path: head.path.slice(0, 200), allow: match.allow.join(', '), method: head.method.slice(0, 16) },
        { headers: { allow: match.allow.join(', ') } },
      )
    if (this.#draining) throw fail('draining', {}, { retryAfterMs: 1_000, headers: { connection: 'close' } })
    const dialect = this.#parts.dialect(match.route.dialect, head)
    if (!dialect) throw new Error(`no dialect '${match.route.dialect}'`)
    const ex: RequestContext = {
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

  async #serve(state: ActiveRequest, ex: RequestContext, name: string): Promise<Outcome> {
    const local = this.#parts.local.get(name)
    if (!local) throw new Error(`no local answer '${name}'`)
    const answering = local(ex)
    const answer = isPromise(answering) ? await state.stopwatch.wait('request', answering) : answering
    this.#holdAnswer(state, ex, answer)
    return this.#answer(state, ex, answer)
  }

  /** Callers who take a large answer slowly hold no more memory together than bodies may. @throws Failure over_capacity */
  #holdAnswer({ res, running }: ActiveRequest, { payer }: RequestContext, { body }: Answer): void {
    const { memoryBytesMax } = running.plan.server
    if (body.length <= smallAnswerBytes) return
    const memory = new ByteClaim(this.#budget, memoryBytesMax, payer)
    if (!memory.hold(paidBytes(body.length, memoryBytesMax))) throw noRoom()
    if (res.closed) memory.free()
    else res.once('close', () => memory.free())
  }

  #answer(state: ActiveRequest, ex: RequestContext, answer: Answer): Outcome {
    sendAnswer(state.res, ex.id, answer, ownHeaders(ex, this.#parts.clock.now()))
    discardRest(state.req, this.#parts.clock)
    return { kind: 'answered', status: answer.status, reach: 'untouched' }
  }

  /** Turns what was thrown into an error of the caller's style, or into a cut once bytes have left. */
  #refuse(state: ActiveRequest, error: unknown): Outcome {
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
      ...(ex ? ownHeaders(ex, this.#parts.clock.now()) : corsHeaders(req, state.running.plan.server.corsOrigins)),
    })
    discardRest(req, this.#parts.clock)
    return { kind: 'refused', status: failure.status, failure, reach }
  }

  #asFailure(state: ActiveRequest, error: unknown): Failure {
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

  readonly #onSettleFault = (fault: HookFault, { id }: RequestContext): void =>
    this.#parts.log.error({ request: id, stack: fault.stack }, fault.message)

  #settle(state: ActiveRequest, outcome: Outcome): Promise<void> | undefined {
    const { ex, running, target } = state
    const settling = ex && running.pipeline.onSettle(ex, outcome, target, this.#onSettleFault)
    if (settling === undefined || !isPromise(settling)) return this.#end(state, outcome)
    return state.stopwatch.wait('end', settling).then(() => this.#end(state, outcome))
  }

  #end(state: ActiveRequest, outcome: Outcome): undefined {
    const { ex } = state
    if (state.keys) state.keys.end(outcome, ex?.slots.get(tokenUseSlot))
    state.letGo()
    if (!ex) this.#parts.unrouted?.('failure' in outcome ? outcome.failure : undefined, state.req)
    else this.#parts.record(toLogRow(state, ex, outcome, this.#parts.clock.tick() - state.startedTick), ex)
  }
}

/**
 * How far the request came: what one upstream has refused is not untouched because the next could not be reached, and is
 * not in doubt because the next was not asked at all.
 */
function reachOf({ call, refused, inDoubt }: ActiveRequest): Reach {
  const reach = call?.reach ?? 'untouched'
  // Somebody before may have sold it.
  if (inDoubt) return reach === 'untouched' || call === refused ? 'unknown' : reach
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

/** A preflight request, as of a browser: answered before a key is looked up. */
class Preflight extends Error {
  readonly headers: { readonly [name: string]: string }

  constructor(headers: { readonly [name: string]: string }) {
    super('preflight')
    this.headers = headers
  }
}

function outcomeOf(res: ServerResponse, status: number, relayed: PumpResult): Outcome {
  const answered: Reach = status < 400 ? 'complete' : 'refused'
  if (relayed.kind === 'whole') return { kind: 'answered', status, reach: answered }
  const { by, failure } = relayed
  if (failure && !res.headersSent && !res.destroyed) throw failure
  const reach = relayed.complete ? answered : 'truncated'
  return { kind: 'cut', by, status, reach, ...(failure && { failure }) }
}

function namesOf({ name, key }: Upstream) {
  return { upstream: name, key }
}

function withCandidate(target: Target, candidate: Candidate): Target {
  return { ...target, upstream: candidate.upstream, sendAs: candidate.sendAs }
}

/** Tells a caller who waits for an answer, and whose client understands it, that the wait goes on; undefined for others. */
function createPatience(ex: RequestContext, res: ServerResponse, deadlines: Deadlines): Timed | undefined {
  const { heartbeatMs, agentsAccepting102, trustedProxies } = ex.plan.server
  const agent = ex.head.headers['user-agent']
  if (heartbeatMs === undefined || typeof agent !== 'string') return undefined
  if (!agentsAccepting102.some(part => agent.includes(part)) || !isDirect(res.req, trustedProxies)) return undefined
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
