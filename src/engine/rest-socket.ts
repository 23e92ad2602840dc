import type { Socket } from 'node:net'

/**
 * After so many chunks the socket rests until the next turn: a body may arrive byte by byte, ten thousand in one read.
 */
const chunksATurn = 2_048

/** The internals of Node that are used here. */
type Handle = { readStop?(): unknown; readStart?(): unknown }

/**
 * Lets a socket rest until the next turn if a body arrives in very many chunks. A paused stream takes as many chunks as
 * its high-water mark has bytes, and libuv reads 32 times before other work has a turn: 350,000 chunks of one byte, a
 * third of a second. `socket.pause()` does not reach a socket that the parser reads by itself, so its handle is
 * stopped, as Node does when a body is not read fast enough.
 */
export class SocketRest {
  readonly #socket: Socket
  #chunks = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** A chunk has arrived. */
  count(): void {
    if (++this.#chunks !== chunksATurn) return
    this.#handle?.readStop?.()
    setImmediate(() => {
      this.#chunks = 0
      this.#handle?.readStart?.()
    })
  }

  /** Undefined once the socket is closed. */
  get #handle(): Handle | null | undefined {
    return (this.#socket as unknown as { readonly _handle?: Handle | null })._handle
  }
}
