import type { Duplex } from 'node:stream'

/** Bytes that a caller may send before its WebSocket is open. */
const earlyBytesMax = 65_536

export type SocketReader = {
  data(chunk: Buffer): void
  /** It sends nothing more. */
  gone(): void
  /** There is room again. */
  drain(): void
}

/**
 * The socket of a client that requested a WebSocket. It is read from the start, or no one would notice that the client has left
 * while its key is looked up; what it sends meanwhile is kept.
 */
export class CallerSocket {
  readonly socket: Duplex
  #early: Buffer[] = []
  #earlyBytes = 0
  #reader: SocketReader | undefined
  #isGone = false

  constructor(socket: Duplex, head: Buffer) {
    this.socket = socket
    // Without a listener a reset would end the process.
    socket.on('error', () => undefined)
    socket
      .on('close', this.#onGone)
      .on('end', this.#onEnd)
      .on('drain', () => this.#reader?.drain())
    if (head.length > 0) socket.unshift(head)
    socket.on('data', this.#onData)
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** Another reader takes over. @returns what came early */
  release(): Buffer {
    this.socket.off('data', this.#onData).off('end', this.#onEnd)
    const early = this.#early
    this.#early = []
    return Buffer.concat(early)
  }

  /** Hands over what came early, and all that comes. */
  start(reader: SocketReader): void {
    this.#reader = reader
    const early = this.#early
    this.#early = []
    for (const chunk of early) reader.data(chunk)
    this.socket.resume()
    if (this.#isGone) reader.gone()
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#reader) return this.#reader.data(chunk)
    this.#early.push(chunk)
    this.#earlyBytes += chunk.length
    if (this.#earlyBytes > earlyBytesMax) this.socket.pause()
  }

  /** It will send nothing more: before the WebSocket is open that means that its caller has left. */
  readonly #onEnd = (): void => {
    if (!this.#reader) this.socket.destroy()
    else this.#onGone()
  }

  readonly #onGone = (): void => {
    if (this.#isGone) return
    this.#isGone = true
    this.#reader?.gone()
  }
}
