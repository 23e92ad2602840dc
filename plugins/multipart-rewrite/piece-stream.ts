import { Readable } from 'node:stream'
import { type Awaitable, isPromise } from '../../src/kit/index.ts'

/** Bytes that are at hand, or are fetched when their turn comes. */
export type Piece =
  | Buffer
  | {
      readonly bytes: number
      /** From 1 to `most` bytes from a place on. */
      read(at: number, most: number): Awaitable<Buffer>
    }

/** What one chunk may hold. */
const chunkBytes = 256 * 1024

/** Pieces, one after the other. Small ones leave together: a write to a socket costs more than a copy. */
export class PieceStream extends Readable {
  readonly #pieces: readonly Piece[]
  #next = 0
  /** How much of the next piece has been read. */
  #at = 0

  constructor(pieces: readonly Piece[]) {
    super({ highWaterMark: chunkBytes })
    this.#pieces = pieces
  }

  override _read(): void {
    try {
      const ready: Buffer[] = []
      let left = chunkBytes
      while (left > 0 && this.#next < this.#pieces.length) {
        const chunk = this.#fetch(left)
        if (isPromise(chunk)) {
          chunk.then(
            last => this.push(ready.length === 0 ? last : Buffer.concat([...ready, last])),
            (error: Error) => this.destroy(error),
          )
          return
        }
        ready.push(chunk)
        left -= chunk.length
      }
      if (ready.length === 0) this.push(null)
      else this.push(ready.length === 1 ? ready[0] : Buffer.concat(ready))
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  /** Reads on; at least one byte, unless the piece is empty. */
  #fetch(most: number): Awaitable<Buffer> {
    const piece = this.#pieces[this.#next] as Piece
    if (Buffer.isBuffer(piece)) {
      this.#next++
      return piece
    }
    if (piece.bytes === 0) {
      this.#next++
      return Buffer.alloc(0)
    }
    const chunk = piece.read(this.#at, Math.min(most, piece.bytes - this.#at))
    if (isPromise(chunk)) return chunk.then(bytes => this.#count(piece.bytes, bytes))
    return this.#count(piece.bytes, chunk)
  }

  #count(whole: number, chunk: Buffer): Buffer {
    this.#at += chunk.length
    if (this.#at > whole) throw new RangeError('a piece of a form was longer than announced')
    if (this.#at === whole) {
      this.#next++
      this.#at = 0
    }
    return chunk
  }
}
