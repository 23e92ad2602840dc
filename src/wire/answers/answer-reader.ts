import type { Path } from '../paths.ts'
import { type JsonVisitor, JsonWalk } from '../walk-json.ts'
import { parseSize } from './parse-size.ts'
import { isKept } from './places.ts'
import { type HeldPicture, PictureText } from './picture-text.ts'
import type { PictureFacts, PictureWriter } from './picture-writer.ts'
import type { AnswerPlace, AnswerReading } from './reading.ts'
import { AnswerValues, objectMark } from './values.ts'
import { pathOfValue, unescapeText } from './value-reader.ts'

/** The maximum bytes that are kept of a wanted text; longer than any message. */
const textBytesMax = 64 * 1024
/** The number of paths that are reported if nothing of an answer was recognised. */
const shapePathsMax = 8
const textsMax = 64
/** The maximum bytes that are kept of an answer that is not a JSON object: no error page is longer. */
const foreignBytesMax = 64 * 1024
const noObject = 'no JSON object'

/** A received picture, or a link to it. */
type Found = { readonly held: HeldPicture; readonly path: Path }

type Item = {
  readonly place: AnswerPlace
  /** The depth of its object; that of the string itself if the item is a string. */
  readonly depth: number
  readonly values: AnswerValues
  found: Found | undefined
  /** Its picture is being written as it arrives. */
  isPassing: boolean
  /** Its picture was written, and another one has arrived since. */
  isWritten: boolean
}

type OpenPicture = {
  readonly text: PictureText
  readonly item: Item
  readonly path: Path
  /** It is written as it arrives, because there is no memory to hold it. */
  isLetGo: boolean
}

/** The part of a shared memory budget that one exchange has taken for held pictures. */
export type MemoryClaim = {
  /** Returns false, and takes nothing, if there is not enough left. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/**
 * Whether pictures are held until the end of the answer: never; always; or if there is memory for them. Others are
 * written as they arrive. Held pictures belong to an event, whose meaning is not known before its end.
 */
type Waits = 'never' | 'always' | 'with-room'

/**
 * Reads an answer by its description as it passes, and writes its pictures as they arrive: keeps nothing of a picture,
 * unless later members of its item decide whether it counts. Everything else is examined and dropped.
 */
export class AnswerReader implements JsonVisitor {
  readonly values = new AnswerValues()
  readonly #reading: AnswerReading
  readonly #places: readonly AnswerPlace[]
  readonly #writer: PictureWriter
  readonly #claim: MemoryClaim
  readonly #waits: Waits
  readonly #walk = new JsonWalk(this)
  readonly #shape = new Set<Path>()
  /** How many values have been read. */
  seen = 0
  /** Held pictures, for the reader of the events. */
  readonly held: HeldPicture[] = []
  /** Descriptions of failed pictures, from their items. */
  readonly failed: string[] = []
  /** A possible picture at a place that is not described, which is dropped. */
  omitted: string | undefined
  #foreign: Buffer[] = []
  #foreignBytes = 0
  #claimed = 0
  /** By depth, from 1: the path of the open list or object. */
  readonly #open: Path[] = ['', '']
  #items: Item[] = []
  #at = 0
  #picture: OpenPicture | undefined
  /** The item whose picture was written and that waits for its later members. */
  #passing: Item | undefined
  #text: { readonly path: Path; readonly pieces: Buffer[]; bytes: number } | undefined

  /**
   * @param options.waits if pictures are held, they are in `held`, for a reader that learns their role only at the end
   */
  constructor(
    reading: AnswerReading,
    writer: PictureWriter,
    claim: MemoryClaim,
    options: { readonly places?: readonly AnswerPlace[]; readonly waits?: Waits } = {},
  ) {
    this.#reading = reading
    this.#places = options.places ?? reading.places
    this.#writer = writer
    this.#claim = claim
    this.#waits = options.waits ?? 'never'
  }

  /** The structure of the answer, for messages. */
  get shape(): string {
    return this.#shape.size === 0 ? 'nothing' : [...this.#shape].join(', ')
  }

  /** All of an answer that is not a JSON object, if it is complete and short. */
  get foreign(): Buffer | undefined {
    const isKept = (this.#walk.foreign || this.#at === 0) && this.#foreignBytes <= foreignBytesMax
    return isKept ? Buffer.concat(this.#foreign) : undefined
  }

  /** @throws the errors of the reading's faults */
  write(chunk: Buffer): void {
    this.#walk.walk(chunk, this.#at)
    this.#at += chunk.length
    const { fault, foreign, followed } = this.#walk
    if (fault !== undefined) throw this.#reading.faults.unreadable(fault)
    if (followed) this.omitted ??= 'data after the JSON object'
    if (foreign) this.#keepForeign(chunk)
  }

  /** An event that is not a JSON object is dropped; an answer is judged at its end. */
  #keepForeign(chunk: Buffer): void {
    if (this.#waits !== 'never') {
      this.omitted ??= `an event whose data is ${noObject}`
      return
    }
    this.#foreignBytes += chunk.length
    if (this.#foreignBytes > foreignBytesMax) throw this.#reading.faults.undescribed(noObject)
    this.#foreign.push(Buffer.from(chunk))
  }

  /** @throws the errors of the reading's faults if the answer is incomplete */
  end(): void {
    if (this.#walk.foreign && this.#waits !== 'never') return
    if (this.#walk.foreign) throw this.#reading.faults.undescribed(noObject)
    if (!this.#walk.complete) throw this.#reading.faults.unreadable('it ends before its JSON does')
  }

  /** Returns the memory of held pictures. */
  free(): void {
    this.#claim.give(this.#claimed)
    this.#claimed = 0
  }

  /** The path of the value that begins here. */
  #path(): Path {
    this.seen++
    return pathOfValue(this.#walk, this.#open)
  }

  #see(path: Path): void {
    if (this.#shape.size < shapePathsMax && path.length < 100) this.#shape.add(path)
  }

  name(walk: JsonWalk): void {
    // If the whole answer is an item, it has no opening.
    if (walk.depth === 1 && this.#items.length === 0)
      for (const place of this.#places) if (place.at === '') this.#openItem(place, 1)
  }

  #openItem(place: AnswerPlace, depth: number): Item {
    const item: Item = {
      place,
      depth,
      values: new AnswerValues(),
      found: undefined,
      isPassing: false,
      isWritten: false,
    }
    this.#items.push(item)
    return item
  }

  opened({ depth }: JsonWalk, isObject: boolean): void {
    const path = this.#path()
    this.#open[depth + 1] = path
    if (!isObject) return
    this.#see(path)
    if (this.#reading.wanted.has(path)) this.#add(path, objectMark)
    for (const place of this.#places) if (place.at === path) this.#openItem(place, this.#walk.depth + 1)
  }

  closed(_walk: JsonWalk, depth: number): void {
    for (let item = this.#items.at(-1); item && item.depth === depth; item = this.#items.at(-1)) {
      this.#items.pop()
      this.#close(item)
    }
  }

  string(walk: JsonWalk): 'skip' | 'bytes' {
    const path = this.#path()
    this.#see(path)
    for (const place of this.#places) {
      if (!place.pictures.includes(path)) continue
      const item =
        place.at === path ? this.#openItem(place, walk.depth + 1) : this.#items.findLast(one => one.place === place)
      if (!item) continue
      if (item.found?.path === path) this.#next(item)
      // Of several members the first has the picture; the others lead to the same one.
      if (item.found && !item.found.held.isLink) break
      this.#picture = { text: new PictureText(this.#reading.faults), item, path, isLetGo: false }
      return 'bytes'
    }
    if (!this.#reading.wanted.has(path)) return 'skip'
    this.#text = { path, pieces: [], bytes: 0 }
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    if (this.#picture) return this.#pictureBytes(this.#picture, piece.subarray(from, to))
    const text = this.#text
    if (!text || text.bytes > textBytesMax) return
    text.bytes += to - from
    text.pieces.push(Buffer.from(piece.subarray(from, to)))
  }

  #pictureBytes(picture: OpenPicture, bytes: Buffer): void {
    const { text, item } = picture
    const base64 = text.write(bytes)
    if (base64.length === 0) return
    if (this.#mustWait(picture) && this.#keep(picture, base64)) return
    if (!item.isPassing) {
      this.#endPassing()
      this.#passing = item
      item.isPassing = true
      this.#writer.open()
    }
    for (const piece of text.letGo()) this.#writer.piece(piece)
    for (const piece of base64) this.#writer.piece(piece)
  }

  /**
   * @returns false if there is no memory, and the picture need not be held. @throws the errors of the reading's faults
   * if it must be
   */
  #keep(picture: OpenPicture, base64: readonly Buffer[]): boolean {
    const bytes = base64.reduce((sum, piece) => sum + piece.length, 0)
    if (this.#claim.take(bytes)) {
      this.#claimed += bytes
      for (const piece of base64) picture.text.keep(piece)
      return true
    }
    if (this.#waits === 'always' || isConditional(picture.item)) throw this.#reading.faults.busy()
    picture.isLetGo = true
    return false
  }

  bytesEnd(walk: JsonWalk): void {
    const picture = this.#picture
    if (picture) {
      this.#picture = undefined
      const held = picture.text.end()
      this.omitted ??= picture.text.flaw
      if (picture.item.isPassing) for (const piece of held?.pieces ?? []) this.#writer.piece(piece)
      if (held) picture.item.found = { held, path: picture.path }
      // The item is the string itself.
      if (picture.item.place.at === picture.path) this.closed(walk, walk.depth + 1)
      return
    }
    const text = this.#text
    this.#text = undefined
    if (text) this.#add(text.path, unescapeText(Buffer.concat(text.pieces)))
  }

  scalar(_walk: JsonWalk, value: string): void {
    const path = this.#path()
    this.#see(path)
    if (value !== 'null' && this.#reading.wanted.has(path)) this.#add(path, value)
  }

  #add(path: Path, value: string): void {
    this.values.add(path, value)
    for (const { values } of this.#items) values.add(path, value)
  }

  /** Whether to hold a picture, because later members may show that it does not count. */
  #mustWait({ item, isLetGo }: OpenPicture): boolean {
    return !isLetGo && (this.#waits !== 'never' || isConditional(item))
  }

  /** Handles another picture in the same member. */
  #next(item: Item): void {
    this.#close(item)
    item.found = undefined
    item.isPassing = false
    item.isWritten = false
  }

  /** Ends a picture when another one arrives before its item ends: later members come too late for it. */
  #endPassing(): void {
    const item = this.#passing
    this.#passing = undefined
    if (!item) return
    item.isWritten = true
    this.#writer.close(factsOf(item))
  }

  #close(item: Item): void {
    const { place, values, found } = item
    const failure = place.error === undefined ? undefined : describeFailure(values, place.error)
    if (failure !== undefined) return void this.failed.push(failure)
    if (!found || item.isWritten) return
    if (!isKept(place, values.of)) return
    const facts = factsOf(item)
    if (item.isPassing) return this.#endPassing()
    if (this.#waits !== 'never') return void this.held.push({ ...found.held, facts })
    this.#endPassing()
    writeHeld(this.#writer, { ...found.held, facts })
  }
}

function isConditional({ place }: Item): boolean {
  return place.skip.length > 0 || place.keep.length > 0 || place.error !== undefined
}

/** Writes a held picture. */
export function writeHeld(writer: PictureWriter, held: HeldPicture & { readonly facts?: PictureFacts }): void {
  const facts = held.facts ?? { size: undefined, texts: [] }
  if (held.isLink) return writer.link(held.link, facts)
  writer.open()
  for (const piece of held.pieces) writer.piece(piece)
  writer.close(facts)
}

function factsOf({ place, values }: Item): PictureFacts {
  const texts: (readonly [string, string])[] = []
  for (const [name, path] of place.texts) {
    const text = values.last(path)
    if (text !== undefined && texts.length < textsMax) texts.push([name, text])
  }
  return { size: parseSize(place.size.map(path => values.last(path))), texts }
}

function describeFailure(values: AnswerValues, path: Path): string | undefined {
  if (values.of(path).every(saysNothing)) return undefined
  return values.first([`${path}.message`, path, `${path}.code`]) ?? 'a picture failed'
}

/** A value that is always present, and empty if nothing has failed. */
function saysNothing(value: string): boolean {
  return value === '' || value === 'false' || value === '0'
}
