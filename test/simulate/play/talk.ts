import { WireReader } from '../world/http-wire.ts'
import type { SimSocket } from '../world/sockets.ts'
import type { World } from '../world/world.ts'
import type { Ask } from './asks.ts'

/** One connection of a caller: pipelined requests, with answers in the same order (RFC 9112 9.3.2). */
export class Talk {
  readonly #world: World
  readonly #socket: SimSocket
  readonly #reader: WireReader
  /** Requests without an answer yet. */
  readonly #asks: Ask[] = []
  /** Number of informational answers that belong to earlier requests. */
  #informed = 0
  #answerBytes = 0
  #isOver = false

  constructor(world: World, socket: SimSocket) {
    this.#world = world
    this.#socket = socket
    this.#reader = new WireReader('answers', () => this.#finish())
    const over = (): void => this.#end()
    socket.on('error', over)
    socket.on('close', over)
    socket.on('data', (bytes: Buffer) => this.#take(bytes))
    socket.on('end', () => {
      this.#reader.end()
      this.#end()
      socket.end()
    })
  }

  /** Whether another request may be sent on it. */
  get isOpen(): boolean {
    return !this.#isOver
  }

  /** Whether no answer is outstanding. */
  get isIdle(): boolean {
    return this.#asks.length === 0
  }

  /** Sends a request and records the result, until the connection ends. */
  send(ask: Ask, bytes: Buffer): void {
    this.#asks.push(ask)
    this.#socket.write(bytes)
    const { leaves } = ask.wish
    if (leaves !== undefined) this.#world.time.after(leaves, 'caller leaves', () => this.#leave(ask), null)
  }

  #take(bytes: Buffer): void {
    this.#answerBytes += bytes.length
    this.#reader.push(bytes)
    const [head] = this.#asks
    if (this.#reader.broken !== undefined && head) head.broken = this.#reader.broken
    const most = head?.wish.leavesBytes
    if (head && most !== undefined && this.#answerBytes >= most) this.#leave(head)
  }

  /** Handles a complete answer. */
  #finish(): void {
    const ask = this.#asks.shift()
    if (!ask) return
    this.#keep(ask)
    ask.endedAt ??= this.#world.time.tick
    this.#answerBytes = 0
    this.#informed = this.#reader.informational.length
    if (ask.answer?.headers.get('connection')?.toLowerCase() === 'close') this.#isOver = true
  }

  #keep(ask: Ask): void {
    ask.answer = this.#reader.messages.at(-1)
    ask.informational = this.#reader.informational.slice(this.#informed)
  }

  /** The caller of one disconnects, which closes the connection. */
  #leave(ask: Ask): void {
    if (ask.endedAt !== undefined) return
    this.#world.mark('fault: caller leaves')
    for (const one of this.#asks) one.left = true
    this.#socket.destroy(new Error('gone'))
  }

  #end(): void {
    this.#isOver = true
    const [head, ...behind] = this.#asks.splice(0)
    const { last } = this.#reader
    if (head) {
      // An incomplete message belongs to the first waiting request.
      if (last && !last.whole) this.#keep(head)
      else head.disturbed ??= 'the connection was closed'
      head.broken = this.#reader.broken
      head.endedAt ??= this.#world.time.tick
    }
    for (const ask of behind) {
      ask.disturbed ??= 'the connection was closed'
      ask.endedAt ??= this.#world.time.tick
    }
  }
}
