import { Readable } from 'node:stream'
import { type Awaitable, isPromise } from '../../src/plugin-api/index.ts'
import { joined } from '../../src/wire/index.ts'
import { blockBytes, giveBlock, takeBlock } from './blocks.ts'

/** Bytes that are at hand, or are fetched when their turn comes. */
export type Piece =
  | Buffer
  | {
      readonly bytes: number
      /** From 1 to `most` bytes from a place on; where they have to be fetched, into what `target` gives. */
      read(at: number, most: number, target?: () => Buffer): Awaitable<Buffer>
    }

/** What one chunk may hold. */
const chunkBytes = blockBytes
/** Only chunks are lent of which no two fit into the stream, or into a socket that does not emit `drain`. */
const lentBytesMin = chunkBytes / 2
/** The chunk that the reader has, the next one, and the one being fetched. */
const lentMax = 3

/**
 * Pieces, one after the other. Small ones leave together: a write to a socket costs more than a copy.
 * With `lend`, the memory of a chunk is used again for the next but one, and by other streams once the last has been taken.
 * Fresh memory for 30 MB is counted by the collector as growth of the heap, and brings on a full collection: with eight
 * uploads at once a sixth of the CPU.
 */
export class PieceStream extends Readable {
  readonly #pieces: readonly Piece[]
  readonly #lend: boolean
  readonly #lent: Buffer[] = []
  /** The lent memory that was filled last. */
  #turn = 0
  #next = 0
  /** How much of the next piece has been read. */
  #at = 0

  constructor(pieces: readonly Piece[], lend = false) {
    super({ highWaterMark: chunkBytes })
    this.#pieces = pieces
    this.#lend = lend
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
      else this.push(joined(ready))
    } catch (error) {
      this.destroy(error as Error)
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!error && this.readableEnded) this.#giveBack()
    done(error)
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
    const bytes = Math.min(most, piece.bytes - this.#at)
    const chunk =
      this.#lend && bytes >= lentBytesMin
        ? piece.read(this.#at, bytes, () => this.#target())
        : piece.read(this.#at, bytes)
    if (isPromise(chunk)) return chunk.then(bytes => this.#count(piece.bytes, bytes))
    return this.#count(piece.bytes, chunk)
  }

  /** The memory for the next lent chunk. */
  #target(): Buffer {
    this.#turn = (this.#turn + 1) % lentMax
    this.#lent[this.#turn] ??= takeBlock()
    return this.#lent[this.#turn] as Buffer
  }

  /**
   * All has been taken: what was lent before the last chunk has been sent, or its reader would not have read that. The
   * last one a socket may hold for long; it is left to the collector.
   */
  #giveBack(): void {
    for (const [i, block] of this.#lent.entries()) if (i !== this.#turn) giveBlock(block)
    this.#lent.length = 0
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
