import {
  type ByteBudget,
  fieldCharsMax,
  Holdback,
  type JsonVisitor,
  JsonWalk,
  RecordReader,
  type RecordVisitor,
} from '../../src/wire/index.ts'
import { ImageDigest } from './image-digest.ts'
import { ImageHead } from './image-head.ts'
import { findPicture, isLink } from './judge-text.ts'
import { LinkText } from './link-text.ts'
import { sizeOf } from './measure.ts'
import { type AnswerWords, Remainder } from './remainder.ts'
import {
  afterImageBytesMax,
  type FoundImage,
  type Scanned,
  type Scanner,
  tailBytes,
  Unreadable,
  Unrecognised,
} from './scanned.ts'
import { WholeRecord } from './whole-record.ts'

/** The records that carry a finished image (wire facts 1.4). */
const finishedTypes: ReadonlySet<string> = new Set(['image_generation.completed', 'image_edit.completed'])
/** Those that carry a preview, which is never billed. */
const previewTypes: ReadonlySet<string> = new Set(['image_generation.partial_image', 'image_edit.partial_image'])
/** Members that may number the image. */
const indexNames: ReadonlySet<string> = new Set(['index', 'image_index'])
const fieldNames: ReadonlySet<string> = new Set(['event', 'id', 'retry', ''])
/** What ends a stream, in the words of some. */
const lastWords = '[DONE]'
const none: readonly FoundImage[] = []

type Image = {
  readonly from: number
  to: number | undefined
  readonly link: boolean
  readonly head: ImageHead
  readonly digest: ImageDigest
  readonly text: LinkText
}

/**
 * Finds the finished images of an event stream as it passes. A record counts when its `event:` line or the `type` in its data
 * is one of the finished kinds, and it carries a non-empty `b64_json` or `url`; one that has the `index` and the bytes of one
 * before is that one again.
 *
 * Every record is held whole up to the blank line that ends it, before which no reader of events can use it, until what it
 * holds is known and its images are committed. A record with something that may be an image, and is of no kind that is known,
 * is not handed out. When the budget for whole records is used up, all but the image's last 4 KiB and what follows them
 * passes, as in a JSON answer: memory stays bounded and what leaked is still no image.
 */
export class EventScanner implements JsonVisitor, RecordVisitor, Scanner {
  readonly #whole: WholeRecord
  readonly #holdback = new Holdback()
  readonly #records = new RecordReader(this)
  readonly #remainder: Remainder
  #done: FoundImage[] = []
  #count = 0
  readonly #seen = new Set<string>()
  /** What a record held that says nothing of an image, and may mean one. */
  #strange: string | undefined

  #walk = new JsonWalk(this)
  #event = ''
  #type = ''
  #index: string | undefined
  #image: Image | undefined
  /** Where the link stands that came before the image itself. */
  #linkFrom: number | undefined
  /** Bytes have come, and a link that is a picture by itself. */
  #hasBytes = false
  #inline = false
  /** The string that is being read as an image. */
  #open: Image | undefined
  /** Names at the top of the record's object that count and have come. */
  #names: string[] = []
  /** What stands in the data where it is no object. */
  #text = ''

  constructor(budget: ByteBudget, words?: AnswerWords) {
    this.#whole = new WholeRecord(budget)
    this.#remainder = new Remainder(words)
  }

  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#records.read(chunk, base)
    return this.#scanned(this.#safe())
  }

  end(): Scanned {
    this.#records.end(this.#holdback.end)
    if (this.#count === 0 && this.#strange !== undefined) throw new Unrecognised(`no image, but ${this.#strange}`)
    return this.#scanned(this.#holdback.end)
  }

  close(): void {
    this.#whole.drop()
  }

  #scanned(safe: number): Scanned {
    const out = this.#holdback.release(safe)
    if (this.#done.length === 0) return { out, done: none }
    const done = this.#done
    this.#done = []
    return { out, done }
  }

  /** Up to where the stream may go on. */
  #safe(): number {
    const { end } = this.#holdback
    const { from } = this.#records
    if (this.#whole.holds(end - from)) return from
    const image = this.#image
    const judged = Math.min(this.#remainder.from ?? end, this.#linkFrom ?? end)
    if (!image) return judged
    const imageEnd = image.to ?? end
    const heldWhole = image.link && !image.head.inline
    const safe = Math.min(judged, heldWhole ? image.from : Math.max(image.from, imageEnd - tailBytes))
    if (end - safe > tailBytes + afterImageBytesMax) throw new Unreadable('an event with an image does not end')
    return safe
  }

  get #kind(): 'finished' | 'preview' | 'other' {
    if (finishedTypes.has(this.#event) || finishedTypes.has(this.#type)) return 'finished'
    // Where both are told, both have to say so: a reader goes by one of them.
    const names = [this.#event, this.#type].filter(name => name !== '')
    return names.length > 0 && names.every(name => previewTypes.has(name)) ? 'preview' : 'other'
  }

  data(piece: Buffer, base: number): void {
    this.#walk.walk(piece, base)
    if (this.#walk.foreign && this.#text.length <= fieldCharsMax)
      this.#text += piece.toString('latin1', 0, fieldCharsMax + 1)
    const { fault, followed } = this.#walk
    if (fault !== undefined) throw new Unreadable(fault)
    if (followed) throw new Unrecognised('something behind the JSON object of an event')
    // No event tells a link twice.
    this.#remainder.checkLinks()
    this.#remainder.weigh(base + piece.length - this.#records.from, 1)
  }

  field(name: string, value: string): void {
    if (!fieldNames.has(name)) throw new Unrecognised(`a line '${name.slice(0, 40)}', which no event has`)
    if (value.length > fieldCharsMax)
      throw new Unrecognised(`more than ${fieldCharsMax} characters in a line that is no data`)
    if (isLink(value) || findPicture(value) !== undefined)
      throw new Unrecognised(`a link or a picture in a line '${name}'`)
    if (name !== 'event') return
    if (this.#event !== '' && value !== this.#event) throw new Unrecognised('an event of two names')
    this.#event = value
  }

  recordEnd(): void {
    if (this.#walk.foreign && (this.#text.length > fieldCharsMax || this.#text.trim() !== lastWords))
      throw new Unrecognised('an event whose data is no JSON object')
    if (this.#walk.open) throw new Unreadable('an event ends before its JSON does')
    const kind = this.#kind
    const image = this.#image
    if (image && kind === 'finished') this.#found(image)
    // A preview is never a link, which would lead to all of the image.
    else if (image && (kind === 'other' || image.link))
      throw new Unrecognised(`an image in an event '${this.#type || this.#event}'`)
    if (kind === 'other') {
      if (!this.#walk.complete || this.#names.includes('error')) this.#remainder.strange = undefined
      this.#strange ??= this.#remainder.strange
    }
    this.#remainder.weighPieces(this.#count)
    this.#forget()
  }

  /** One of the images, unless it came before. */
  #found(image: Image): void {
    const again = `${this.#index} ${image.digest.end()}`
    if (this.#index !== undefined && this.#seen.has(again)) return
    if (this.#index !== undefined) this.#seen.add(again)
    this.#done.push({ index: this.#count++, ...readImage(image) })
  }

  #forget(): void {
    this.#whole.renew()
    this.#remainder.forget()
    this.#walk = new JsonWalk(this)
    this.#event = ''
    this.#type = ''
    this.#index = undefined
    this.#image = undefined
    this.#linkFrom = undefined
    this.#hasBytes = false
    this.#inline = false
    this.#names = []
    this.#text = ''
  }

  name(walk: JsonWalk): void {
    this.#remainder.name(walk)
    if (walk.depth !== 1) return
    const { name } = walk
    if (name !== 'type' && name !== 'b64_json' && name !== 'url' && name !== 'error' && !indexNames.has(name)) return
    // Readers take one of two, and nobody knows which.
    if (this.#names.includes(name)) throw new Unrecognised(`an event with two members ${name}`)
    this.#names.push(name)
  }

  string(walk: JsonWalk, at: number): 'bytes' {
    const { depth, name } = walk
    if (depth === 1 && (name === 'b64_json' || name === 'url')) {
      const link = name === 'url'
      const head = new ImageHead({ link })
      this.#open = { from: at + 1, to: undefined, link, head, digest: new ImageDigest(), text: new LinkText() }
    } else this.#remainder.begin(walk, at)
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    const open = this.#open
    if (!open) return this.#remainder.write(this.#walk, piece, from, to)
    this.#remainder.skip(to - from)
    // Beside the image itself a link is of no interest: it is the same one.
    if (!this.#image || (this.#image.link && !open.link)) {
      if (this.#image) this.#linkFrom = this.#image.from
      this.#image = open
    }
    open.head.write(piece, from, to)
    if (open.link) this.#inline ||= open.head.inline
    else this.#hasBytes = true
    this.#checkOne()
    if (open.link && !open.head.inline && !open.text.write(piece, from, to))
      throw new Unrecognised('an event with a link that is longer than any')
    open.digest.write(piece, from, to)
  }

  /** A link beside the image leads to it; another picture beside it is another one. */
  #checkOne(): void {
    if (this.#inline && this.#hasBytes) throw new Unrecognised('an event with two pictures')
  }

  bytesEnd(walk: JsonWalk, at: number): void {
    const open = this.#open
    if (open) {
      open.to = at
      this.#open = undefined
      if (open.link) this.#inline ||= findPicture(open.text.end()) !== undefined
      this.#checkOne()
      return
    }
    const text = this.#remainder.end(walk)
    if (walk.depth !== 1) return
    if (walk.name === 'type') this.#type = text.trim()
    else if (indexNames.has(walk.name) && text !== '') this.#number(text)
  }

  scalar(walk: JsonWalk, value: string): void {
    this.#remainder.scalar(walk)
    if (walk.depth === 1 && indexNames.has(walk.name) && value !== 'null') this.#number(value)
  }

  #number(value: string): void {
    // Both members together number the image where an event has both.
    this.#index = this.#index === undefined ? value : `${this.#index},${value}`
  }
}

function readImage(image: Image): Omit<FoundImage, 'index'> {
  if (image.link && !image.head.inline) return { kind: 'link', size: null }
  return { kind: 'bytes', ...sizeOf(image.head.end()) }
}
