import { PictureDigest } from '../../src/wire/index.ts'
import { unescapeText } from './judge-text.ts'
import { LinkText } from './link-text.ts'
import { linkedImages, PictureBlocks } from './picture-blocks.ts'
import { type FoundImage, tailBytes } from './scanned.ts'

/** So much of a string distinguishes a link from a picture: as it is written, escapes and all. */
const toldBytes = 64
const scheme = /^\s*(?:\/\/[^/]+\.|[a-z][a-z0-9+.-]*:)/i
const inline = /^\s*data:/i

/** One string at a place of pictures, read as it passes: base64, a data: URL or a link, by its first characters. */
export class DescribedPicture {
  /** The place of its first character; that after its last, once that has come. */
  readonly from: number
  to: number | undefined
  readonly path: string
  readonly #blocks = new PictureBlocks({ link: false })
  readonly #digest = new PictureDigest()
  #text: LinkText | undefined = new LinkText()
  #first = ''
  #isLink: boolean | undefined
  #link = ''

  constructor(from: number, path: string) {
    this.from = from
    this.path = path
  }

  /** It may be one as long as nothing else is known. */
  get isLink(): boolean {
    return this.#isLink !== false
  }

  /**
   * Reads on, in the bytes of `piece` from `from` to `to`, the last of which stands before `end`.
   * @returns false when it is a link longer than any
   */
  write(piece: Buffer, from: number, to: number, end: number): boolean {
    this.#digest.write(piece, from, to)
    if (this.#isLink !== true) this.#blocks.write(piece, from, to, end)
    if (this.#isLink === undefined) {
      this.#first += piece.toString('latin1', from, Math.min(to, from + toldBytes - this.#first.length))
      if (this.#first.length >= toldBytes) this.#tell()
    }
    return this.#text?.write(piece, from, to) !== false
  }

  /** The string is over; its closing quote is at `at`. @returns its text where it is a link */
  end(at: number): string | undefined {
    this.to = at
    if (this.#isLink === undefined) this.#tell()
    const link = this.#text?.end()
    this.#text = undefined
    this.#link = link ?? ''
    return link
  }

  #tell(): void {
    const text = unescapeText(Buffer.from(this.#first, 'latin1'))
    this.#isLink = scheme.test(text) && !inline.test(text)
    if (!this.#isLink) this.#text = undefined
  }

  /** Up to where the answer may go on, of which the last byte that came precedes `end`. */
  safe(end: number): number {
    return this.isLink ? this.from - 1 : Math.max(this.from, (this.#blocks.second ?? this.to ?? end) - tailBytes)
  }

  /** The same of the same picture. */
  get digest(): string {
    return this.#digest.end()
  }

  /** The pictures of the string: mostly one. */
  measure(): readonly Omit<FoundImage, 'index'>[] {
    return this.#isLink === true ? linkedImages(this.#link) : this.#blocks.measure()
  }
}
