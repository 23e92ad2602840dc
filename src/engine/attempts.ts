import type { ServerResponse, IncomingMessage } from 'node:http'
import { type Candidate, Failure, jobSlot, type RetryCause, type SaleClass, type Upstream } from '../domain/index.ts'
import { type Log, type Outbound, type RequestContext, type Target, tokenUseSlot } from '../plugin-api/index.ts'
import { type Awaitable, type Clock, drawFor, isPromise, type Random, isTrusted } from '../util/index.ts'
import { type ActiveRequest, CallerGone } from './active-request.ts'
import { affinityOf } from './affinity.ts'
import { formReader, wantedForm } from './response-form.ts'
import type { AnswerHead, Call } from './call-request.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { ClassifiedCall } from './classify-response/classified-call.ts'
import type { Classification } from './classify-response/classify.ts'
import { retryAfterMs } from '../util/retry-after.ts'
import { isDefiniteRefusal, isRetryableStatus } from './classify-response/retryable-status.ts'
import { kindToRead } from './classify-response/what-to-read.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import { fail } from './errors.ts'
import { notTogether, runAllOn } from './fallback-models.ts'
import { fallbackReacher } from './reach-fallback.ts'
import type { FormatOf } from './reroute-request.ts'
import { orderCandidates } from './order-candidates.ts'
import { shapeOutbound } from './outbound.ts'
import { causeOf, Retries } from './retries.ts'
import type { RequestSender, SenderParts } from './send-request.ts'
import { UpstreamSession } from './upstream-session.ts'
import { digestBody } from './vendor-keys/digest-body.ts'
import { KeyAttempt, type Verdict } from './vendor-keys/key-attempt.ts'
import type { VendorKeys } from './vendor-keys/vendor-keys.ts'

/** Headers that proxies add to a request. */
const added = /^(?:forwarded|via|x-forwarded(?:-.+)?|x-real-ip|x-client-ip|x-request-start|cdn-loop|x-envoy-.+)$/

/**
 * Whether there seems to be no proxy between a client and us. Some proxies, nginx among them, take an interim answer
 * for the answer. A request without a proxy has `Connection: keep-alive`, which HTTP/1.1 clients that accept interim
 * answers send, and which no proxy passes on (RFC 9110 7.6.1).
 */
function isDirect(
  { headers, httpVersionMinor, socket }: IncomingMessage,
  trusted: readonly string[] | undefined,
): boolean {
  if (httpVersionMinor === 0 || headers.connection?.toLowerCase() !== 'keep-alive') return false
  if (trusted && isTrusted(socket.remoteAddress ?? '', trusted)) return false
  return !Object.keys(headers).some(name => added.test(name))
}

export type AttemptsParts = {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly sender: RequestSender
  readonly breaker: CircuitBreaker
  readonly vendorKeys: VendorKeys
  readonly deadlines: Deadlines
  readonly formatOf: FormatOf
  readonly trace?: SenderParts['trace']
  /** An upstream's head arrived (status), or never did (null), after so many milliseconds. */
  upstreamAnswered(upstream: string, status: number | null, durationMs: number): void
  /** A request is sent again after a failure of this upstream. */
  retried(upstream: string, cause: string): void
  /** Why requests are no longer sent, once that is so. */
  stopped(): Failure | undefined
  /** Whether the gateway stops once its requests have ended. */
  isDraining(): boolean
}

/** An attempt that has failed, as far as `retry_on` needs to know it. */
type Failed = {
  readonly upstream: Upstream
  readonly cause: RetryCause | undefined
  readonly saleClass: SaleClass
}

/** Tries the upstreams of a model, and the keys of each, one after another until one answers. */
export class Attempts {
  readonly #parts: AttemptsParts

  constructor(parts: AttemptsParts) {
    this.#parts = parts
  }

  /** Puts the model's upstreams in the order of attempts. @returns the target on the first of them */
  order(target: Target, request: ActiveRequest): Target {
    const { further } = target
    const affinity = request.context && affinityOf(request.context, target)
    request.affinity = affinity
    const { pin } = request
    const there = pin ? target.model.upstreams.filter(({ upstream }) => upstream.name === pin.upstream) : undefined
    if (there?.length === 0) throw fail('object_elsewhere', { model: target.model.name })
    const all = there ?? target.model.upstreams
    const upstreams = further ? all.filter(({ upstream }) => runAllOn(upstream, further)) : all
    if (further && upstreams.length === 0) throw notTogether(target.model, further)
    const fallbacks = pin || further || target.chargesItems || request.socket ? undefined : target.model.fallbacks
    if (upstreams.length > 1 || fallbacks) {
      const { clock, random } = this.#parts
      const now = clock.tick()
      request.order = orderCandidates(
        fallbacks ? [...upstreams, ...fallbacks] : upstreams,
        one => this.#parts.breaker.admits(one.upstream, now),
        one => (affinity === undefined ? random.unit() : drawFor(affinity, one.upstream.name)),
      )
      // The model's own upstream is admitted and held for, even if a fallback is tried first.
      const own = withCandidate(target, request.order.find(({ fallback }) => !fallback) as Candidate)
      return fallbacks ? { ...own, fallbacks: [...new Set(fallbacks.flatMap(one => one.fallback ?? []))] } : own
    }
    request.order = upstreams
    return upstreams === target.model.upstreams ? target : withCandidate(target, upstreams[0] as Candidate)
  }

  /** The head of the first answer that goes to the client; `request.target` is then on its upstream. @throws Failure */
  async answer(request: ActiveRequest, context: RequestContext, first: Target): Promise<AnswerHead> {
    const { retry } = first.model
    if (retry && !request.socket) request.retries = new Retries(retry, context, first, this.#parts.clock.tick())
    const { body } = request
    if (first.fallbacks) request.reach = fallbackReacher(request, context, first, this.#parts.formatOf)
    request.round = request.order
    for (;;) {
      for (const [i, candidate] of request.round.entries()) {
        request.at = i
        const { fallback, upstream } = candidate
        const reached = fallback && request.reach?.(fallback)
        if (fallback && !reached) continue
        const target = reached?.target ?? first
        const isFirst = !reached && upstream === first.upstream && candidate.sendAs === first.sendAs
        request.target = isFirst ? first : withCandidate(target, candidate)
        request.context = reached?.context ?? context
        request.body = reached?.body ?? body
        const head = await this.#ask(request, request.context, request.target)
        if (head) return head
      }
      const round = request.retries?.nextRound()
      if (!round) throw new Error('the last attempt neither answered nor failed')
      await request.stopwatch.wait('request', this.#rest(request, round.waitMs))
      request.round = round.order
    }
  }

  /** Waits before all upstreams are tried again; shorter if the client leaves or the gateway stops. */
  #rest(request: ActiveRequest, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { res } = request
    const end = (): void => {
      wait.cancel()
      res.off('close', end)
      request.endRest = undefined
      resolve()
    }
    const wait = this.#parts.clock.after(ms, end)
    res.once('close', end)
    request.endRest = end
    return promise
  }

  /** An upstream has sent a `Retry-After`: the request is not sent to it again before. */
  #defer({ retries }: ActiveRequest, upstream: Upstream, waitMs: number | undefined): void {
    if (waitMs !== undefined) retries?.defer(upstream.name, this.#parts.clock.tick() + waitMs)
  }

  /** Whether `retry_on` of the model sends the request again. */
  #mayRetry(request: ActiveRequest, failed: Failed): boolean {
    const { clock, log, random } = this.#parts
    const { call, context, retries } = request
    if (!retries?.names(failed.cause)) return false
    const { isLast } = request
    // A job that an upstream has accepted goes on there.
    const isSpent = request.isSpent || context?.slots.get(jobSlot)?.isOpen === true
    const around = {
      nowTick: clock.tick(),
      isWanted: !request.res.destroyed && !(isLast && this.#parts.isDraining()),
      unit: random.unit(),
    }
    const about = { ...failed, isLast, isSession: call instanceof UpstreamSession, isSpent }
    if (!retries.allows(about, request.order, around)) return false
    const { cause, saleClass, upstream } = failed
    // What may have been sold stays in doubt, whatever becomes of the next request.
    request.inDoubt ||= saleClass === 'unknown'
    this.#parts.retried(upstream.name, String(cause))
    log.warn(
      { request: request.id, ...namesOf(upstream), cause, isSold: saleClass === 'unknown' ? null : false },
      'sending a request again',
    )
    return true
  }

  /**
   * The request for the upstream; undefined if a hook reports that the upstream cannot take it now, and another may be
   * tried.
   */
  #shape(request: ActiveRequest, context: RequestContext, target: Target): Awaitable<Outbound | undefined> {
    const goElsewhere = (error: unknown): undefined => {
      if (!(error instanceof Failure) || !error.elsewhere || request.isLast) throw error
    }
    try {
      const shaping = request.running.pipeline.onForward(context, shapeOutbound(context, target), target)
      return isPromise(shaping) ? shaping.catch(goElsewhere) : shaping
    } catch (error) {
      return goElsewhere(error)
    }
  }

  /**
   * Calls one upstream and waits for the head of its answer. If the client leaves, the wait ends unless the answer is
   * to be read anyway. Undefined if another upstream is to be called: no byte of the request was sent, or the refusal
   * was definite. Never after a byte that may have been accepted: a second request could be a second sale. An upstream
   * with keys is called with one after another until one is served: what was not sold goes to the next key at once;
   * what may have been sold goes nowhere else, unless the operator pays twice.
   * @throws Failure upstream_credentials, upstream_limited if no key is left
   */
  async #ask(request: ActiveRequest, context: RequestContext, target: Target): Promise<AnswerHead | undefined> {
    const { clock } = this.#parts
    const { stopwatch } = request
    const attempt = this.#attempt(request, context, target)
    let refused: AnswerHead | undefined
    let verdict: Verdict = 'next_key'
    request.wanted = wantedForm(context, target)
    while (verdict === 'next_key' || verdict === 'same_key') {
      const choosing = verdict === 'same_key' ? attempt?.key?.upstream : attempt ? attempt.next() : target.upstream
      const upstream = await stopwatch.wait('request', choosing)
      if (!upstream) break
      if (attempt && refused) this.#discard(request, attempt.isInDoubt)
      refused = undefined
      const tried = attempt ? { ...target, upstream } : target
      request.target = tried
      const out = await stopwatch.wait('request', this.#shape(request, context, tried))
      if (!out) return this.#leaveKeys(request)
      const call = this.#send(request, context, tried, out)
      const sentTick = clock.tick()
      const waiting = this.#beginWait(request, context, call, out, sentTick)
      let classified: ClassifiedCall | undefined
      try {
        const head = await call.head
        stopwatch.start()
        const headTick = clock.tick()
        request.mark('firstByte', headTick)
        classified = this.#classify(request, call, head)
        refused = classified ? await stopwatch.wait('answer', classified.head) : head
        this.#answered(request, context, upstream, refused.status, headTick - sentTick)
      } catch (error) {
        stopwatch.start()
        this.#noHead(request, context, upstream, sentTick, error)
        verdict = this.#lost(request, upstream, call, error)
      } finally {
        if (waiting) this.#parts.deadlines.forget(waiting)
      }
      if (refused) verdict = this.#decide(request, upstream, refused, classified)
      if (verdict === 'take') return refused
      if (verdict === 'retry') return this.#leave(request, refused)
      // A body that was streamed cannot be sent again.
      if (request.isSpent) verdict = 'next_upstream'
    }
    return attempt && this.#noKeyLeft(request, attempt, refused)
  }

  /** The request goes to another upstream, or to this one again. */
  #leave(request: ActiveRequest, refused: AnswerHead | undefined): undefined {
    if (refused) this.#discard(request, request.inDoubt)
    return this.#leaveKeys(request)
  }

  #send(request: ActiveRequest, context: RequestContext, target: Target, out: Outbound): Call {
    if (request.res.destroyed) throw fail('body_incomplete')
    const stopped = this.#parts.stopped()
    if (stopped) throw stopped
    this.#parts.breaker.began(target.upstream, this.#parts.clock.tick())
    request.keys?.sent()
    request.retries?.sent()
    return this.#parts.sender.send(request, context, target, out)
  }

  /** The attempts with the keys of an upstream. */
  #attempt(request: ActiveRequest, context: RequestContext, { upstream, model }: Target): KeyAttempt | undefined {
    if (!upstream.keys) return (request.keys = undefined)
    const tokens = context.slots.get(tokenUseSlot)
    // Shared by all upstreams: a refusal of one request changes at most one key.
    request.keyUser ??= {
      request: context.id,
      client: context.payer,
      digest: () => digestBody(request.body),
      ...(tokens && { tokens: tokens.estimate }),
      hasChanged: false,
    }
    const { affinity, keyUser, pin } = request
    const pinned = pin?.vendorKey ?? undefined
    const facts = { model: model.name, request: context.id, keyUser, tokens, turn: request, affinity, pinned }
    return (request.keys = new KeyAttempt(this.#parts.vendorKeys, upstream, facts))
  }

  /** Begins the wait for a head. @returns what sends interim answers to the client */
  #beginWait(
    request: ActiveRequest,
    context: RequestContext,
    call: Call,
    out: Outbound,
    sentTick: number,
  ): Timed | undefined {
    const waiting = createPatience(context, request.res, this.#parts.deadlines)
    if (waiting) this.#parts.deadlines.watch(waiting)
    request.asks(call, out, sentTick)
    request.stopwatch.stop('request')
    return waiting
  }

  /**
   * Reads an answer until it is known whether it is one, and of what form; undefined if the bytes that came with its
   * head show that.
   */
  #classify(request: ActiveRequest, call: Call, head: AnswerHead): ClassifiedCall | undefined {
    const { keys, wanted } = request
    const session = call instanceof UpstreamSession ? call : undefined
    const formOf = formReader(head, wanted)
    const kind = kindToRead(head, {
      hasKey: keys !== undefined,
      call: session ? undefined : call,
      formOf,
    })
    if (!kind) return undefined
    const isAlone = keys === undefined || keys.key?.isOnly === true
    const classified = new ClassifiedCall(call, this.#parts.clock, { session, isAlone, kind, formOf })
    request.call = classified
    return classified
  }

  /** Its keys are no longer used for this request. */
  #leaveKeys(request: ActiveRequest): undefined {
    request.keys?.leave(request.inDoubt)
    request.keys = undefined
    this.#parts.vendorKeys.budgets.forget(request.id)
  }

  /** The answer to the previous key is discarded. */
  #discard(request: ActiveRequest, isInDoubt: boolean): void {
    if (!isInDoubt) request.refused = request.call
    request.inDoubt ||= isInDoubt
    request.call?.abort(fail('upstream_cut', { reason: 'trying another key or upstream' }))
  }

  /** Undefined if another upstream is to be tried. @throws Failure if none is left */
  #noKeyLeft(request: ActiveRequest, attempt: KeyAttempt, refused: AnswerHead | undefined): AnswerHead | undefined {
    const { upstream, last, fault } = attempt
    const isLast = request.isSpent || request.isLast
    const cause = fault ? causeOf(fault, request.call?.reach === 'untouched') : refused?.status
    const saleClass = attempt.isInDoubt ? 'unknown' : 'not_sold'
    // Limited keys know when the first of them may be used again.
    if (last?.key === 'cooling') this.#defer(request, upstream, attempt.failure.retryAfterMs)
    if (isLast && this.#mayRetry(request, { upstream, cause, saleClass })) return this.#leave(request, refused)
    if (isLast && refused && attempt.isLastShown) return refused
    if (refused) this.#discard(request, attempt.isInDoubt)
    request.inDoubt ||= attempt.isInDoubt
    if (isLast) throw attempt.failure
    const { code } = attempt.failure
    this.#parts.log.warn(
      { request: request.id, upstream: upstream.name, code },
      'no usable key; trying the next upstream',
    )
    return this.#leaveKeys(request)
  }

  /** No head arrived. @returns the next attempt @throws what ends the request */
  #lost(request: ActiveRequest, upstream: Upstream, call: Call, error: unknown): Verdict {
    const { keys: attempt } = request
    const isUntouched = call.reach === 'untouched'
    const verdict = attempt
      ? attempt.lost(error, isUntouched)
      : isUntouched && !request.isLast
        ? 'next_upstream'
        : 'take'
    if (!(error instanceof Failure)) throw error
    if (verdict === 'take') {
      const saleClass = isUntouched ? 'not_sold' : 'unknown'
      if (this.#mayRetry(request, { upstream, cause: causeOf(error, isUntouched), saleClass })) return 'retry'
      throw error
    }
    if (attempt) request.inDoubt ||= attempt.isInDoubt
    const { log } = this.#parts
    const about = {
      request: request.id,
      ...(attempt ? namesOf(upstream) : { upstream: upstream.name }),
      code: error.code,
    }
    log.warn(
      about,
      attempt ? 'a key could not be used; trying the next one' : 'upstream unreachable; trying the next one',
    )
    return verdict
  }

  #answered(request: ActiveRequest, context: RequestContext, upstream: Upstream, status: number, tookMs: number): void {
    request.attempts.push({ ...attemptOf(upstream, request), answer: String(status), ms: Math.round(tookMs) })
    this.#parts.upstreamAnswered(upstream.name, status, tookMs)
    this.#parts.trace?.answered(context, status)
  }

  #noHead(request: ActiveRequest, context: RequestContext, upstream: Upstream, sentTick: number, error: unknown): void {
    const now = this.#parts.clock.tick()
    const answer =
      error instanceof Failure ? error.code : error instanceof CallerGone ? 'caller_gone' : 'internal_error'
    request.attempts.push({ ...attemptOf(upstream, request), answer, ms: Math.round(now - sentTick) })
    this.#parts.upstreamAnswered(upstream.name, null, now - sentTick)
    this.#parts.trace?.answered(context, null)
    // It is no failure of the upstream that all its connections are in use.
    const isQueue = error instanceof Failure && error.code === 'upstream_queue_full'
    // Nor is a request that a plugin refuses after it has called the upstream.
    const isClients = error instanceof Failure && error.status < 500 && !error.code.startsWith('upstream_')
    if (error instanceof CallerGone || isQueue || isClients) this.#parts.breaker.undecided(upstream)
    else this.#parts.breaker.failed(upstream, now)
  }

  /** Whether an answer goes to the client, or what to try next. */
  #decide(
    request: ActiveRequest,
    upstream: Upstream,
    head: AnswerHead,
    classified: ClassifiedCall | undefined,
  ): Verdict {
    const { clock, log } = this.#parts
    const { keys: attempt } = request
    const classification = classified?.classification
    const wait = retryAfterMs(head.headers['retry-after'], clock.now())
    // A limited key does not pause the upstream, unless it is the only key.
    const isLimited = classification?.key === 'cooling' && attempt?.key?.isOnly === true
    const isOfKey = attempt !== undefined && classification !== undefined && classification.key !== 'none'
    if (!isLimited && (isOfKey || !isRetryableStatus(head.status))) this.#parts.breaker.succeeded(upstream)
    else this.#parts.breaker.failed(upstream, clock.tick(), wait)
    if (!isOfKey) this.#defer(request, upstream, wait)
    if (!attempt) return this.#decideUnkeyed(request, upstream, head.status, classification)
    if (!classification) {
      attempt.succeeded()
      return 'take'
    }
    const verdict = classified?.isOutdated ? attempt.outdated(classification) : attempt.refused(classification)
    const logged = { request: request.id, ...namesOf(upstream), answer: classification.code }
    if (verdict === 'same_key') log.info(logged, 'a token was refused before it expired; requesting a new one')
    else if (verdict !== 'take') log.warn(logged, 'a key was refused; trying the next one')
    if (verdict !== 'take') return verdict
    const failed = { upstream, cause: head.status, saleClass: classification.class }
    return this.#mayRetry(request, failed) ? 'retry' : 'take'
  }

  /** For an upstream without keys. */
  #decideUnkeyed(
    request: ActiveRequest,
    upstream: Upstream,
    status: number,
    classification: Classification | undefined,
  ): Verdict {
    const { log } = this.#parts
    const about = { request: request.id, upstream: upstream.name, status }
    if (classification)
      log.warn({ ...about, answer: classification.code }, 'the first event of an upstream stream is an error')
    // A status inferred from the first event is no proof: an answer that has begun well may have been sold.
    const isUnsold = classification ? classification.class === 'not_sold' : isDefiniteRefusal(status)
    if (!isRetryableStatus(status) || !isUnsold || request.isSpent || request.isLast) {
      const saleClass = isUnsold ? 'not_sold' : (classification?.class ?? 'unknown')
      return this.#mayRetry(request, { upstream, cause: status, saleClass }) ? 'retry' : 'take'
    }
    request.refused = request.call
    request.call?.abort(fail('upstream_cut', { reason: 'trying another upstream' }))
    log.warn(about, 'an upstream refused; trying the next one')
    return 'next_upstream'
  }
}

function namesOf({ name, key }: Upstream) {
  return { upstream: name, key }
}

/** `model` is named if it differs from the client's. */
function attemptOf({ name, key }: Upstream, { target }: ActiveRequest) {
  const model = target?.requested && target.model.name
  return { upstream: name, key: key ?? null, ...(model !== undefined && { model }) }
}

function withCandidate(target: Target, candidate: Candidate): Target {
  return { ...target, upstream: candidate.upstream, sendAs: candidate.sendAs }
}

/** Sends interim answers to a waiting client that accepts them; undefined for others. */
function createPatience(context: RequestContext, res: ServerResponse, deadlines: Deadlines): Timed | undefined {
  const { heartbeatMs, agentsAccepting102, trustedProxies } = context.plan.server
  const agent = context.head.headers['user-agent']
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
