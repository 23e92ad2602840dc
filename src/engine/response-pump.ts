import type { ServerResponse } from 'node:http'
import { Failure, type Marks, type Passed, type Reply, type Stage } from '../domain/index.ts'
import { isPromise } from '../util/index.ts'
import { freeMemory, ownsMemory } from '../wire/index.ts'
import type { Deadlines, Timed } from './deadlines.ts'
import type { Source } from './decode.ts'
import { fail } from './errors.ts'
import type { Sink } from './transport.ts'
import { endInTurn } from './end-in-turn.ts'
import type { Stopwatch } from './event-loop-watch.ts'

/** After so many bytes the rest waits for the next turn of the event loop, so that no turn is long. */
const fairBytes = 16_384
/**
 * What a chunk counts in addition to its bytes: an answer may arrive byte by byte, and each costs stages and a write.
 */
const chunkCostBytes = 256
/** Pieces are joined up to this size: at most a chunk and what was held of the one before. */
const joinedBytesMax = 131_072
/**
 * A whole answer up to this size is written as text: joined to its head it is one write, while a separate buffer is
 * gathered.
 */
const asTextBytesMax = 16_384
/** How long a client has to read what was written before its answer was cut. */
const lingerMs = 10_000
/** A client that does not read what is written for it in this time is disconnected. */
export const writeIdleMs = 60_000
/** Ends an answer whose time is over. */
const deadlines: ReadonlySet<string> = new Set(['deadline_exceeded', 'drain_deadline'])
/** The end of what was written if an event ended there, or none has begun. */
const rememberedChars = 48
const betweenEvents = /(?:^|\n\n|\r\n\r\n|\r\r)$/

/** How an answer ended for the client. */
export type PumpResult =
  | { readonly kind: 'whole' }
  | {
      readonly kind: 'cut'
      readonly by: 'caller' | 'upstream' | 'deadline' | 'gateway'
      /** The upstream's answer was complete, and every stage had accepted its end. */
      readonly complete: boolean
      readonly failure?: Failure
    }

const arrived: PumpResult = { kind: 'whole' }
/** The upstream's answer was complete. */
const goneWithAll: PumpResult = { kind: 'cut', by: 'caller', complete: true }

/** The request of an answer, and how it reaches the client. */
export type PumpTarget = {
  readonly res: ServerResponse
  readonly stopwatch: Stopwatch
  /** Marks a phase as reached: now, or at a moment of the clock's `tick`. */
  mark(name: keyof Marks, tick?: number): void
  /** Puts the answer's head before the next write. */
  begin(): void
  /** The client leaves: true reads on without a client, false aborts the upstream. */
  detach(): boolean
  /** Reports an error to a stream's reader; undefined cuts the connection. */
  streamError(failure: Failure): string | undefined
}

/**
 * Carries an answer from an upstream through its stages to the client. The upstream is read only while no stage is
 * awaited, the client reads, and it is this answer's turn. One predicate decides: with three separate resumes an answer
 * was once cut while its commit was awaited.
 */
export class ResponsePump implements Sink, Timed {
  place = -1
  deadlineAt = 0
  readonly done: Promise<PumpResult>
  readonly #res: ServerResponse
  readonly #source: Source
  readonly #stages: readonly Stage[]
  readonly #hasLength: boolean
  readonly #answering: PumpTarget
  /** Written bytes belong to no other code. */
  readonly #isOurs: boolean
  readonly #deadlines: Deadlines
  readonly #writeIdleMs: number
  readonly #stopwatch: Stopwatch
  #resolve!: (relayed: PumpResult) => void
  readonly #queue: Buffer[] = []
  /** The whole answer, which leaves with its head in one write at the end of the upstream's. */
  #whole: Buffer | undefined
  /** The first byte of the answer's body has arrived. */
  #hasBegun = false
  #upstreamEnded = false
  /** The upstream broke off; reported to the client after what came before was handled. */
  #upstreamFailure: Failure | undefined
  #complete = false
  #working = false
  #draining = false
  #turn = true
  /** Bytes and chunks of the turn `turnOf`, as bytes. */
  #spent = 0
  #turnOf = -1
  /** The client has left, and the rest is read only for the charge. */
  #detached = false
  /** Bytes that Content-Length promised to the client and that are not sent yet. */
  #owed: number | undefined
  /** The client left with all promised bytes: it need not wait for our end. */
  #served = false
  #settled = false
  /** Everything is written, and on its way to the client. */
  #ending = false
  /** The last characters of a stream of events: an event of ours may follow the end of one. */
  #recent: string | undefined
  readonly #lastEvents: readonly string[]
  /** The last event has begun. */
  #hasLastEvent = false
  #wroteAt: number

  /**
   * `Answering.begin` is called before the first byte, unless the head was sent already. Until then a failure leaves
   * the response untouched, for the code that waits for `done`, which also handles a client that leaves. `patience`
   * limits how long a client may leave written bytes unread.
   */
  constructor(
    answering: PumpTarget,
    source: Source,
    reply: Reply,
    isStream: boolean,
    patience: {
      readonly deadlines: Deadlines
      readonly writeIdleMs: number
      /** The beginning of a stream's last event. */
      readonly lastEvents?: readonly string[] | undefined
    },
  ) {
    const { res, stopwatch } = answering
    this.#answering = answering
    this.#res = res
    this.#stopwatch = stopwatch
    this.#source = source
    this.#stages = reply.stages
    const length = reply.headers['content-length']
    this.#owed = length === undefined ? undefined : Number(length)
    this.#hasLength = length !== undefined
    if (isStream) this.#recent = ''
    this.#isOurs = source.sharesChunks !== true && reply.stages.every(stage => stage.letsGo === true)
    this.#deadlines = patience.deadlines
    this.#wroteAt = patience.deadlines.clock.tick()
    this.#writeIdleMs = patience.writeIdleMs
    this.#lastEvents = patience.lastEvents ?? []
    this.done = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  /** Begins to read the upstream's answer. */
  start(): void {
    if (this.#res.destroyed) this.callerGone()
    this.#source.start(this)
  }

  /** The client has not read written bytes for too long. */
  onDeadline(): number | undefined {
    if (this.#isBehind) return this.#deadlines.in(this.#writeIdleMs)
    // Destroying the response counts as the client's leaving: the rest is read on if the charge requires it.
    this.#res.destroy()
    return undefined
  }

  /** Sends `text` after every `everyMs` of silence, between two events and never inside one. */
  keepAlive(text: string, everyMs: number): void {
    const pulse: Timed = {
      place: -1,
      deadlineAt: this.#deadlines.in(everyMs),
      onDeadline: () => {
        if (this.#settled || this.#detached) return undefined
        const silentMs = this.#deadlines.clock.tick() - this.#wroteAt
        if (silentMs < everyMs) return this.#deadlines.in(everyMs - silentMs)
        if (!this.#draining && !this.#upstreamEnded && betweenEvents.test(this.#recent ?? '')) {
          if (!this.#res.headersSent) this.#answering.begin()
          this.#res.write(text)
        }
        return this.#deadlines.in(everyMs)
      },
    }
    this.#deadlines.watch(pulse)
    void this.done.then(() => this.#deadlines.forget(pulse))
  }

  data(chunk: Buffer): void {
    if (this.#settled) return
    // The reader of a stream waits for its first byte, not its head.
    if (this.#recent !== undefined && !this.#hasBegun) {
      this.#hasBegun = true
      this.#answering.mark('firstByte')
    }
    this.#queue.push(chunk)
    this.#work()
  }

  end(): void {
    this.#upstreamEnded = true
    this.#work()
  }

  cut(error: Error): void {
    this.#upstreamFailure = error instanceof Failure ? error : fail('upstream_cut', { reason: error.message })
    this.#work()
  }

  #work(): void {
    if (this.#working || this.#settled) return
    // Nested work is part of it.
    const isFirst = this.#stopwatch.start()
    this.#handle()
    if (isFirst) this.#stopwatch.stop('answer')
  }

  /** Handles what has arrived, as far as possible without waiting. */
  #handle(): void {
    this.#working = true
    try {
      while (this.#queue.length > 0) {
        const chunk = this.#queue.shift() as Buffer
        const passed = this.#through(chunk, 0)
        if (isPromise(passed)) return this.#await(passed, chunk.length)
        this.#write(passed)
        if (this.#yieldTurn(chunk.length)) return
      }
      const failure = this.#upstreamFailure
      if (failure) return this.#cut(deadlines.has(failure.code) ? 'deadline' : 'upstream', failure)
      if (this.#upstreamEnded) return this.#finish()
    } catch (error) {
      return this.#fault(error)
    }
    this.#working = false
    this.#steer()
  }

  #await(passed: Promise<Passed>, bytes: number): void {
    this.#source.pause()
    passed
      .then(result => {
        if (this.#settled) return
        this.#write(result)
        if (this.#yieldTurn(bytes)) return
        this.#working = false
        this.#work()
      })
      .catch((error: unknown) => this.#fault(error))
  }

  /** After a large chunk, or many, leaves the rest to the next turn; true if it did. */
  #yieldTurn(bytes: number): boolean {
    const turn = turnNow()
    if (this.#turnOf !== turn) this.#spent = 0
    this.#turnOf = turn
    this.#spent += bytes + chunkCostBytes
    if (this.#spent < fairBytes) return false
    this.#turn = false
    this.#source.pause()
    setImmediate(() => {
      this.#turn = true
      this.#working = false
      this.#work()
    })
    return true
  }

  #through(chunk: Buffer, from: number): Passed | Promise<Passed> {
    let passed: Passed = chunk
    for (let i = from; i < this.#stages.length; i++) {
      const stage = this.#stages[i] as Stage
      const result: Passed | Promise<Passed> = Buffer.isBuffer(passed) ? stage.write(passed) : writeAll(stage, passed)
      if (isPromise(result)) return result.then(settled => this.#rest(settled, i + 1))
      passed = result
    }
    return passed
  }

  async #rest(passed: Passed, from: number): Promise<Passed> {
    const out: Buffer[] = []
    for (const chunk of Buffer.isBuffer(passed) ? [passed] : passed) {
      const result = await this.#through(chunk, from)
      if (Buffer.isBuffer(result)) out.push(result)
      else out.push(...result)
    }
    return out
  }

  #write(passed: Passed): void {
    if (this.#detached) return
    if (Buffer.isBuffer(passed)) return this.#writeOne(passed)
    // Several pieces of one chunk leave in one system call. Joined, not corked: a response that was corked while its
    // client was slow never emits `drain`, and the answer would hang until its deadline.
    if (passed.length > 1 && bytesOf(passed) <= joinedBytesMax) return this.#writeOne(Buffer.concat(passed))
    for (const chunk of passed) this.#writeOne(chunk)
  }

  #writeOne(chunk: Buffer): void {
    if (chunk.length === 0) return
    if (!this.#res.headersSent) {
      // Everything promised is written; only the end may follow.
      if (chunk.length === this.#owed && this.#whole === undefined) {
        this.#whole = chunk
        return
      }
      this.#answering.begin()
      this.#writeHeld()
    }
    this.#put(chunk)
  }

  /** What was taken for the whole answer, if its end has not arrived, or more arrived than was promised. */
  #writeHeld(): void {
    const whole = this.#whole
    this.#whole = undefined
    if (whole && !this.#detached) this.#put(whole)
  }

  #put(chunk: Buffer): void {
    if (this.#owed !== undefined) this.#owed -= chunk.length
    const written = this.#isOurs && ownsMemory(chunk) ? freeWhenWritten(chunk) : undefined
    if (!this.#res.write(chunk, written)) this.#waitForCaller()
    if (this.#recent !== undefined) this.#remember(chunk)
  }

  #waitForCaller(): void {
    if (this.#draining) return
    this.#draining = true
    this.#res.once('drain', this.#onDrain)
    this.#limitWait()
  }

  /** The answer to an earlier request still has the connection: its client is not to blame. */
  get #isBehind(): boolean {
    return !this.#res.socket && !this.#res.req.socket.destroyed
  }

  /** When the answer got the connection. */
  #limitWait(): void {
    if (this.#isBehind) this.#res.once('socket', () => this.#settled || this.#limitWait())
    this.deadlineAt = this.#deadlines.in(this.#writeIdleMs)
    this.#deadlines.watch(this)
  }

  #remember(chunk: Buffer): void {
    const before = this.#recent ?? ''
    this.#hasLastEvent ||= this.#lastEvents.some(line => beginsEvent(line, before, chunk))
    const from = Math.max(0, chunk.length - rememberedChars)
    this.#recent = (before + chunk.toString('latin1', from)).slice(-rememberedChars)
    this.#wroteAt = this.#deadlines.clock.tick()
  }

  /** The client has all events, and needs no end of the connection. */
  get #hasAllEvents(): boolean {
    return this.#hasLastEvent && !this.#draining && betweenEvents.test(this.#recent ?? '')
  }

  /** The upstream's answer is complete: flushes each stage, then ends the client's. */
  #finish(): void {
    const tick = this.#deadlines.clock.tick()
    this.#answering.mark('lastByte', tick)
    const last = this.#endStages(0)
    if (!isPromise(last)) {
      this.#answering.mark('committed', tick)
      return this.#end(last)
    }
    // A commit is not awaited if the client already has all of the answer.
    if (this.#whole) {
      this.#answering.begin()
      this.#writeHeld()
    }
    last
      .then(passed => {
        this.#answering.mark('committed')
        this.#end(passed)
      })
      .catch((error: unknown) => this.#fault(error))
  }

  #endStages(from: number): Passed | Promise<Passed> {
    let out: readonly Buffer[] = []
    for (let i = from; i < this.#stages.length; i++) {
      const stage = this.#stages[i] as Stage
      const last = stage.end()
      if (isPromise(last))
        return last.then(async passed => {
          const mine = await this.#rest(passed, i + 1)
          const rest = await this.#endStages(i + 1)
          return [...out, ...toList(mine), ...toList(rest)]
        })
      const mine = toList(last)
      if (mine.length > 0 && i + 1 < this.#stages.length)
        return this.#rest(mine, i + 1).then(async passed => [
          ...out,
          ...toList(passed),
          ...toList(await this.#endStages(i + 1)),
        ])
      out = [...out, ...mine]
    }
    return out
  }

  #end(passed: Passed): void {
    if (this.#settled) return
    this.#write(passed)
    this.#complete = true
    if (this.#served) return this.#settle(arrived)
    if (this.#detached) return this.#settle(goneWithAll)
    this.#ending = true
    const res = this.#res
    const whole = this.#whole
    this.#whole = undefined
    if (!res.headersSent) this.#answering.begin()
    res.once('finish', this.#onFinish)
    if (!whole) res.end()
    else if (whole.length <= asTextBytesMax) endInTurn(res, whole.toString('latin1'), 'latin1')
    else res.end(whole)
    if (!res.writableFinished) this.#limitWait()
  }

  /** Node calls a response finished also if its connection broke with bytes unwritten. */
  readonly #onFinish = (): void => {
    this.#settle(this.#res.req.socket.destroyed && !this.#hasAllEvents ? goneWithAll : arrived)
  }

  #fault(error: unknown): void {
    const failure = error instanceof Failure ? error : fail('internal_error', {}, { cause: error })
    this.#source.abort(failure)
    this.#cut(failure.code.startsWith('upstream') ? 'upstream' : 'gateway', failure)
  }

  #cut(by: 'upstream' | 'deadline' | 'gateway', failure: Failure): void {
    if (this.#settled) return
    if (this.#served && this.#hasLastEvent) return this.#settle(arrived)
    if (!this.#detached && this.#res.headersSent) {
      // Between events; anything else shows by its end that it is incomplete.
      const maySendEvent = by !== 'gateway' && this.#recent !== undefined
      const errorEvent = maySendEvent ? this.#answering.streamError(failure) : undefined
      if (errorEvent === undefined) this.#breakOff()
      else this.#endWith(errorEvent)
    }
    this.#settle({ kind: 'cut', by, complete: false, failure })
  }

  /** Sends the error to a stream's reader as an event of its own; an unfinished event is closed first. */
  #endWith(errorEvent: string): void {
    const res = this.#res
    res.end(betweenEvents.test(this.#recent ?? '') ? errorEvent : `\n\n${errorEvent}`)
    whenConnected(res, () => {
      const limit = this.#deadlines.clock.after(lingerMs, () => res.destroy())
      res.once('close', () => limit.cancel())
    })
  }

  /**
   * Ends the connection in the middle of the answer. What was written before still arrives: it may have been paid for,
   * and a client that has seen the head does not send a second request. If the end of the connection would end the
   * answer, it is reset, because otherwise half an answer would look whole.
   */
  #breakOff(): void {
    const { socket, chunkedEncoding } = this.#res
    // The answer to an earlier request still has the connection; this one is written after it.
    if (!socket) return whenConnected(this.#res, () => this.#breakOff())
    if (!chunkedEncoding && !this.#hasLength) return void socket.resetAndDestroy()
    socket.destroySoon()
    this.#deadlines.clock.after(lingerMs, () => socket.destroy())
  }

  /** The client's connection is closed. */
  callerGone(): void {
    if (this.#settled || this.#detached) return
    // A client that leaves between our last byte and its arrival has left all the same.
    if (this.#ending) return this.#settle(this.#hasAllEvents ? arrived : goneWithAll)
    this.#served = (this.#owed === 0 && !this.#draining) || this.#hasAllEvents
    if (this.#served || this.#answering.detach()) {
      this.#detached = true
      this.#draining = false
      this.#deadlines.forget(this)
      // Its end arrives with the last event or soon after it; a missing end keeps no client waiting.
      if (this.#hasLastEvent) this.#deadlines.clock.after(lingerMs, () => this.#leaveEnd())
      this.#steer()
      return
    }
    this.#source.abort(fail('upstream_cut', { reason: 'the client disconnected' }))
    this.#settle({ kind: 'cut', by: 'caller', complete: this.#complete })
  }

  /** The client has the last event, and the upstream does not end. */
  #leaveEnd(): void {
    if (this.#settled) return
    this.#source.abort(fail('upstream_cut', { reason: 'its last event is not terminated' }))
    this.#settle(arrived)
  }

  readonly #onDrain = (): void => {
    this.#draining = false
    this.#deadlines.forget(this)
    this.#steer()
  }

  /** The only place where the upstream is paused and resumed. */
  #steer(): void {
    if (this.#working || this.#draining || !this.#turn) this.#source.pause()
    else this.#source.resume()
  }

  #settle(relayed: PumpResult): void {
    if (this.#settled) return
    this.#settled = true
    this.#queue.length = 0
    this.#deadlines.forget(this)
    if (this.#draining) this.#res.off('drain', this.#onDrain)
    this.#resolve(relayed)
  }
}

/** Whether a line begins in a chunk, or across its border with the previous one. */
function beginsEvent(line: string, before: string, chunk: Buffer): boolean {
  if (chunk.includes(`\n${line}`)) return true
  const border = (before === '' ? '\n' : before) + chunk.toString('latin1', 0, rememberedChars)
  return border.includes(`\n${line}`)
}

function writeAll(stage: Stage, chunks: readonly Buffer[]): Passed | Promise<Passed> {
  const out: Buffer[] = []
  for (let i = 0; i < chunks.length; i++) {
    const result = stage.write(chunks[i] as Buffer)
    if (isPromise(result)) return finishWriteAll(stage, chunks, i + 1, out, result)
    out.push(...toList(result))
  }
  return out
}

async function finishWriteAll(
  stage: Stage,
  chunks: readonly Buffer[],
  from: number,
  out: Buffer[],
  waited: Promise<Passed>,
): Promise<Passed> {
  out.push(...toList(await waited))
  for (let i = from; i < chunks.length; i++) out.push(...toList(await stage.write(chunks[i] as Buffer)))
  return out
}

/**
 * Acts when the answer has its connection and its content was passed on: now, unless an earlier answer is in progress.
 */
function whenConnected(res: ServerResponse, act: () => void): void {
  if (res.socket) act()
  else res.once('socket', () => process.nextTick(act))
}

/** A chunk that could not be written may still be read by a pending write. */
function freeWhenWritten(chunk: Buffer): (error?: Error | null) => void {
  return error => {
    if (!error) freeMemory(chunk)
  }
}

function bytesOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0)
}

function toList(passed: Passed): readonly Buffer[] {
  return Buffer.isBuffer(passed) ? [passed] : passed
}

let turns = 0
let isTurnCounted = false

/** The current turn of the event loop: what is called in one turn is called before the promises of that turn. */
function turnNow(): number {
  if (!isTurnCounted) {
    isTurnCounted = true
    queueMicrotask(endTurn)
  }
  return turns
}

function endTurn(): void {
  isTurnCounted = false
  turns++
}
