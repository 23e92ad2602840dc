import { unescapeText } from './detect-picture.ts'
import { linkBytesMax } from './scan-result.ts'

/** Assembles a link as it passes. */
export class LinkText {
  readonly #pieces: Buffer[] = []
  #length = 0

  /** Reads `piece` from `from` to `to`. @returns false if it is longer than any link; the piece is then not stored */
  write(piece: Buffer, from: number, to: number): boolean {
    this.#length += to - from
    if (this.#length > linkBytesMax) return false
    this.#pieces.push(piece.subarray(from, to))
    return true
  }

  /** Ends the link. @returns its text, unescaped */
  end(): string {
    return unescapeText(Buffer.concat(this.#pieces))
  }
}
