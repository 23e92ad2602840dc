import { joined, type JsonWalk } from '../../src/wire/index.ts'
import { AnswerTexts } from './answer-texts.ts'
import { findBase64, findDrawing, findPicture, isBase64, isLink, unescapeText } from './judge-text.ts'
import { loneLinksOf } from './lone-links.ts'
import type { Omission } from './omission.ts'
import { linkBytesMax, Unrecognised } from './scanned.ts'
import type { TextPicture } from './text-channel.ts'
import { wordSet } from './word-set.ts'

/** One string that is none of the images may be so long. */
const textBytesMax = 256 * 1024
/** All that is neither an image nor a text that is known may come to so much, and to so much more for each image. */
const restBytesMax = 16 * 1024
const restBytesPerImage = 4 * 1024
const nameBytesMax = 192
/** So many numbers count what was used and say how images look; more may be the bytes of one. */
const numbersMax = 256
const leadsNowhere = /^\s*data:/i

/** Members that hold sentences: a link in them is part of what is said. */
const sentences = wordSet(`
  revised_prompt prompt negative_prompt original_prompt actual_prompt caption
  message msg detail details reason description error_description title note warning
  documentation_url doc_url docs help help_url more_info innererror
`)
/** Those of them that lead to pages about what is said, and may be nothing but a link. */
const pointers = wordSet('documentation_url doc_url docs help help_url more_info')

/** Whether a member holds sentences, and is no address of a page. */
export function holdsSentences(name: string): boolean {
  return sentences.has(name) && !pointers.has(name)
}

/** Members whose values are words of the vendor's own, of which no picture is made. */
const labels = wordSet(`
  id object type model status code param level category severity created created_at
  size quality background output_format style style_type moderation aspect_ratio resolution service_tier
  request_id requestId trace_id event_id system_fingerprint finish_reason mime_type error
`)

type Held = { readonly from: number; readonly to: number; readonly path: string; isCounted: boolean }

/** What the family says of its vendor's answers. */
export type AnswerWords = {
  readonly texts?: readonly string[]
  readonly links?: readonly string[]
  readonly refusals?: readonly string[]
}

/**
 * Judges what an answer holds beside the images that are known: no string of it may be an image, or lead to one. Each is held
 * whole until it has been judged, and left out where it may. A picture in a text that the family names is one of the answer's.
 */
export class Remainder {
  readonly #omission: Omission
  readonly #declared: ReadonlySet<string>
  /** By the last name of their path: the ends of paths at which a link leads to no image. */
  readonly #foreign: ReadonlyMap<string, readonly string[]>
  #pieces: Buffer[] = []
  #length = 0
  #kind: 'declared' | 'link' | 'sentence' | 'other' = 'other'
  /** The string that is being read is left out. */
  #isOmitted = false
  /** It holds a picture of the answer, and passes as it comes. */
  #passes = false
  readonly #texts: AnswerTexts
  /** Why every further string is left out; undefined while none is. */
  #muted: string | undefined
  /** Why numbers and names are left out too: more has come with the images than belongs to them. */
  #full: string | undefined
  /** Bytes of texts that are known, and of images: what is left of the answer may not come to much. */
  #known = 0

  /** The place of the string that is being read. */
  #from: number | undefined
  /** Links of no known image, as long as one may still come: some vendors repeat each link. */
  #links: Held[] = []
  /** Those before it lead to images that have been counted. */
  #firstHeld = 0
  /** The same by what they say. */
  readonly #sameLinks = new Map<string, Held[]>()
  readonly #billed = new Set<string>()
  /** The place of the first string that is neither a sentence nor a label: without an image next to it, its meaning is not known. */
  strange: string | undefined
  /** Some string said something. */
  spoke = false
  /** Bytes of strings that are nothing but base64 and no labels, of all records: pieces of an image, where they come to much. */
  #dense = 0
  #images = 0
  #ofText = 0
  /** Where the text begins. */
  #origin = 0
  #numbers = 0

  readonly #refusals: ReadonlySet<string>

  /**
   * `texts` names members that hold sentences, beside those that every vendor has; `links` members whose links lead to no image
   * of the answer, by the end of their path; `refusals` members at the top of an answer that say why there is no image.
   * @param perRecord the answer comes in records, which have no more than pieces of its texts
   */
  constructor(omission: Omission, { texts = [], links = [], refusals = [] }: AnswerWords = {}, perRecord = false) {
    this.#omission = omission
    this.#texts = new AnswerTexts(perRecord)
    this.#declared = new Set(texts)
    this.#foreign = Map.groupBy(links, path => path.slice(path.lastIndexOf('.') + 1))
    this.#refusals = new Set(refusals)
  }

  /** The family says of the walk's member that a link there leads to no image. */
  #isForeign(walk: JsonWalk): boolean {
    const paths = this.#foreign.get(walk.name)
    if (!paths) return false
    const path = `.${walk.path().replaceAll('[]', '')}`
    return paths.some(end => path.endsWith(`.${end}`))
  }

  /** The walk is in a member that says why there is no image. */
  isRefusal(walk: JsonWalk): boolean {
    return walk.names[1] === 'error' || this.#refusals.has(walk.names[1] as string)
  }

  /** Leaves out all strings from here on, until it is called without a reason. */
  mute(shape?: string): void {
    this.#muted = shape
  }

  /** A member's name has been read: one that could carry something is left out. */
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

  /** What is being read is left out, and need not be held. */
  get isLeavingOut(): boolean {
    return this.#isOmitted
  }

  /** A name is being read, which reaches up to `end` at least. */
  within(walk: JsonWalk, end: number): void {
    if (!walk.isInName || end - walk.nameFrom <= nameBytesMax) return
    if (this.#isOmitted) return this.#omission.more(end)
    this.#isOmitted = true
    this.#leaveOutName(walk, end, 'a name too long to be one')
  }

  #leaveOutName(walk: JsonWalk, to: number, why: string): void {
    this.#omission.beginName(walk.nameFrom, to, `${walk.path()} (${why})`)
  }

  /** A string begins that is no image that is known. */
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

  /** Reads on, in the bytes of `piece` from `from` to `to`. What is longer than anything but a picture is left out. */
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

  /** Reads a long text as it comes. @returns whether it passes: what is held of it is held as a picture */
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

  /** The place of the first string that may not leave yet. */
  get from(): number | undefined {
    const own = this.#heldLink()?.from ?? (this.#isOmitted || this.#passes ? undefined : this.#from)
    const from = this.textFrom
    return own === undefined || (from !== undefined && from < own) ? from : own
  }

  /** The place of a text that may be part of a picture that has not ended. */
  get textFrom(): number | undefined {
    return this.#texts.from
  }

  /** A container begins that will be `depth` deep. */
  opened(depth: number): void {
    this.#texts.opened(depth)
  }

  /** A container that was `depth` deep is over. */
  closed(depth: number): void {
    this.#texts.closed(depth)
  }

  /** The record is over, and is handed out: its texts are read. */
  readTexts(): void {
    this.#texts.flush()
  }

  /** All texts are over. */
  endTexts(): void {
    this.#texts.endAll()
  }

  /** The pictures that texts held since the last call. */
  takePictures(): readonly TextPicture[] {
    return this.#texts.take().filter(({ image, mark }) => {
      if (this.#billed.has(mark)) return false
      if (image.kind === 'link') this.count(mark)
      return true
    })
  }

  /** The link was charged as a picture in a text. */
  isOfText(link: string): boolean {
    return this.#texts.hasLink(link)
  }

  /** It is over; its closing quote is at `at`. @returns its text, or nothing where it is left out */
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
    // A sentence speaks of links; one that is nothing else is none.
    const isOther =
      this.#kind === 'other' || (this.#kind === 'sentence' && !pointers.has(walk.name) && loneLinksOf(text).length > 0)
    const leads = isLink(text)
    if (isOther && leads) this.#keepLink(walk, text, from, to)
    else if (this.#kind === 'declared' || this.#kind === 'sentence' || leads) this.#known += this.#length
    else if (text !== '' && !labels.has(walk.name)) {
      this.strange ??= walk.path()
      if (isBase64(text)) this.#addDense(walk, from, to)
    }
    return text
  }

  /** A number or a word has been read. */
  scalar(walk: JsonWalk, value: string): void {
    this.#texts.scalar(walk, value)
    this.#fill(walk.scalarFrom)
    if (this.#full !== undefined) this.#omission.number(walk.scalarFrom, walk.scalarTo, this.#full)
    if (++this.#numbers > numbersMax) this.strange ??= `${walk.path()} (more than ${numbersMax} numbers)`
  }

  /** There are so many images so far, of which so many are of the text that is being read. */
  belongsTo(images: number, ofText: number): void {
    this.#images = images
    this.#ofText = ofText
  }

  #addDense(walk: JsonWalk, from: number, to: number): void {
    this.#dense += to - from - 2
    if (this.#dense > restBytesMax + this.#images * restBytesPerImage)
      this.#omission.string(from, to, `${walk.path()} (${Math.round(this.#dense / 1024)} KiB of base64 in pieces)`)
  }

  /** The image that a link leads to has been counted: the link is allowed anywhere. */
  count(link: string): void {
    this.#billed.add(link)
    for (const one of this.#sameLinks.get(link) ?? []) one.isCounted = true
    this.#sameLinks.delete(link)
  }

  /** All has come, or so much that no more is held: a link of no image is left out. */
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

  /** The first link that leads to no image that has been counted. */
  #heldLink(): Held | undefined {
    while (this.#links[this.#firstHeld]?.isCounted === true) this.#firstHeld++
    return this.#links[this.#firstHeld]
  }

  /** Nothing is judged whose record is over; the next begins at `from`. */
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
    // Each piece is read, since what is left out may be the beginning of a picture.
    const isPiece = this.#texts.isPicture(walk, text, at)
    const picture = findPicture(text, this.#kind === 'sentence') ?? findBase64(text)
    return picture ?? (isPiece ? 'a picture in base64, in pieces' : undefined)
  }

  /** So many bytes were of an image. */
  skip(bytes: number): void {
    this.#known += bytes
  }

  /**
   * What has come, up to `end`, is held against the images, their texts and what belongs to them. Of what is more, nothing goes on.
   * @throws Unrecognised where `mayRefuse`: nothing of the answer has left
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
      this.#full = `${Math.round(rest / 1024)} KiB beside ${images} images`
  }
}
