import { unescapeText } from './judge-text.ts'
import { linkBytesMax } from './scanned.ts'

/** What a link says, put together while it passes. */
export class LinkText {
  readonly #pieces: Buffer[] = []
  #length = 0

  /** Reads on, in the bytes of `piece` from `from` to `to`. @returns false when it is longer than any link: nothing is kept of it */
  write(piece: Buffer, from: number, to: number): boolean {
    this.#length += to - from
    if (this.#length > linkBytesMax) return false
    this.#pieces.push(piece.subarray(from, to))
    return true
  }

  /** The link is over. @returns what it says, unescaped */
  end(): string {
    return unescapeText(Buffer.concat(this.#pieces))
  }
}
