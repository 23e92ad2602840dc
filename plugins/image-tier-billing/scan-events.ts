import {
  PictureDigest,
  type ByteBudget,
  type JsonVisitor,
  type JsonWalk,
  RecordReader,
  type RecordVisitor,
} from '../../src/wire/index.ts'
import { findPicture } from './detect-picture.ts'
import { LinkText } from './link-text.ts'
import { linkedImages, PictureBlocks } from './picture-blocks.ts'
import { type AnswerWords, Remainder } from './remainder.ts'
import { EventShell } from './scan-shells.ts'
import {
  afterImageBytesMax,
  type FoundImage,
  type ScanResult,
  type Scanner,
  tailBytes,
  Unreadable,
  Unrecognised,
} from './scan-result.ts'

/** The records that contain a finished image (wire facts 1.4). */
const finishedTypes: ReadonlySet<string> = new Set(['image_generation.completed', 'image_edit.completed'])
/** Records that contain a preview, which is never billed. */
const previewTypes: ReadonlySet<string> = new Set(['image_generation.partial_image', 'image_edit.partial_image'])
/** Members that may number the image. */
const indexNames: ReadonlySet<string> = new Set(['index', 'image_index'])
/**
 * The maximum number of bytes that wait for the first image if something was omitted before it, so that an answer
 * without an image can be refused.
 */
const waitingBytesMax = 64 * 1024
const none: readonly FoundImage[] = []

type Image = {
  readonly from: number
  to: number | undefined
  readonly link: boolean
  readonly blocks: PictureBlocks
  /** The text of a link. */
  linkText: string
  readonly digest: PictureDigest
  readonly text: LinkText
  omitted: boolean
}

/**
 * Finds the finished images of an event stream as it passes. A record counts if its `event:` line or the `type` in its
 * data is one of the finished kinds, and it has a non-empty `b64_json` or `url`. A record with the `index` and bytes
 * of an earlier one is a repetition.
 *
 * Every record is held completely up to the blank line that ends it, because no event parser can use it before, until
 * its content is known and its images are committed. A record of an unknown kind with a possible image becomes a
 * comment. If the budget for complete records is used up, everything passes except the last 4 KiB of the image and
 * everything after, as in a JSON answer: memory stays bounded, and the delivered part is not an image.
 */
export class EventScanner implements JsonVisitor, RecordVisitor, Scanner {
  readonly #shell: EventShell
  readonly #holdback: EventShell['holdback']
  readonly #omission: EventShell['omission']
  readonly #records = new RecordReader(this)
  readonly #remainder: Remainder
  #done: FoundImage[] = []
  #count = 0
  readonly #seen = new Set<string>()
  /** The path of content that does not describe an image but may be one. */
  #strange: string | undefined

  #event = ''
  #type = ''
  #index: string | undefined
  #image: Image | undefined
  /** The offset of the link that precedes the image itself. */
  #linkFrom: number | undefined
  /** Whether bytes have arrived, and whether a link has that is a picture by itself. */
  #hasBytes = false
  #inline = false
  /** The string that is currently read as an image. */
  #open: Image | undefined
  /** The deciding names at the top of the record's object so far. */
  #names: string[] = []
  /** Whether something was delivered. */
  #hasGone = false

  constructor(budget: ByteBudget, words?: AnswerWords) {
    this.#shell = new EventShell(() => this, budget)
    this.#holdback = this.#shell.holdback
    this.#omission = this.#shell.omission
    this.#remainder = new Remainder(this.#omission, words, true)
  }

  get omitted(): string | undefined {
    return this.#omission.shape
  }

  write(chunk: Buffer): ScanResult {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#records.read(chunk, base)
    return this.#scanned(this.#safe())
  }

  end(): ScanResult {
    this.#records.end(this.#holdback.end)
    this.#remainder.endTexts()
    this.#takeTexts()
    if (this.#count === 0) {
      if (this.omitted !== undefined) throw new Unrecognised(this.omitted)
      if (this.#strange !== undefined) throw new Unrecognised(`no image, but ${this.#strange}`)
    }
    return this.#scanned(this.#holdback.end)
  }

  close(): void {
    this.#shell.whole.drop()
  }

  #scanned(safe: number): ScanResult {
    const waits = !this.#hasGone && this.#count === 0 && this.omitted !== undefined
    const out = this.#holdback.release(waits && this.#holdback.end <= waitingBytesMax ? 0 : safe)
    if (out.length > 0) this.#hasGone = true
    if (this.#done.length === 0) return { out, done: none }
    const done = this.#done
    this.#done = []
    return { out, done }
  }

  /** The offset up to which the stream may be delivered. */
  #safe(): number {
    const { end } = this.#holdback
    const from = Math.min(this.#records.from, this.#remainder.textFrom ?? end)
    if (this.#shell.whole.holds(end - from)) return from
    const image = this.#image
    const unfinished = this.#remainder.isLeavingOut ? undefined : this.#shell.walk.unfinished
    const judged = Math.min(this.#remainder.from ?? end, this.#linkFrom ?? end, unfinished ?? end)
    if (!image) return judged
    const imageEnd = image.blocks.second ?? image.to ?? end
    const heldWhole = image.link && !image.blocks.first.inline
    const safe = Math.min(judged, heldWhole ? image.from - 1 : Math.max(image.from, imageEnd - tailBytes))
    if (end - safe > tailBytes + afterImageBytesMax) throw new Unreadable('an event with an image does not end')
    return safe
  }

  get #kind(): 'finished' | 'preview' | 'other' | 'unclear' {
    const kinds = new Set([this.#event, this.#type].filter(name => name !== '').map(kindOf))
    // Parsers differ in which of the two names they use.
    return kinds.size > 1 ? 'unclear' : ([...kinds][0] ?? 'other')
  }

  data(piece: Buffer, base: number): void {
    const end = this.#shell.data(piece, base)
    if (end === undefined) return
    this.#remainder.within(this.#shell.walk, end)
    // Events do not repeat links.
    this.#remainder.checkLinks()
    this.#remainder.weigh(end, false)
  }

  field(name: string, value: string, from: number, to: number): void {
    if (!this.#shell.field(name, value, from, to) || name !== 'event') return
    if (this.#event !== '' && value !== this.#event) return this.#shell.refuse('an event of two names')
    this.#event = value
  }

  recordEnd(next: number): void {
    if (this.#shell.recordRead()) this.#read()
    const { flaw } = this.#shell
    if (flaw === undefined) this.#remainder.readTexts()
    else this.#omission.comment(this.#records.from, next, flaw)
    this.#takeTexts()
    this.#remainder.belongsTo(this.#count, 0)
    this.#forget(next)
  }

  /** Classifies the complete record. */
  #read(): void {
    const kind = this.#kind
    const image = this.#image
    if (kind === 'unclear') return this.#shell.refuse(`an event '${this.#event}' of type '${this.#type}'`)
    if (image && kind === 'finished') this.#found(image)
    // A preview must not be a link, which would lead to the complete image.
    else if (image && (kind === 'other' || image.link))
      return this.#shell.refuse(`an image in an event '${this.#type || this.#event}'`)
    if (kind === 'other') {
      if (!this.#shell.walk.complete || this.#names.includes('error')) this.#remainder.strange = undefined
      this.#strange ??= this.#remainder.strange
    }
  }

  /** Counts pictures found in texts. */
  #takeTexts(): void {
    for (const { image } of this.#remainder.takePictures()) this.#done.push({ index: this.#count++, ...image })
  }

  /** Counts an image, unless it is a repetition. */
  #found(image: Image): void {
    const again = `${this.#index} ${image.digest.end()}`
    if (this.#index !== undefined && this.#seen.has(again)) return
    if (this.#index !== undefined) this.#seen.add(again)
    for (const one of readImages(image)) this.#done.push({ index: this.#count++, ...one })
  }

  #forget(next: number): void {
    this.#shell.renew()
    this.#remainder.forget(next)
    this.#event = ''
    this.#type = ''
    this.#index = undefined
    this.#image = undefined
    this.#linkFrom = undefined
    this.#hasBytes = false
    this.#inline = false
    this.#names = []
    this.#open = undefined
  }

  name(walk: JsonWalk): void {
    this.#remainder.name(walk)
    if (walk.depth !== 1) return
    const { name } = walk
    if (name !== 'type' && name !== 'b64_json' && name !== 'url' && name !== 'error' && !indexNames.has(name)) return
    // Parsers differ in which of two equal members they use.
    if (this.#names.includes(name)) return this.#shell.refuse(`an event with two members ${name}`)
    this.#names.push(name)
  }

  string(walk: JsonWalk, at: number): 'bytes' {
    const { depth, name } = walk
    if (depth === 1 && (name === 'b64_json' || name === 'url')) {
      const link = name === 'url'
      this.#open = {
        from: at + 1,
        to: undefined,
        link,
        blocks: new PictureBlocks({ link }),
        linkText: '',
        digest: new PictureDigest(),
        text: new LinkText(),
        omitted: false,
      }
    } else this.#remainder.begin(walk, at)
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    const open = this.#open
    if (!open) return this.#remainder.write(this.#shell.walk, piece, from, to)
    this.#remainder.skip(to - from)
    const end = this.#omission.base + to
    if (open.omitted) return this.#omission.more(end)
    open.blocks.write(piece, from, to, end)
    const { inline } = open.blocks.first
    // A link next to the image leads to the same image, but inline bytes next to it are a second picture.
    if (open.link ? inline && this.#hasBytes : this.#inline) return this.#leaveOut(open, end, 'a second picture')
    if (open.link && !inline && !open.text.write(piece, from, to))
      return this.#leaveOut(open, end, 'longer than any link')
    // A link and bytes next to each other are the same image; the bytes count.
    if (!this.#image || (this.#image.link && !open.link)) {
      if (this.#image) this.#linkFrom = this.#image.from
      this.#image = open
    }
    if (open.link) this.#inline ||= inline
    else this.#hasBytes = true
    open.digest.write(piece, from, to)
  }

  #leaveOut(open: Image, to: number, why: string): void {
    open.omitted = true
    if (this.#image === open) this.#image = undefined
    this.#omission.begin(open.from - 1, to, `${this.#shell.walk.path()} (${why})`)
  }

  bytesEnd(walk: JsonWalk, at: number): void {
    const open = this.#open
    if (open) {
      open.to = at
      this.#open = undefined
      if (open.omitted) return this.#omission.more(at + 1)
      if (!open.link) return
      open.linkText = open.text.end()
      if (findPicture(open.linkText) === undefined) return
      if (this.#hasBytes) {
        this.#leaveOut(open, at, 'a second picture')
        return this.#omission.more(at + 1)
      }
      this.#inline = true
      return
    }
    const text = this.#remainder.end(walk, at)
    if (walk.depth !== 1) return
    if (walk.name === 'type') this.#type = text.trim()
    else if (indexNames.has(walk.name) && text !== '') this.#number(text)
  }

  scalar(walk: JsonWalk, value: string): void {
    this.#remainder.scalar(walk, value)
    if (walk.depth === 1 && indexNames.has(walk.name) && value !== 'null') this.#number(value)
  }

  #number(value: string): void {
    // If an event has both members, they number the image together.
    this.#index = this.#index === undefined ? value : `${this.#index},${value}`
  }
}

function kindOf(name: string): 'finished' | 'preview' | 'other' {
  if (finishedTypes.has(name)) return 'finished'
  return previewTypes.has(name) ? 'preview' : 'other'
}

/** The images of a string: usually one. */
function readImages({ link, blocks, linkText }: Image): readonly Omit<FoundImage, 'index'>[] {
  return link && !blocks.first.inline ? linkedImages(linkText) : blocks.measure()
}
