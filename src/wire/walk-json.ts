import { PassedValue } from './passed-value.ts'
import { StringEnd, unended } from './string-end.ts'

const quote = 0x22
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c
const colon = 0x3a

/** No known answer is nested nearly as deeply. */
const depthMax = 64
/** The longest name that is searched for has 26 characters; with every one escaped it has 156. */
const nameCharsMax = 192
/** Longer than any meaningful number. */
const scalarCharsMax = 256
const scalarText = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/

type State = 'structure' | 'scalar' | 'name' | 'skip' | 'bytes' | 'passed'
/** The tokens that the grammar allows next. */
type Due = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end' | 'nothing'

/**
 * The callbacks for every value as it passes. A visitor may return that a value is to be skipped by its brackets alone,
 * which is far cheaper: nothing of it is reported or checked. `rest` skips everything that follows in the same list,
 * too.
 */
export type JsonVisitor = {
  /** The text may be a list too, and others may follow it. */
  readonly loose?: boolean
  /**
   * A member's name was read: `walk.name`, from `walk.nameFrom` to `walk.nameTo`. Its value is reported, skipped, or
   * skipped and passed to `kept` if it has no more bytes than the returned number.
   */
  name?(walk: JsonWalk): 'skip' | number | void
  /** The value of the current member in its JSON form, including whitespace. */
  kept?(walk: JsonWalk, bytes: Buffer): void
  /** A string begins; its opening quote is at `at`. Returns how to read it. */
  string(walk: JsonWalk, at: number): 'skip' | 'bytes' | 'rest'
  /** Content of a `bytes` string, still escaped: `piece` from `from` to `to`, which is never empty. */
  bytes(piece: Buffer, from: number, to: number, walk: JsonWalk): void
  /** A `bytes` string has ended; its closing quote is at `at`. */
  bytesEnd(walk: JsonWalk, at: number): void
  /** A number or a word, complete. */
  scalar?(walk: JsonWalk, value: string): 'rest' | void
  /** An object or array begins as the current value; it is not counted in `depth` yet. */
  opened?(walk: JsonWalk, isObject: boolean): 'skip' | 'rest' | void
  /** An object or array at this `depth` has ended. */
  closed?(walk: JsonWalk, depth: number): void
}

/**
 * Walks a JSON object as it passes, in pieces of any size, and reports every value with its path, at any depth and with
 * any escapes in its name. Checks the grammar of RFC 8259 except for the content of strings, which `Buffer.indexOf`
 * skips: no other parser reads a different structure from a text that this one accepts.
 */
export class JsonWalk {
  readonly #visitor: JsonVisitor
  #state: State = 'structure'
  #due: Due = 'value'
  readonly #stringEnd = new StringEnd()
  readonly #passed = new PassedValue()
  /** The next value is skipped; the maximum bytes to keep of it. */
  #keeps: number | undefined
  #raw = ''

  depth = 0
  /** By depth, from 1: whether the container is an object, and the name of its current member. */
  readonly objects: boolean[] = [false]
  readonly names: string[] = ['']
  /** The position of the last name, quotes included. */
  nameFrom = 0
  nameTo = 0
  /** The text does not begin as an object does; there were no callbacks, and there will be none. */
  foreign = false
  /** The object has ended. */
  complete = false
  /** Other text than whitespace follows the object: it begins at `followedAt`. */
  followed = false
  followedAt = 0
  /** The position of the last number or word. */
  scalarFrom = 0
  scalarTo = 0
  /** Why the text cannot be JSON; there are no callbacks after it. */
  fault: string | undefined

  constructor(visitor: JsonVisitor) {
    this.#visitor = visitor
  }

  /** Whether a member's name is being read, or was read and its value has not begun. */
  get naming(): boolean {
    if (this.#state === 'name') return true
    if (this.#state !== 'structure' || !this.objects[this.depth]) return false
    return this.#due === 'colon' || this.#due === 'value'
  }

  /** The beginning of an incomplete name or number, or of a name whose value has not begun. */
  get unfinished(): number | undefined {
    if (this.#state === 'scalar') return this.scalarFrom
    return this.naming ? this.nameFrom : undefined
  }

  /** Whether a name is being read. */
  get isInName(): boolean {
    return this.#state === 'name'
  }

  /** The name of the current member; '' in an array, and for a name longer than any that is searched for. */
  get name(): string {
    return this.names[this.depth] as string
  }

  /** Whether the object has begun and has not ended. */
  get open(): boolean {
    return this.depth > 0
  }

  /** The current path, `data[].url`, for messages; a long one is cut. */
  path(): string {
    let path = ''
    for (let depth = 1; depth <= this.depth; depth++)
      path += this.objects[depth] ? `${depth > 1 ? '.' : ''}${this.names[depth]}` : '[]'
    return path
  }

  /** Reads a piece. `base` is the position of its first byte in the caller's count. */
  walk(piece: Buffer, base: number): void {
    for (let at = 0; at < piece.length && !this.foreign && !this.followed && this.fault === undefined; ) {
      if (this.#state === 'structure') at = this.#structure(piece, base, at)
      else if (this.#state === 'scalar') at = this.#scalar(piece, base, at)
      else if (this.#state === 'passed') at = this.#passOver(piece, at)
      else at = this.#string(piece, base, at)
    }
  }

  #structure(piece: Buffer, base: number, from: number): number {
    for (let i = from; i < piece.length; i++) {
      const byte = piece[i] as number
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue
      if (this.depth === 0 && !this.#isOpening(byte)) {
        if (this.followed) this.followedAt = base + i
        if (this.foreign || this.followed) return piece.length
        continue
      }
      switch (byte) {
        case quote:
          this.#begin(base + i)
          return i + 1
        case openObject:
        case openArray:
          if (this.#open(byte === openObject)) return i + 1
          break
        case closeObject:
        case closeArray:
          this.#close(byte === closeObject)
          break
        case comma:
          if (this.#due !== 'comma or end') this.fault = 'unexpected comma'
          else this.#due = this.objects[this.depth] ? 'name' : 'value'
          break
        case colon:
          if (this.#due !== 'colon') this.fault = 'unexpected colon'
          else this.#due = 'value'
          if (this.#keeps !== undefined) {
            this.#passed.begin(this.#keeps)
            this.#state = 'passed'
            return i + 1
          }
          break
        default:
          if (byte === 0) this.foreign = true
          else if (this.#due !== 'value' && this.#due !== 'value or end') this.fault = 'it is not JSON'
          else {
            this.#state = 'scalar'
            this.#raw = ''
            this.scalarFrom = base + i
            return i
          }
      }
      if (this.fault !== undefined || this.foreign) return piece.length
    }
    return piece.length
  }

  /** Whether a byte outside any container begins the object. A byte order mark may precede it. */
  #isOpening(byte: number): boolean {
    const { loose } = this.#visitor
    if ((byte === openObject || (loose === true && byte === openArray)) && (loose === true || !this.complete)) {
      this.complete = false
      this.#due = 'value'
      return true
    }
    if (this.complete) this.followed = true
    else if (byte !== 0xef && byte !== 0xbb && byte !== 0xbf) this.foreign = true
    return false
  }

  /** @returns true if the container is skipped */
  #open(isObject: boolean): boolean {
    if (this.#due !== 'value' && this.#due !== 'value or end') this.fault = 'unexpected bracket'
    else if (this.depth === depthMax) this.fault = `it is nested deeper than ${depthMax} levels`
    if (this.fault !== undefined) return false
    const answer = this.depth > 0 ? this.#visitor.opened?.(this, isObject) : undefined
    if (answer !== undefined) {
      this.#passed.beginOpened(answer === 'rest')
      this.#state = 'passed'
      return true
    }
    this.depth++
    this.objects[this.depth] = isObject
    this.names[this.depth] = ''
    this.#due = isObject ? 'name or end' : 'value or end'
    return false
  }

  #close(isObject: boolean): void {
    const empty = isObject ? 'name or end' : 'value or end'
    if (this.objects[this.depth] !== isObject || (this.#due !== 'comma or end' && this.#due !== empty)) {
      this.fault = 'its brackets do not match'
      return
    }
    this.#visitor.closed?.(this, this.depth)
    this.depth--
    this.#due = 'comma or end'
    if (this.depth > 0) return
    this.complete = true
    this.#due = 'nothing'
  }

  #scalar(piece: Buffer, base: number, from: number): number {
    let at = from
    while (at < piece.length && !endsScalar(piece[at] as number)) at++
    this.#raw += piece.toString('latin1', from, Math.min(at, from + scalarCharsMax + 1))
    if (this.#raw.length > scalarCharsMax) this.fault = 'a value is neither a number nor a word'
    if (at === piece.length || this.fault !== undefined) return at
    this.#state = 'structure'
    this.#due = 'comma or end'
    this.scalarTo = base + at
    if (!scalarText.test(this.#raw)) this.fault = 'a value is neither a number nor a word'
    else if (this.#visitor.scalar?.(this, this.#raw) === 'rest') {
      this.#passed.beginRest(false)
      this.#state = 'passed'
    }
    return at
  }

  #passOver(piece: Buffer, from: number): number {
    const end = this.#passed.read(piece, from)
    if (end === unended) return piece.length
    this.#state = 'structure'
    this.#due = 'comma or end'
    this.#keeps = undefined
    const kept = this.#passed.take()
    if (kept) this.#visitor.kept?.(this, kept)
    return end
  }

  #begin(at: number): void {
    this.#raw = ''
    if (this.#due === 'name' || this.#due === 'name or end') {
      this.#state = 'name'
      this.nameFrom = at
    } else if (this.#due === 'value' || this.#due === 'value or end') {
      const answer = this.#visitor.string(this, at)
      this.#state = answer === 'rest' ? 'passed' : answer
      if (answer === 'rest') this.#passed.beginRest(true)
    } else this.fault = 'unexpected string'
  }

  #string(piece: Buffer, base: number, from: number): number {
    const closing = this.#stringEnd.find(piece, from)
    const to = closing === unended ? piece.length : closing
    if (this.#state === 'bytes') {
      if (to > from) this.#visitor.bytes(piece, from, to, this)
    } else if (this.#state === 'name' && this.#raw.length <= nameCharsMax) {
      this.#raw += piece.toString('latin1', from, Math.min(to, from + nameCharsMax + 1))
    }
    if (closing === unended) return piece.length
    const state = this.#state
    this.#state = 'structure'
    if (state === 'name') {
      this.names[this.depth] = unescape(this.#raw)
      this.nameTo = base + closing + 1
      this.#due = 'colon'
      const answer = this.#visitor.name?.(this)
      if (answer !== undefined) this.#keeps = answer === 'skip' ? 0 : answer
      return closing + 1
    }
    this.#due = 'comma or end'
    if (state === 'bytes') this.#visitor.bytesEnd(this, base + closing)
    return closing + 1
  }
}

/** Any other byte after a number or a word makes it invalid. */
function endsScalar(byte: number): boolean {
  return byte <= 0x20 || byte === comma || byte === closeObject || byte === closeArray
}

/**
 * Decodes a name with one byte for each character; '' if it is too long or wrongly escaped, because no name that is
 * searched for is.
 */
function unescape(raw: string): string {
  if (raw.length > nameCharsMax) return ''
  const text = /^[\0-\x7f]*$/.test(raw) ? raw : Buffer.from(raw, 'latin1').toString()
  if (!text.includes('\\')) return text
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return ''
  }
}
