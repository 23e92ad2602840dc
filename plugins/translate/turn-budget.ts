import { setImmediate as nextTurn } from 'node:timers/promises'

const smallestBytes = 4_096
const largestBytes = 65_536
/** Reading so many values takes about a millisecond. */
const valuesOfPiece = 256
const valuesOfTurn = 1_024
/** Skipped bytes cost little, but a connection may deliver megabytes without a pause. */
const bytesOfTurn = 131_072

/**
 * Limits how much of an answer is read in one turn of the event loop. The cost depends on the values in it: a picture
 * passes 64 KiB at a time, while as many bytes of small numbers would block all others.
 */
export class TurnBudget {
  #pieceBytes = smallestBytes
  #seen = 0
  #values = 0
  #bytes = 0

  /**
   * Counts a piece that was read. @param seen values of the answer so far @returns a promise to await before the next
   * piece
   */
  took(seen: number): Promise<void> | undefined {
    const values = seen - this.#seen
    this.#seen = seen
    this.#pieceBytes = values > valuesOfPiece ? smallestBytes : Math.min(largestBytes, this.#pieceBytes * 2)
    this.#values += values
    if (this.#values < valuesOfTurn && this.#bytes < bytesOfTurn) return undefined
    this.#values = 0
    this.#bytes = 0
    return nextTurn()
  }

  *split(chunk: Buffer): Generator<Buffer> {
    for (let at = 0; at < chunk.length; ) {
      const to = Math.min(chunk.length, at + this.#pieceBytes)
      yield to - at === chunk.length ? chunk : chunk.subarray(at, to)
      this.#bytes += to - at
      at = to
    }
  }
}
