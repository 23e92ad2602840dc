import type { EncodedForm, Upstream } from '../domain/index.ts'
import type { Reach, Signature, Signer } from '../plugin-api/index.ts'
import { isPromise } from '../util/index.ts'
import type { AnswerHead, Call, CallRequest, Destination, Sink } from './call-request.ts'
import { parseCodings } from './codings.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import { describeFailure, describeUnsigned, findFault } from './describe-answer.ts'
import { fail } from './errors.ts'
import { withFixedQuery } from './fixed-query.ts'
import { type SignedRequest, signRequest } from './sign-request.ts'
import {
  type Connection,
  type ParsedHead,
  type Pool,
  queuedForMs,
  queuedMax,
  type Waiter,
  type RequestQueue,
  writeHead,
} from './upstream/index.ts'

/** Interim answers (1xx) before the answer: any number, but together at most so many bytes. */
const interimBytesMax = 4 * 1024 * 1024
/** An upstream that is to switch protocols does so in this time, or not at all. */
const upgradeMs = 10_000
/** How much of an answer may arrive before it is read. */
const earlyBytesMax = 65_536

/** A call in progress, between a connection and the pump. Methods instead of closures: one object for each request. */
export class UpstreamCall implements Call, Waiter, Timed {
  place = -1
  line: RequestQueue | undefined
  ahead: Waiter | undefined
  behind: Waiter | undefined
  turn = 0
  readonly request: CallRequest
  /** `unknown` from before the first byte is written. */
  reach: Reach = 'untouched'
  isFresh = false
  isQueued = false
  since?: number
  /** Its answer is complete, and the system has its request to the last byte. */
  isSent = false
  #head: AnswerHead | undefined
  #noHead: Error | undefined
  #headAwaited: PromiseWithResolvers<AnswerHead> | undefined
  /** While it has one. */
  #connection: Connection | undefined
  /** Written first: the head except for the length of the body. */
  #lines = ''
  #form: EncodedForm | undefined
  /** Where it waits for a connection. */
  #pool: Pool | undefined
  /** The signer of its request. */
  #signer: Signer | undefined
  #signature: Signature | undefined
  isOutdated = false
  signed: readonly string[] | undefined
  #sink: Sink | undefined
  #early: Buffer[] = []
  #isOver = false
  #isWhole = false
  #error: Error | undefined
  #interimBytes = 0
  /** It has switched protocols. */
  #isOpen = false
  #isPaused = false
  /** Paused while nothing reads what has arrived. */
  #isHeld = false
  #answered = false
  /** Bytes that Content-Length promises and that have not arrived; undefined without it. */
  #owed: number | undefined
  #received = 0
  /** The client has left, and the rest is read for the charge. */
  #isLeft = false
  readonly #deadlines: Deadlines
  readonly #startedAt: number
  /** The deadline of the whole call. */
  #totalAt: number
  /** When the last bytes of a begun answer arrived. */
  #answeredAt = 0
  deadlineAt: number

  constructor(request: CallRequest, deadlines: Deadlines) {
    const { totalMs } = request.upstream.timeouts
    this.request = request
    const firstByteMs = this.#firstByteMs
    this.#deadlines = deadlines
    this.#startedAt = deadlines.clock.tick()
    this.#totalAt = Math.min(this.#startedAt + totalMs, request.endsAt ?? Number.POSITIVE_INFINITY)
    this.deadlineAt = Math.min(this.#startedAt + firstByteMs, this.#totalAt)
  }

  get upstream(): Upstream {
    return this.request.upstream
  }

  /** What decides about another protocol needs no time to think. */
  get #firstByteMs(): number {
    const { upgrade, upstream } = this.request
    const { firstByteMs } = upstream.timeouts
    return upgrade === undefined ? firstByteMs : Math.min(firstByteMs, upgradeMs)
  }

  get payer(): string {
    return this.request.payer ?? ''
  }

  get queueMax(): number {
    return this.request.isFollowUp === true ? Infinity : (this.request.upstream.queue?.max ?? queuedMax)
  }

  #ask(pool: Pool): void {
    this.#pool = pool
    const now = this.#deadlines.clock.tick()
    pool.ask(this, now)
    if (this.line && this.isQueued && this.request.isFollowUp !== true)
      this.deadlineAt = Math.min(this.deadlineAt, now + (this.request.upstream.queue?.forMs ?? queuedForMs))
  }

  get early(): readonly Buffer[] {
    return this.#early
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Settles when the answer's head has arrived, or never will. Its reader awaits it. */
  get head(): Promise<AnswerHead> {
    if (!this.#headAwaited) {
      this.#headAwaited = Promise.withResolvers()
      if (this.#head) this.#headAwaited.resolve(this.#head)
      else if (this.#noHead) this.#headAwaited.reject(this.#noHead)
    }
    return this.#headAwaited.promise
  }

  #resolveHead(head: AnswerHead): void {
    this.#head = head
    this.#headAwaited?.resolve(head)
  }

  #rejectHead(error: Error): void {
    if (this.#head) return
    this.#noHead = error
    this.#headAwaited?.reject(error)
  }

  /** @throws UnsendableRequest */
  dispatch(destination: Destination): void {
    const { pool, prefix, host, closes, query, signer } = destination
    const { method, path, headers, reuse, body } = this.request
    this.isFresh = !reuse || closes
    if (body.kind === 'form') {
      this.#form = body.encode(body.parts)
      headers.push('content-type', this.#form.contentType)
    }
    // It may break off while it waits for a connection, before it has a reader.
    if (body.kind === 'stream') body.source.on('error', ignore)
    const joined = joinPath(prefix, path)
    const whole = query ? withFixedQuery(joined, query) : joined
    if (signer) return this.#sign(destination, signer, whole)
    const { upgrade } = this.request
    this.#lines = writeHead({ method, path: whole, host, headers, reuse: !this.isFresh, upgrade })
    this.#deadlines.watch(this)
    this.#ask(pool)
  }

  /** Its deadlines run while it is signed, and its client may end it meanwhile. */
  #sign(destination: Destination, signer: Signer, path: string): void {
    const { origin, host } = destination
    const { method, headers, body } = this.request
    this.#signer = signer
    this.#deadlines.watch(this)
    const unsigned = { method, origin: `${origin.protocol}//${host}`, path, headers, body, form: this.#form }
    const onFault = (error: unknown): void => this.#giveUp(describeUnsigned(error))
    try {
      const signing = signRequest(signer, unsigned)
      if (isPromise(signing)) signing.then(signed => this.#post(destination, signed)).catch(onFault)
      else this.#post(destination, signing)
    } catch (error) {
      onFault(error)
    }
  }

  #post({ pool, host }: Destination, { path, headers, secrets, signature }: SignedRequest): void {
    if (this.#isOver) return
    this.signed = secrets
    this.#signature = signature
    const { method, upgrade } = this.request
    this.#lines = writeHead({ method, path, host, headers, reuse: !this.isFresh, upgrade })
    this.#ask(pool)
  }

  onStart(connection: Connection): void {
    const { method, body } = this.request
    const reuse = !this.isFresh
    this.#connection = connection
    this.reach = 'unknown'
    if (this.request.upgrade !== undefined) connection.sendUpgrade(method, this.#lines)
    else if (this.#form) connection.sendStream(method, this.#lines, this.#form.open(true), this.#form.bytes, reuse)
    else if (body.kind === 'stream') connection.sendStream(method, this.#lines, body.source, body.bytes, reuse)
    else if (body.kind !== 'composed')
      connection.send(method, this.#lines, body.kind === 'json' ? body.json.bytes : undefined, reuse)
    else if (body.whole) connection.send(method, this.#lines, body.whole, reuse)
    else connection.sendStream(method, this.#lines, body.open(), body.bytes, reuse)
  }

  /** Begins to pass on the answer. */
  start(sink: Sink): void {
    this.#sink = sink
    const early = this.#early
    this.#early = []
    for (const chunk of early) sink.data(chunk)
    if (this.#error) sink.cut(this.#error)
    else if (this.#isWhole) sink.end()
    else if (this.#isHeld) {
      this.#isHeld = false
      if (!this.#isPaused) this.#goOn()
    }
  }

  /** Ends the call as its own deadline would, with the same error for the head or the rest. */
  stop(failure: Error): void {
    this.#giveUp(failure)
  }

  /** The client has left: the rest of the answer, once it has begun, has limited time. */
  leave(): void {
    this.#isLeft = true
    if (this.#answered) this.#hasten()
  }

  #hasten(): void {
    const { afterLeaveMs } = this.request.upstream.timeouts
    this.#totalAt = Math.min(this.#totalAt, this.#deadlines.in(afterLeaveMs))
    this.deadlineAt = Math.min(this.deadlineAt, this.#totalAt)
  }

  #giveUpSize(): void {
    const max = this.request.upstream.answerBytesMax
    this.#giveUp(fail('upstream_answer_too_large', { why: `it has more than ${max} bytes` }))
  }

  /** Abandons the call; the upstream's socket is closed. Nothing more reaches the sink. */
  abort(reason: Error): void {
    if (this.#isOver) return
    this.#sink = undefined
    this.#conclude()
    this.#rejectHead(reason)
  }

  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#connection?.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (!this.#isHeld) this.#goOn()
  }

  #goOn(): void {
    // Silence counts from now on: unread time was not waited for.
    this.#answeredAt = this.#deadlines.clock.tick()
    this.#connection?.resume()
  }

  /** The call could not be tried. */
  fail(error: Error): void {
    this.onError(error)
  }

  onHead({ status, headers }: ParsedHead, bytes: number): void {
    if (status === 101) return this.#onUpgrade(headers)
    if (status >= 100 && status < 200) {
      this.#interimBytes += bytes
      if (this.#interimBytes > interimBytesMax) this.#refuse('too many interim responses')
      return
    }
    const codings = parseCodings(headers['content-encoding'])
    if (!codings) return this.#refuse('an unknown content-encoding that was not requested')
    const wrong = findFault(status, headers)
    if (wrong) return this.#refuse(wrong)
    if (status === 401 && this.#signature) this.isOutdated = this.#signer?.refused?.(this.#signature) === true
    this.reach = 'truncated'
    this.#answered = true
    const length = headers['content-length']
    this.#owed = typeof length === 'string' ? Number(length) : undefined
    this.#answeredAt = this.#deadlines.clock.tick()
    this.deadlineAt = Math.min(this.#totalAt, this.#answeredAt + this.request.upstream.timeouts.idleMs)
    if (this.#isLeft) this.#hasten()
    if (this.#owed !== undefined && this.#owed > this.request.upstream.answerBytesMax) return this.#giveUpSize()
    const hasBody = status !== 204 && status !== 304
    this.#resolveHead({
      status,
      headers,
      endsWithConnection: hasBody && length === undefined && headers['transfer-encoding'] === undefined,
      codings: hasBody ? codings : [],
    })
  }

  /** What follows has no deadline of a request's, and no end but that of the connection. */
  #onUpgrade(headers: ParsedHead['headers']): void {
    if (this.request.upgrade === undefined) return this.#refuse('it switched protocols without a request')
    this.reach = 'truncated'
    this.#answered = true
    this.#isOpen = true
    this.#deadlines.forget(this)
    this.#resolveHead({ status: 101, headers, endsWithConnection: true, codings: [] })
  }

  /** Writes to an upstream that has switched protocols. @returns whether there is room for more; `hasRoom` says when again */
  write(bytes: Buffer, hasRoom: () => void): boolean {
    return this.#connection?.write(bytes, hasRoom) ?? true
  }

  onData(chunk: Buffer): void {
    if (this.#isOpen) return this.#onOpenData(chunk)
    if (this.#owed !== undefined) this.#owed -= chunk.length
    this.#received += chunk.length
    if (this.#received > this.request.upstream.answerBytesMax) return this.#giveUpSize()
    this.#answeredAt = this.#deadlines.clock.tick()
    if (this.#sink) return this.#sink.data(chunk)
    this.#early.push(chunk)
    if (this.#isHeld || this.#received <= earlyBytesMax) return
    this.#isHeld = true
    this.#connection?.pause()
  }

  #onOpenData(chunk: Buffer): void {
    if (this.#sink) return this.#sink.data(chunk)
    this.#early.push(chunk)
    this.#received += chunk.length
    if (this.#isHeld || this.#received <= earlyBytesMax) return
    this.#isHeld = true
    this.#connection?.pause()
  }

  onEnd(isSent: boolean): void {
    this.isSent = isSent
    this.#connection = undefined
    this.#isWhole = true
    this.#conclude()
    this.#sink?.end()
  }

  onError(error: Error): void {
    this.#connection = undefined
    if (this.#isOver) return
    // It closed without announcement, while we were reading slower than it wrote: all promised bytes are here.
    if (this.#owed === 0) return this.onEnd(false)
    this.#giveUp(describeFailure(error, this.reach, this.request.upstream))
  }

  #refuse(reason: string): void {
    this.#giveUp(fail('upstream_invalid', { reason }))
  }

  onDeadline(): number | undefined {
    const { idleMs } = this.request.upstream.timeouts
    const now = this.#deadlines.clock.tick()
    if (!this.#answered) {
      const ms = Math.round(Math.min(this.#firstByteMs, this.#totalAt - this.#startedAt))
      const isLate = now >= this.#startedAt + ms
      // If it has a connection by now, its answer is waited for.
      if (!isLate && !this.line) return this.#startedAt + ms
      if (!isLate && this.isQueued) this.#pool?.turnAway(this)
      else this.#giveUp(fail('upstream_timeout', { ms }))
      return undefined
    }
    // While nothing is read, nothing is waited for.
    if (this.#isPaused || this.#isHeld) this.#answeredAt = now
    const nextAt = Math.min(this.#totalAt, this.#answeredAt + idleMs)
    if (nextAt > now) return nextAt
    const ms = this.#totalAt <= now ? Math.round(this.#totalAt - this.#startedAt) : idleMs
    this.#giveUp(fail('deadline_exceeded', { ms }))
    return undefined
  }

  #giveUp(failure: Error): void {
    if (this.#isOver) return
    this.#error = failure
    this.#conclude()
    this.#rejectHead(failure)
    this.#sink?.cut(failure)
  }

  /** Events of its connection are ignored from now on. */
  #conclude(): void {
    this.#isOver = true
    this.#deadlines.forget(this)
    this.line?.leave(this)
    const connection = this.#connection
    this.#connection = undefined
    connection?.abort()
  }
}

const ignore = (): void => undefined

/** `/v1` + `/v1/x` → `/v1/x`: a version that base address and path share counts once. */
function joinPath(prefix: string, path: string): string {
  if (prefix === '') return path
  const last = prefix.slice(prefix.lastIndexOf('/'))
  return /^\/v\d\w*$/.test(last) && path.startsWith(`${last}/`) ? prefix.slice(0, -last.length) + path : prefix + path
}
