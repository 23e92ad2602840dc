import { PictureDigest, type JsonVisitor, type JsonWalk } from '../../src/wire/index.ts'
import { findPicture, isLink, unescapeText } from './detect-picture.ts'
import type { Omission } from './omission.ts'
import { PictureBlocks } from './picture-blocks.ts'
import { afterImageBytesMax, type FoundImage, tailBytes, Unreadable } from './scan-result.ts'
import { ToolLinks } from './tool-links.ts'
import { wordSet } from './word-set.ts'

const resultType = 'image_generation_call'
/** The number of examined bytes of any other string: a picture is recognised by its first bytes. */
const judgedBytesMax = 256

/** Members with a model's text, its instructions, or previews, which never contain the image of a tool. */
const writing = wordSet(`
  text delta arguments code logs refusal input name description message title
  instructions encrypted_content signature obfuscation revised_prompt partial_image_b64
`)
/** Parts of the request that the answer repeats, including tools with their masks. */
const echoed = wordSet('tools instructions input prompt metadata text tool_choice')

/**
 * Whether the container at `depth` of the walk's path may be the result of a tool: in an answer that lists each result
 * once, in a separate event, or in the list of all results so far.
 */
export type PlaceOf = (walk: JsonWalk, depth: number) => 'each' | 'event' | 'list' | undefined
/** The maximum depth: `response`, `output`, its list, an object in it. */
const deepest = 4

type Image = {
  readonly from: number
  to: number | undefined
  readonly blocks: PictureBlocks
  readonly digest: PictureDigest
}

/**
 * Finds the images that tools created: a non-empty string `result` of an object of type `image_generation_call`, with
 * members in any order. The type is known only at the end of the object, so the end of the string is held until then.
 * In an event, an image with the id and bytes of an earlier one is a repetition; in the list of all results, as many
 * images with the same bytes as have arrived are repetitions.
 *
 * A picture anywhere else, except in a model's text, is omitted, and so is a link in an object of that type. A picture
 * in the `result` of an object of another type counts as an image.
 */
export class ToolResults implements JsonVisitor {
  readonly #placeOf: PlaceOf
  /** Ids and bytes of the images so far. */
  readonly #seen = new Set<string>()
  /** By their bytes: the number of images that have arrived, and of those that the current list repeats. */
  readonly #arrived = new Map<string, number>()
  #listed = new Map<string, number>()
  #count = 0
  #done: FoundImage[] = []
  #type = ''
  #id = ''
  #image: Image | undefined
  /** The string that is currently read as an image. */
  #open: Image | undefined
  readonly #omission: Omission
  readonly #links: ToolLinks
  /** The path of a result that is an object or a list. */
  #strange: string | undefined
  /** The beginning of a string that is not an image, and its offset, until it is verified. */
  #judged: Buffer[] = []
  #judgedBytes = 0
  #judgedFrom: number | undefined
  /** Whether the current string is omitted. */
  #isOmitted = false
  /** The reason why a second image is omitted. */
  #again: string | undefined

  constructor(placeOf: PlaceOf, omission: Omission) {
    this.#placeOf = placeOf
    this.#omission = omission
    this.#links = new ToolLinks(omission)
  }

  /** Begins a new text. */
  begin(): void {
    this.#listed = new Map()
    this.#open = undefined
    this.#judged = []
    this.#judgedBytes = 0
    this.#judgedFrom = undefined
    this.#isOmitted = false
    this.#forget()
  }

  /** Returns the images since the last call. */
  take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  /**
   * The offset up to which bytes may be delivered; the last received byte precedes `end`. @throws Unreadable if too
   * much would be held
   */
  safe(end: number): number {
    const links = this.#links.safe(end)
    this.#isOmitted ||= links.isOmitted
    const judged = Math.min(this.#judgedFrom ?? end, links.safe)
    const image = this.#image
    if (!image) return judged
    const safe = Math.min(judged, Math.max(image.from, (image.blocks.second ?? image.to ?? end) - tailBytes))
    if (end - safe > tailBytes + afterImageBytesMax) throw new Unreadable('the object of an image does not end')
    return safe
  }

  opened(walk: JsonWalk): void {
    this.#links.open(walk.depth + 1)
    if (this.#placeOf(walk, walk.depth) && walk.name === 'result') this.#strange = walk.path()
  }

  string(walk: JsonWalk, at: number): 'skip' | 'bytes' {
    if (this.#placeOf(walk, walk.depth) && walk.name === 'result') {
      // Parsers differ in which of two equal members they use, so the second is omitted with its name.
      this.#again = this.#image ? `${walk.path()} twice` : undefined
      if (this.#again !== undefined) this.#omission.beginName(walk.nameFrom, walk.nameTo, this.#again)
      if (this.#again !== undefined) {
        this.#judgedFrom = at
        return 'bytes'
      }
      const blocks = new PictureBlocks({ link: false })
      this.#open = { from: at + 1, to: undefined, blocks, digest: new PictureDigest() }
      return 'bytes'
    }
    if (writing.has(walk.name) || isEchoed(walk)) return 'skip'
    this.#judgedFrom = at
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number, walk: JsonWalk): void {
    const open = this.#open
    if (open) {
      this.#image = open
      open.digest.write(piece, from, to)
      open.blocks.write(piece, from, to, this.#omission.base + to)
      return
    }
    const end = this.#omission.base + to
    if (this.#isOmitted) return this.#omission.more(end)
    if (this.#judgedFrom === undefined) return
    if (this.#again !== undefined) return this.#leaveOut(end, this.#again)
    const taken = piece.subarray(from, Math.min(to, from + judgedBytesMax - this.#judgedBytes))
    this.#judged.push(taken)
    this.#judgedBytes += taken.length
    if (this.#judgedBytes === judgedBytesMax) this.#judge(walk, end)
  }

  #leaveOut(to: number, shape: string): void {
    this.#omission.begin(this.#judgedFrom ?? 0, to, shape)
    this.#isOmitted = true
    this.#judgedFrom = undefined
  }

  bytesEnd(walk: JsonWalk, at: number): void {
    if (this.#open) {
      this.#open.to = at
      this.#open = undefined
      return
    }
    // The examined part contains all of a type or an id, which are never longer.
    const text = this.#judgedFrom === undefined || this.#again !== undefined ? undefined : this.#judge(walk, at)
    this.#judgedFrom = undefined
    this.#again = undefined
    this.#links.end(at + 1)
    if (this.#isOmitted) {
      this.#isOmitted = false
      return this.#omission.more(at + 1)
    }
    if (text === undefined) return
    if (walk.name === 'type') this.#links.type(walk, text)
    if (!this.#placeOf(walk, walk.depth)) return
    if (walk.name === 'type') this.#type = text
    else if (walk.name === 'id') this.#id = text
  }

  closed(walk: JsonWalk, depth: number): void {
    this.#links.close(depth)
    const place = this.#placeOf(walk, depth)
    if (!place) return
    const image = this.#image
    if (this.#type === resultType) {
      if (!image && this.#strange !== undefined) this.#omission.note(this.#strange)
      if (image) this.#take(place, image)
    } else if (image && beginsAsPicture(image)) {
      this.#omission.note(`${walk.path()}.result of type '${this.#type}'`)
      this.#take(place, image)
    }
    this.#forget()
  }

  /** Counts an image, unless it is a repetition. */
  #take(place: 'each' | 'event' | 'list', image: Image): void {
    const digest = image.digest.end()
    const again = `${this.#id} ${digest}`
    if (place === 'event' && this.#id !== '' && this.#seen.has(again)) return
    if (place === 'list') {
      const before = this.#listed.get(digest) ?? 0
      this.#listed.set(digest, before + 1)
      if (before < (this.#arrived.get(digest) ?? 0)) return
    }
    this.#seen.add(again)
    this.#arrived.set(digest, (this.#arrived.get(digest) ?? 0) + 1)
    for (const one of image.blocks.measure()) this.#done.push({ index: this.#count++, ...one })
  }

  /** Examines the beginning of the string, up to `to`, and omits a picture. @returns the examined part */
  #judge(walk: JsonWalk, to: number): string {
    const from = this.#judgedFrom ?? 0
    const text = unescapeText(Buffer.concat(this.#judged))
    this.#judged = []
    this.#judgedBytes = 0
    const picture = findPicture(text)
    if (picture !== undefined) this.#leaveOut(to, `${walk.path()} (${picture})`)
    else if (isLink(text)) this.#isOmitted = this.#links.add(walk, from, to, this.#isInside(walk))
    this.#judgedFrom = undefined
    return text
  }

  #isInside(walk: JsonWalk): boolean {
    for (let depth = Math.min(walk.depth, deepest); depth > 1; depth--) if (this.#placeOf(walk, depth)) return true
    return false
  }

  #forget(): void {
    this.#type = ''
    this.#id = ''
    this.#image = undefined
    this.#strange = undefined
    this.#links.forget()
  }
}

function isEchoed({ names }: JsonWalk): boolean {
  return echoed.has((names[1] === 'response' ? names[2] : names[1]) ?? '')
}

function beginsAsPicture({ blocks }: Image): boolean {
  const measured = blocks.first.end()
  return measured.mime !== null
}
