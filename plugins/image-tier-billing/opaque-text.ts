import { findPicture, unescapeText } from './judge-text.ts'
import { Unrecognised } from './scanned.ts'

/** So much of it is looked at: a picture shows in its first bytes. */
const judgedBytesMax = 1024
const leadsElsewhere = /^\s*data:|:\/\//i

/** A string of which the family says that it is no picture, however long: its beginning is held until it is seen to be none. */
export class OpaqueText {
  readonly from: number
  readonly #path: string
  #pieces: Buffer[] = []
  #length = 0
  /** It may go. */
  judged = false

  constructor(from: number, path: string) {
    this.from = from
    this.#path = path
  }

  /** Reads on, in the bytes of `piece` from `from` to `to`. @throws Unrecognised where it begins as a picture, or as what leads to one */
  write(piece: Buffer, from: number, to: number): void {
    if (this.judged) return
    this.#pieces.push(piece.subarray(from, Math.min(to, from + judgedBytesMax - this.#length)))
    this.#length += to - from
    if (this.#length >= judgedBytesMax) this.end()
  }

  /** It is over. @throws Unrecognised */
  end(): void {
    if (this.judged) return
    const text = unescapeText(Buffer.concat(this.#pieces))
    this.#pieces = []
    this.judged = true
    const seen = leadsElsewhere.test(text) ? 'a link' : findPicture(text)
    if (seen !== undefined) throw new Unrecognised(`${this.#path} (${seen})`)
  }
}
