import { PictureDigest } from '../../src/wire/index.ts'
import { unescapeText } from './detect-picture.ts'
import { LinkText } from './link-text.ts'
import { linkedImages, PictureBlocks } from './picture-blocks.ts'
import { type FoundImage, tailBytes } from './scan-result.ts'

/** The maximum number of bytes, including escapes, that distinguish a link from a picture. */
const prefixBytes = 64
const scheme = /^\s*(?:\/\/[^/]+\.|[a-z][a-z0-9+.-]*:)/i
const inline = /^\s*data:/i

/**
 * Reads a string with a picture as it passes. Its first characters show whether it is base64, a data: URL or a link.
 */
export class DescribedPicture {
  /** The offset of its first character, and the offset after its last one once it has arrived. */
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

  /** Whether it is a link, or may still be one. */
  get isLink(): boolean {
    return this.#isLink !== false
  }

  /**
   * Reads `piece` from `from` to `to`; the last byte precedes `end`.
   * @returns false if it is longer than any link
   */
  write(piece: Buffer, from: number, to: number, end: number): boolean {
    this.#digest.write(piece, from, to)
    if (this.#isLink !== true) this.#blocks.write(piece, from, to, end)
    if (this.#isLink === undefined) {
      this.#first += piece.toString('latin1', from, Math.min(to, from + prefixBytes - this.#first.length))
      if (this.#first.length >= prefixBytes) this.#report()
    }
    return this.#text?.write(piece, from, to) !== false
  }

  /** Ends the string; its closing quote is at `at`. @returns its text if it is a link */
  end(at: number): string | undefined {
    this.to = at
    if (this.#isLink === undefined) this.#report()
    const link = this.#text?.end()
    this.#text = undefined
    this.#link = link ?? ''
    return link
  }

  #report(): void {
    const text = unescapeText(Buffer.from(this.#first, 'latin1'))
    this.#isLink = scheme.test(text) && !inline.test(text)
    if (!this.#isLink) this.#text = undefined
  }

  /** The offset up to which the answer may be delivered; the last received byte precedes `end`. */
  safe(end: number): number {
    return this.isLink ? this.from - 1 : Math.max(this.from, (this.#blocks.second ?? this.to ?? end) - tailBytes)
  }

  /** A digest, which is equal for equal pictures. */
  get digest(): string {
    return this.#digest.end()
  }

  /** The pictures of the string: usually one. */
  measure(): readonly Omit<FoundImage, 'index'>[] {
    return this.#isLink === true ? linkedImages(this.#link) : this.#blocks.measure()
  }
}
