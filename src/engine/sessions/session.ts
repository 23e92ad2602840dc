import { Failure, type Json } from '../../domain/index.ts'
import type {
  Outcome,
  RequestContext,
  SessionFormat,
  SessionReader,
  SessionSign,
  Target,
} from '../../plugin-api/index.ts'
import type { Pending } from '../../util/index.ts'
import type { Timed } from '../deadlines.ts'
import { fail } from '../errors.ts'
import type { CallerSocket } from './caller-socket.ts'
import {
  closeCodeOf,
  closeCodes,
  FrameFault,
  FrameWalker,
  MaskedSearch,
  opcodes,
  writeClose,
  writeFrame,
} from './frames.ts'
import type { SessionHost } from './session-host.ts'
import { Turns } from './turns.ts'

/** The maximum size of an upstream message that is parsed. */
const keptBytesMax = 1024 * 1024
/** Close codes with which an upstream refuses a setup message. */
const setupCodes: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1010])
/** The time for both sides to close after a close frame. */
const closeMs = 2_000
/** The time for the upstream to report running turns at the end of a session. */
const reportMs = 10_000
/** The number of unanswered pings after which a peer counts as gone. */
const pingsMax = 2
/** The time between the announcement of a session's end and the end. */
const goAwayMs = 60_000
const nothing = Buffer.alloc(0)
const noMask = Buffer.alloc(4)
const barred = 'a message refers to a stored file, or hides letters in escapes. Send the content itself'

/**
 * One WebSocket between a client and an upstream. Bytes are forwarded unchanged in both directions. Frames are parsed
 * at the same time, to charge each turn, to insert the gateway's messages between two messages, and to stop messages
 * that cannot be charged.
 */
export class Session implements Timed {
  place = -1
  deadlineAt: number
  /** Resolves once the upstream is closed and every turn is settled. */
  readonly done: Promise<Outcome>
  readonly #resolve: (outcome: Outcome) => void
  readonly #host: SessionHost
  readonly #context: RequestContext
  readonly #format: SessionFormat
  readonly #caller: CallerSocket
  readonly #turns: Turns
  readonly #callerWords: MaskedSearch
  readonly #barredWords: MaskedSearch
  readonly #upstreamWords: readonly Buffer[]
  /** The same words, for messages that are too long to be parsed. */
  readonly #longWords: MaskedSearch
  /** Whether the current message is too long to be parsed, but may have to be charged. */
  #isUnread = false
  readonly #reader: SessionReader
  /** The request of the setup message, until the upstream has accepted it. */
  #setup: Buffer | undefined
  /** Whether a client message may refer to another key's object. */
  #isBarred = false
  /** Ids in the current chunk that must be recorded before the client gets them. */
  #handles: string[] = []
  /** Upstream chunks that wait for the record of earlier ids. */
  #behind: Buffer[] | undefined
  #overWhy: string | undefined
  #hasWarned = false
  readonly #up: FrameWalker
  readonly #down: FrameWalker
  readonly #bounds: NonNullable<RequestContext['route']['session']>
  /** Client chunks that wait for a turn to be admitted. */
  #held: Buffer[] = []
  #heldAsks = 0
  #isCovering = false
  /** The number of messages in the current chunk that start a turn. */
  #asks = 0
  /** Offset of the client's close frame in the current chunk. */
  #closeAt: number | undefined
  /** Whether the bytes sent to the upstream end between two messages. */
  #isUpBetween = true
  /** The gateway's frames for the client, which wait for a gap between two messages. */
  #toSay: Buffer[] = []
  /** Whether no more bytes are sent to the client. */
  #isMuted = false
  #hasUpstreamClosed = false
  #isUpstreamOver = false
  #isDraining = false
  #fault: unknown
  #outcome: Outcome | undefined
  #limit: Pending | undefined
  readonly #totalAt: number
  #messageAt: number
  #callerAt: number
  #upstreamAt: number

  /** @param setup the request of the setup message for the upstream, if the format has one */
  constructor(
    host: SessionHost,
    context: RequestContext,
    target: Target,
    caller: CallerSocket,
    format: SessionFormat,
    setup?: Buffer,
  ) {
    const { session: bounds } = context.route
    if (!bounds) throw new Error('a session on a route that has none')
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    this.done = promise
    this.#resolve = resolve
    this.#host = host
    this.#context = context
    this.#format = format
    this.#caller = caller
    this.#bounds = bounds
    this.#setup = setup
    this.#turns = new Turns(host, context, target, {
      isSerial: format.isSerial === true,
      isSecondOnly: context.route.object?.namesNoModel === true,
      outputMax: outputMaxOf(format, setup),
      onRefused: this.#refuse,
    })
    this.#turns.sentBytes = setup?.length ?? 0
    this.#reader = format.createReader(target.family.sessionUsage ?? 'turn')
    this.#barredWords = new MaskedSearch(format.barredWords ?? [])
    this.#callerWords = new MaskedSearch(format.callerWords)
    this.#longWords = new MaskedSearch(format.upstreamWords)
    this.#upstreamWords = format.upstreamWords.map(word => Buffer.from(word))
    const now = host.clock.tick()
    this.#messageAt = now
    this.#callerAt = now
    this.#upstreamAt = now
    this.#totalAt = now + bounds.totalMs
    this.deadlineAt = now + Math.min(bounds.totalMs, bounds.idleMs, bounds.pingMs)
    this.#up = new FrameWalker(
      {
        onPiece: (piece, mask, phase) => this.#searchPiece(piece, mask, phase),
        onMessage: () => this.#callerWords.endMessage(),
        onClose: (_code, at) => void (this.#closeAt = at),
      },
      { isMasked: true, messageBytesMax: bounds.messageBytesMax, keptBytesMax: 0 },
    )
    this.#down = new FrameWalker(
      {
        onMessage: payload => this.#readMessage(payload),
        onLongPiece: piece => void (this.#longWords.count(piece, noMask, 0) > 0 && (this.#isUnread = true)),
        onClose: (code, _at, reason) => this.#onUpstreamClose(code, reason),
      },
      { isMasked: false, messageBytesMax: Infinity, keptBytesMax },
    )
  }

  /** Admits the first turn before the WebSocket opens. @throws Failure */
  async admit(): Promise<void> {
    try {
      await this.#turns.cover(0, failure => {
        throw failure
      })
    } catch (error) {
      await this.abandon()
      throw error
    }
  }

  /** Releases the admitted turns of a session that did not open. */
  async abandon(): Promise<void> {
    await this.#turns.end({ kind: 'cut', by: 'gateway', status: undefined, reach: 'untouched' })
  }

  /** @param head the 101 for the client */
  start(head: string): void {
    if (head !== '') this.#caller.socket.write(head, 'latin1')
    this.#host.deadlines.watch(this)
    this.#host.call.start({
      data: chunk => this.#fromUpstream(chunk),
      end: () => this.#onUpstreamOver('its connection ended'),
      cut: failure => this.#onUpstreamOver(failure.message),
    })
    const { setup } = this.#format
    if (setup && this.#setup)
      this.#toUpstream(writeFrame(opcodes.text, Buffer.from(setup.write(this.#setup.toString())), true))
    this.#caller.start({
      data: chunk => this.#fromCaller(chunk),
      gone: () => this.#onCallerGone(),
      drain: () => this.#host.call.resume(),
    })
  }

  /** Accepts no new turns and ends the session once none is running. */
  drain(): void {
    this.#isDraining = true
    if (!this.#turns.isIdle) this.#warn(0)
    this.#goOnEnding()
  }

  /** Ends the session now. */
  stop(failure: Failure): void {
    this.#end(closeCodes.restart, failure, 'gateway')
    this.#closeUpstream()
  }

  end(failure: Failure): void {
    this.#end(closeCodeOf(failure), failure, 'gateway')
  }

  onDeadline(): number | undefined {
    const { totalMs, idleMs, pingMs } = this.#bounds
    if (this.#outcome) return undefined
    const now = this.#host.clock.tick()
    if (now >= this.#totalAt) this.#end(closeCodes.goingAway, fail('session_expired', { ms: totalMs }), 'deadline')
    else if (now >= this.#messageAt + idleMs)
      this.#end(closeCodes.normal, fail('session_idle', { ms: idleMs }), 'deadline')
    else if (now >= this.#upstreamAt + pingMs || now >= this.#callerAt + pingMs) this.#ping(now)
    if (this.#outcome) return undefined
    const warnAt = this.#totalAt - goAwayMs
    if (totalMs > goAwayMs && now >= warnAt) this.#warn(this.#totalAt - now)
    const next = Math.min(this.#totalAt, this.#messageAt + idleMs, now + pingMs)
    return totalMs > goAwayMs && now < warnAt ? Math.min(next, warnAt) : next
  }

  /** Announces the end of the session, in formats that have a message for it. */
  #warn(leftMs: number): void {
    const message = this.#hasWarned ? undefined : this.#format.goAway?.(leftMs)
    this.#hasWarned = true
    if (message !== undefined) this.#say(writeFrame(opcodes.text, Buffer.from(message), false))
  }

  /** Pings both sides; ends the session if one does not answer any more. */
  #ping(now: number): void {
    const goneMs = this.#bounds.pingMs * (pingsMax + 1)
    // An upstream gets no ping within a message, and may be silent until a slow client has sent all of it.
    if (!this.#isUpBetween && now < this.#callerAt + goneMs) this.#upstreamAt = now
    if (now >= this.#upstreamAt + goneMs) return this.#end(closeCodes.fault, gone('it does not respond'), 'upstream')
    if (now >= this.#callerAt + goneMs && !this.#caller.socket.isPaused()) return this.#leave(false)
    this.#say(writeFrame(opcodes.ping, nothing, false))
    if (this.#isUpBetween) this.#toUpstream(writeFrame(opcodes.ping, nothing, true))
  }

  // Client to upstream.

  #searchPiece(piece: Buffer, mask: Buffer, phase: number): void {
    // Not for control frames: a client answers pings for as long as it is connected.
    this.#messageAt = this.#callerAt
    this.#asks += this.#callerWords.count(piece, mask, phase)
    if (this.#barredWords.count(piece, mask, phase) > 0) this.#isBarred = true
  }

  #fromCaller(chunk: Buffer): void {
    if (this.#outcome) return
    this.#callerAt = this.#host.clock.tick()
    this.#turns.sentBytes += chunk.length
    this.#asks = 0
    this.#closeAt = undefined
    try {
      this.#up.read(chunk)
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error
      return this.#end(error.closeCode, fail('session_message', { why: error.message }), 'gateway')
    }
    if (this.#isBarred) return this.#end(closeCodes.policy, fail('session_message', { why: barred }), 'gateway')
    if (this.#closeAt !== undefined) return this.#onCallerClose(chunk, this.#closeAt)
    if (this.#held.length === 0 && this.#turns.covers(this.#asks)) return this.#forward(chunk, this.#asks)
    this.#held.push(chunk)
    this.#heldAsks += this.#asks
    this.#caller.socket.pause()
    void this.#cover()
  }

  #forward(chunk: Buffer, asks: number): void {
    this.#turns.addAwaited(asks)
    if (!this.#toUpstream(chunk)) this.#caller.socket.pause()
    this.#isUpBetween = this.#up.isBetween
  }

  #toUpstream(bytes: Buffer): boolean {
    return this.#host.call.write(bytes, () => {
      if (this.#held.length === 0) this.#caller.socket.resume()
    })
  }

  /** Admits the missing turns, and then forwards the held messages. */
  async #cover(): Promise<void> {
    if (this.#isCovering || this.#outcome || this.#isDraining) return
    this.#isCovering = true
    let isReported = false
    try {
      await this.#turns.cover(this.#heldAsks, failure => {
        if (!isReported) this.#say(this.#errorFrame(failure))
        isReported = true
      })
    } catch (error) {
      this.#refuse(error)
    }
    this.#isCovering = false
    if (this.#outcome) return
    if (!this.#turns.covers(this.#heldAsks)) return void this.#cover()
    const held = this.#held
    if (held.length === 0) return
    this.#held = []
    const asks = this.#heldAsks
    this.#heldAsks = 0
    this.#caller.socket.resume()
    this.#forward(held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held), asks)
  }

  #onCallerClose(chunk: Buffer, at: number): void {
    if (at > 0 && this.#held.length === 0) {
      this.#forward(chunk.subarray(0, at), this.#asks)
      this.#isUpBetween = true
    }
    this.#leave(true)
  }

  #onCallerGone(): void {
    if (!this.#outcome) this.#leave(false)
  }

  /** Called after the client has closed or disconnected. Cancels running turns, and waits for their usage. */
  #leave(isPolite: boolean): void {
    this.#outcome = isPolite
      ? { kind: 'answered', status: 101, reach: 'complete' }
      : { kind: 'cut', by: 'caller', status: 101, reach: 'complete' }
    if (isPolite) this.#say(writeClose(closeCodes.normal, '', false))
    else this.#isMuted = true
    this.#leaveBoth()
  }

  // Upstream to client.

  #fromUpstream(chunk: Buffer): void {
    this.#upstreamAt = this.#host.clock.tick()
    if (this.#behind) return void this.#behind.push(chunk)
    this.#fault = undefined
    const wasBetween = this.#down.isBetween
    try {
      this.#down.read(chunk)
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error
      this.#end(closeCodes.fault, fail('session_unmetered', { why: error.message }), 'upstream')
      // From here on, message boundaries are unknown.
      if (wasBetween) this.#sayNow()
      else this.#caller.socket.destroy()
      return this.#closeUpstream()
    }
    if (this.#handles.length > 0) return void this.#recordFirst(chunk)
    this.#deliver(chunk)
  }

  /** Records new ids before the client gets them, because it may use them at once. */
  async #recordFirst(chunk: Buffer): Promise<void> {
    const handles = this.#handles
    this.#handles = []
    this.#behind = []
    this.#host.call.pause()
    try {
      for (const id of handles) await this.#host.recordHandle(id)
      this.#deliver(chunk)
    } catch (error) {
      this.#refuse(error)
    }
    const behind = this.#behind
    this.#behind = undefined
    if (!this.#caller.socket.writableNeedDrain) this.#host.call.resume()
    for (const one of behind) this.#fromUpstream(one)
    if (this.#overWhy !== undefined && !this.#behind) this.#onUpstreamOver(this.#overWhy)
  }

  #deliver(chunk: Buffer): void {
    if (this.#setup && this.#fault instanceof Failure) return this.#refuseSetup(this.#fault)
    this.#toCaller(chunk)
    if (this.#fault !== undefined) this.#refuse(this.#fault)
    this.#goOnEnding()
    if (!this.#outcome && this.#turns.isIdle && !this.#turns.covers(0)) void this.#cover()
  }

  /** Forwards a chunk, with waiting gateway frames inserted between two messages. */
  #toCaller(chunk: Buffer): void {
    if (this.#isMuted) return
    const { boundary } = this.#down
    if (this.#toSay.length === 0 || boundary < 0) return this.#write(chunk)
    this.#write(chunk.subarray(0, boundary))
    this.#sayNow()
    if (!this.#isMuted && boundary < chunk.length) this.#write(chunk.subarray(boundary))
  }

  #write(chunk: Buffer): void {
    const { socket } = this.#caller
    if (chunk.length > 0 && !socket.destroyed && !socket.write(chunk) && !this.#outcome) this.#host.call.pause()
  }

  #say(frame: Buffer): void {
    this.#toSay.push(frame)
    if (this.#down.isBetween) this.#sayNow()
  }

  #sayNow(): void {
    for (const frame of this.#toSay.splice(0)) this.#write(frame)
    if (this.#outcome) this.#mute()
  }

  #mute(): void {
    this.#isMuted = true
    const { socket } = this.#caller
    if (!socket.destroyed) socket.end()
  }

  #readMessage(payload: Buffer | undefined): void {
    this.#messageAt = this.#upstreamAt
    if (payload === undefined) return this.#endLong()
    try {
      if (!this.#upstreamWords.some(word => payload.includes(word))) return
      const message = JSON.parse(payload.toString()) as Json
      for (const sign of this.#reader.read(message)) this.#take(sign, message)
    } catch (error) {
      this.#fault ??= error instanceof SyntaxError ? fail('session_unmetered', { why: 'a message is not JSON' }) : error
    }
  }

  #endLong(): void {
    if (this.#isUnread)
      this.#fault ??= fail('session_unmetered', { why: `a report is longer than ${keptBytesMax} bytes` })
    this.#isUnread = false
    this.#longWords.endMessage()
  }

  #take(sign: SessionSign, message: Json): void {
    if (sign.kind === 'ready') this.#setup = undefined
    else if (sign.kind === 'handle') this.#handles.push(sign.id)
    else this.#turns.read(sign, message)
  }

  #onUpstreamClose(code: number, reason: string): void {
    this.#hasUpstreamClosed = true
    if (!this.#setup || this.#fault !== undefined) return
    const why = `${code} ${reason.slice(0, 200)}`.trim()
    // Only these codes refuse the setup message; all others report problems of the upstream.
    const isRefusal = setupCodes.has(code)
    this.#fault = isRefusal
      ? (this.#host.refusedSetup(reason) ?? fail('session_setup_refused', { why }))
      : gone(`it closed with ${why}`)
  }

  /** Called if the upstream closes before it has accepted the setup. Its close frame is not forwarded. */
  #refuseSetup(failure: Failure): void {
    this.#end(closeCodeOf(failure), failure, 'upstream')
  }

  #onUpstreamOver(why: string): void {
    if (this.#isUpstreamOver) return
    if (this.#behind) {
      this.#overWhy = why
      return
    }
    this.#isUpstreamOver = true
    if (!this.#outcome && this.#hasUpstreamClosed) {
      this.#outcome = { kind: 'answered', status: 101, reach: 'complete' }
      this.#mute()
    } else if (!this.#outcome) this.#end(closeCodes.fault, gone(why), 'upstream')
    void this.#finish()
  }

  // Closing.

  /** Ends the session with the failure of a turn. */
  readonly #refuse = (error: unknown): void => {
    const { log } = this.#host
    const failure = error instanceof Failure ? error : fail('internal_error', {}, { cause: error })
    if (failure !== error)
      log.error(
        { request: this.#context.id, stack: error instanceof Error ? error.stack : String(error) },
        'fault in a session',
      )
    this.#end(closeCodeOf(failure), failure, 'gateway')
  }

  /** Sends the failure to the client and closes both sides. */
  #end(code: number, failure: Failure, by: 'upstream' | 'deadline' | 'gateway'): void {
    if (this.#outcome) return
    const { log } = this.#host
    log.info({ request: this.#context.id, code: failure.code, close: code }, 'a session was ended')
    this.#outcome = { kind: 'cut', by, status: 101, reach: 'complete', failure }
    if (this.#isUpstreamOver && !this.#down.isBetween) this.#caller.socket.destroy()
    else {
      this.#toSay.push(this.#errorFrame(failure))
      this.#say(writeClose(code, failure.message, false))
    }
    this.#leaveBoth()
  }

  #errorFrame(failure: Failure): Buffer {
    return writeFrame(opcodes.text, Buffer.from(this.#format.error(failure, this.#context.id)), false)
  }

  /** Cancels running turns, waits for their usage, and closes both sides within a time limit. */
  #leaveBoth(): void {
    this.#host.deadlines.forget(this)
    this.#held = []
    this.#caller.socket.resume()
    this.#host.call.resume()
    const { clock } = this.#host
    const { socket } = this.#caller
    const limit = clock.after(closeMs, () => socket.destroy())
    socket.once('close', () => limit.cancel())
    if (this.#isUpstreamOver) return
    const running = this.#turns.open
    if (running.length === 0) return this.#closeUpstream()
    for (const id of running) {
      const message = this.#format.cancel?.(id)
      // Within a message of the client, no other message can be sent: the turn then ends by itself.
      if (message !== undefined && this.#isUpBetween)
        this.#toUpstream(writeFrame(opcodes.text, Buffer.from(message), true))
    }
    this.#limit = clock.after(reportMs, () => this.#closeUpstream())
  }

  #goOnEnding(): void {
    if (!this.#turns.isIdle) return
    if (this.#outcome && this.#limit) this.#closeUpstream()
    else if (!this.#outcome && this.#isDraining) this.#end(closeCodes.restart, fail('draining'), 'gateway')
  }

  #closeUpstream(): void {
    this.#limit?.cancel()
    this.#limit = undefined
    if (this.#isUpstreamOver) return
    if (this.#isUpBetween) this.#toUpstream(writeClose(closeCodes.normal, '', true))
    const over = (): void => {
      this.#host.call.abort(gone('it did not close'))
      this.#onUpstreamOver('it did not close')
    }
    if (!this.#isUpBetween) return over()
    const limit = this.#host.clock.after(closeMs, over)
    void this.done.then(() => limit.cancel())
  }

  async #finish(): Promise<void> {
    this.#limit?.cancel()
    this.#host.deadlines.forget(this)
    const outcome = this.#outcome as Outcome
    const by = outcome.kind === 'cut' ? outcome.by : 'caller'
    await this.#turns.end({ kind: 'cut', by, status: 200, reach: 'truncated' })
    this.#resolve(outcome)
  }
}

function gone(why: string): Failure {
  return fail('session_upstream_gone', { why })
}

/** The token limit of responses in the setup message. */
function outputMaxOf({ setup }: SessionFormat, request: Buffer | undefined): number | undefined {
  return setup && request ? setup.outputMaxOf(JSON.parse(request.toString()) as { [name: string]: Json }) : undefined
}
