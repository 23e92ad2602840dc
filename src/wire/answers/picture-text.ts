import type { PictureFacts } from './picture-writer.ts'
import type { ReadingFaults } from './reading.ts'

/** The maximum length of the text before the base64 of a data: URL. */
const openingCharsMax = 256
const linkBytesMax = 64 * 1024

/** A picture as received: its base64, in its JSON form, or a link. */
export type HeldPicture = {
  readonly isLink: boolean
  readonly link: string
  readonly pieces: readonly Buffer[]
  readonly facts?: PictureFacts
}

/** JSON may escape the slashes of a link. */
const longestScheme = String.raw`https:\/\/`

type Kind = 'unknown' | 'base64' | 'link'

/**
 * The string of a picture, fed piece by piece in its JSON form: its beginning decides whether it is base64, with or
 * without `data:`, or a link.
 */
export class PictureText {
  #kind: Kind = 'unknown'
  #opening = ''
  readonly #kept: Buffer[] = []
  readonly #faults: ReadingFaults
  /** Why it is not a described picture. */
  flaw: string | undefined

  constructor(faults: ReadingFaults) {
    this.#faults = faults
  }

  /** @returns the part that is known to be base64 */
  write(piece: Buffer): readonly Buffer[] {
    if (this.#kind === 'base64') return [piece]
    if (this.flaw !== undefined) return []
    this.#opening += piece.toString('latin1')
    if (this.#kind === 'link' || looksLikeLink(this.#opening)) return this.#asLink()
    const base64 = this.#readOpening(false)
    return base64 === undefined ? [] : base64
  }

  /** Keeps base64 that has to wait. */
  keep(piece: Buffer): void {
    this.#kept.push(Buffer.from(piece))
  }

  /** Removes and returns the kept pieces. */
  letGo(): readonly Buffer[] {
    return this.#kept.splice(0)
  }

  /**
   * @returns the picture; undefined for an empty string, or one with a flaw. Its pieces are those that were kept, and
   * those that `write` did not return
   */
  end(): HeldPicture | undefined {
    if (this.flaw !== undefined) return undefined
    if (this.#kind === 'link') {
      const link = this.#parseLink()
      return { isLink: true, link, pieces: [] }
    }
    if (this.#kind === 'unknown') {
      if (this.#opening === '') return undefined
      this.#kept.push(...(this.#readOpening(true) ?? []))
      if (this.flaw !== undefined) return undefined
    }
    return { isLink: false, link: '', pieces: this.#kept }
  }

  #asLink(): readonly Buffer[] {
    this.#kind = 'link'
    return this.#opening.length > linkBytesMax ? this.#leaveOut('a link longer than any') : []
  }

  /** Undefined if more text is needed. */
  #readOpening(isWhole: boolean): readonly Buffer[] | undefined {
    const text = this.#opening
    if (isDataUrl(text)) {
      const comma = text.indexOf(',')
      if (comma < 0 && !isWhole && text.length < openingCharsMax) return undefined
      if (comma < 0 || !/;\s*base64\s*$/i.test(text.slice(0, comma)))
        return this.#leaveOut('a data: URL that is not base64')
      return this.#asBase64(text.slice(comma + 1))
    }
    if (!isWhole && text.length < longestScheme.length) return undefined
    return this.#asBase64(text)
  }

  #parseLink(): string {
    try {
      return JSON.parse(`"${Buffer.from(this.#opening, 'latin1').toString()}"`) as string
    } catch (cause) {
      throw this.#faults.unreadable('a link is no text', cause)
    }
  }

  #leaveOut(flaw: string): readonly Buffer[] {
    this.flaw = flaw
    this.#opening = ''
    return []
  }

  #asBase64(text: string): readonly Buffer[] {
    this.#kind = 'base64'
    this.#opening = ''
    return text === '' ? [] : [Buffer.from(text, 'latin1')]
  }
}

function looksLikeLink(opening: string): boolean {
  return /^https?:(?:\\?\/){2}/i.test(opening)
}

/** Whether the text begins a data: URL; its first five characters may be incomplete. */
function isDataUrl(opening: string): boolean {
  return opening.slice(0, 5).toLowerCase() === 'data:'
}
