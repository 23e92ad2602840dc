import {
  type AnswerPlace,
  conditionsHold,
  isKept,
  type JsonVisitor,
  type JsonWalk,
  objectMark,
  type Path,
  pathOfValue,
} from '../../src/wire/index.ts'
import { DescribedPicture } from './described-picture.ts'
import type { Description } from './described-places.ts'
import { Omission } from './omission.ts'
import { OpaqueText } from './opaque-text.ts'
import { type AnswerWords, Remainder } from './remainder.ts'
import { type FoundImage, tailBytes, Unreadable, Unrecognised } from './scanned.ts'

/** How many values at one path of an item, or of an answer, are kept. */
const valuesMax = 256
/** How much an item may contain after its picture; a signature can be megabytes. */
const afterPictureBytesMax = 8 * 1024 * 1024
const valueCharsMax = 200
/** Represents a text longer than any value that decides something. */
const longMark = '…'

type Item = {
  readonly place: AnswerPlace
  /** The depth of its object, or of the string itself if the item is a string. */
  readonly depth: number
  readonly values: Map<Path, string[]>
  /** Its value has passed. */
  readonly named: Set<Path>
  /** The members on the path to its pictures that have passed. */
  readonly led: Set<Path>
  /** Pictures that may not belong to the answer; not decided yet. */
  pictures: DescribedPicture[]
  /** The values of the item's members, for the latest picture. */
  members: Member[]
  links: string[]
  /** A deciding member occurs twice: parsers differ over which one counts. */
  isUnclear: boolean
}

/** The string that is read as a picture, and its item; it may be omitted. */
type Open = { readonly item: Item; readonly member: Member; isOmitted: boolean }

type Member = { readonly picture: DescribedPicture; readonly at: Path; link: string | undefined }

/**
 * Finds the pictures of an answer where its description places them. Whether an item's picture counts is decided at the
 * end of the item, because the deciding member may come before or after the picture. `Remainder` verifies that the rest
 * of the answer is no picture, or omits it.
 */
export class DescribedItems implements JsonVisitor {
  readonly loose: boolean
  readonly remainder: Remainder
  readonly #description: Description
  readonly #omission: Omission
  #items: Item[] = []
  /** By depth, from 1: the path of the open list or object. */
  readonly #paths: Path[] = ['', '']
  /** The string that is read as a picture, and its item. */
  #open: Open | undefined
  #opaque: OpaqueText | undefined
  /** The depth of a member that is omitted. */
  #mutedDepth = 0
  /** The path of the string read next to the pictures, if its value decides something. */
  #wanted: Path | undefined
  readonly #values = new Map<Path, string[]>()
  #done: FoundImage[] = []
  /** The pictures of earlier texts, which may repeat, and those of this one. */
  readonly #ofEarlierTexts = new Set<string>()
  readonly #ofText = new Set<string>()
  #count = 0
  /** The number of pictures before this text. */
  #before = 0
  /** Part of a picture has been delivered, or may be. */
  begun = false
  /** Whether there was a value where pictures are expected. */
  #seen = false
  /** The text has a member that explains why there is no picture; an earlier one had, and nothing suspicious. */
  #errs = false
  #failed = false
  /** The offset of the first string that is neither a sentence nor a label. */
  #strange: string | undefined

  /** @param perRecord each text is a record of a stream; a text that is not a record may be a list of records */
  constructor(description: Description, words: AnswerWords, omission: Omission, perRecord: boolean) {
    this.#description = description
    this.#omission = omission
    this.remainder = new Remainder(omission, words, perRecord)
    this.loose = !perRecord && description.streams
  }

  get count(): number {
    return this.#count
  }

  /** Counts pictures found in texts. */
  takeTexts(): void {
    for (const { image, mark } of this.remainder.takePictures()) {
      if (this.#ofEarlierTexts.has(mark) || this.#ofText.has(mark)) continue
      this.#ofEarlierTexts.add(mark)
      this.begun = true
      this.#done.push({ index: this.#count++, ...image })
      this.remainder.belongsTo(this.#count, this.#count - this.#before)
    }
  }

  /** Ends a record that is delivered. */
  readTexts(): void {
    this.remainder.readTexts()
    this.takeTexts()
  }

  /** Ends all texts. */
  endTexts(): void {
    this.remainder.endTexts()
    this.takeTexts()
  }

  /** The pictures since the last call. */
  take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  /** How far bytes may be delivered; the last one precedes `end`. @throws Unreadable if too much would be held */
  safe(end: number): number {
    let safe = this.remainder.from ?? end
    const open = this.#open
    if (open && !open.isOmitted) safe = Math.min(safe, open.member.picture.safe(end))
    if (this.#opaque?.judged === false) safe = Math.min(safe, this.#opaque.from)
    for (const { pictures, members } of this.#items) {
      for (const picture of pictures) safe = Math.min(safe, picture.safe(end))
      for (const { picture } of members) safe = Math.min(safe, picture.safe(end))
    }
    if (end - safe > tailBytes + afterPictureBytesMax) throw new Unreadable('the item of a picture does not end')
    return safe
  }

  /** Ends a text; another begins at `from`. */
  forget(from: number): void {
    this.#before = this.#count
    for (const digest of this.#ofText) this.#ofEarlierTexts.add(digest)
    this.#ofText.clear()
    const { strange } = this.remainder
    if (this.#errs && strange === undefined) this.#failed = true
    this.#errs = false
    this.#strange ??= strange
    this.remainder.forget(from)
    this.#items = []
    this.#opaque = undefined
    this.#open = undefined
    this.#wanted = undefined
    this.#mutedDepth = 0
  }

  /** Discards the text with its pictures, leaving the `count` pictures before it; the next text begins at `from`. */
  drop(count: number, from: number): void {
    this.#done = this.#done.filter(({ index }) => index < count)
    this.#count = count
    this.#ofText.clear()
    this.forget(from)
  }

  /** Ends the answer. @throws Unrecognised unless it has pictures or reports that it has none */
  checkEmpty(): void {
    if (this.#count > 0) return
    const valuesOf = (path: Path): readonly string[] => this.#values.get(path) ?? []
    if (this.#description.refused.some(conditions => conditionsHold(conditions, valuesOf))) return
    this.forget(0)
    if (this.#omission.shape !== undefined) throw new Unrecognised(this.#omission.shape)
    if (this.#failed || !(this.remainder.spoke || this.#seen)) return
    throw new Unrecognised(this.#strange === undefined ? 'no picture' : `no picture, but ${this.#strange}`)
  }

  name(walk: JsonWalk): void {
    if (walk.depth <= this.#mutedDepth) this.#unmute()
    this.remainder.name(walk)
    if (this.#mutedDepth > 0) return
    // The whole answer is an item without an opening.
    if (walk.depth === 1 && this.#items.length === 0)
      for (const place of this.#description.places) if (place.at === '') this.#begin(place, 1)
    const path = pathOfValue(walk, this.#paths)
    if (this.#description.leading.has(path)) this.#lead(walk, path)
  }

  /** Parsers differ over which of two members counts: the second is omitted with its name. */
  #lead(walk: JsonWalk, path: Path): void {
    const isOnTheWay = (picture: Path): boolean => picture === path || picture.startsWith(`${path}.`)
    const item = this.#items.findLast(({ place }) => place.pictures.some(isOnTheWay))
    if (!item) return
    if (!item.led.has(path) || isListed(walk, item.depth)) return void item.led.add(path)
    const shape = `${walk.path()} twice`
    this.#mutedDepth = walk.depth
    this.#omission.beginName(walk.nameFrom, walk.nameTo, shape)
    this.remainder.mute(shape)
  }

  #unmute(): void {
    this.#mutedDepth = 0
    this.remainder.mute(undefined)
  }

  opened(walk: JsonWalk, isObject: boolean): void {
    this.remainder.opened(walk.depth + 1)
    if (this.#mutedDepth > 0) return
    if (this.remainder.isRefusal(walk)) this.#errs = true
    const path = pathOfValue(walk, this.#paths)
    this.#paths[walk.depth + 1] = path
    if (this.#description.wanted.has(path)) this.#add(walk, path, isObject ? objectMark : undefined)
    if (!isObject) return
    for (const place of this.#description.places) if (place.at === path) this.#begin(place, walk.depth + 1)
  }

  closed(_walk: JsonWalk, depth: number): void {
    if (depth <= this.#mutedDepth) this.#unmute()
    this.remainder.closed(depth)
    for (let item = this.#items.at(-1); item && item.depth === depth; item = this.#items.at(-1)) this.#close(item)
  }

  string(walk: JsonWalk, at: number): 'bytes' {
    if (this.remainder.isRefusal(walk)) this.#errs = true
    const path = pathOfValue(walk, this.#paths)
    const isMuted = this.#mutedDepth > 0
    this.#open = isMuted ? undefined : this.#picture(walk, path, at + 1)
    if (this.#open) return 'bytes'
    if (!isMuted && this.#description.opaque.has(walk.name)) {
      this.#opaque = new OpaqueText(at, walk.path(), this.#omission)
      return 'bytes'
    }
    this.#wanted = !isMuted && this.#description.wanted.has(path) ? path : undefined
    this.remainder.begin(walk, at)
    return 'bytes'
  }

  #picture(walk: JsonWalk, path: Path, from: number): Open | undefined {
    for (const place of this.#description.places) {
      if (!place.pictures.includes(path)) continue
      const isItem = place.at === path
      const item = isItem ? this.#begin(place, walk.depth + 1) : this.#items.findLast(one => one.place === place)
      if (!item) continue
      if (item.members.some(one => one.at === path)) this.#next(item)
      const member = { picture: new DescribedPicture(from, walk.path()), at: path, link: undefined }
      return { item, member, isOmitted: false }
    }
    return undefined
  }

  bytes(piece: Buffer, from: number, to: number, walk: JsonWalk): void {
    if (!this.#open && !this.#opaque) return this.remainder.write(walk, piece, from, to)
    this.remainder.skip(to - from)
    this.#opaque?.write(piece, from, to)
    if (this.#open) this.#pictureBytes(this.#open, piece, from, to)
  }

  #pictureBytes(open: Open, piece: Buffer, from: number, to: number): void {
    const { item, member } = open
    const end = this.#omission.base + to
    if (open.isOmitted) return this.#omission.more(end)
    if (item.members.at(-1) !== member) item.members.push(member)
    this.#seen = true
    if (!member.picture.write(piece, from, to, end)) return this.#leaveOut(open, end, 'longer than any link')
    if (member.picture.isLink) return
    if (hasOther(open)) return this.#leaveOut(open, end, 'a second picture')
    this.begun = true
  }

  #leaveOut(open: Open, to: number, why: string): void {
    const { item, member } = open
    open.isOmitted = true
    item.members = item.members.filter(one => one !== member)
    this.#omission.begin(member.picture.from - 1, to, `${member.picture.path} (${why})`)
  }

  bytesEnd(walk: JsonWalk, at: number): void {
    if (this.#opaque) {
      this.#opaque.end(at)
      this.#opaque = undefined
      return
    }
    const open = this.#open
    if (!open) return this.#endText(walk, this.remainder.end(walk, at))
    this.#open = undefined
    this.#endPicture(open, at)
    // The item is the string itself.
    if (open.item.place.at === open.member.at) this.#close(open.item)
  }

  #endPicture(open: Open, at: number): void {
    const { item, member } = open
    if (open.isOmitted) return this.#omission.more(at + 1)
    // An empty string is not a picture.
    if (item.members.at(-1) !== member) return
    member.link = member.picture.end(at)
    if (member.picture.isLink) return
    if (!hasOther(open)) {
      this.begun = true
      return
    }
    this.#leaveOut(open, at, 'a second picture')
    this.#omission.more(at + 1)
  }

  scalar(walk: JsonWalk, value: string): void {
    this.remainder.scalar(walk, value)
    if (this.#mutedDepth > 0) return
    const isNull = value === 'null'
    if (!isNull && this.remainder.isRefusal(walk)) this.#errs = true
    const path = pathOfValue(walk, this.#paths)
    if (this.#description.wanted.has(path)) this.#add(walk, path, isNull ? undefined : value)
  }

  #endText(walk: JsonWalk, text: string): void {
    if (this.#wanted !== undefined) this.#add(walk, this.#wanted, text)
    this.#wanted = undefined
  }

  /** For null and lists only their presence is known. */
  #add(walk: JsonWalk, path: Path, value: string | undefined): void {
    if (value !== undefined) keepValue(this.#values, path, value)
    for (const item of this.#items) {
      // Parsers differ over which of two counts.
      if (item.named.has(path) && !isListed(walk, item.depth)) this.#blur(item, `${walk.path()} twice`)
      item.named.add(path)
      if (value !== undefined && !keepValue(item.values, path, value))
        this.#blur(item, `${path} (more than ${valuesMax} times)`)
    }
  }

  /** It is unclear whether the item's pictures count: they are delivered and charged. */
  #blur(item: Item, shape: string): void {
    item.isUnclear = true
    this.#omission.note(shape)
  }

  #begin(place: AnswerPlace, depth: number): Item {
    const item: Item = {
      place,
      depth,
      values: new Map(),
      named: new Set(),
      led: new Set(),
      pictures: [],
      members: [],
      links: [],
      isUnclear: false,
    }
    this.#items.push(item)
    return item
  }

  /** A member that held a picture holds another, in a list. */
  #next(item: Item): void {
    this.#gather(item)
    if (item.place.skip.length === 0 && item.place.keep.length === 0) this.#decide(item)
  }

  /** All picture members of an item refer to one picture; bytes take precedence over links. */
  #gather(item: Item): void {
    const [first] = item.members
    const bytes = item.members.find(({ link }) => link === undefined)
    const isOfText = !bytes && first?.link !== undefined && this.remainder.isOfText(first.link)
    if (first && !isOfText) item.pictures.push((bytes ?? first).picture)
    for (const { link } of item.members) if (link !== undefined) item.links.push(link)
    item.members = []
  }

  #close(item: Item): void {
    this.#items = this.#items.filter(one => one !== item)
    this.#gather(item)
    this.#decide(item)
  }

  #decide(item: Item): void {
    const { place, values, pictures, links } = item
    item.pictures = []
    item.links = []
    if (!item.isUnclear && !isKept(place, path => values.get(path) ?? [])) return
    this.begun ||= pictures.length > 0
    this.remainder.belongsTo(this.#count + pictures.length, this.#count + pictures.length - this.#before)
    for (const picture of pictures) {
      this.#ofText.add(picture.digest)
      if (this.#ofEarlierTexts.has(picture.digest)) continue
      for (const image of picture.measure()) this.#done.push({ index: this.#count++, ...image })
    }
    for (const link of links) this.remainder.count(link)
  }
}

/** Whether the walk is in a list within the container of that depth. */
function isListed({ depth, objects }: JsonWalk, within: number): boolean {
  for (let i = within + 1; i <= depth; i++) if (!objects[i]) return true
  return false
}

/** @returns false if it occurs too often to be stored */
function keepValue(all: Map<Path, string[]>, path: Path, value: string): boolean {
  const values = all.get(path)
  const kept = value.length > valueCharsMax ? longMark : value
  if (!values) all.set(path, [kept])
  else if (values.length < valuesMax) values.push(kept)
  else return false
  return true
}

/** Links next to the bytes refer to the same picture; other bytes next to them are another picture. */
function hasOther({ item, member }: Open): boolean {
  return item.members.some(one => one !== member && !one.picture.isLink)
}
