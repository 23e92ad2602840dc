import type { Duplex } from 'node:stream'

/** The number of bytes to buffer before the WebSocket is open; then the socket is paused. */
const earlyBytesMax = 65_536

export type SocketReader = {
  data(chunk: Buffer): void
  /** Called when the client sends no more bytes. */
  gone(): void
  /** Called when the socket can be written to again. */
  drain(): void
}

/**
 * The socket of a client that requested a WebSocket. It is read from the start, because otherwise a disconnect during
 * the key lookup would not be noticed. Early bytes are buffered.
 */
export class CallerSocket {
  readonly socket: Duplex
  #early: Buffer[] = []
  #earlyBytes = 0
  #reader: SocketReader | undefined
  #isGone = false

  constructor(socket: Duplex, head: Buffer) {
    this.socket = socket
    // Without a listener, a reset would crash the process.
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

  /** Releases the socket for another reader. @returns the bytes that arrived early */
  release(): Buffer {
    this.socket.off('data', this.#onData).off('end', this.#onEnd)
    const early = this.#early
    this.#early = []
    return Buffer.concat(early)
  }

  /** Passes the early bytes to the reader, and then all later ones. */
  start(reader: SocketReader): void {
    this.#reader = reader
    const early = this.#early
    this.#early = []
    for (const chunk of early) reader.data(chunk)
    this.socket.resume()
    if (this.#isGone) reader.gone()
  }

  /** Stops passing bytes to the reader. `rest` and all later bytes wait for the next reader. */
  setAside(rest: Buffer): void {
    this.#reader = undefined
    this.#earlyBytes = 0
    if (rest.length > 0) this.#onData(rest)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#reader) return this.#reader.data(chunk)
    this.#early.push(chunk)
    this.#earlyBytes += chunk.length
    if (this.#earlyBytes > earlyBytesMax) this.socket.pause()
  }

  /** The end of the client's bytes. Before the WebSocket is open, it means that the client has disconnected. */
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
