import type { JsonWalk } from '../../src/wire/index.ts'
import { findBase64, findPicture, isBase64, isLink, isLinkAlone, unescapeText } from './judge-text.ts'
import { linkBytesMax, Unrecognised } from './scanned.ts'
import { wordSet } from './word-set.ts'

/** One string that is none of the images may be so long. */
const textBytesMax = 256 * 1024
/** All that is neither an image nor a text that is known may come to so much, and to so much more for each image. */
const restBytesMax = 16 * 1024
const restBytesPerImage = 4 * 1024
const nameBytesMax = 192
/** So many numbers count what was used and say how images look; more may be the bytes of one. */
const numbersMax = 256

/** Members that hold sentences: a link in them is part of what is said. */
const sentences = wordSet(`
  revised_prompt prompt negative_prompt original_prompt actual_prompt caption
  message msg detail details reason description error_description title note warning
  documentation_url doc_url docs help help_url more_info innererror
`)
/** Those of them that lead to pages about what is said, and may be nothing but a link. */
const pointers = wordSet('documentation_url doc_url docs help help_url more_info')

/** Members whose values are words of the vendor's own, of which no picture is made. */
const labels = wordSet(`
  id object type model status code param level category severity created created_at
  size quality background output_format style style_type moderation aspect_ratio resolution service_tier
  request_id requestId trace_id event_id system_fingerprint finish_reason mime_type error
`)

type Held = { readonly from: number; readonly path: string; isCounted: boolean }

/** What the family says of its vendor's answers. */
export type AnswerWords = { readonly texts?: readonly string[]; readonly refusals?: readonly string[] }

/**
 * Judges what an answer holds beside the images that are known: no string of it may be an image, or lead to one. Each is held
 * whole until it has been judged.
 */
export class Remainder {
  readonly #declared: ReadonlySet<string>
  #pieces: Buffer[] = []
  #length = 0
  #kind: 'declared' | 'sentence' | 'other' = 'other'
  /** Bytes of texts that are known, and of images: what is left of the answer may not come to much. */
  #known = 0

  /** Where the string stands that is being read. */
  #from: number | undefined
  /** Links that are none of an image that is known, as long as one may still come: some vendors tell each link twice. */
  #links: Held[] = []
  /** Those before it lead to images that have been counted. */
  #firstHeld = 0
  /** The same by what they say. */
  readonly #sameLinks = new Map<string, Held[]>()
  readonly #billed = new Set<string>()
  /** The place of the first string that is neither a sentence nor a label: without an image beside it, nobody knows what it says. */
  strange: string | undefined
  /** Some string said something. */
  spoke = false
  /** Bytes of strings that are nothing but base64 and no labels, of all records: pieces of an image, where they come to much. */
  #dense = 0
  #numbers = 0

  readonly #refusals: ReadonlySet<string>

  /**
   * `texts` names members that hold sentences, beside those that every vendor has; `refusals` members at the top of an answer
   * that say why there is no image.
   */
  constructor({ texts = [], refusals = [] }: AnswerWords = {}) {
    this.#declared = new Set(texts)
    this.#refusals = new Set(refusals)
  }

  /** The walk is in a member that says why there is no image. */
  isRefusal(walk: JsonWalk): boolean {
    return walk.names[1] === 'error' || this.#refusals.has(walk.names[1] as string)
  }

  /** A member's name has been read. @throws Unrecognised when it could carry something */
  name(walk: JsonWalk): void {
    if (walk.nameTo - walk.nameFrom > nameBytesMax) throw new Unrecognised(`${walk.path()} (a name too long to be one)`)
    if (isLink(walk.name)) throw new Unrecognised(`${walk.path()} (a link as a name)`)
  }

  /** A string begins that is no image that is known. */
  begin(walk: JsonWalk, at: number): void {
    this.#from = at
    const isSentence = sentences.has(walk.name) || this.#refusals.has(walk.names[1] as string)
    this.#kind = this.#declared.has(walk.name) ? 'declared' : isSentence ? 'sentence' : 'other'
  }

  /** @throws Unrecognised when it is longer than anything but a picture */
  write(walk: JsonWalk, piece: Buffer, from: number, to: number): void {
    this.#length += to - from
    const max = this.#kind === 'other' ? restBytesMax : textBytesMax
    if (this.#length > max) throw new Unrecognised(`${walk.path()} (more than ${max / 1024} KiB of text)`)
    this.#pieces.push(piece.subarray(from, to))
  }

  /** Where the first string stands of which it is not known yet whether it may go. */
  get from(): number | undefined {
    return this.#heldLink()?.from ?? this.#from
  }

  /** It is over. @returns what it says. @throws Unrecognised when it may be an image, or lead to one */
  end(walk: JsonWalk): string {
    const text = unescapeText(this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces))
    const seen = this.#judge(text)
    if (seen !== undefined) throw new Unrecognised(`${walk.path()} (${seen})`)
    if (text !== '') this.spoke = true
    // A sentence speaks of links; one that is nothing else is none.
    const isOther =
      this.#kind === 'other' || (this.#kind === 'sentence' && !pointers.has(walk.name) && isLinkAlone(text))
    if (isOther && isLink(text)) this.#keepLink(walk, text)
    else if (this.#kind !== 'other') this.#known += this.#length
    else if (text !== '' && !labels.has(walk.name)) {
      this.strange ??= walk.path()
      if (isBase64(text)) this.#dense += this.#length
    }
    this.#pieces = []
    this.#length = 0
    this.#from = undefined
    return text
  }

  /** A number or a word has been read. */
  scalar(walk: JsonWalk): void {
    if (++this.#numbers > numbersMax) this.strange ??= `${walk.path()} (more than ${numbersMax} numbers)`
  }

  /** @throws Unrecognised when the strings of all records, beside `images` images, may be another one in pieces */
  weighPieces(images: number): void {
    if (this.#dense > restBytesMax + images * restBytesPerImage)
      throw new Unrecognised(`${Math.round(this.#dense / 1024)} KiB of base64 in pieces`)
  }

  /** The image that a link leads to has been counted: it may stand anywhere. */
  count(link: string): void {
    this.#billed.add(link)
    for (const one of this.#sameLinks.get(link) ?? []) one.isCounted = true
    this.#sameLinks.delete(link)
  }

  /** All has come, or so much that no more is held. @throws Unrecognised when there is a link of no image */
  checkLinks(): void {
    const first = this.#heldLink()
    if (first) throw new Unrecognised(`${first.path} (a link)`)
  }

  #keepLink(walk: JsonWalk, link: string): void {
    if (this.#billed.has(link)) return
    if (link.trimStart().slice(0, 5).toLowerCase() === 'data:') throw new Unrecognised(`${walk.path()} (a data: URL)`)
    const held = { from: this.#from ?? 0, path: walk.path(), isCounted: false }
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

  /** Nothing is judged whose record is over. */
  forget(): void {
    this.#links = []
    this.#firstHeld = 0
    this.#sameLinks.clear()
    this.#known = 0
    this.#numbers = 0
    this.strange = undefined
  }

  #judge(text: string): string | undefined {
    const picture = findPicture(text, this.#kind !== 'other')
    if (picture !== undefined || this.#kind === 'declared') return picture
    return findBase64(text)
  }

  /** So many bytes were of an image. */
  skip(bytes: number): void {
    this.#known += bytes
  }

  /** @throws Unrecognised when what has come is more than `images` images, their texts and what belongs to them */
  weigh(came: number, images: number): void {
    const first = this.#heldLink()
    if (first && came - first.from > linkBytesMax) this.checkLinks()
    const rest = came - this.#known - this.#length
    if (rest > restBytesMax + images * restBytesPerImage)
      throw new Unrecognised(`${Math.round(rest / 1024)} KiB beside ${images} images`)
  }
}
