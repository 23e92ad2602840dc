import type { Passed, Reply, Stage } from '../../src/plugin-api/index.ts'

/** Bytes of the answers that all requests are collecting. */
export type Collecting = { bytes: number; readonly bytesMax: number }

/** Copies an answer as it passes to the client, in its final form. Gives up if it is too long. */
export class CollectAnswer implements Stage {
  readonly letsGo = true
  readonly reply: Reply
  readonly #bytesMax: number
  readonly #all: Collecting
  #chunks: Buffer[] = []
  #bytes = 0
  #isTooLong = false
  #isEnded = false

  constructor(reply: Reply, bytesMax: number, all: Collecting) {
    this.reply = reply
    this.#bytesMax = bytesMax
    this.#all = all
  }

  write(chunk: Buffer): Passed {
    if (this.#isTooLong) return chunk
    const { bytes, bytesMax } = this.#all
    if (this.#bytes + chunk.length > this.#bytesMax || bytes + chunk.length > bytesMax) {
      this.#isTooLong = true
      this.free()
      return chunk
    }
    this.#bytes += chunk.length
    this.#all.bytes += chunk.length
    this.#chunks.push(Buffer.from(chunk))
    return chunk
  }

  end(): Passed {
    this.#isEnded = true
    return []
  }

  /** The whole answer; undefined if it did not end, or was too long. */
  take(): Buffer | undefined {
    const whole = this.#isEnded && !this.#isTooLong ? Buffer.concat(this.#chunks) : undefined
    this.free()
    return whole
  }

  free(): void {
    this.#all.bytes -= this.#bytes
    this.#bytes = 0
    this.#chunks = []
  }
}
