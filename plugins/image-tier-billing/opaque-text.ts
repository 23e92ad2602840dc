import { findPicture, unescapeText } from './detect-picture.ts'
import type { Omission } from './omission.ts'

/** The number of bytes that are examined: a picture is recognised by its first bytes. */
const judgedBytesMax = 1024
const leadsElsewhere = /^\s*data:|:\/\//i

/**
 * A string of any length that the family declares not to be a picture: its beginning is held until it is verified, or
 * omitted.
 */
export class OpaqueText {
  readonly from: number
  readonly #path: string
  readonly #omission: Omission
  #pieces: Buffer[] = []
  #length = 0
  /** Whether it may be delivered. */
  judged = false
  #isOmitted = false

  constructor(from: number, path: string, omission: Omission) {
    this.from = from
    this.#path = path
    this.#omission = omission
  }

  /** Reads `piece` from `from` to `to`. Omits a string that begins like a picture or a link to one. */
  write(piece: Buffer, from: number, to: number): void {
    if (this.#isOmitted) return this.#omission.more(this.#omission.base + to)
    if (this.judged) return
    this.#pieces.push(piece.subarray(from, Math.min(to, from + judgedBytesMax - this.#length)))
    this.#length += to - from
    if (this.#length >= judgedBytesMax) this.#judge(this.#omission.base + to)
  }

  /** Ends the string; its closing quote is at `at`. */
  end(at: number): void {
    if (this.#isOmitted) this.#omission.more(at + 1)
    else if (!this.judged) this.#judge(at + 1)
  }

  #judge(to: number): void {
    const text = unescapeText(Buffer.concat(this.#pieces))
    this.#pieces = []
    this.judged = true
    const seen = leadsElsewhere.test(text) ? 'a link' : findPicture(text)
    if (seen === undefined) return
    this.#isOmitted = true
    this.#omission.begin(this.from, to, `${this.#path} (${seen})`)
  }
}
