import { findBase64, findPicture, isLink, unescapeText } from './judge-text.ts'
import { Unrecognised } from './scanned.ts'
import type { JsonWalk } from './walk-json.ts'
import { wordSet } from './word-set.ts'

/** One string that is none of the images may be so long. */
const textBytesMax = 256 * 1024
/** All that is neither an image nor a text that is known may come to so much, and to so much more for each image. */
const restBytesMax = 16 * 1024
const restBytesPerImage = 4 * 1024
const nameBytesMax = 192

/** Members that hold sentences: a link in them is part of what is said. */
const sentences = wordSet(`
  revised_prompt prompt negative_prompt original_prompt actual_prompt caption
  message msg detail details reason description error_description title note warning
  documentation_url doc_url docs help help_url more_info innererror
`)

/** Members whose values are words of the vendor's own, of which no picture is made. */
const labels = wordSet(`
  id object type model status code param level category severity created_at
  size quality background output_format style moderation aspect_ratio resolution service_tier
  request_id requestId trace_id event_id system_fingerprint finish_reason mime_type error
`)

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

  /** Where the string stands that has not been judged yet. */
  from: number | undefined
  /** The place of the first string that is neither a sentence nor a label: without an image beside it, nobody knows what it says. */
  strange: string | undefined
  /** Some string said something. */
  spoke = false

  /** `more` names members that hold sentences, beside those that every vendor has. */
  constructor(more: readonly string[] = []) {
    this.#declared = new Set(more)
  }

  /** A member's name has been read. @throws Unrecognised when it could carry something */
  name(walk: JsonWalk): void {
    if (walk.nameTo - walk.nameFrom > nameBytesMax) throw new Unrecognised(`${walk.path()} (a name too long to be one)`)
    if (isLink(walk.name)) throw new Unrecognised(`${walk.path()} (a link as a name)`)
  }

  /** A string begins that is no image that is known. */
  begin(walk: JsonWalk, at: number): void {
    this.from = at
    this.#kind = this.#declared.has(walk.name) ? 'declared' : sentences.has(walk.name) ? 'sentence' : 'other'
  }

  /** @throws Unrecognised when it is longer than anything but a picture */
  write(walk: JsonWalk, piece: Buffer, from: number, to: number): void {
    this.#length += to - from
    const max = this.#kind === 'other' ? restBytesMax : textBytesMax
    if (this.#length > max) throw new Unrecognised(`${walk.path()} (more than ${max / 1024} KiB of text)`)
    this.#pieces.push(piece.subarray(from, to))
  }

  /** It is over. @returns what it says. @throws Unrecognised when it may be an image, or lead to one */
  end(walk: JsonWalk): string {
    const text = unescapeText(this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces))
    const seen = this.#judge(text)
    if (seen !== undefined) throw new Unrecognised(`${walk.path()} (${seen})`)
    if (text !== '') this.spoke = true
    if (this.#kind !== 'other') this.#known += this.#length
    else if (text !== '' && !labels.has(walk.name)) this.strange ??= walk.path()
    this.#pieces = []
    this.#length = 0
    this.from = undefined
    return text
  }

  /** Nothing is judged whose record is over. */
  forget(): void {
    this.#known = 0
    this.strange = undefined
  }

  #judge(text: string): string | undefined {
    const picture = findPicture(text, this.#kind !== 'other')
    if (picture !== undefined || this.#kind === 'declared') return picture
    return findBase64(text) ?? (this.#kind === 'other' && isLink(text) ? 'a link' : undefined)
  }

  /** So many bytes were of an image. */
  skip(bytes: number): void {
    this.#known += bytes
  }

  /** @throws Unrecognised when what has come is more than `images` images, their texts and what belongs to them */
  weigh(came: number, images: number): void {
    const rest = came - this.#known - this.#length
    if (rest > restBytesMax + images * restBytesPerImage)
      throw new Unrecognised(`${Math.round(rest / 1024)} KiB beside ${images} images`)
  }
}
