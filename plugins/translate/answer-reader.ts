import { conditionsHold, type JsonVisitor, JsonWalk, type Path } from '../../src/wire/index.ts'
import type { Place, Reading } from './describe.ts'
import { fail, undescribed } from './errors.ts'
import { objectMark, Values } from './values.ts'
import { parseSize } from './parse-size.ts'
import { type Held, PictureText } from './picture-text.ts'
import type { PictureFacts, PictureWriter } from './picture-writer.ts'

/** Of a text that is looked at so much is kept; longer than any message. */
const textBytesMax = 64 * 1024
/** The paths of an answer that are told where nothing of it was recognised. */
const shapePathsMax = 8
const textsMax = 64

/** A picture that has come, or a link to it. */
type Found = { readonly held: Held; readonly path: Path }

type Item = {
  readonly place: Place
  /** Of its object; that of the string itself where the item is one. */
  readonly depth: number
  readonly values: Values
  found: Found | undefined
  /** Its picture goes on as it comes. */
  isPassing: boolean
  /** Its picture has gone on, and another one has come since. */
  isWritten: boolean
}

type OpenPicture = { readonly text: PictureText; readonly item: Item; readonly path: Path }

/** Memory that is held for others to wait; false when there is no more. */
export type Claim = (bytes: number) => boolean

/**
 * Reads an answer as its description says while it passes, and writes its pictures as they come: of a picture nothing is
 * kept, unless what its item says later decides whether it is one. Everything else is looked at and goes nowhere.
 */
export class AnswerReader implements JsonVisitor {
  readonly values = new Values()
  readonly #reading: Reading
  readonly #places: readonly Place[]
  readonly #writer: PictureWriter
  readonly #claim: Claim
  readonly #waits: boolean
  readonly #walk = new JsonWalk(this)
  readonly #shape = new Set<Path>()
  /** Pictures that wait for whoever reads the events. */
  readonly held: Held[] = []
  /** Pictures that failed, as their items say. */
  readonly failed: string[] = []
  #items: Item[] = []
  #at = 0
  #picture: OpenPicture | undefined
  /** Whose picture has gone on and waits for what its item says of it. */
  #passing: Item | undefined
  #text: { readonly path: Path; readonly pieces: Buffer[]; bytes: number } | undefined

  /** @param options.holds pictures are left in `held`, for whoever knows what they are only at the end */
  constructor(
    reading: Reading,
    writer: PictureWriter,
    claim: Claim,
    options: { readonly places?: readonly Place[]; readonly holds?: boolean } = {},
  ) {
    this.#reading = reading
    this.#places = options.places ?? reading.places
    this.#writer = writer
    this.#claim = claim
    this.#waits = options.holds === true
  }

  /** What the answer looks like, for people. */
  get shape(): string {
    return this.#shape.size === 0 ? 'nothing' : [...this.#shape].join(', ')
  }

  /** @throws Failure upstream_answer_unreadable */
  write(chunk: Buffer): void {
    this.#walk.walk(chunk, this.#at)
    this.#at += chunk.length
    const { fault, foreign, followed } = this.#walk
    if (fault !== undefined) throw fail('upstream_answer_unreadable', { why: fault })
    if (foreign) throw undescribed('no JSON object')
    if (followed) throw undescribed('something behind the JSON object')
  }

  /** @throws Failure upstream_answer_unreadable where it is not whole */
  end(): void {
    if (!this.#walk.complete) throw fail('upstream_answer_unreadable', { why: 'it ends before its JSON does' })
  }

  #path(): Path {
    const { depth, objects, names } = this.#walk
    let path = ''
    for (let i = 1; i <= depth; i++) if (objects[i]) path = path === '' ? (names[i] as string) : `${path}.${names[i]}`
    return path
  }

  #see(path: Path): void {
    if (this.#shape.size < shapePathsMax && path.length < 100) this.#shape.add(path)
  }

  name(walk: JsonWalk): void {
    // The whole answer is an item that nobody opens.
    if (walk.depth === 1 && this.#items.length === 0)
      for (const place of this.#places) if (place.at === '') this.#open(place, 1)
  }

  #open(place: Place, depth: number): Item {
    const item: Item = { place, depth, values: new Values(), found: undefined, isPassing: false, isWritten: false }
    this.#items.push(item)
    return item
  }

  opened(_walk: JsonWalk, isObject: boolean): void {
    if (!isObject) return
    const path = this.#path()
    this.#see(path)
    if (this.#reading.wanted.has(path)) this.#add(path, objectMark)
    for (const place of this.#places) if (place.at === path) this.#open(place, this.#walk.depth + 1)
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
        place.at === path ? this.#open(place, walk.depth + 1) : this.#items.findLast(one => one.place === place)
      if (!item) continue
      if (item.found?.path === path) this.#next(item)
      // Of several members the first has the picture; beside it others lead to the same.
      if (item.found && !item.found.held.isLink) break
      this.#picture = { text: new PictureText(), item, path }
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
    if (this.#mustWait(item)) {
      for (const piece of base64) {
        if (!this.#claim(piece.length)) throw fail('upstream_busy')
        text.keep(piece)
      }
      return
    }
    if (!item.isPassing) {
      this.#endPassing()
      this.#passing = item
      item.isPassing = true
      this.#writer.open()
    }
    for (const piece of base64) this.#writer.piece(piece)
  }

  bytesEnd(walk: JsonWalk): void {
    const picture = this.#picture
    if (picture) {
      this.#picture = undefined
      const held = picture.text.end()
      if (picture.item.isPassing) for (const piece of held?.pieces ?? []) this.#writer.piece(piece)
      if (held) picture.item.found = { held, path: picture.path }
      // The item is the string itself.
      if (picture.item.place.at === picture.path) this.closed(walk, walk.depth + 1)
      return
    }
    const text = this.#text
    this.#text = undefined
    if (text) this.#add(text.path, unescape(Buffer.concat(text.pieces)))
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

  /** What its item says later may be that it is no picture. */
  #mustWait({ place }: Item): boolean {
    return this.#waits || place.skip.length > 0 || place.keep.length > 0 || place.error !== undefined
  }

  /** Its member has another picture. */
  #next(item: Item): void {
    this.#close(item)
    item.found = undefined
    item.isPassing = false
    item.isWritten = false
  }

  /** Another picture comes before its item is over: what is said of it behind that comes too late. */
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
    const isKept =
      conditionsHold(place.keep, values.of) && !(place.skip.length > 0 && conditionsHold(place.skip, values.of))
    if (!isKept) return
    const facts = factsOf(item)
    if (item.isPassing) return this.#endPassing()
    if (this.#waits) return void this.held.push({ ...found.held, facts })
    this.#endPassing()
    writeHeld(this.#writer, { ...found.held, facts })
  }
}

/** Writes a picture that had to wait. */
export function writeHeld(writer: PictureWriter, held: Held & { readonly facts?: PictureFacts }): void {
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

function describeFailure(values: Values, path: Path): string | undefined {
  if (values.of(path).every(saysNothing)) return undefined
  return values.first([`${path}.message`, path, `${path}.code`]) ?? 'a picture failed'
}

/** A member that is always there, and empty where nothing has failed. */
function saysNothing(value: string): boolean {
  return value === '' || value === 'false' || value === '0'
}

/** The text that JSON writes so; as it stands where it was cut in the middle of something. */
function unescape(raw: Buffer): string {
  const text = raw.toString()
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return text
  }
}
