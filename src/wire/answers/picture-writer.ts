import type { ResponseMetadata } from '../../plugin-api/index.ts'

/** A placeholder in the output for a link that has to be fetched first. */
export class LinkToFollow {
  readonly url: string
  /** The index of the picture in the answer. */
  readonly index: number

  constructor(url: string, index: number) {
    this.url = url
    this.index = index
  }
}

/** A part of the output: bytes, or a link whose content replaces it. */
export type Written = Buffer | LinkToFollow

/** Metadata of a picture. */
export type PictureFacts = {
  readonly size: { readonly width: number; readonly height: number } | undefined
  readonly texts: readonly (readonly [name: string, text: string])[]
}

/** The end of an answer: its usage, by names with dots for nested members, and metadata about its pictures. */
export type AnswerFacts = {
  readonly usage: { readonly [name: string]: number } | undefined
  readonly words?: ReadonlyMap<string, string | number>
}

/**
 * Writes pictures in the one format that all later stages read, as one JSON answer or as a stream of events. `take`
 * returns the output.
 */
export class PictureWriter {
  readonly #metadata: ResponseMetadata
  readonly #created: number
  /** The event of a finished picture; undefined for one JSON answer. */
  readonly #event: string | undefined
  /** Links are fetched instead of written. */
  readonly #follows: boolean
  #out: Written[] = []
  #count = 0
  #hasBegun = false
  #isOpen = false
  /** The event of a complete picture waits for the metadata at the end of its answer. */
  readonly #waits: boolean
  #isWaiting = false

  /** @param options.created seconds since the epoch; `event`: the name of events with a picture */
  constructor(
    metadata: ResponseMetadata,
    options: {
      readonly created: number
      readonly event?: string | undefined
      readonly follows?: boolean
      readonly waits?: boolean
    },
  ) {
    this.#metadata = metadata
    this.#created = options.created
    this.#event = options.event
    this.#follows = options.follows === true
    this.#waits = options.waits === true
  }

  get count(): number {
    return this.#count
  }

  /** Whether a picture has begun and is not complete. */
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
    this.settle()
    const event = this.#event
    if (event !== undefined) this.#text(`event: ${event}\ndata: {"type":${JSON.stringify(event)},`)
    else if (!this.#hasBegun) this.#text(`{"created":${this.#created},"data":[{`)
    else this.#text(',{')
    this.#hasBegun = true
  }

  /** Begins a picture, whose base64 follows piece by piece. */
  open(): void {
    this.#begin()
    this.#isOpen = true
    this.#text('"b64_json":"')
  }

  /** Writes more of its base64, in its JSON form. */
  piece(bytes: Buffer): void {
    this.#out.push(bytes)
  }

  /** Completes the picture. */
  close(facts: PictureFacts): void {
    this.#reportSize(facts)
    this.#text(`"${this.#rest(facts)}`)
    this.#isOpen = false
    this.#end()
  }

  link(url: string, facts: PictureFacts): void {
    this.#reportSize(facts)
    this.#begin()
    if (this.#follows) this.#out.push(new LinkToFollow(url, this.#count - 1))
    else this.#text(`"url":${JSON.stringify(url)}`)
    this.#text(this.#rest(facts))
    this.#end()
  }

  /** Writes a preview, which only streams have. */
  partial(pieces: readonly Buffer[], index: number): void {
    const event = this.#event?.replace('completed', 'partial_image')
    if (event === undefined) return
    this.settle()
    this.#text(`event: ${event}\ndata: {"type":${JSON.stringify(event)},"partial_image_index":${index},"b64_json":"`)
    this.#out.push(...pieces)
    this.#text('"}\n\n')
  }

  /** Ends the answer. */
  finish(facts: AnswerFacts): void {
    this.settle()
    if (this.#event !== undefined) return
    if (!this.#hasBegun) this.#text(`{"created":${this.#created},"data":[`)
    this.#text(`]${writeFacts(facts)}}`)
  }

  /** Writes the waiting event: no more metadata will follow. */
  settle(facts?: AnswerFacts): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#text(`${facts ? writeFacts(facts) : ''}}\n\n`)
  }

  /** Reports the size before the bytes that complete the picture. */
  #reportSize({ size }: PictureFacts): void {
    if (size) this.#metadata.sizes.set(this.#count, size)
    this.#count++
  }

  #rest({ texts }: PictureFacts): string {
    return texts.map(([name, text]) => `,${JSON.stringify(name)}:${JSON.stringify(text)}`).join('')
  }

  #end(): void {
    if (this.#event === undefined) return this.#text('}')
    this.#isWaiting = true
    if (!this.#waits) this.settle()
  }
}

function writeFacts({ usage, words }: AnswerFacts): string {
  const members = [...(words ?? [])].map(([name, word]) => `,${JSON.stringify(name)}:${JSON.stringify(word)}`)
  return members.join('') + (usage ? `,"usage":${JSON.stringify(nest(usage))}` : '')
}

/** `input_tokens_details.text_tokens` becomes a nested object, as SDKs expect it. */
function nest(usage: { readonly [name: string]: number }): object {
  const nested: { [name: string]: number | { [name: string]: number } } = Object.create(null)
  for (const [name, used] of Object.entries(usage)) {
    const dot = name.indexOf('.')
    const outer = dot < 0 ? undefined : (nested[name.slice(0, dot)] ??= Object.create(null))
    if (typeof outer === 'object') outer[name.slice(dot + 1)] = used
    else nested[name] = used
  }
  return nested
}
