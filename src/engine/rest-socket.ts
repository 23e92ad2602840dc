import type { Socket } from 'node:net'

/** After so many chunks the socket rests until the next turn: a body may come byte by byte, ten thousand in one read. */
const chunksATurn = 2_048

/** What of Node's inside is used here. */
type Handle = { readStop?(): unknown; readStart?(): unknown }

/**
 * Lets a socket rest until the next turn when a body has come in very many chunks. A stream that is paused takes as many
 * chunks as its mark has bytes, and libuv reads 32 times before other work has a turn: 350,000 chunks of one byte, a third
 * of a second. `socket.pause()` does not reach a socket that the parser reads by itself, so its handle is stopped, as Node does
 * when a body is not read fast enough.
 */
export class SocketRest {
  readonly #socket: Socket
  #chunks = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** A chunk has come. */
  count(): void {
    if (++this.#chunks !== chunksATurn) return
    this.#handle?.readStop?.()
    setImmediate(() => {
      this.#chunks = 0
      this.#handle?.readStart?.()
    })
  }

  /** None once the socket is closed. */
  get #handle(): Handle | null | undefined {
    return (this.#socket as unknown as { readonly _handle?: Handle | null })._handle
  }
}
