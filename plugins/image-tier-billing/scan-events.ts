import { Holdback } from './holdback.ts'
import { ImageHead } from './image-head.ts'
import { type FoundImage, type Scanned, Unreadable, linkBytesMax, tailBytes } from './scan-images.ts'
import type { Size } from './tier.ts'
import { JsonWalk, type JsonVisitor } from './walk-json.ts'

/** Held whole by all streams of a process together; what does not fit is held by its tail. */
export const wholeEventsBytesMax = 64 * 1024 * 1024
/** What may follow the image in its event. */
const afterImageBytesMax = 1024 * 1024

/** The records that carry a finished image (wire facts 1.4); `partial_image` is a preview and never billed. */
const completedTypes: ReadonlySet<string> = new Set(['image_generation.completed', 'image_edit.completed'])
/** Members that may number the image; the wire defines none, but one that repeats means the same image again. */
const indexNames: ReadonlySet<string> = new Set(['index', 'image_index'])

const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
const fieldCharsMax = 64
const none: readonly FoundImage[] = []

/** Bytes that may be held by several together. */
export class Allowance {
  #left: number

  constructor(bytesMax: number) {
    this.#left = bytesMax
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  give(bytes: number): void {
    this.#left += bytes
  }
}

type Line = 'name' | 'blank' | 'data' | 'event' | 'other'

type Image = { readonly from: number; to: number | undefined; readonly link: boolean; readonly head: ImageHead }

/**
 * Finds the finished images of an event stream as it passes. A record that is, or may yet turn out to be, a finished
 * image is held whole up to the blank line that ends it, until its charge is committed. When the allowance for whole
 * records is used up, all but the image's last 4 KiB and what follows them passes, as in a JSON answer: memory stays
 * bounded and what leaked is still no image. Every other record, `partial_image` too, passes as soon as its `type` says
 * what it is.
 *
 * A record counts when its `event:` line or the `type` in its data is one of the finished kinds, and it carries a
 * non-empty `b64_json` or `url`; once for each value of its `index`, if it has one.
 */
export class EventScanner implements JsonVisitor {
  readonly #allowance: Allowance
  readonly #holdback = new Holdback()
  #done: FoundImage[] = []
  #count = 0
  readonly #seen = new Set<string>()

  #line: Line = 'name'
  #name = ''
  #value = ''
  #lineIsEmpty = true
  #skipLineFeed = false
  #started = false

  #walk = new JsonWalk(this)
  /** Where the record begins. */
  #from = 0
  #event = ''
  #type: string | undefined
  #index: string | undefined
  #image: Image | undefined
  /** A string that has begun and may be empty. */
  #next: Image | undefined
  /** Where the link stands that came before the image itself. */
  #linkFrom: number | undefined
  /** Bytes of this record that the allowance bears; undefined once it did not. */
  #borne: number | undefined = 0

  constructor(allowance: Allowance) {
    this.#allowance = allowance
  }

  /** How many images were found so far. */
  get count(): number {
    return this.#count
  }

  /** @throws Unreadable when a finished image's record cannot be read. */
  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#read(chunk, base)
    return this.#scanned(this.#safe())
  }

  /** The stream is complete. A last record without its blank line counts, since some readers take it. */
  end(): Scanned {
    if (this.#line === 'event') this.#event = this.#value
    this.#dispatch(this.#holdback.end)
    return this.#scanned(this.#holdback.end)
  }

  /** The stream was given up: what it was borne for is free again. Idempotent. */
  close(): void {
    this.#allowance.give(this.#borne ?? 0)
    this.#borne = undefined
  }

  #scanned(safe: number): Scanned {
    const out = this.#holdback.release(safe)
    if (this.#done.length === 0) return { out, done: none }
    const done = this.#done
    this.#done = []
    return { out, done }
  }

  get #isFinished(): boolean {
    return completedTypes.has(this.#event) || (this.#type !== undefined && completedTypes.has(this.#type))
  }

  /** Nothing in the record can make it a finished image any more. */
  get #isFree(): boolean {
    if (completedTypes.has(this.#event)) return false
    if (this.#type !== undefined) return !completedTypes.has(this.#type)
    // Without either line the other may still come.
    return this.#event !== '' && (this.#walk.foreign || this.#walk.complete)
  }

  /** Up to where the stream may go on. */
  #safe(): number {
    const { end } = this.#holdback
    if (this.#isFree) {
      this.#free()
      return end
    }
    if (this.#borne !== undefined) {
      const more = end - this.#from - this.#borne
      if (this.#allowance.take(more)) {
        this.#borne += more
        return this.#from
      }
      this.#free()
    }
    const image = this.#image
    if (!image) return end
    const imageEnd = image.to ?? end
    const link = image.link && !image.head.inline && imageEnd - image.from <= linkBytesMax
    const safe = Math.min(link ? image.from : Math.max(image.from, imageEnd - tailBytes), this.#linkFrom ?? end)
    if (end - safe > tailBytes + afterImageBytesMax) throw new Unreadable('an event with an image does not end')
    return safe
  }

  #free(): void {
    this.#allowance.give(this.#borne ?? 0)
    this.#borne = undefined
  }

  /** Lines as the standard has them: ended by LF, CR or both, split anywhere (HTML 9.2). */
  #read(chunk: Buffer, base: number): void {
    let feed = -2
    let carriage = -2
    for (let at = 0; at < chunk.length; ) {
      if (this.#skipLineFeed) {
        this.#skipLineFeed = false
        if (chunk[at] === lineFeed) {
          at++
          // It belongs to the line before, and to the record that this line may have ended.
          if (this.#from === base + at - 1) this.#from++
          continue
        }
      }
      if (feed !== -1 && feed < at) feed = chunk.indexOf(lineFeed, at)
      if (carriage !== -1 && carriage < at) carriage = chunk.indexOf(carriageReturn, at)
      const stop = feed === -1 ? carriage : carriage === -1 ? feed : Math.min(feed, carriage)
      const to = stop === -1 ? chunk.length : stop
      if (to > at) this.#part(chunk, base, at, to)
      if (stop === -1) return
      at = stop + 1
      this.#skipLineFeed = chunk[stop] === carriageReturn
      this.#endLine(base + at)
    }
  }

  /** A stretch of one line. */
  #part(chunk: Buffer, base: number, from: number, to: number): void {
    this.#lineIsEmpty = false
    let at = from
    while (at < to && this.#line === 'name') {
      const byte = chunk[at++] as number
      if (byte === colon) this.#line = this.#name === 'data' || this.#name === 'event' ? 'blank' : 'other'
      else if (this.#name.length > fieldCharsMax) this.#line = 'other'
      // A byte order mark may stand at the very beginning.
      else if (this.#started || (byte !== 0xef && byte !== 0xbb && byte !== 0xbf))
        this.#name += String.fromCharCode(byte)
    }
    if (at < to && this.#line === 'blank') {
      this.#line = this.#name === 'data' ? 'data' : 'event'
      if (chunk[at] === space) at++
    }
    if (at >= to) return
    if (this.#line === 'data') this.#walk.walk(chunk.subarray(at, to), base + at)
    else if (this.#line === 'event' && this.#value.length <= fieldCharsMax)
      this.#value += chunk.toString('latin1', at, to)
  }

  #endLine(next: number): void {
    this.#started = true
    if (this.#line === 'event') this.#event = this.#value
    if (this.#lineIsEmpty) this.#dispatch(next)
    this.#line = 'name'
    this.#name = ''
    this.#value = ''
    this.#lineIsEmpty = true
  }

  /** The record is over; the next begins at `next`. */
  #dispatch(next: number): void {
    const image = this.#image
    if (this.#isFinished) {
      const { foreign, complete, fault, depth } = this.#walk
      if (fault !== undefined) throw new Unreadable(fault)
      if (!foreign && !complete && depth > 0) throw new Unreadable('an event with an image ends before its JSON does')
      if (image && (this.#index === undefined || !this.#seen.has(this.#index))) {
        if (this.#index !== undefined) this.#seen.add(this.#index)
        this.#done.push({ index: this.#count++, ...readImage(image) })
      }
    }
    this.#free()
    this.#borne = 0
    this.#from = next
    this.#event = ''
    this.#type = undefined
    this.#index = undefined
    this.#image = undefined
    this.#next = undefined
    this.#linkFrom = undefined
    this.#walk = new JsonWalk(this)
  }

  string(walk: JsonWalk, at: number): 'skip' | 'text' | 'bytes' {
    if (walk.depth !== 1 || !walk.objects[1]) return 'skip'
    const name = walk.names[1] as string
    if (name === 'type') return 'text'
    if (indexNames.has(name)) return 'text'
    if (name !== 'b64_json' && name !== 'url') return 'skip'
    const link = name === 'url'
    // Beside the image itself a link is of no interest; before it, it gives way once the image has begun.
    if (this.#image && (link || !this.#image.link)) return 'skip'
    this.#next = { from: at + 1, to: undefined, link, head: new ImageHead({ link }) }
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    if (this.#next) {
      if (this.#image) this.#linkFrom = this.#image.from
      this.#image = this.#next
      this.#next = undefined
    }
    const { head } = this.#image as Image
    if (!head.settled) head.write(piece, from, to)
  }

  bytesEnd(at: number): void {
    if (this.#next) this.#next = undefined
    else (this.#image as Image).to = at
  }

  text(walk: JsonWalk, value: string): void {
    if (walk.names[1] === 'type') this.#type = value
    else if (value !== '') this.#index = value
  }

  other(walk: JsonWalk): boolean {
    return walk.depth === 1 && indexNames.has(walk.names[1] as string)
  }

  scalar(_walk: JsonWalk, value: string): void {
    if (value !== 'null') this.#index = value
  }

  closed(): void {}
}

function readImage(image: Image): { readonly kind: 'bytes' | 'link'; readonly size: Size | null } {
  if (image.link && !image.head.inline) return { kind: 'link', size: null }
  const measured = image.head.end()
  return { kind: 'bytes', size: measured.kind === 'size' ? measured.size : null }
}
