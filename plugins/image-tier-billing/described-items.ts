import { type Condition, conditionsHold, type JsonVisitor, type JsonWalk, type Path } from '../../src/wire/index.ts'
import { DescribedPicture } from './described-picture.ts'
import type { Description, Place } from './described-places.ts'
import { OpaqueText } from './opaque-text.ts'
import { type AnswerWords, Remainder } from './remainder.ts'
import { type FoundImage, tailBytes, Unreadable, Unrecognised } from './scanned.ts'

/** What is said at one path in one item, or in one answer, is looked at so often. */
const valuesMax = 256
/** What an item may say behind its picture; a signature comes to megabytes. */
const afterPictureBytesMax = 8 * 1024 * 1024
const valueCharsMax = 200
/** Stands for an object, of which no more is known than that it is there. */
const objectMark = '{…}'
/** Stands for a text that is longer than any word that decides something. */
const longMark = '…'

type Item = {
  readonly place: Place
  /** Of its object; that of the string itself where the item is one. */
  readonly depth: number
  readonly values: Map<Path, string[]>
  /** What stands there has been, whatever it is. */
  readonly named: Set<Path>
  /** Those of which it is not decided yet whether they are pictures of the answer. */
  pictures: DescribedPicture[]
  /** Of the picture that comes last: what the item's members say. */
  members: Member[]
  links: string[]
}

/** A string that is being read as a picture, and its item. */
type Open = { readonly item: Item; readonly member: Member }

type Member = { readonly picture: DescribedPicture; readonly at: Path; link: string | undefined }

/**
 * Finds the pictures of an answer where its description says that they stand. An item decides whether its picture is one
 * when it is over: what says so may stand before the picture or behind it. All else that the answer says is held to be no
 * picture (`Remainder`).
 */
export class DescribedItems implements JsonVisitor {
  readonly loose: boolean
  readonly remainder: Remainder
  readonly #description: Description
  #items: Item[] = []
  /** The string that is being read as a picture, and its item. */
  #open: Open | undefined
  #opaque: OpaqueText | undefined
  /** The path of the string that is being read beside them, where what it says decides something. */
  #wanted: Path | undefined
  readonly #values = new Map<Path, string[]>()
  #done: FoundImage[] = []
  #count = 0
  /** Some picture has begun to go, or may. */
  begun = false
  /** Something has stood where pictures do. */
  #seen = false
  /** The text has a member that says why there is no picture; one before it had, and nothing strange. */
  #errs = false
  #failed = false
  /** Where the first string stands that is neither a sentence nor a label. */
  #strange: string | undefined

  /** @param loose the text may be a list of answers */
  constructor(description: Description, words: AnswerWords, loose: boolean) {
    this.#description = description
    this.remainder = new Remainder(words)
    this.loose = loose
  }

  get count(): number {
    return this.#count
  }

  /** The pictures since the last call. */
  take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  /** Up to where bytes may go, of which the last stands before `end`. @throws Unreadable when too much would be held */
  safe(end: number): number {
    let safe = this.remainder.from ?? end
    if (this.#opaque?.judged === false) safe = Math.min(safe, this.#opaque.from)
    for (const { pictures, members } of this.#items) {
      for (const picture of pictures) safe = Math.min(safe, picture.safe(end))
      for (const { picture } of members) safe = Math.min(safe, picture.safe(end))
    }
    if (end - safe > tailBytes + afterPictureBytesMax) throw new Unreadable('the item of a picture does not end')
    return safe
  }

  /** A text is over, and another begins. */
  forget(): void {
    const { strange } = this.remainder
    if (this.#errs && strange === undefined) this.#failed = true
    this.#errs = false
    this.#strange ??= strange
    this.remainder.forget()
    this.#items = []
    this.#opaque = undefined
  }

  /** All has come. @throws Unrecognised unless it has pictures, or says that it has none */
  checkEmpty(): void {
    if (this.#count > 0) return
    const valuesOf = (path: Path): readonly string[] => this.#values.get(path) ?? []
    if (this.#description.refused.some(conditions => conditionsHold(conditions, valuesOf))) return
    this.forget()
    if (this.#failed || !(this.remainder.spoke || this.#seen)) return
    throw new Unrecognised(this.#strange === undefined ? 'no picture' : `no picture, but ${this.#strange}`)
  }

  name(walk: JsonWalk): void {
    this.remainder.name(walk)
    // The whole answer is an item that nobody opens.
    if (walk.depth === 1 && this.#items.length === 0)
      for (const place of this.#description.places) if (place.at === '') this.#begin(place, 1)
  }

  opened(walk: JsonWalk, isObject: boolean): void {
    if (this.remainder.isRefusal(walk)) this.#errs = true
    const path = pathOf(walk)
    if (this.#description.wanted.has(path)) this.#add(walk, path, isObject ? objectMark : undefined)
    if (!isObject) return
    for (const place of this.#description.places) if (place.at === path) this.#begin(place, walk.depth + 1)
  }

  closed(_walk: JsonWalk, depth: number): void {
    for (let item = this.#items.at(-1); item && item.depth === depth; item = this.#items.at(-1)) this.#close(item)
  }

  string(walk: JsonWalk, at: number): 'bytes' {
    if (this.remainder.isRefusal(walk)) this.#errs = true
    const path = pathOf(walk)
    this.#open = this.#picture(walk, path, at + 1)
    if (this.#open) return 'bytes'
    if (this.#description.opaque.has(walk.name)) {
      this.#opaque = new OpaqueText(at, walk.path())
      return 'bytes'
    }
    this.#wanted = this.#description.wanted.has(path) ? path : undefined
    this.remainder.begin(walk, at)
    return 'bytes'
  }

  #picture(walk: JsonWalk, path: Path, from: number): Open | undefined {
    for (const place of this.#description.places) {
      if (!place.pictures.includes(path)) continue
      const isItem = place.at === path
      const item = isItem ? this.#begin(place, walk.depth + 1) : this.#items.findLast(one => one.place === place)
      if (!item) continue
      if (item.members.some(one => one.at === path)) this.#next(walk, item)
      return { item, member: { picture: new DescribedPicture(from, walk.path()), at: path, link: undefined } }
    }
    return undefined
  }

  bytes(piece: Buffer, from: number, to: number, walk: JsonWalk): void {
    if (!this.#open && !this.#opaque) return this.remainder.write(walk, piece, from, to)
    this.remainder.skip(to - from)
    this.#opaque?.write(piece, from, to)
    if (this.#open) this.#pictureBytes(this.#open, piece, from, to)
  }

  #pictureBytes({ item, member }: Open, piece: Buffer, from: number, to: number): void {
    if (item.members.at(-1) !== member) item.members.push(member)
    this.#seen = true
    member.picture.write(piece, from, to)
    if (member.picture.isLink) return
    this.begun = true
    checkOne(item)
  }

  bytesEnd(walk: JsonWalk, at: number): void {
    if (this.#opaque) {
      this.#opaque.end()
      this.#opaque = undefined
      return
    }
    const open = this.#open
    if (!open) return this.#said(walk, this.remainder.end(walk))
    this.#open = undefined
    const { item, member } = open
    // An empty string is none.
    if (item.members.at(-1) === member) {
      member.link = member.picture.end(at)
      this.begun ||= !member.picture.isLink
      checkOne(item)
    }
    // The item is the string itself.
    if (item.place.at === member.at) this.#close(item)
  }

  scalar(walk: JsonWalk, value: string): void {
    this.remainder.scalar(walk)
    const isNull = value === 'null'
    if (!isNull && this.remainder.isRefusal(walk)) this.#errs = true
    const path = pathOf(walk)
    if (this.#description.wanted.has(path)) this.#add(walk, path, isNull ? undefined : value)
  }

  #said(walk: JsonWalk, text: string): void {
    if (this.#wanted !== undefined) this.#add(walk, this.#wanted, text)
    this.#wanted = undefined
  }

  /** Of what is null, or a list, no more is known than that it has been. */
  #add(walk: JsonWalk, path: Path, value: string | undefined): void {
    if (value !== undefined) keepValue(this.#values, path, value, false)
    for (const { values, named, depth } of this.#items) {
      // Readers take one of two, and nobody knows which.
      if (named.has(path) && !isListed(walk, depth)) throw new Unrecognised(`${walk.path()} twice`)
      named.add(path)
      if (value !== undefined) keepValue(values, path, value, true)
    }
  }

  #begin(place: Place, depth: number): Item {
    const item: Item = { place, depth, values: new Map(), named: new Set(), pictures: [], members: [], links: [] }
    this.#items.push(item)
    return item
  }

  /** A member of the item that had a picture has another. @throws Unrecognised unless a list has both */
  #next(walk: JsonWalk, item: Item): void {
    if (!isListed(walk, item.depth)) throw new Unrecognised(`${walk.path()} twice`)
    this.#gather(item)
    if (item.place.skip.length === 0 && item.place.keep.length === 0) this.#decide(item)
  }

  /** Of what one item has, its members lead to one picture: the bytes themselves where they are there. */
  #gather(item: Item): void {
    const [first] = item.members
    const bytes = item.members.find(({ link }) => link === undefined)
    if (first) item.pictures.push((bytes ?? first).picture)
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
    const valuesOf = (path: Path): readonly string[] => values.get(path) ?? []
    const holds = (conditions: readonly Condition[]): boolean => conditionsHold(conditions, valuesOf)
    if (!holds(place.keep) || (place.skip.length > 0 && holds(place.skip))) return
    this.begun ||= pictures.length > 0
    for (const picture of pictures) this.#done.push({ index: this.#count++, ...picture.measure() })
    for (const link of links) this.remainder.count(link)
  }
}

/** The path where the walk is; lists on the way have no name. */
function pathOf({ depth, objects, names }: JsonWalk): Path {
  let path = ''
  for (let i = 1; i <= depth; i++) if (objects[i]) path = path === '' ? (names[i] as string) : `${path}.${names[i]}`
  return path
}

/** Within the container of that depth the walk is in a list. */
function isListed({ depth, objects }: JsonWalk, within: number): boolean {
  for (let i = within + 1; i <= depth; i++) if (!objects[i]) return true
  return false
}

/** @throws Unrecognised when what decides about a picture is said too often to be kept */
function keepValue(all: Map<Path, string[]>, path: Path, value: string, isStrict: boolean): void {
  const values = all.get(path)
  const kept = value.length > valueCharsMax ? longMark : value
  if (!values) all.set(path, [kept])
  else if (values.length < valuesMax) values.push(kept)
  else if (isStrict) throw new Unrecognised(`${path} (more than ${valuesMax} times)`)
}

/** Links beside the bytes lead to them; other bytes beside them are another picture. */
function checkOne({ members }: Item): void {
  if (members.filter(({ picture }) => !picture.isLink).length > 1)
    throw new Unrecognised(`${members.at(-1)?.picture.path} (a second picture)`)
}
