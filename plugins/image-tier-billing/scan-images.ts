import type { JsonVisitor, JsonWalk } from '../../src/wire/index.ts'
import type { ImageHead } from './image-head.ts'
import { findPicture } from './detect-picture.ts'
import { LinkText } from './link-text.ts'
import { sizeOf } from './measure.ts'
import { linkedImages, PictureBlocks } from './picture-blocks.ts'
import { type AnswerWords, Remainder } from './remainder.ts'
import { JsonShell } from './scan-shells.ts'
import {
  type FoundImage,
  linkBytesMax,
  type ScanResult,
  type Scanner,
  tailBytes,
  Unreadable,
  Unrecognised,
} from './scan-result.ts'

const none: readonly FoundImage[] = []
const listName = 'data'
const urlName = Buffer.from('"url"')
const b64Name = Buffer.from('"b64_json"')

type Open = {
  readonly from: number
  readonly link: boolean
  readonly blocks: PictureBlocks
  /** The number of counted pictures after the first. */
  further: number
  readonly text: LinkText
  begun: boolean
  /** Whether part of it has arrived, and it is one of the images. */
  taken: boolean
  omitted: boolean
}

export type ImageScannerOptions = AnswerWords & {
  /** Images become links: `data:` URLs. */
  readonly asUrl?: boolean
  /** Only closed JSON proves that the answer is complete. */
  readonly endUnknown?: boolean
}

/**
 * Finds the images of an answer `{"data":[{"b64_json":…}|{"url":…}, …]}` (`docs/rules.md#image-responses`) as it
 * passes. For each image it holds back the last 4 KiB and the closing quote, or the complete link, until its charge is
 * committed.
 *
 * Only non-empty strings of the members `b64_json` and `url` of objects directly in the top-level `data` count; an
 * element counts once, whatever else it has. Nothing is delivered before the first image has begun. A possible image
 * elsewhere is omitted (`Omission`), and an answer without another image is not delivered. Memory is constant: 4 KiB
 * and the piece that contains them, the bytes before the first image, and at most 1 MiB if a JPEG has its size after
 * long profiles.
 *
 * With `asUrl`, `b64_json` is renamed to `url` and its value becomes a `data:` URL with the type of the image's first
 * bytes (`docs/rules.md#image-responses`). A name changes only if a non-empty string follows, so a null remains
 * `b64_json` (and a `"url": null` next to an image is renamed to it, because otherwise the last of two members would
 * hide the first).
 */
export class ImageScanner implements JsonVisitor, Scanner {
  /** Texts and links are stored in pieces until they are verified; nothing of an image is stored. */
  readonly letsGo = true
  readonly #asUrl: boolean
  readonly #shell: JsonShell
  readonly #holdback: JsonShell['holdback']
  readonly #omission: JsonShell['omission']
  readonly #walk: JsonWalk
  readonly #remainder: Remainder
  #done: FoundImage[] = []
  #count = 0
  #open: Open | undefined
  /** The offset of a name whose value is not known yet. */
  #owed: number | undefined
  /** The link of the element and its offset, while the image itself may still arrive. */
  #pending: { readonly from: number; readonly link: string } | undefined
  #counted = false
  /** Whether the value that gets the name `url` in the element has arrived. */
  #hasUrl = false
  /** Whether the beginning of the first image may be delivered, with everything before it. */
  #released = false
  /** Whether the answer contains the list of images, and whether it reports an error. */
  #listed = false
  #refused = false
  /** Whether the members `url` and `b64_json` of the element have arrived. */
  #hasLink = false
  #hasBytes = false
  /** Whether the element has bytes, and whether its link is a picture by itself. */
  #hasPicture = false
  #inline = false
  /** The depth of the member that is currently omitted. */
  #mutedDepth = 0

  constructor({ asUrl = false, endUnknown = false, ...words }: ImageScannerOptions = {}) {
    this.#asUrl = asUrl
    this.#shell = new JsonShell(() => this, endUnknown)
    this.#holdback = this.#shell.holdback
    this.#omission = this.#shell.omission
    this.#walk = this.#shell.walk
    this.#remainder = new Remainder(this.#omission, words)
  }

  /** The number of images found so far. */
  get count(): number {
    return this.#count
  }

  get omitted(): string | undefined {
    return this.#omission.shape
  }

  write(chunk: Buffer): ScanResult {
    if (!this.#shell.read(chunk, this.#released)) return { out: [], done: [] }
    const { end } = this.#holdback
    if (this.#walk.followed) this.#shell.cut(this.#count)
    else this.#remainder.within(this.#walk, end)
    this.#remainder.weigh(end, !this.#released && this.#count === 0)
    this.#takeTexts()
    return this.#scanned(this.#safe())
  }

  /** Counts pictures found in texts. */
  #takeTexts(): void {
    for (const { image } of this.#remainder.takePictures()) this.#done.push({ index: this.#count++, ...image })
  }

  end(): ScanResult {
    this.#shell.end()
    this.#remainder.endTexts()
    this.#takeTexts()
    this.#remainder.checkLinks()
    if (this.#walk.complete && this.#count === 0) this.#checkEmpty()
    return this.#scanned(this.#holdback.end)
  }

  /** @throws Unrecognised unless an answer like this is known to have no images */
  #checkEmpty(): void {
    if (this.omitted !== undefined) throw new Unrecognised(this.omitted)
    const { spoke, strange } = this.#remainder
    if (strange !== undefined) throw new Unrecognised(`no image, but ${strange}`)
    if (spoke && !this.#listed && !this.#refused) throw new Unrecognised('no image, and no list of them')
  }

  #scanned(safe: number): ScanResult {
    // The end of an unfinished image is held with the piece in which it begins.
    const within = this.#open?.begun === true ? this.#open.from : undefined
    const out = this.#holdback.release(safe, within)
    if (this.#done.length === 0) return { out, done: none }
    const done = this.#done
    this.#done = []
    return { out, done }
  }

  /** The offset up to which the answer may be delivered. */
  #safe(): number {
    const safe = Math.min(this.#imagesSafe(), this.#remainder.from ?? Infinity, this.#unfinished ?? Infinity)
    if (this.#count > 0) this.#released = true
    return this.#released ? safe : 0
  }

  /** The offset of an unfinished name that may be replaced. */
  get #unfinished(): number | undefined {
    return this.#remainder.isLeavingOut ? undefined : this.#walk.unfinished
  }

  #imagesSafe(): number {
    const { end } = this.#holdback
    if (this.#pending) {
      if (end - this.#pending.from <= linkBytesMax) return this.#pending.from
      this.#foundLink(this.#pending.link)
    }
    const owed = this.#asUrl && this.#walk.naming && this.#inElement() ? this.#walk.nameFrom : this.#owed
    if (owed !== undefined) {
      if (!this.#open && end - owed > linkBytesMax) throw new Unreadable('its blanks do not end')
      return owed
    }
    const open = this.#open
    if (!open || open.omitted) return end
    // This applies even next to a counted image, because it may be another picture.
    if (!open.taken || (open.link && !open.blocks.first.inline)) return open.from - 1
    if (this.#counted) return end
    if (end - tailBytes <= open.from) return open.from
    this.#begin(open)
    return end - tailBytes
  }

  #inElement(): boolean {
    const { depth, objects, names } = this.#walk
    if (this.#mutedDepth > 0) return false
    return depth === 3 && names[1] === listName && !objects[2] && (objects[3] as boolean)
  }

  name(walk: JsonWalk): void {
    if (walk.depth <= this.#mutedDepth) this.#unmute()
    this.#remainder.name(walk)
    if (walk.depth === 1 && walk.name === listName) {
      if (this.#listed) this.#mute(walk, `two members ${listName}`)
      this.#listed = true
    }
    if (!this.#inElement()) return
    if (walk.name === 'b64_json') {
      if (this.#hasBytes) return this.#mute(walk, `${walk.path()} twice`)
      this.#hasBytes = true
    } else if (walk.name === 'url') {
      if (this.#hasLink) return this.#mute(walk, `${walk.path()} twice`)
      this.#hasLink = true
    } else return
    if (this.#asUrl) this.#owed = walk.nameFrom
  }

  /** Omits the second of two equal members with its name, because parsers differ in which one they use. */
  #mute(walk: JsonWalk, shape: string): void {
    this.#mutedDepth = walk.depth
    this.#omission.beginName(walk.nameFrom, walk.nameTo, shape)
    this.#remainder.mute(shape)
  }

  #unmute(): void {
    this.#mutedDepth = 0
    this.#remainder.mute(undefined)
  }

  string(walk: JsonWalk, at: number): 'bytes' {
    if (this.#remainder.isRefusal(walk)) this.#refused = true
    if (!this.#inElement() || (walk.name !== 'b64_json' && walk.name !== 'url')) {
      this.#remainder.begin(walk, at)
      return 'bytes'
    }
    const link = walk.name === 'url'
    const blocks = new PictureBlocks({ link })
    const text = new LinkText()
    const from = at + 1
    this.#open = {
      from,
      link,
      blocks,
      further: 0,
      text,
      begun: false,
      taken: false,
      omitted: false,
    }
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    const open = this.#open
    if (!open) return this.#remainder.write(this.#walk, piece, from, to)
    this.#remainder.skip(to - from)
    const end = this.#omission.base + to
    if (open.omitted) return this.#omission.more(end)
    if (open.link) return this.#linkBytes(open, piece, from, to)
    if (this.#inline) return this.#leaveOut(open, end, 'a second picture')
    this.#name(this.#hasUrl ? undefined : urlName)
    open.taken = true
    this.#hasPicture = true
    this.#read(open, piece, from, to)
    if (this.#counted) return
    // A link before the image is held; the size of the image is known long before its end.
    if (this.#pending && open.blocks.first.settled) this.#measured(open.blocks.first)
  }

  #linkBytes(open: Open, piece: Buffer, from: number, to: number): void {
    const end = this.#omission.base + to
    open.taken = true
    this.#read(open, piece, from, to)
    if (open.blocks.first.inline) {
      // A link next to the image leads to the same image, but inline bytes next to it are a second picture.
      if (this.#hasPicture) return this.#leaveOut(open, end, 'a second picture')
      this.#inline = true
      this.#name(undefined)
    } else if (!open.text.write(piece, from, to)) this.#leaveOut(open, end, 'longer than any link')
  }

  /** Reads a piece, and counts a picture when the next one in the same string begins. */
  #read(open: Open, piece: Buffer, from: number, to: number): void {
    if (!open.blocks.write(piece, from, to, this.#omission.base + to)) return
    if (!this.#counted) this.#measured(open.blocks.first)
    this.#countFurther(open, open.blocks.more.length - 1)
  }

  #countFurther(open: Open, count: number): void {
    for (const head of open.blocks.more.slice(open.further, count))
      this.#done.push({ index: this.#count++, kind: 'bytes', ...sizeOf(head.end()) })
    open.further = Math.max(open.further, count)
  }

  #leaveOut(open: Open, to: number, why: string): void {
    open.omitted = true
    this.#name(open.link ? b64Name : undefined)
    this.#omission.begin(open.from - 1, to, `${this.#walk.path()} (${why})`)
  }

  bytesEnd(walk: JsonWalk, at: number): void {
    const open = this.#open
    if (!open) return void this.#remainder.end(walk, at)
    this.#open = undefined
    if (open.omitted) return this.#omission.more(at + 1)
    if (at === open.from) {
      this.#name(open.link ? b64Name : undefined)
      return
    }
    const link = open.link && !open.blocks.first.inline ? open.text.end() : undefined
    if (link !== undefined && findPicture(link) !== undefined) {
      if (this.#hasPicture) {
        this.#leaveOut(open, at, 'a second picture')
        return this.#omission.more(at + 1)
      }
      this.#inline = true
    }
    this.#name(undefined)
    this.#begin(open)
    this.#hasUrl = true
    this.#countFurther(open, open.blocks.more.length)
    if (this.#counted) return
    if (link === undefined) this.#measured(open.blocks.first)
    else this.#pending = { from: open.from, link }
  }

  scalar(walk: JsonWalk, value: string): void {
    if (this.#remainder.isRefusal(walk) && value !== 'null') this.#refused = true
    this.#remainder.scalar(walk, value)
    this.#makeWay(walk)
  }

  opened(walk: JsonWalk, isObject: boolean): void {
    if (this.#remainder.isRefusal(walk)) this.#refused = true
    if (walk.depth === 1 && walk.name === listName && isObject && this.#count === 0)
      throw new Unrecognised(`${listName} as an object`)
    this.#makeWay(walk)
  }

  /** Renames a url that is not a string, to free the name for the image in the same element. */
  #makeWay(walk: JsonWalk): void {
    this.#name(walk.name === 'url' ? b64Name : undefined)
  }

  closed(_walk: JsonWalk, depth: number): void {
    if (depth <= this.#mutedDepth) this.#unmute()
    if (!this.#inElement()) return
    if (this.#pending) this.#foundLink(this.#pending.link)
    this.#counted = false
    this.#hasUrl = false
    this.#hasLink = false
    this.#hasBytes = false
    this.#hasPicture = false
    this.#inline = false
  }

  /** Decides the held name, now that the value is known: it passes unchanged, or is replaced. */
  #name(bytes: Buffer | undefined): void {
    if (this.#owed !== undefined && bytes) this.#holdback.replace(this.#walk.nameFrom, this.#walk.nameTo, bytes)
    this.#owed = undefined
  }

  /** Adds the prefix of the `data:` URL before the first bytes of an image are delivered. */
  #begin(open: Open): void {
    if (open.begun) return
    open.begun = true
    if (!open.link || open.blocks.first.inline) this.#released = true
    if (!this.#asUrl || open.link || open.blocks.first.inline || this.#hasUrl) return
    const mime = open.blocks.first.mime ?? 'application/octet-stream'
    this.#holdback.replace(open.from, open.from, Buffer.from(`data:${mime};base64,`))
  }

  #measured(head: ImageHead): void {
    const measured = head.end()
    this.#found({ kind: 'bytes', ...sizeOf(measured) })
  }

  /**
   * Counts the picture of a link. The link is allowed elsewhere only if it was counted: next to bytes it may lead to
   * another picture.
   */
  #foundLink(link: string): void {
    this.#found({ kind: 'link', size: null })
    for (const one of linkedImages(link).slice(1)) this.#done.push({ index: this.#count++, ...one })
    this.#remainder.count(link)
  }

  #found(image: Omit<FoundImage, 'index'>): void {
    this.#pending = undefined
    this.#counted = true
    this.#done.push({ index: this.#count++, ...image })
    this.#remainder.belongsTo(this.#count, this.#count)
  }
}
