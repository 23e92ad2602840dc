import { joined, type JsonWalk } from '../../src/wire/index.ts'
import { AnswerTexts } from './answer-texts.ts'
import { findBase64, findDrawing, findPicture, isBase64, isLink, unescapeText } from './detect-picture.ts'
import { linksOfLinkOnlyText } from './link-only-text.ts'
import type { Omission } from './omission.ts'
import { linkBytesMax, Unrecognised } from './scan-result.ts'
import type { TextPicture } from './text-channel.ts'
import { wordSet } from './word-set.ts'

/** The maximum length of a string outside images. */
const textBytesMax = 256 * 1024
/** The maximum number of bytes outside images and known texts, plus a number for each image. */
const restBytesMax = 16 * 1024
const restBytesPerImage = 4 * 1024
const nameBytesMax = 192
/** The maximum number of numbers, which report usage and describe images; more may be the bytes of an image. */
const numbersMax = 256
const leadsNowhere = /^\s*data:/i

/** Members that contain sentences, in which links are allowed. */
const sentences = wordSet(`
  revised_prompt prompt negative_prompt original_prompt actual_prompt caption
  message msg detail details reason description error_description title note warning
  documentation_url doc_url docs help help_url more_info innererror
`)
/** Members that refer to pages, and may consist of a link. */
const pointers = wordSet('documentation_url doc_url docs help help_url more_info')

/** Whether a member contains sentences and is not an address. */
export function holdsSentences(name: string): boolean {
  return sentences.has(name) && !pointers.has(name)
}

/** Members whose values are texts of the vendor and never a picture. */
const labels = wordSet(`
  id object type model status code param level category severity created created_at
  size quality background output_format style style_type moderation aspect_ratio resolution service_tier
  request_id requestId trace_id event_id system_fingerprint finish_reason mime_type error
`)

type Held = { readonly from: number; readonly to: number; readonly path: string; isCounted: boolean }

/** The family's description of its vendor's answers. */
export type AnswerWords = {
  readonly texts?: readonly string[]
  readonly links?: readonly string[]
  readonly refusals?: readonly string[]
}

/**
 * Verifies that the rest of an answer, outside the known images, contains no image and no link to one. Each string is
 * held completely until it is verified, and omitted if it may be an image. A picture in a text that the family names
 * belongs to the answer.
 */
export class Remainder {
  readonly #omission: Omission
  readonly #declared: ReadonlySet<string>
  /** The ends of paths whose links lead to no image, by their last name. */
  readonly #foreign: ReadonlyMap<string, readonly string[]>
  #pieces: Buffer[] = []
  #length = 0
  #kind: 'declared' | 'link' | 'sentence' | 'other' = 'other'
  /** Whether the current string is omitted. */
  #isOmitted = false
  /** Whether the current string contains a picture of the answer, and so passes as it arrives. */
  #passes = false
  readonly #texts: AnswerTexts
  /** The reason why all strings are omitted; undefined if they are not. */
  #muted: string | undefined
  /** The reason why numbers and names are omitted too: the answer is larger than its images explain. */
  #full: string | undefined
  /** The number of bytes of known texts and images; the rest of the answer must be small. */
  #known = 0

  /** The offset of the current string. */
  #from: number | undefined
  /** Links that belong to no known image, while that image may still arrive: some vendors repeat each link. */
  #links: Held[] = []
  /** The index of the first held link; earlier ones lead to counted images. */
  #firstHeld = 0
  /** The same links by text. */
  readonly #sameLinks = new Map<string, Held[]>()
  readonly #billed = new Set<string>()
  /** The path of the first string that is neither a sentence nor a label: without an image its meaning is unknown. */
  strange: string | undefined
  /** Whether any string was not empty. */
  spoke = false
  /** The number of bytes of base64 strings in all records, except labels: many of them may be parts of an image. */
  #dense = 0
  #images = 0
  #ofText = 0
  /** The offset of the beginning of the text. */
  #origin = 0
  #numbers = 0

  readonly #refusals: ReadonlySet<string>

  /**
   * `texts`: members that contain sentences, in addition to the built-in ones. `links`: the ends of paths of members
   * whose links lead to no image of the answer. `refusals`: members at the top of an answer that explain a missing
   * image.
   * @param perRecord the answer arrives in records, which may contain parts of texts
   */
  constructor(omission: Omission, { texts = [], links = [], refusals = [] }: AnswerWords = {}, perRecord = false) {
    this.#omission = omission
    this.#texts = new AnswerTexts(perRecord)
    this.#declared = new Set(texts)
    this.#foreign = Map.groupBy(links, path => path.slice(path.lastIndexOf('.') + 1))
    this.#refusals = new Set(refusals)
  }

  /** Whether the family declares that a link in the walk's member leads to no image. */
  #isForeign(walk: JsonWalk): boolean {
    const paths = this.#foreign.get(walk.name)
    if (!paths) return false
    const path = `.${walk.path().replaceAll('[]', '')}`
    return paths.some(end => path.endsWith(`.${end}`))
  }

  /** Whether the walk is in a member that explains a missing image. */
  isRefusal(walk: JsonWalk): boolean {
    return walk.names[1] === 'error' || this.#refusals.has(walk.names[1] as string)
  }

  /** Omits all strings until it is called without a reason. */
  mute(shape?: string): void {
    this.#muted = shape
  }

  /** Reads a member's name, and omits it if it may contain an image or a link. */
  name(walk: JsonWalk): void {
    const { nameFrom, nameTo } = walk
    this.#fill(nameFrom)
    if (this.#isOmitted) {
      this.#isOmitted = false
      return this.#omission.more(nameTo)
    }
    if (nameTo - nameFrom > nameBytesMax) this.#leaveOutName(walk, nameTo, 'a name too long to be one')
    else if (isLink(walk.name)) this.#leaveOutName(walk, nameTo, 'a link as a name')
    else if (this.#full !== undefined) this.#leaveOutName(walk, nameTo, this.#full)
  }

  /** Whether the current value is omitted and need not be held. */
  get isLeavingOut(): boolean {
    return this.#isOmitted
  }

  /** Reads the received part of an unfinished name, up to `end`. */
  within(walk: JsonWalk, end: number): void {
    if (!walk.isInName || end - walk.nameFrom <= nameBytesMax) return
    if (this.#isOmitted) return this.#omission.more(end)
    this.#isOmitted = true
    this.#leaveOutName(walk, end, 'a name too long to be one')
  }

  #leaveOutName(walk: JsonWalk, to: number, why: string): void {
    this.#omission.beginName(walk.nameFrom, to, `${walk.path()} (${why})`)
  }

  /** Begins a string that is not a known image. */
  begin(walk: JsonWalk, at: number): void {
    this.#from = at
    this.#fill(at)
    if (this.#declared.has(walk.name)) this.#kind = 'declared'
    else if (this.#isForeign(walk)) this.#kind = 'link'
    else {
      const isSentence = sentences.has(walk.name) || this.#refusals.has(walk.names[1] as string)
      this.#kind = isSentence ? 'sentence' : 'other'
    }
  }

  /** Reads `piece` from `from` to `to`. Omits strings that are too long for anything but a picture. */
  write(walk: JsonWalk, piece: Buffer, from: number, to: number): void {
    const end = this.#omission.base + to
    if (this.#isOmitted) return this.#omission.more(end)
    this.#length += to - from
    if (this.#kind === 'declared' && this.#readOn(walk, piece, from, to)) return
    const max = this.#kind === 'other' || this.#kind === 'link' ? restBytesMax : textBytesMax
    const muted = this.#muted ?? this.#full
    const why = this.#length > max ? `${walk.path()} (more than ${max / 1024} KiB of text)` : muted
    if (why === undefined) return void this.#pieces.push(piece.subarray(from, to))
    this.#isOmitted = true
    this.#pieces = []
    this.#omission.begin(this.#from ?? 0, end, why)
  }

  /**
   * Reads a long text as it arrives. @returns whether it passes; an unfinished picture in it is held back separately
   */
  #readOn(walk: JsonWalk, piece: Buffer, from: number, to: number): boolean {
    if ((this.#muted ?? this.#full) !== undefined) return false
    const isFirst = !this.#texts.isReading
    const bytes = piece.subarray(from, to)
    const pieces = isFirst ? [...this.#pieces, bytes] : [bytes]
    const at = isFirst ? (this.#from ?? 0) : this.#omission.base + from
    this.#passes = this.#texts.readOn(walk, pieces, this.#length, at) || this.#passes
    if (this.#passes) this.#pieces = []
    return this.#passes
  }

  /** The offset of the first string that may not be delivered yet. */
  get from(): number | undefined {
    const own = this.#heldLink()?.from ?? (this.#isOmitted || this.#passes ? undefined : this.#from)
    const from = this.textFrom
    return own === undefined || (from !== undefined && from < own) ? from : own
  }

  /** The offset of a text that may be part of an unfinished picture. */
  get textFrom(): number | undefined {
    return this.#texts.from
  }

  /** Begins a container of that depth. */
  opened(depth: number): void {
    this.#texts.opened(depth)
  }

  /** Ends a container of that depth. */
  closed(depth: number): void {
    this.#texts.closed(depth)
  }

  /** Ends a record that is delivered: its texts are read. */
  readTexts(): void {
    this.#texts.flush()
  }

  /** Ends all texts. */
  endTexts(): void {
    this.#texts.endAll()
  }

  /** The pictures found in texts since the last call. */
  takePictures(): readonly TextPicture[] {
    const found = this.#texts.take()
    // This applies to almost every piece.
    if (found.length === 0) return found
    return found.filter(({ image, mark }) => {
      if (this.#billed.has(mark)) return false
      if (image.kind === 'link') this.count(mark)
      return true
    })
  }

  /** Whether the link was charged as a picture in a text. */
  isOfText(link: string): boolean {
    return this.#texts.hasLink(link)
  }

  /** Ends the string; its closing quote is at `at`. @returns its text; empty if it is omitted */
  end(walk: JsonWalk, at: number): string {
    const from = this.#from ?? 0
    if (this.#isOmitted) this.#omission.more(at + 1)
    const text = this.#isOmitted ? '' : this.#read(walk, from, at + 1)
    this.#isOmitted = false
    this.#passes = false
    this.#pieces = []
    this.#length = 0
    this.#from = undefined
    return text
  }

  #read(walk: JsonWalk, from: number, to: number): string {
    if (this.#passes) {
      this.#texts.end(walk, '', from)
      this.#known += this.#length
      this.spoke = true
      return ''
    }
    const text = unescapeText(joined(this.#pieces))
    const seen = this.#judge(walk, text, from)
    if (seen !== undefined) {
      this.#omission.string(from, to, `${walk.path()} (${seen})`)
      return ''
    }
    if (text !== '') this.spoke = true
    if (this.#kind === 'declared') this.#texts.end(walk, text, from)
    // A sentence may mention links; a text that consists of one is a link.
    const isOther =
      this.#kind === 'other' ||
      (this.#kind === 'sentence' && !pointers.has(walk.name) && linksOfLinkOnlyText(text).length > 0)
    const leads = isLink(text)
    if (isOther && leads) this.#keepLink(walk, text, from, to)
    else if (this.#kind === 'declared' || this.#kind === 'sentence' || leads) this.#known += this.#length
    else if (text !== '' && !labels.has(walk.name)) {
      this.strange ??= walk.path()
      if (isBase64(text)) this.#addDense(walk, from, to)
    }
    return text
  }

  /** Reads a number or a word. */
  scalar(walk: JsonWalk, value: string): void {
    this.#texts.scalar(walk, value)
    this.#fill(walk.scalarFrom)
    if (this.#full !== undefined) this.#omission.number(walk.scalarFrom, walk.scalarTo, this.#full)
    if (++this.#numbers > numbersMax) this.strange ??= `${walk.path()} (more than ${numbersMax} numbers)`
  }

  /** Sets the number of images so far, and how many of them are in the current text. */
  belongsTo(images: number, ofText: number): void {
    this.#images = images
    this.#ofText = ofText
  }

  #addDense(walk: JsonWalk, from: number, to: number): void {
    this.#dense += to - from - 2
    if (this.#dense > restBytesMax + this.#images * restBytesPerImage)
      this.#omission.string(from, to, `${walk.path()} (${Math.round(this.#dense / 1024)} KiB of base64 in pieces)`)
  }

  /** Records that the image of a link was counted: the link is then allowed anywhere. */
  count(link: string): void {
    this.#billed.add(link)
    for (const one of this.#sameLinks.get(link) ?? []) one.isCounted = true
    this.#sameLinks.delete(link)
  }

  /** Omits links that lead to no image, because the answer has ended or too much would be held. */
  checkLinks(): void {
    for (let held = this.#heldLink(); held; held = this.#heldLink()) {
      held.isCounted = true
      this.#omission.string(held.from, held.to, `${held.path} (a link)`)
    }
  }

  #keepLink(walk: JsonWalk, link: string, from: number, to: number): void {
    if (this.#billed.has(link)) return
    const path = walk.path()
    if (link.trimStart().slice(0, 5).toLowerCase() === 'data:')
      return this.#omission.string(from, to, `${path} (a data: URL)`)
    const held = { from, to, path, isCounted: false }
    this.#links.push(held)
    const same = this.#sameLinks.get(link)
    if (same) same.push(held)
    else this.#sameLinks.set(link, [held])
  }

  /** The first link that leads to no counted image. */
  #heldLink(): Held | undefined {
    while (this.#links[this.#firstHeld]?.isCounted === true) this.#firstHeld++
    return this.#links[this.#firstHeld]
  }

  /** Discards findings of an ended record; the next begins at `from`. */
  forget(from: number): void {
    this.#origin = from
    this.#ofText = 0
    this.#pieces = []
    this.#length = 0
    this.#from = undefined
    this.#isOmitted = false
    this.#passes = false
    this.#texts.forget()
    this.#links = []
    this.#firstHeld = 0
    this.#sameLinks.clear()
    this.#known = 0
    this.#numbers = 0
    this.#full = undefined
    this.#muted = undefined
    this.strange = undefined
  }

  #judge(walk: JsonWalk, text: string, at: number): string | undefined {
    if (this.#kind === 'declared') return findDrawing(text)
    if (this.#kind === 'link' && leadsNowhere.test(text)) return 'a data: URL'
    // Every piece is read, because an omitted one may still begin a picture.
    const isPiece = this.#texts.isPicture(walk, text, at)
    const picture = findPicture(text, this.#kind === 'sentence') ?? findBase64(text)
    return picture ?? (isPiece ? 'a picture in base64, in pieces' : undefined)
  }

  /** Counts bytes of an image. */
  skip(bytes: number): void {
    this.#known += bytes
  }

  /**
   * Compares the number of bytes received, up to `end`, with the images and their texts. The excess is omitted.
   * @throws Unrecognised if `mayRefuse`: nothing of the answer was delivered
   */
  weigh(end: number, mayRefuse: boolean): void {
    this.#texts.bound(end)
    const first = this.#heldLink()
    if (first && end - first.from > linkBytesMax) this.checkLinks()
    this.#fill(end)
    if (mayRefuse && this.#full !== undefined) throw new Unrecognised(this.#full)
  }

  #fill(end: number): void {
    const rest = end - this.#origin - this.#known - this.#length
    const images = this.#ofText + 1
    if (this.#full === undefined && rest > restBytesMax + images * restBytesPerImage)
      this.#full = `${Math.round(rest / 1024)} KiB next to ${images} images`
  }
}
