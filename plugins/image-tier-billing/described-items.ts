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
import { type FoundImage, tailBytes, Unreadable, Unrecognised } from './scan-result.ts'

/** The maximum number of stored values at one path of an item or of an answer. */
const valuesMax = 256
/** The maximum number of bytes of an item after its picture; a signature can be megabytes. */
const afterPictureBytesMax = 8 * 1024 * 1024
const valueCharsMax = 200
/** Replaces a text that is longer than any deciding value. */
const longMark = '…'

type Item = {
  readonly place: AnswerPlace
  /** The depth of its object, or of the string itself if the item is a string. */
  readonly depth: number
  readonly values: Map<Path, string[]>
  /** Paths whose values have been read. */
  readonly named: Set<Path>
  /** Members on the path to its pictures that have been read. */
  readonly led: Set<Path>
  /** Pictures for which it is not decided yet whether they belong to the answer. */
  pictures: DescribedPicture[]
  /** The values of the item's members, for the latest picture. */
  members: Member[]
  links: string[]
  /** Whether a deciding member occurs twice: parsers differ in which one they use. */
  isUnclear: boolean
}

/** The string that is currently read as a picture, and its item. It may be omitted. */
type Open = { readonly item: Item; readonly member: Member; isOmitted: boolean }

type Member = { readonly picture: DescribedPicture; readonly at: Path; link: string | undefined }

/**
 * Finds the pictures of an answer at the places in its description. Whether an item's picture counts is decided at the
 * end of the item, because the deciding member may come before or after the picture. `Remainder` verifies that the
 * rest of the answer contains no picture, or omits it.
 */
export class DescribedItems implements JsonVisitor {
  readonly loose: boolean
  readonly remainder: Remainder
  readonly #description: Description
  readonly #omission: Omission
  #items: Item[] = []
  /** The path of the open list or object, by depth from 1. */
  readonly #paths: Path[] = ['', '']
  /** The string that is currently read as a picture, and its item. */
  #open: Open | undefined
  #opaque: OpaqueText | undefined
  /** The depth of the member that is currently omitted. */
  #mutedDepth = 0
  /** The path of the current string outside pictures, if its value decides something. */
  #wanted: Path | undefined
  readonly #values = new Map<Path, string[]>()
  #done: FoundImage[] = []
  /** The digests of pictures in earlier texts, which may be repeated, and in this text. */
  readonly #ofEarlierTexts = new Set<string>()
  readonly #ofText = new Set<string>()
  #count = 0
  /** The number of pictures before this text. */
  #before = 0
  /** Whether part of a picture was delivered, or may be delivered. */
  begun = false
  /** Whether there was a value where pictures are expected. */
  #seen = false
  /**
   * Whether the text has a member that explains a missing picture; and whether an earlier text had one, without
   * anything suspicious.
   */
  #errs = false
  #failed = false
  /** The path of the first string that is neither a sentence nor a label. */
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

  /** Returns the pictures since the last call. */
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

  /** Discards the text with its pictures, and keeps the `count` pictures before it; the next text begins at `from`. */
  drop(count: number, from: number): void {
    this.#done = this.#done.filter(({ index }) => index < count)
    this.#count = count
    this.#ofText.clear()
    this.forget(from)
  }

  /** Ends the answer. @throws Unrecognised unless it has pictures or reports that it has none */
  checkEmpty(): void {
    if (this.#count > 0) return
    this.forget(0)
    if (this.#omission.shape !== undefined) throw new Unrecognised(this.#omission.shape)
    const valuesOf = (path: Path): readonly string[] => this.#values.get(path) ?? []
    if (this.#description.refused.some(conditions => conditionsHold(conditions, valuesOf))) return
    if (this.#failed || !(this.remainder.spoke || this.#seen)) return
    throw new Unrecognised(this.#strange === undefined ? 'no picture' : `no picture, but ${this.#strange}`)
  }

  name(walk: JsonWalk): void {
    if (walk.depth <= this.#mutedDepth) this.#unmute()
    this.remainder.name(walk)
    if (this.#mutedDepth > 0) return
    // The whole answer is an item, for which there is no call of `opened`.
    if (walk.depth === 1 && this.#items.length === 0)
      for (const place of this.#description.places) if (place.at === '') this.#begin(place, 1)
    const path = pathOfValue(walk, this.#paths)
    if (this.#description.leading.has(path)) this.#lead(walk, path)
  }

  /** Omits the second of two equal members with its name, because parsers differ in which one they use. */
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
    // Closes an item that is the string itself.
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

  /** Adds a deciding value; undefined for null and lists, of which only the presence is known. */
  #add(walk: JsonWalk, path: Path, value: string | undefined): void {
    if (value !== undefined) keepValue(this.#values, path, value)
    for (const item of this.#items) {
      // Parsers differ in which of two equal members they use.
      if (item.named.has(path) && !isListed(walk, item.depth)) this.#blur(item, `${walk.path()} twice`)
      item.named.add(path)
      if (value !== undefined && !keepValue(item.values, path, value))
        this.#blur(item, `${path} (more than ${valuesMax} times)`)
    }
  }

  /** Marks an item as unclear: its pictures are delivered and charged. */
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

  /** Continues with another picture of the same member, in a list. */
  #next(item: Item): void {
    this.#gather(item)
    if (item.place.skip.length === 0 && item.place.keep.length === 0) this.#decide(item)
  }

  /** Combines the picture members of an item, which refer to one picture; bytes take precedence over links. */
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

/** Stores a value. @returns false if there are too many at this path */
function keepValue(all: Map<Path, string[]>, path: Path, value: string): boolean {
  const values = all.get(path)
  const kept = value.length > valueCharsMax ? longMark : value
  if (!values) all.set(path, [kept])
  else if (values.length < valuesMax) values.push(kept)
  else return false
  return true
}

/** Whether the item has other bytes, which are another picture. Links next to bytes refer to the same picture. */
function hasOther({ item, member }: Open): boolean {
  return item.members.some(one => one !== member && !one.picture.isLink)
}
