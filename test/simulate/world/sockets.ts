import { Duplex } from 'node:stream'
import { type Process, runAs, runningProcess } from './process.ts'
import type { Random } from './random.ts'
import type { Happening, Time } from './time.ts'

/** Settings of all connections of a world. */
export type Wires = {
  readonly time: Time
  readonly random: Random
  /** Share of slow packets, and the maximum delay, in milliseconds. */
  lag: { share: number; mostMs: number }
  /** Whether data written at once arrives at once: for real servers, the world must not depend on their chunk sizes. */
  readonly whole?: boolean
}

/** One end of a connection, with the members of a socket that `node:http` and the engine use. */
export class SimSocket extends Duplex {
  peer!: SimSocket
  connecting = false
  remoteAddress = '10.9.9.9'
  remotePort = 40_000
  remoteFamily = 'IPv4'
  localAddress = '10.0.0.1'
  localPort = 80
  bytesRead = 0
  bytesWritten = 0
  timeout = 0
  /** The process that owns it. */
  process: Process | undefined
  readonly #kind: string
  readonly #wires: Wires
  #timer: Happening | undefined
  #lastAt = 0
  #ended = false
  #silent = false

  constructor(kind: string, wires: Wires, process: Process | undefined) {
    super({ allowHalfOpen: true, autoDestroy: true, emitClose: true })
    this.#kind = kind
    this.#wires = wires
    this.process = process
    process?.sockets.add(this)
    this.once('close', () => this.process?.sockets.delete(this))
  }

  get readyState(): string {
    return this.connecting ? 'opening' : 'open'
  }

  setKeepAlive(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  address(): object {
    return {}
  }

  setTimeout(ms: number, run?: () => void): this {
    this.timeout = ms
    this.#stopTimer()
    if (run) this.once('timeout', run)
    if (ms > 0) this.#timer = this.#wires.time.after(ms, `${this.#kind} timeout`, () => this.emit('timeout'))
    return this
  }

  #stopTimer(): void {
    if (this.#timer) this.#timer.cancelled = true
  }

  destroySoon(): void {
    if (this.writableFinished) return void this.destroy()
    this.once('finish', () => this.destroy())
    this.end()
  }

  resetAndDestroy(): this {
    return this.destroy(failure('ECONNRESET'))
  }

  /** From now on its data does not reach the other side, which gets no error. */
  fallSilent(): void {
    this.#silent = true
  }

  /** Its process has crashed: its machine informs the other side. */
  crash(): void {
    this.process = undefined
    const { peer } = this
    this.#wires.time.after(1, `${this.#kind} peer died`, () => peer.reset(), peer.process ?? null)
  }

  reset(): void {
    if (this.destroyed) return
    if (this.listenerCount('error') === 0) this.on('error', () => undefined)
    this.destroy(failure('ECONNRESET', 'read ECONNRESET'))
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.bytesWritten += chunk.length
    if (this.peer.destroyed) return done(failure('EPIPE'))
    const { random, whole } = this.#wires
    if (whole) {
      const bytes = Buffer.from(chunk)
      this.#deliver('data', () => this.peer.push(bytes))
      return done()
    }
    for (let rest = Buffer.from(chunk); rest.length > 0; ) {
      const size = rest.length > 1 && random.chance(0.3) ? 1 + random.int(rest.length) : Math.min(rest.length, 65_536)
      const piece = rest.subarray(0, size)
      rest = rest.subarray(size)
      this.#deliver(`data ${piece.length}`, () => {
        this.peer.bytesRead += piece.length
        this.peer.push(piece)
      })
    }
    done()
  }

  override _final(done: () => void): void {
    this.#ended = true
    this.#deliver('end', () => this.peer.push(null))
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stopTimer()
    if (error || !this.#ended) {
      // Closing with unread data sends a reset, as TCP does.
      const isReset = error !== null || this.readableLength > 0
      this.#deliver(isReset ? 'reset' : 'fin', () => (isReset ? this.peer.reset() : this.peer.push(null)))
    }
    done(error)
  }

  /** In order on one connection; each packet takes its own time. */
  #deliver(label: string, run: () => void): void {
    if (this.#silent) return
    const { time, random, lag } = this.#wires
    const latency = random.chance(lag.share) ? random.unit() * lag.mostMs : 0.2 + random.unit() * 4
    const at = Math.max(this.#lastAt + 0.001, time.tick + latency)
    this.#lastAt = at
    const { peer } = this
    const take = (): void => {
      if (!peer.destroyed) run()
    }
    time.after(at - time.tick, `${this.#kind} ${label}`, take, peer.process ?? null)
  }
}

/** Two ends of one connection: the first belongs to the running process, the second to `owner`. */
export function connectPair(kind: string, wires: Wires, owner: Process | undefined): [SimSocket, SimSocket] {
  const mine = new SimSocket(`${kind} >`, wires, runningProcess())
  const theirs = runAs(owner, () => new SimSocket(`${kind} <`, wires, owner))
  mine.peer = theirs
  theirs.peer = mine
  return [mine, theirs]
}

export function failure(code: string, message = code): Error {
  return Object.assign(new Error(message), { code })
}
