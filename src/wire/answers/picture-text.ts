import type { PictureFacts } from './picture-writer.ts'
import type { ReadingFaults } from './reading.ts'

/** What precedes the base64 of a data: URL is no longer. */
const openingCharsMax = 256
const linkBytesMax = 64 * 1024

/** A picture as it came: its base64, as JSON writes it, or a link. */
export type HeldPicture = {
  readonly isLink: boolean
  readonly link: string
  readonly pieces: readonly Buffer[]
  readonly facts?: PictureFacts
}

/** JSON may escape its slashes. */
const longestScheme = String.raw`https:\/\/`

type Kind = 'unknown' | 'base64' | 'link'

/** The string of a picture, fed piece by piece as JSON writes it: its beginning shows whether it is base64, with or without `data:`, or a link. */
export class PictureText {
  #kind: Kind = 'unknown'
  #opening = ''
  readonly #kept: Buffer[] = []
  readonly #faults: ReadingFaults
  /** Why it is no picture that is described. */
  flaw: string | undefined

  constructor(faults: ReadingFaults) {
    this.#faults = faults
  }

  /** @returns base64 that is known to be some */
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

  /** Takes back what was kept. */
  letGo(): readonly Buffer[] {
    return this.#kept.splice(0)
  }

  /** @returns the picture; undefined for an empty string, or one with a flaw. Its pieces are those that were kept, and what `write` did not give */
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

  /** Undefined as long as more is needed. */
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

/** Its first five characters may themselves be cut. */
function isDataUrl(opening: string): boolean {
  return opening.slice(0, 5).toLowerCase() === 'data:'
}
