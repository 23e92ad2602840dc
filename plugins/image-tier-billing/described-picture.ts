import { ImageHead } from './image-head.ts'
import { unescapeText } from './judge-text.ts'
import { LinkText } from './link-text.ts'
import { sizeOf } from './measure.ts'
import { type FoundImage, tailBytes, Unrecognised } from './scanned.ts'

/** So much of a string tells a link from a picture: as it is written, escapes and all. */
const toldBytes = 64
const scheme = /^\s*(?:\/\/[^/]+\.|[a-z][a-z0-9+.-]*:)/i
const inline = /^\s*data:/i

/** One string where pictures stand, read as it passes: base64, a data: URL or a link, told by its first characters. */
export class DescribedPicture {
  /** Where its first character stands; that behind its last, once that has come. */
  readonly from: number
  to: number | undefined
  readonly path: string
  readonly #head = new ImageHead({ link: false })
  #text: LinkText | undefined = new LinkText()
  #first = ''
  #isLink: boolean | undefined

  constructor(from: number, path: string) {
    this.from = from
    this.path = path
  }

  /** It may be one as long as nothing else is known. */
  get isLink(): boolean {
    return this.#isLink !== false
  }

  /** Reads on, in the bytes of `piece` from `from` to `to`. @throws Unrecognised when it is a link longer than any */
  write(piece: Buffer, from: number, to: number): void {
    if (this.#isLink !== true && !this.#head.settled) this.#head.write(piece, from, to)
    if (this.#isLink === undefined) {
      this.#first += piece.toString('latin1', from, Math.min(to, from + toldBytes - this.#first.length))
      if (this.#first.length >= toldBytes) this.#tell()
    }
    if (this.#text?.write(piece, from, to) === false) throw new Unrecognised(`${this.path} (longer than any link)`)
  }

  /** The string is over; its closing quote stands at `at`. @returns what it says where it is a link */
  end(at: number): string | undefined {
    this.to = at
    if (this.#isLink === undefined) this.#tell()
    const link = this.#text?.end()
    this.#text = undefined
    return link
  }

  #tell(): void {
    const text = unescapeText(Buffer.from(this.#first, 'latin1'))
    this.#isLink = scheme.test(text) && !inline.test(text)
    if (!this.#isLink) this.#text = undefined
  }

  /** Up to where the answer may go on, of which the last byte that came stands before `end`. */
  safe(end: number): number {
    return this.isLink ? this.from : Math.max(this.from, (this.to ?? end) - tailBytes)
  }

  measure(): Omit<FoundImage, 'index'> {
    return this.#isLink === true ? { kind: 'link', size: null } : { kind: 'bytes', ...sizeOf(this.#head.end()) }
  }
}
