import type { Told } from '../../src/kit/index.ts'
import { LinkToFollow } from './follow-link.ts'

/** What is written: bytes, or a link to follow in their place. */
export type Written = Buffer | LinkToFollow

/** What is said of a picture beside itself. */
export type PictureFacts = {
  readonly size: { readonly width: number; readonly height: number } | undefined
  readonly texts: readonly (readonly [name: string, text: string])[]
}

/** The last words of an answer. */
export type AnswerFacts = { readonly usage: { readonly [name: string]: number } | undefined }

/**
 * Writes pictures in the one style that everything behind reads, as one JSON answer or as a stream of events. What was
 * written is taken by `take`.
 */
export class PictureWriter {
  readonly #told: Told
  readonly #created: number
  /** The event of a finished picture; undefined for one JSON answer. */
  readonly #event: string | undefined
  /** Links are not written as they are. */
  readonly #follows: boolean
  #out: Written[] = []
  #count = 0
  #hasBegun = false
  #isOpen = false

  /** @param options.created seconds since the epoch; `event`: the name of events that carry a picture */
  constructor(
    told: Told,
    options: { readonly created: number; readonly event?: string | undefined; readonly follows?: boolean },
  ) {
    this.#told = told
    this.#created = options.created
    this.#event = options.event
    this.#follows = options.follows === true
  }

  get count(): number {
    return this.#count
  }

  /** A picture has begun and is not whole. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  take(): Written[] {
    const out = this.#out
    this.#out = []
    return out
  }

  #text(text: string): void {
    this.#out.push(Buffer.from(text))
  }

  #begin(): void {
    const event = this.#event
    if (event !== undefined) this.#text(`event: ${event}\ndata: {"type":${JSON.stringify(event)},`)
    else if (!this.#hasBegun) this.#text(`{"created":${this.#created},"data":[{`)
    else this.#text(',{')
    this.#hasBegun = true
  }

  /** A picture begins, whose base64 follows piece by piece. */
  open(): void {
    this.#begin()
    this.#isOpen = true
    this.#text('"b64_json":"')
  }

  /** More of its base64, as JSON writes it. */
  piece(bytes: Buffer): void {
    this.#out.push(bytes)
  }

  /** It is whole. */
  close(facts: PictureFacts): void {
    this.#tell(facts)
    this.#text(`"${this.#rest(facts)}}`)
    this.#isOpen = false
    this.#end()
  }

  link(url: string, facts: PictureFacts): void {
    this.#tell(facts)
    this.#begin()
    if (this.#follows) this.#out.push(new LinkToFollow(url, this.#count - 1))
    else this.#text(`"url":${JSON.stringify(url)}`)
    this.#text(`${this.#rest(facts)}}`)
    this.#end()
  }

  /** A preview, of streams alone. */
  partial(pieces: readonly Buffer[], index: number): void {
    const event = this.#event?.replace('completed', 'partial_image')
    if (event === undefined) return
    this.#text(`event: ${event}\ndata: {"type":${JSON.stringify(event)},"partial_image_index":${index},"b64_json":"`)
    this.#out.push(...pieces)
    this.#text('"}\n\n')
  }

  /** All has been said. */
  finish({ usage }: AnswerFacts): void {
    if (this.#event !== undefined) return
    if (!this.#hasBegun) this.#text(`{"created":${this.#created},"data":[`)
    this.#text(usage ? `],"usage":${JSON.stringify(usage)}}` : ']}')
  }

  /** Before the bytes that complete it. */
  #tell({ size }: PictureFacts): void {
    if (size) this.#told.sizes.set(this.#count, size)
    this.#count++
  }

  #rest({ texts }: PictureFacts): string {
    return texts.map(([name, text]) => `,${JSON.stringify(name)}:${JSON.stringify(text)}`).join('')
  }

  #end(): void {
    if (this.#event !== undefined) this.#text('\n\n')
  }
}
