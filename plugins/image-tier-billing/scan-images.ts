import { Holdback } from './holdback.ts'
import { ImageHead } from './image-head.ts'
import type { Size } from './tier.ts'
import { JsonWalk, type JsonVisitor } from './walk-json.ts'

/** What is held of an image until it is paid for: without it a PNG has no end, nor has a JPEG. */
export const tailBytes = 4 * 1024
/** The longest link, or stretch between a link and its element's end, that is held whole. */
export const linkBytesMax = 64 * 1024
/** An answer without images is longer than this only when there is something else in it. */
const emptyBytesMax = 16 * 1024

/** One image that came back whole. */
export type FoundImage = {
  /** How many came before it. */
  readonly index: number
  readonly kind: 'bytes' | 'link'
  /** Null for a link, and for bytes that are no image that can be read. */
  readonly size: Size | null
}

/**
 * What a piece of the answer led to. `out` may be passed on only after the charge of every image in `done` is durable;
 * until then it is to be held whole, and for ever when that fails.
 */
export type Scanned = { readonly out: Buffer[]; readonly done: readonly FoundImage[] }

/** The answer cannot be followed any further, and nothing more of it may go out. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

const none: readonly FoundImage[] = []
const urlName = Buffer.from('"url"')
const b64Name = Buffer.from('"b64_json"')

type Open = { readonly from: number; readonly link: boolean; readonly head: ImageHead; begun: boolean }

/**
 * Finds the images of an answer `{"data":[{"b64_json":…}|{"url":…}, …]}` (requirement 2.4) as it passes, and holds
 * back of each the last 4 KiB and the closing quote, a link wholly, until its charge is committed.
 *
 * Only the members `b64_json` and `url` of the objects directly in the top-level `data` count, and only non-empty
 * strings; an element counts once, whatever else it has. Memory is constant: 4 KiB and the piece they lie in, plus at
 * most 1 MiB where a JPEG hides its size behind long profiles.
 *
 * With `asUrl`, `b64_json` is renamed to `url` and its value becomes a `data:` URL, the type being that of the image's
 * own first bytes (decision 6). A name is changed only when a string with something in it follows, so a null stays a
 * `b64_json` (and the `"url": null` beside an image becomes one, or the last of two members would hide the first).
 */
export class ImageScanner implements JsonVisitor {
  readonly #asUrl: boolean
  readonly #endUnknown: boolean
  readonly #holdback = new Holdback()
  readonly #walk = new JsonWalk(this)
  #done: FoundImage[] = []
  #count = 0
  #open: Open | undefined
  /** Where a name stands whose value has not begun to show what it is. */
  #owed: number | undefined
  /** Where the link stands that the element has, as long as it may still bring the image itself. */
  #pending: number | undefined
  #counted = false
  #hasUrl = false
  /** It has the list that images come in, or says what went wrong; it holds something else. */
  #known = false
  #strange = false

  /** With `endUnknown`, only JSON that closes proves that the answer is whole. */
  constructor({ asUrl, endUnknown = false }: { readonly asUrl: boolean; readonly endUnknown?: boolean }) {
    this.#asUrl = asUrl
    this.#endUnknown = endUnknown
  }

  /** How many images were found so far. */
  get count(): number {
    return this.#count
  }

  /** No image was found, and yet there may be one: the answer is of a shape that is not known. */
  get doubtful(): boolean {
    return this.#count === 0 && ((this.#strange && !this.#known) || this.#holdback.end > emptyBytesMax)
  }

  /** @throws Unreadable when the bytes cannot be JSON. */
  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#walk.walk(chunk, base)
    if (this.#walk.fault !== undefined) throw new Unreadable(this.#walk.fault)
    return this.#scanned(this.#safe())
  }

  /** The answer is complete. @throws Unreadable when its JSON is not. */
  end(): Scanned {
    const { foreign, complete } = this.#walk
    if (!foreign && !complete && this.#walk.depth > 0) throw new Unreadable('it ends before its JSON does')
    if (this.#endUnknown && !complete) throw new Unreadable('nothing says whether it is whole')
    return this.#scanned(this.#holdback.end)
  }

  #scanned(safe: number): Scanned {
    const out = this.#holdback.release(safe)
    if (this.#done.length === 0) return { out, done: none }
    const done = this.#done
    this.#done = []
    return { out, done }
  }

  /** Up to where the answer may go on. */
  #safe(): number {
    const { end } = this.#holdback
    if (this.#pending !== undefined) {
      if (end - this.#pending <= linkBytesMax) return this.#pending
      this.#found({ kind: 'link', size: null })
    }
    const owed = this.#asUrl && this.#walk.naming && this.#inElement() ? this.#walk.nameFrom : this.#owed
    if (owed !== undefined) {
      if (end - owed > linkBytesMax) throw new Unreadable('its blanks do not end')
      return owed
    }
    const open = this.#open
    if (!open || this.#counted) return end
    if (open.link && !open.head.inline && end - open.from <= linkBytesMax) return open.from
    if (end - tailBytes <= open.from) return open.from
    this.#begin(open)
    return end - tailBytes
  }

  #inElement(): boolean {
    const { depth, objects, names } = this.#walk
    return depth === 3 && names[1] === 'data' && (objects[1] as boolean) && !objects[2] && (objects[3] as boolean)
  }

  string(walk: JsonWalk, at: number): 'skip' | 'bytes' {
    if (!this.#inElement()) return 'skip'
    const name = walk.names[3]
    if (name !== 'b64_json' && name !== 'url') return 'skip'
    const link = name === 'url'
    this.#open = { from: at + 1, link, head: new ImageHead({ link }), begun: false }
    if (this.#asUrl) this.#owed = walk.nameFrom
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    const open = this.#open as Open
    if (this.#owed !== undefined) this.#name(open.link || this.#hasUrl ? undefined : urlName)
    if (this.#counted || open.head.settled) return
    open.head.write(piece, from, to)
    // A link came first and is held; the image that follows tells its size long before its end.
    if (this.#pending !== undefined && !open.link && open.head.settled) this.#measured(open.head)
  }

  bytesEnd(at: number): void {
    const open = this.#open as Open
    this.#open = undefined
    if (at === open.from) {
      this.#name(open.link ? b64Name : undefined)
      return
    }
    this.#begin(open)
    if (open.link) this.#hasUrl = true
    if (this.#counted) return
    if (!open.link || open.head.inline) this.#measured(open.head)
    else this.#pending ??= open.from
  }

  text(): void {}

  other(walk: JsonWalk): boolean {
    // A url that is no string makes way for the name that the image in the same element will take.
    if (this.#asUrl && this.#inElement() && walk.names[3] === 'url') {
      this.#owed = walk.nameFrom
      this.#name(b64Name)
    }
    return false
  }

  scalar(): void {}

  closed(walk: JsonWalk, depth: number): void {
    if (depth === 2 && walk.objects[1]) {
      const [, name] = walk.names
      if (name === 'error' || (name === 'data' && !walk.objects[2])) this.#known = true
      else this.#strange = true
    }
    if (depth !== 3 || !this.#inElement()) return
    if (this.#pending !== undefined) this.#found({ kind: 'link', size: null })
    this.#counted = false
    this.#hasUrl = false
  }

  /** It is known what the value is: the name goes as it is, or another in its place. */
  #name(bytes: Buffer | undefined): void {
    if (this.#owed !== undefined && bytes) this.#holdback.replace(this.#walk.nameFrom, this.#walk.nameTo, bytes)
    this.#owed = undefined
  }

  /** The first bytes of an image are about to go: before them goes what makes them a `data:` URL. */
  #begin(open: Open): void {
    if (open.begun) return
    open.begun = true
    if (!this.#asUrl || open.link || open.head.inline || this.#hasUrl) return
    this.#hasUrl = true
    const mime = open.head.mime ?? 'application/octet-stream'
    this.#holdback.replace(open.from, open.from, Buffer.from(`data:${mime};base64,`))
  }

  #measured(head: ImageHead): void {
    const measured = head.end()
    this.#found({ kind: 'bytes', size: measured.kind === 'size' ? measured.size : null })
  }

  #found(image: { readonly kind: 'bytes' | 'link'; readonly size: Size | null }): void {
    this.#pending = undefined
    this.#counted = true
    this.#done.push({ index: this.#count++, ...image })
  }
}
