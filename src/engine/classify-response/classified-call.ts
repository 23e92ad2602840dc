import type { Upstream } from '../../domain/index.ts'
import type { Reach } from '../../plugin-api/index.ts'
import type { Awaitable, Clock, Pending } from '../../util/index.ts'
import type { AnswerHead, Call, Sink } from '../call-request.ts'
import { secretsOfCall } from '../answer-source.ts'
import type { UpstreamSession } from '../upstream-session.ts'
import { fail } from '../errors.ts'
import { strikeOut } from '../redact.ts'
import { retryAfterMs } from '../../util/retry-after.ts'
import { FirstEventReader, type FormOf, type Kind, kindOf } from './first-event-error.ts'
import { type Classification, classify, type Refusal } from './classify.ts'
import { statusInside } from './status-inside.ts'

/** The longest part of an answer that is read before it is classified, and the longest time. */
const hearMs = 5_000
/** Without another key: an error at the start is still reported at once, and the client gets the head late. */
const hearAloneMs = 1_000
const errorBytesMax = 65_536

/**
 * A call to an upstream with a key. Its head is available once it is known whether the answer is one. A refusal is read
 * until its meaning is known, a success only until it is known to be one. What was read is passed on unchanged; an
 * error in an answer that began as a success becomes what it would have been: a status and its JSON.
 */
export class ClassifiedCall implements Call, Sink {
  readonly head: Promise<AnswerHead>
  /** The upstream's refusal; undefined for an answer. */
  classification: Classification | undefined
  readonly #inner: Call
  readonly #session: UpstreamSession | undefined
  readonly #clock: Clock
  readonly #isAlone: boolean
  readonly #kind: Kind | undefined
  readonly #formOf: FormOf | undefined
  /** If the first bytes have to be waited for. */
  #answered: PromiseWithResolvers<void> | undefined
  #isAnswered = false
  #words: FirstEventReader | undefined
  #wait: Pending | undefined
  #sink: Sink | undefined
  #chunks: Buffer[] = []
  #isHandingOn = false
  #isHeld = false
  #isWhole = false
  /** It is still being classified: what is passed on afterwards is others' memory. */
  #isHearing = false
  /** The error replaces what has arrived. */
  #isReplaced = false
  #failure: Error | undefined

  constructor(
    inner: Call,
    clock: Clock,
    answer: {
      readonly session?: UpstreamSession | undefined
      /** There is no other key to use. */
      readonly isAlone?: boolean
      /** What is read for classification; as the answer's head says if absent. */
      readonly kind?: Kind
      readonly formOf?: FormOf
    } = {},
  ) {
    const { session, isAlone = false, kind, formOf } = answer
    this.#isAlone = isAlone
    this.#kind = kind
    this.#formOf = formOf
    this.#inner = inner
    this.#session = session
    this.#clock = clock
    // Its creator waits for its head in the same turn, and gets an error if there is none.
    this.head = inner.head.then(head => this.#hear(head))
  }

  get upstream(): Upstream {
    return this.#inner.upstream
  }

  get signed(): readonly string[] | undefined {
    return this.#inner.signed
  }

  get reach(): Reach {
    return this.#inner.reach
  }

  get isOutdated(): boolean {
    return this.#inner.isOutdated
  }

  get isSent(): boolean {
    return this.#inner.isSent
  }

  #hear(head: AnswerHead): Awaitable<AnswerHead> {
    const isRefused = head.status >= 400
    if (this.#session) {
      if (isRefused) this.classification = judgeAll(this.#session, this.upstream, text => this.#strike(text))
      return head
    }
    const kind = this.#kind ?? kindOf(head)
    if (kind === undefined) return this.#decide(head)
    // The head of anything but a stream leaves with the first bytes.
    const isShort = this.#isAlone && kind === 'events'
    const listening = this.#listen(
      new FirstEventReader(kind, errorBytesMax, this.#formOf, head.codings),
      isShort ? hearAloneMs : hearMs,
    )
    return listening ? listening.then(() => this.#decide(head)) : this.#decide(head)
  }

  /** What was read, until it is passed on. */
  get early(): readonly Buffer[] {
    return this.#chunks
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Its classification, by what was read. */
  #decide(head: AnswerHead): AnswerHead {
    const { status, headers } = head
    const isRefused = status >= 400
    if (!isRefused && !this.#words) return head
    const wait = retryAfterMs(headers['retry-after'], this.#clock.now())
    const refusal: Refusal | undefined = isRefused
      ? { status, isInside: false, body: this.#words?.value(), retryAfterMs: wait }
      : this.#words?.inside()
    if (!refusal) return head
    this.classification = classify({ ...refusal, retryAfterMs: wait }, this.upstream.outcomes, text =>
      this.#strike(text),
    )
    return refusal.isInside ? this.#replace(head, refusal) : head
  }

  /** A vendor may put our key into its error code. */
  #strike(text: string): string {
    return strikeOut(text, secretsOfCall(this))
  }

  /** The answer holds nothing else: its rest is not waited for. */
  #replace(head: AnswerHead, refusal: Refusal): AnswerHead {
    const {
      'content-length': _length,
      'content-encoding': _coding,
      'transfer-encoding': _framing,
      ...headers
    } = head.headers
    this.#chunks = [Buffer.from(JSON.stringify(refusal.body))]
    this.#isReplaced = true
    if (!this.#isWhole) this.#inner.abort(fail('upstream_cut', { reason: 'its first words are an error' }))
    this.#isWhole = true
    this.#failure = undefined
    return {
      ...head,
      status: statusInside(refusal, this.classification),
      headers: { ...headers, 'content-type': 'application/json' },
      codings: [],
      endsWithConnection: false,
    }
  }

  /** Nothing is waited for if the first bytes came with the head. */
  #listen(words: FirstEventReader, forMs: number): Promise<void> | undefined {
    this.#words = words
    this.#isHearing = true
    this.#inner.start(this)
    if (this.#isAnswered) {
      this.#listened()
      return undefined
    }
    this.#answered = Promise.withResolvers<void>()
    this.#wait = this.#clock.after(forMs, () => this.#markAnswered())
    return this.#answered.promise.then(() => this.#listened())
  }

  #listened(): void {
    this.#wait?.cancel()
    this.#isHearing = false
    // No one reads more of it for now.
    if (!this.#isWhole && !this.#failure && !this.#sink) {
      this.#isHeld = true
      this.#inner.pause()
    }
  }

  #markAnswered(): void {
    this.#isAnswered = true
    this.#answered?.resolve()
  }

  data(chunk: Buffer): void {
    if (this.#sink && !this.#isHandingOn) return this.#sink.data(chunk)
    this.#chunks.push(chunk)
    if (this.#isHearing && this.#words?.add(chunk) === true) this.#markAnswered()
  }

  end(): void {
    this.#isWhole = true
    if (this.#isHearing) this.#words?.end()
    this.#markAnswered()
    if (this.#sink && !this.#isHandingOn) this.#sink.end()
  }

  cut(failure: Error): void {
    this.#failure = failure
    this.#markAnswered()
    if (this.#sink && !this.#isHandingOn) this.#sink.cut(failure)
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (!this.#words) return this.#inner.start(sink)
    this.#isHandingOn = true
    for (let chunk = this.#chunks.shift(); chunk; chunk = this.#chunks.shift()) sink.data(chunk)
    this.#isHandingOn = false
    if (this.#failure) sink.cut(this.#failure)
    else if (this.#isWhole) sink.end()
    else if (this.#isHeld) this.resume()
  }

  pause(): void {
    this.#isHeld = false
    if (!this.#isReplaced) this.#inner.pause()
  }

  resume(): void {
    this.#isHeld = false
    if (!this.#isReplaced) this.#inner.resume()
  }

  leave(): void {
    this.#inner.leave()
  }

  stop(failure: Error): void {
    this.#inner.stop(failure)
  }

  abort(reason: Error): void {
    this.#wait?.cancel()
    this.#sink = undefined
    this.#chunks = []
    this.#inner.abort(reason)
    this.#answered?.reject(reason)
  }
}

/** Several requests count as not sold only if all were refused; otherwise another one may have been accepted. */
function judgeAll(
  { refusals, reachedCount }: UpstreamSession,
  upstream: Upstream,
  strike: (text: string) => string,
): Classification {
  const classified = refusals.map(refusal => classify(refusal, upstream.outcomes, strike))
  const [first] = classified
  if (!first || reachedCount > classified.length) return { class: 'unknown', key: 'none', code: first?.code ?? '' }
  return classified.find(one => one.class !== 'not_sold') ?? first
}
