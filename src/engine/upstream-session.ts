import { Failure, secretsOfUpstream, type Upstream } from '../domain/index.ts'
import type {
  UpstreamClient,
  CallUpstream,
  UpstreamResponse,
  UpstreamRequest,
  Reach,
  PluginResponse,
} from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import type { AnswerHead, Call, Sink } from './call-request.ts'
import { fail } from './errors.ts'
import { UpstreamResponseBody } from './upstream-response-body.ts'
import { strikeOut } from './redact.ts'
import { readRefusal, type Refusal } from './classify-response/classify.ts'
import { retryAfterMs } from '../util/retry-after.ts'

/** The most of a refusal that is read. */
const refusalBytesMax = 65_536
/** A job may be refused every second for an hour: of later refusals only the status is kept. */
const refusalsRead = 16

/** A request that was sent, with what opens its answer. */
export type Sent = {
  readonly call: Call
  /** The source of the answer's decoded bytes. */
  readonly open: (head: AnswerHead) => Pick<Call, 'start' | 'pause' | 'resume' | 'abort'>
}

/**
 * An answer of a plugin that calls the upstream as often as needed. To the engine it is one call: it has come as far as
 * the farthest of its requests, ends when the client's leaving or a deadline ends it, and is read no faster than the
 * client reads it.
 */
export class UpstreamSession implements Call, UpstreamClient {
  readonly upstream: Upstream
  readonly head: Promise<AnswerHead>
  readonly #send: (request: UpstreamRequest) => Promise<Sent> | Sent
  readonly #clock: Clock
  readonly #calls = new Set<Call>()
  readonly #ended = Promise.withResolvers<never>()
  #over: Error | undefined
  #isLeft = false
  #isSent = false
  #isAnswered = false
  #sink: Sink | undefined
  #body: AsyncIterable<Buffer> | undefined
  /** The answers to its requests, for their readers. */
  readonly #bodies: UpstreamResponseBody[] = []
  #goOn: (() => void) | undefined
  #isPaused = false
  /** The refusals of its requests, if they are wanted. */
  readonly #refused: { readonly status: number; readonly wait: number | undefined; readonly body: Buffer[] }[] = []

  constructor(
    converse: CallUpstream,
    {
      upstream,
      send,
      clock,
    }: {
      readonly upstream: Upstream
      readonly send: (request: UpstreamRequest) => Promise<Sent> | Sent
      readonly clock: Clock
    },
  ) {
    this.upstream = upstream
    this.#send = send
    this.#clock = clock
    this.#ended.promise.catch(ignore)
    this.head = this.#begin(converse)
    this.head.catch(ignore)
  }

  get isLeft(): boolean {
    return this.#isLeft
  }

  get signed(): readonly string[] {
    return [...this.#calls].flatMap(call => call.signed ?? [])
  }

  get isOutdated(): boolean {
    return [...this.#calls].some(call => call.isOutdated)
  }

  get isSent(): boolean {
    return this.#isSent
  }

  /** How many of its requests an upstream may have accepted. */
  get reachedCount(): number {
    return [...this.#calls].filter(call => call.reach !== 'untouched').length
  }

  /** For an upstream with keys: the refusals of its requests. */
  get refusals(): readonly Refusal[] {
    return this.#refused.map(({ status, wait, body }) => readRefusal(status, Buffer.concat(body), wait))
  }

  get reach(): Reach {
    if (this.#isAnswered) return 'truncated'
    let reach: Reach = 'untouched'
    for (const call of this.#calls) {
      if (call.reach === 'unknown') return 'unknown'
      if (call.reach !== 'untouched') reach = 'unknown'
    }
    return reach
  }

  async #begin(converse: CallUpstream): Promise<AnswerHead> {
    try {
      const { status, headers, body } = await this.#race(this.#converse(converse))
      this.#body = body
      this.#isAnswered = true
      return { status, headers, endsWithConnection: false, codings: [] }
    } catch (error) {
      this.#strike(error)
      this.#end(error as Error)
      throw error
    }
  }

  /** What arrives too late is dropped. */
  async #converse(converse: CallUpstream): Promise<PluginResponse> {
    const spoken = await converse(this)
    if (this.#over) void letGo(spoken.body)
    return spoken
  }

  async ask(request: UpstreamRequest): Promise<UpstreamResponse> {
    if (this.#over) throw this.#over
    const { call, open } = await this.#send(request)
    this.#calls.add(call)
    if (this.#over) call.abort(this.#over)
    if (this.#isLeft) call.leave()
    const head = await this.#race(call.head)
    const source = open(head)
    const { bytesMax } = request
    const body = new UpstreamResponseBody(source, bytesMax, () => {
      this.#isSent = call.isSent
    })
    this.#bodies.push(body)
    if (this.#over) body.cut(this.#over)
    // Compressed content marks its own end.
    const endUnknown = head.endsWithConnection && head.codings.length === 0
    const headers = plain(head.headers)
    const isJudged = this.upstream.key !== undefined && head.status >= 400
    const remembered = isJudged ? this.#remember(head, body) : body
    return { status: head.status, headers, body: remembered, ...(endUnknown && { endUnknown }) }
  }

  #remember({ status, headers }: AnswerHead, body: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    const refused = { status, wait: retryAfterMs(headers['retry-after'], this.#clock.now()), body: [] as Buffer[] }
    this.#refused.push(refused)
    return this.#refused.length > refusalsRead ? body : keepCopy(body, refused.body)
  }

  async sleep(ms: number): Promise<void> {
    await this.#race(this.#clock.sleep(ms))
  }

  #race<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#ended.promise])
  }

  start(sink: Sink): void {
    this.#sink = sink
    const body = this.#body
    this.#body = undefined
    void this.#pump(sink, body ?? nothing())
  }

  async #pump(sink: Sink, body: AsyncIterable<Buffer>): Promise<void> {
    try {
      for await (const chunk of body) {
        if (this.#over) return
        if (chunk.length > 0) sink.data(chunk)
        while (this.#isPaused && !this.#over) await this.#resumed()
      }
      this.#isSent = true
      this.#sink?.end()
      // Unread answers to its requests are discarded.
      this.#end(fail('upstream_cut', { reason: 'its answer is over' }))
    } catch (error) {
      this.#strike(error)
      const failure = error instanceof Failure ? error : fail('internal_error', {}, { cause: error })
      this.#sink?.cut(failure)
      this.#end(failure)
    }
  }

  /** It may quote the upstream, which quotes the key that it refuses. */
  #strike(error: unknown): void {
    if (!(error instanceof Failure)) return
    const secrets = [...secretsOfUpstream(this.upstream), ...this.signed]
    error.message = strikeOut(error.message, secrets)
    error.values = Object.fromEntries(
      Object.entries(error.values).map(([name, value]) => [
        name,
        typeof value === 'string' ? strikeOut(value, secrets) : value,
      ]),
    )
  }

  #resumed(): Promise<void> {
    return new Promise(resolve => {
      this.#goOn = resolve
    })
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    const goOn = this.#goOn
    this.#goOn = undefined
    goOn?.()
  }

  leave(): void {
    this.#isLeft = true
    for (const call of this.#calls) call.leave()
  }

  stop(failure: Error): void {
    if (this.#over) return
    this.#end(failure)
    const sink = this.#sink
    this.#sink = undefined
    sink?.cut(failure)
  }

  abort(reason: Error): void {
    if (this.#over) return
    this.#sink = undefined
    this.#end(reason)
  }

  #end(reason: Error): void {
    this.#over ??= reason
    this.#ended.reject(reason)
    for (const call of this.#calls) call.abort(reason)
    // An aborted call sends nothing more: a reader would wait for ever.
    for (const body of this.#bodies) body.cut(reason)
    const unread = this.#body
    this.#body = undefined
    if (unread) void letGo(unread)
    this.resume()
  }
}

const ignore = (): void => undefined

/** The read part of a refusal is also kept, as much as its readers want. */
async function* keepCopy(body: AsyncIterable<Buffer>, kept: Buffer[]): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of body) {
    if (bytes < refusalBytesMax) kept.push(Buffer.from(chunk))
    bytes += chunk.length
    yield chunk
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Ends unread answers: one that was never begun would never end. */
async function letGo(body: AsyncIterable<Buffer>): Promise<void> {
  try {
    for await (const _ of body) break
  } catch {
    // It has ended, which is all that is wanted.
  }
}

function plain(headers: AnswerHead['headers']): UpstreamResponse['headers'] {
  const kept: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(headers)) if (typeof value === 'string') kept[name] = value
  return kept
}
