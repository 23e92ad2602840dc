import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Answer, Body, Failure, Job, KeyTrial, StoredAnswer, Upstream, VendorKey } from '../domain/index.ts'
import { type Outcome, type Reach, type RequestContext, type SignerHost, tokenUseSlot } from '../plugin-api/index.ts'
import { type Awaitable, IntrusiveSet } from '../util/index.ts'
import { ByteBudget, ByteClaim } from '../wire/index.ts'
import { ActiveRequest, type Running, type Shared } from './active-request.ts'
import { Attempts } from './attempts.ts'
import { beginRequest } from './begin-request.ts'
import { type BodyPatience, bodyPace, noRoom, paidBytes, readBody } from './body-reader.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { Deadlines } from './deadlines.ts'
import { discardRest } from './discard-rest.ts'
import { findRequestTarget } from './find-request-target.ts'
import type { EngineParts } from './engine-parts.ts'
import { fail } from './errors.ts'
import { EventLoopWatch, Stopwatch } from './event-loop-watch.ts'
import { JobResumer } from './job-resumer.ts'
import { toLogRow } from './log-row.ts'
import { ResponseOpener } from './open-response.ts'
import type { HookFault } from './pipeline.ts'
import { refuse, unreadFailure } from './refusals.ts'
import { type FormatOf, rerouteRequest } from './reroute-request.ts'
import { errorAnswer, idHeaders, ownHeaders, sendAnswer } from './respond.ts'
import { type PumpResult, writeIdleMs } from './response-pump.ts'
import { RunningConfigs } from './running-configs.ts'
import { RequestSender } from './send-request.ts'
import { noObjects, ObjectRecords } from './stored-objects/object-records.ts'
import { Transport } from './transport.ts'
import type { PoolStatus } from './upstream/index.ts'
import type { CallerSocket } from './sessions/caller-socket.ts'
import { openingUrl, readOpening } from './sessions/handshake.ts'
import { SessionRunner } from './sessions/run-session.ts'
import { probe } from './vendor-keys/probe.ts'
import { VendorKeys } from './vendor-keys/vendor-keys.ts'

/** Longer answers of the gateway count as bodies held in memory. */
const smallAnswerBytes = 65_536

/** Carries requests from clients to upstreams and answers back. Only plugins interpret them. */
export class Engine {
  readonly #parts: EngineParts
  readonly #transport: Transport
  readonly #memory = new ByteBudget()
  readonly #breaker = new CircuitBreaker()
  /** The keys of upstreams that have several, and their states. */
  readonly vendorKeys: VendorKeys
  readonly #attempts: Attempts
  readonly #sessions: SessionRunner
  readonly #responses: ResponseOpener
  readonly #jobs: JobResumer
  readonly #bodyPatience: BodyPatience
  readonly #loop: EventLoopWatch
  readonly #configs: RunningConfigs
  readonly #objects: ObjectRecords
  #draining = false
  /** Why requests are no longer sent, once that is so. */
  #stopped: Failure | undefined
  #onIdle: (() => void) | undefined
  /** Requests that have not settled. */
  readonly #requests = new IntrusiveSet<ActiveRequest>()
  readonly #shared: Shared

  constructor(parts: EngineParts, running: Running) {
    this.#parts = parts
    const { clock, random, log, counters, callers, keyChanged: onChange } = parts
    this.#configs = new RunningConfigs(running, log)
    this.#shared = { clock, detached: 0 }
    this.#bodyPatience = { deadlines: new Deadlines(clock), pace: callers?.bodyPace ?? bodyPace }
    this.#loop = new EventLoopWatch(clock, turn => {
      parts.turnWasLong?.(turn)
      const { request, step, ms } = turn
      log.warn({ request, step, ms: Math.round(ms) }, 'a request blocked the event loop')
    })
    const deadlines = new Deadlines(clock)
    const stopped = (): Failure | undefined => this.#stopped
    const transport = new Transport(url => parts.resolveUrl(url), clock, parts.connect, parts.signerOf, parts.proxyOf)
    this.#transport = transport
    this.vendorKeys = new VendorKeys({ clock, random, log, zone: running.plan.timeZone, counters, onChange })
    const sender = new RequestSender({ ...parts, transport })
    this.#attempts = new Attempts({
      ...parts,
      sender,
      breaker: this.#breaker,
      vendorKeys: this.vendorKeys,
      deadlines,
      formatOf: this.#formatOf,
      stopped,
      isDraining: () => this.#draining,
    })
    const { createLinkSecret, openJobs } = parts
    const objects = new ObjectRecords(parts.objects ?? noObjects, clock, { createLinkSecret, jobs: openJobs })
    this.#objects = objects
    this.#sessions = new SessionRunner({
      ...parts,
      deadlines,
      objects,
      memory: this.#memory,
      onFault: this.#onSettleFault,
    })
    this.#responses = new ResponseOpener(deadlines, callers?.writeIdleMs ?? writeIdleMs, this.#objects)
    this.#jobs = new JobResumer({
      ...parts,
      configs: this.#configs,
      memory: this.#memory,
      sender,
      stopped,
      onSettleFault: this.#onSettleFault,
    })
  }

  get running(): Running {
    return this.#configs.active
  }

  get open(): number {
    return this.#requests.size
  }

  /** Whether the path of a request is that of a WebSocket. */
  isWebSocket({ url = '/' }: IncomingMessage): boolean {
    const match = this.running.router.find('GET', openingUrl(url).split('?', 1)[0] as string)
    return match.kind === 'route' && match.route.session !== undefined
  }

  /** What serves connections in memory: messages of WebSockets that are requests come by those. */
  serveSelf(accept: (connection: Duplex) => void): void {
    this.#sessions.accept = accept
  }

  /** WebSockets that are open. */
  get sessions(): number {
    return this.#sessions.open
  }

  /** Ends an open session for an administrator. False if this process has none with the id. */
  endSession(id: string): boolean {
    let isFound = false
    this.#requests.each(request => {
      if (request.id !== id || !request.session) return
      isFound = true
      request.session.end(fail('session_ended'))
    })
    return isFound
  }

  get heldBytes(): number {
    return this.#memory.held
  }

  /** Sends the requests by which signers get their tokens. @throws Failure upstream_* */
  get post(): SignerHost['post'] {
    return this.#transport.post
  }

  /** Whether an upstream is paused after failures: its circuit breaker is open. */
  isPaused(upstream: string): boolean {
    return this.#breaker.isOpen(upstream, this.#parts.clock.tick())
  }

  /** Remaining cooldown of an upstream in milliseconds; 0 if it accepts requests. */
  restMs(upstream: string): number {
    return this.#breaker.restMs(upstream, this.#parts.clock.tick())
  }

  /** The connections to an upstream; undefined before its first request. */
  connectionsOf(upstream: Upstream): PoolStatus | undefined {
    return this.#transport.statusOf(upstream)
  }

  /** Requests that were refused because too many waited for a connection to an upstream. */
  turnedAway(upstream: Upstream): number {
    return this.#transport.turnedAway(upstream)
  }

  /** From now on new requests use `running`; current ones keep theirs, and the last of them closes it. */
  swap(running: Running): void {
    this.#configs.replace(running)
  }

  /** Refuses new requests; resolves when the last one has settled. */
  drain(): Promise<void> {
    this.#draining = true
    // One that waits to be sent again is sent at once.
    this.#requests.each(({ session, endRest }) => (session ? session.drain() : endRest?.()))
    return new Promise(resolve => {
      if (this.#requests.size === 0) resolve()
      else this.#onIdle = resolve
    })
  }

  /** Ends current requests, also those whose clients have left; their charges end as they are. */
  stop(): void {
    const reason = fail('drain_deadline')
    this.#stopped = reason
    this.#requests.each(({ call, session, endRest }) => {
      if (session) session.stop(reason)
      else call?.stop(reason)
      endRest?.()
    })
    this.#jobs.stop(reason)
  }

  async close(): Promise<void> {
    await this.#transport.close()
    await this.running.pipeline.close()
  }

  /** Probes a key with the cheapest possible request. Never rejects. */
  probe(key: VendorKey): Promise<KeyTrial> {
    return probe(key, { clock: this.#parts.clock, send: request => this.#transport.send(request) })
  }

  /** Polls a job whose client has left until it ends. @throws Failure without an answer; the job may continue */
  resume(job: Job): Promise<StoredAnswer> {
    return this.#jobs.resume(job)
  }

  /** The answer to an invalid request: `code` comes from Node's parser or its timeout. It has no log row. */
  refuseUnread(code: string | undefined): Answer {
    const id = this.#parts.ids.next('req_', this.#parts.clock.now())
    const failure = unreadFailure(code)
    this.#parts.unread?.(failure)
    const answer = errorAnswer(this.#parts.guessApiFormat('/', {}), failure, id)
    return { ...answer, headers: { ...idHeaders(id), ...answer.headers } }
  }

  /** One request, from its head to its settlement. Never rejects. */
  async handle(req: IncomingMessage, res: ServerResponse, socket?: CallerSocket): Promise<void> {
    const { clock, ids, log } = this.#parts
    const now = clock.now()
    const id = ids.next('req_', now)
    if (socket) req.url = openingUrl(req.url ?? '/')
    const stopwatch = new Stopwatch(this.#loop, id)
    stopwatch.start()
    const request = new ActiveRequest(req, res, this.running, id, now, stopwatch, this.#shared, socket)
    this.#requests.add(request)
    this.#configs.use(request.running)
    this.#parts.began()
    let outcome: Outcome
    try {
      outcome = await this.#run(request)
    } catch (error) {
      stopwatch.start()
      outcome = refuse(request, error, this.#parts)
    }
    try {
      await stopwatch.wait('end', this.#settle(request, outcome))
      this.#end(request, outcome)
    } catch (error) {
      const stack = error instanceof Error ? error.stack : String(error)
      log.error({ request: id, stack }, 'error after the end of a request')
    } finally {
      stopwatch.stop('end')
      this.#requests.delete(request)
      this.#configs.release(request.running)
      if (this.#requests.size === 0) this.#onIdle?.()
    }
  }

  /**
   * The steps of a request. Each may refuse it by throwing. Most requests wait three times: for the body, for the head
   * of the answer, and for its end.
   */
  async #run(request: ActiveRequest): Promise<Outcome> {
    const { running, stopwatch } = request
    const { pipeline } = running
    const own = beginRequest(request, this.#formatOf, this.#draining)
    request.context = own
    if (request.socket) request.opening = readOpening(own.head, own.dialect.session?.secretProtocol)
    await stopwatch.wait('request', pipeline.onRequest(own))
    const incoming = await stopwatch.wait('request', this.#readBody(request, own))
    request.incoming = incoming
    request.mark('received', stopwatch.since)
    if (own.route.session?.each) return this.#sessions.runMessages(request, own)
    if (own.route.serve !== undefined) return this.#serve(request, own, own.route.serve, incoming.body)

    const setup = request.socket && (await this.#sessions.readSetup(request, own))
    const body = await stopwatch.wait('request', pipeline.onBody(own, setup ?? incoming.body))
    request.body = body
    const kept = own.route.object?.of && (await stopwatch.wait('request', pipeline.onObject(own)))
    if (kept) return this.#answer(request, own, kept)
    const context = rerouteRequest(request, own, this.#formatOf)
    const found = await stopwatch.wait('request', findRequestTarget(this.#objects, request, context))
    const target = this.#attempts.order(found, request)
    request.target = target
    // RFC 8594: every client of a model that ends is informed, whatever happens to the request.
    if (target.model.ends !== undefined) context.answerHeaders['sunset'] = target.model.ends.sunset
    await stopwatch.wait('request', pipeline.onTarget(context, target))
    const answer = await stopwatch.wait('request', pipeline.onAdmit(context, target))
    if (answer) return this.#answer(request, context, answer)

    if (target.fallbacks) request.clientRequest = { context: own, body }
    const head = await this.#attempts.answer(request, context, target)
    if (context.route.object?.of?.ends) await this.#objects.answered(context, head.status)
    if (head.status === 101) return this.#sessions.run(request, context, head)
    // A fallback may have got the request in another API format.
    const last = request.context ?? context
    const pump = await stopwatch.wait('answer', this.#responses.open(request, last, request.target, head))
    pump.start()
    stopwatch.stop('answer')
    const pumped = await pump.done
    stopwatch.start()
    const outcome = outcomeOf(request.res, head.status, pumped)
    return request.inDoubt && outcome.reach === 'refused' ? { ...outcome, reach: 'unknown' } : outcome
  }

  #readBody({ req, res, running, stopwatch }: ActiveRequest, { route, payer }: RequestContext) {
    const memory = new ByteClaim(this.#memory, running.plan.server.memoryBytesMax, payer)
    return readBody(req, res, route, memory, this.#bodyPatience, stopwatch)
  }

  async #serve(request: ActiveRequest, context: RequestContext, name: string, body: Body): Promise<Outcome> {
    const local = this.#parts.local.get(name)
    if (!local) throw new Error(`no local answer '${name}'`)
    const answer = await request.stopwatch.wait('request', local(context, body))
    this.#holdAnswer(request, context, answer)
    return this.#answer(request, context, answer)
  }

  /** Slow readers of large answers together hold at most as much memory as bodies may. @throws Failure over_capacity */
  #holdAnswer({ res, running }: ActiveRequest, { payer }: RequestContext, { body }: Answer): void {
    const { memoryBytesMax } = running.plan.server
    if (body.length <= smallAnswerBytes) return
    const memory = new ByteClaim(this.#memory, memoryBytesMax, payer)
    if (!memory.hold(paidBytes(body.length, memoryBytesMax))) throw noRoom()
    if (res.closed) memory.free()
    else res.once('close', () => memory.free())
  }

  #answer({ req, res, id }: ActiveRequest, context: RequestContext, answer: Answer): Outcome {
    const { clock } = this.#parts
    sendAnswer(res, id, answer, ownHeaders(context, clock.now()))
    discardRest(req, clock)
    return { kind: 'answered', status: answer.status, reach: 'untouched' }
  }

  readonly #formatOf: FormatOf = (name, head) => this.#parts.dialect(name, head)

  readonly #onSettleFault = (fault: HookFault, { id }: RequestContext): void =>
    this.#parts.log.error({ request: id, stack: fault.stack }, fault.message)

  #settle({ context, running, target }: ActiveRequest, outcome: Outcome): Awaitable<void> {
    return context && running.pipeline.onSettle(context, outcome, target, this.#onSettleFault)
  }

  #end(request: ActiveRequest, outcome: Outcome): void {
    const { context } = request
    if (request.keys) request.keys.end(outcome, context?.slots.get(tokenUseSlot))
    request.letGo()
    if (context)
      this.#parts.record(toLogRow(request, context, outcome, this.#parts.clock.tick() - request.startedTick), context)
    else this.#parts.unrouted?.('failure' in outcome ? outcome.failure : undefined, request.req)
  }
}

function outcomeOf(res: ServerResponse, status: number, pumped: PumpResult): Outcome {
  const answered: Reach = status < 400 ? 'complete' : 'refused'
  if (pumped.kind === 'whole') return { kind: 'answered', status, reach: answered }
  const { by, failure } = pumped
  if (failure && !res.headersSent && !res.destroyed) throw failure
  const reach = pumped.complete ? answered : 'truncated'
  return { kind: 'cut', by, status, reach, ...(failure && { failure }) }
}
