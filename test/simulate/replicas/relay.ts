import type { Socket } from 'node:net'
import { type SimSocket, failure } from '../world/sockets.ts'
import { commandOf, PgFrames, RedisFrames, wordsOf } from './frames.ts'

export type Store = 'postgres' | 'redis'

/** The faults between one gateway and one server. */
export type Link = {
  /** `held`: data waits on its way, in both directions; `refused`: connections are refused. */
  state: 'open' | 'held' | 'refused'
  /** Share of the COMMITs, or requests to Redis, that arrive but whose answer is lost with the connection. */
  answersLost: number
  /** Share of those that are lost before they arrive. */
  questionsLost: number
  /** After a lost answer, the gateway cannot reach the server any more. */
  endsThen: boolean
}

export const soundLink: Link = { state: 'open', answersLost: 0, questionsLost: 0, endsThen: false }

export type RelayParts = {
  readonly store: Store
  readonly link: Link
  /** The gateway's connection in the world. */
  readonly inner: SimSocket
  /** The connection to the server on the real machine. */
  readonly outer: Socket
  /** Draws whether a request gets a fault, and records it. */
  draw(share: number, fault: string): boolean
  /** Called when an answer was lost with its connection. */
  lost(): void
  /** The time by Redis's clock, in microseconds. */
  serverTime(): string
  /** Called before data is sent to the server. */
  asks(): void
  /** Called after an event at the server. */
  stirred(): void
}

/** One connection between a gateway of the world and a real server; counts the outstanding answers. */
export class Relay {
  readonly store: Store
  readonly link: Link
  /** Id of the server's process for this connection. */
  pid: number | undefined
  /** Number of requests that the server received, and of answers that it has sent. */
  asked = 0
  answered = 0
  /** Whether the server waits for another session's lock: it will answer after time advances. */
  isBlocked = false
  blockedSince: number | undefined
  /** PostgreSQL reports after each answer whether a transaction is open. */
  isInTransaction = false
  /** Whether the gateway's end is closed. */
  isLeft = false
  /** Whether the server's end is closed. */
  isGone = false
  /** Whether the server has received a request to end it. */
  isEnding = false
  readonly #parts: RelayParts
  readonly #questions: PgFrames | RedisFrames
  readonly #answers: PgFrames | RedisFrames
  #unsent: Buffer[] = []
  #untold: Buffer[] = []
  #isOpen = false
  #loses = false

  constructor(parts: RelayParts) {
    const { store, link, inner, outer } = parts
    this.store = store
    this.link = link
    this.#parts = parts
    this.#questions = store === 'postgres' ? new PgFrames('client') : new RedisFrames()
    this.#answers = store === 'postgres' ? new PgFrames('server') : new RedisFrames()
    inner.on('error', () => undefined)
    inner.on('data', (bytes: Buffer) => this.#hear(bytes))
    inner.on('end', () => this.leave())
    inner.on('close', () => this.leave())
    outer.setNoDelay(true)
    outer.on('error', () => undefined)
    outer.on('connect', () => {
      this.#isOpen = true
      parts.stirred()
    })
    outer.on('data', bytes => this.#answer(bytes))
    outer.on('close', () => {
      // Closed from this side: the server's process has not noticed yet.
      if (!this.isLeft || this.pid === undefined) this.isGone = true
      parts.stirred()
    })
  }

  /** Whether the world's time must not advance because of it. */
  get isAtWork(): boolean {
    if (this.isGone) return false
    return !this.#isOpen || this.isEnding || this.isLeft || (this.answered < this.asked && !this.isBlocked)
  }

  get isIdle(): boolean {
    return this.#isOpen && !this.isGone && this.answered === this.asked
  }

  /** The gateway has closed its end, or its process has crashed. */
  leave(): void {
    if (this.isLeft || this.link.state === 'held') return
    this.isLeft = true
    this.#parts.outer.destroy()
    if (!this.#parts.inner.destroyed) this.#parts.inner.end()
  }

  /** Breaks the connection; both ends get an error. */
  cut(): void {
    this.isLeft = true
    this.#parts.outer.destroy()
    this.#parts.inner.destroy(failure('ECONNRESET'))
  }

  /** Delivers the held data. */
  release(): void {
    const unsent = this.#unsent
    this.#unsent = []
    for (const bytes of unsent) this.#hear(bytes)
    this.tell()
    if (this.#parts.inner.destroyed || this.#parts.inner.readableEnded) this.leave()
  }

  /** Forwards the server's data once no more arrives, so that the world does not depend on how it was split. */
  tell(): void {
    if (this.link.state === 'held') return
    if (this.#loses && this.answered === this.asked) {
      this.cut()
      return this.#parts.lost()
    }
    const bytes = Buffer.concat(this.#untold)
    this.#untold = []
    const { inner } = this.#parts
    if (bytes.length > 0 && !inner.destroyed) inner.write(bytes)
    if (this.isGone && !this.isLeft) {
      this.isLeft = true
      inner.end()
    }
  }

  #hear(bytes: Buffer): void {
    if (this.link.state === 'held') return void this.#unsent.push(bytes)
    if (this.isLeft || this.isGone) return
    this.#parts.asks()
    for (const one of this.#questions.push(bytes)) {
      const question = 'type' in one ? this.#ofPostgres(one.type, one.bytes) : this.#ofRedis(one)
      if (question === undefined) return this.cut()
      this.#parts.outer.write(question)
      if (this.isBlocked) this.isBlocked = false
    }
  }

  /** @returns undefined when the connection breaks before it arrives */
  #ofPostgres(type: string, bytes: Buffer): Buffer | undefined {
    if (type === '' || type === 'Q' || type === 'S') this.asked++
    // A terminate message: the server closes.
    if (type === 'X') this.isEnding = true
    if (type === 'Q' && bytes.toString('latin1', 5, 11) === 'COMMIT') return this.#risk(bytes)
    return bytes
  }

  #ofRedis(command: Buffer): Buffer | undefined {
    this.asked++
    const words = wordsOf(command)
    const name = words[0]?.toString('latin1').toLowerCase()
    if (name !== 'evalsha' && name !== 'eval') return command
    const time = 3 + Number(words[2])
    if (words[time]?.length === 0) words[time] = Buffer.from(this.#parts.serverTime())
    return this.#risk(commandOf(words))
  }

  #risk(bytes: Buffer): Buffer | undefined {
    const { link, store } = this
    if (this.#parts.draw(link.questionsLost, `${store}: question lost`)) return undefined
    this.#loses ||= this.#parts.draw(link.answersLost, `${store}: answer lost`)
    return bytes
  }

  #answer(bytes: Buffer): void {
    this.#untold.push(bytes)
    for (const one of this.#answers.push(bytes)) {
      if (!('type' in one)) this.answered++
      else if (one.type === 'K') this.pid = one.bytes.readInt32BE(5)
      else if (one.type === 'Z') {
        this.answered++
        this.isInTransaction = one.bytes[5] !== 0x49
      }
    }
    this.#parts.stirred()
  }
}
