const quote = 0x22
const backslash = 0x5c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c
const colon = 0x3a

/** Deeper than this only brackets are counted, unless a reader says otherwise; names are read no deeper. */
export const shallow = 3
/** The longest word looked for has 26 characters; with every one escaped it has 156. */
const nameCharsMax = 192
const scalarCharsMax = 24

type State = 'structure' | 'name' | 'skip' | 'text' | 'bytes'

/** What is told about the values as deep as the walk looks, while they pass. */
export type JsonVisitor = {
  /** A string begins; its opening quote stands at `at`. How is it to be read? */
  string(walk: JsonWalk, at: number): 'skip' | 'text' | 'bytes'
  /** Content of a `bytes` string, still escaped: `piece` from `from` to `to`, which is never empty. */
  bytes(piece: Buffer, from: number, to: number): void
  /** Such a string is over; its closing quote stands at `at`. */
  bytesEnd(at: number): void
  /** A `text` string, unescaped; one longer than a name comes as ''. */
  text(walk: JsonWalk, value: string): void
  /** A value that is no string begins. True to be told its text, if it is a number or a word. */
  other(walk: JsonWalk): boolean
  scalar(walk: JsonWalk, value: string): void
  /** An object or array that was `depth` deep is over. */
  closed(walk: JsonWalk, depth: number): void
}

/**
 * Walks JSON as it passes, in pieces of any size: follows its structure byte by byte, skips strings with
 * `Buffer.indexOf`, keeps nothing but the path of the first levels. It does not check the grammar. What it
 * promises is that in text which `JSON.parse` takes it meets every value at its place, however names are escaped.
 */
export class JsonWalk {
  readonly #visitor: JsonVisitor
  readonly #shallow: number
  #state: State = 'structure'
  /** An odd number of backslashes stood at the end of the last piece. */
  #odd = false
  #raw = ''
  #scalar: string | undefined
  /** The next string is a member's name. */
  #naming = false
  /** A value is due and has not begun; in an object, its name has been read. */
  #due = false

  depth = 0
  /** By depth: whether the container there is an object, and the name of its member that the walk is in. */
  readonly objects: boolean[] = [false, false, false, false, false]
  readonly names: string[] = ['', '', '', '', '']
  /** Where the last name stands, quotes and all. */
  nameFrom = 0
  nameTo = 0
  /** It is not an object at all; nothing has been or will be told. */
  foreign = false
  /** The object is over. */
  complete = false
  /** Why this cannot be JSON; nothing is told after it. */
  fault: string | undefined

  /** Looks so many levels deep, at most 4. */
  constructor(visitor: JsonVisitor, deepest: number = shallow) {
    this.#visitor = visitor
    this.#shallow = deepest
  }

  /** A member's name is being read, or was read and its value has not begun; false for one too long to matter. */
  get naming(): boolean {
    if (this.#state === 'name') return this.#raw.length <= nameCharsMax
    return (
      this.#due && this.depth <= this.#shallow && (this.objects[this.depth] as boolean) && this.names[this.depth] !== ''
    )
  }

  /** Reads on. `base` is the place of the piece's first byte in what the caller counts by. */
  walk(piece: Buffer, base: number): void {
    for (let at = 0; at < piece.length && !this.foreign && this.fault === undefined; ) {
      at = this.#state === 'structure' ? this.#structure(piece, base, at) : this.#string(piece, base, at)
    }
  }

  #structure(piece: Buffer, base: number, from: number): number {
    for (let i = from; i < piece.length; i++) {
      const byte = piece[i] as number
      if (this.depth === 0 && !this.#isOpening(byte)) {
        if (this.foreign || this.fault !== undefined) return piece.length
        continue
      }
      switch (byte) {
        case quote:
          this.#begin(base + i)
          return i + 1
        case openObject:
        case openArray:
          this.#open(byte === openObject)
          break
        case closeObject:
        case closeArray:
          this.#close(byte === closeObject)
          if (this.fault !== undefined) return piece.length
          break
        case comma:
          this.#endScalar()
          if (this.depth > this.#shallow) break
          this.#naming = this.objects[this.depth] as boolean
          this.#due = !this.#naming
          break
        case colon:
        case 0x20:
        case 0x0a:
        case 0x0d:
        case 0x09:
          break
        default:
          if (this.#due && this.depth <= this.#shallow) {
            this.#due = false
            if (this.#visitor.other(this)) this.#scalar = ''
          }
          if (this.#scalar !== undefined && this.#scalar.length < scalarCharsMax) {
            this.#scalar += String.fromCharCode(byte)
          }
      }
    }
    return piece.length
  }

  /** Outside of any container: the one byte that may begin the object. Blanks and a byte order mark may precede it. */
  #isOpening(byte: number): boolean {
    if (byte === openObject && !this.complete) return true
    const blank = byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
    if (this.complete) {
      if (!blank) this.fault = 'something follows the object'
    } else if (!blank && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) this.foreign = true
    return false
  }

  #open(isObject: boolean): void {
    if (this.#due && this.depth <= this.#shallow) this.#visitor.other(this)
    this.#due = !isObject
    this.depth++
    if (this.depth > this.#shallow) return
    this.objects[this.depth] = isObject
    this.names[this.depth] = ''
    this.#naming = isObject
  }

  #close(isObject: boolean): void {
    this.#endScalar()
    if (this.depth <= this.#shallow) {
      if (this.objects[this.depth] !== isObject) {
        this.fault = 'its brackets do not match'
        return
      }
      this.#visitor.closed(this, this.depth)
    }
    this.depth--
    this.#naming = false
    this.#due = false
    if (this.depth === 0) this.complete = true
  }

  #endScalar(): void {
    if (this.#scalar === undefined) return
    const value = this.#scalar
    this.#scalar = undefined
    this.#visitor.scalar(this, value)
  }

  #begin(at: number): void {
    this.#raw = ''
    if (this.depth > this.#shallow) {
      this.#state = 'skip'
    } else if (this.#naming) {
      this.#naming = false
      this.#state = 'name'
      this.nameFrom = at
    } else {
      this.#due = false
      this.#state = this.#visitor.string(this, at)
    }
  }

  #string(piece: Buffer, base: number, from: number): number {
    const closing = this.#closing(piece, from)
    const to = closing === -1 ? piece.length : closing
    if (this.#state === 'bytes') {
      if (to > from) this.#visitor.bytes(piece, from, to)
    } else if (this.#state !== 'skip' && this.#raw.length <= nameCharsMax) {
      this.#raw += piece.toString('latin1', from, Math.min(to, from + nameCharsMax + 1))
    }
    if (closing === -1) return piece.length
    const state = this.#state
    this.#state = 'structure'
    if (state === 'bytes') this.#visitor.bytesEnd(base + closing)
    else if (state === 'text') this.#visitor.text(this, unescape(this.#raw))
    else if (state === 'name') {
      this.names[this.depth] = unescape(this.#raw)
      this.nameTo = base + closing + 1
      this.#due = true
    }
    return closing + 1
  }

  /** The place of the quote that ends the string, or -1: the first before which stands an even number of backslashes. */
  #closing(piece: Buffer, from: number): number {
    for (let start = from; ; ) {
      const found = piece.indexOf(quote, start)
      const end = found === -1 ? piece.length : found
      let first = end
      while (first > start && piece[first - 1] === backslash) first--
      // A run that reaches back to the piece's beginning goes on from the piece before.
      const odd = ((end - first) % 2 === 1) !== (first === from && this.#odd)
      if (found === -1) {
        this.#odd = odd
        return -1
      }
      this.#odd = false
      if (!odd) return found
      start = found + 1
    }
  }
}

/** What a name or a short string says; '' for one that is too long or escaped wrongly, which is none of those looked for. */
function unescape(raw: string): string {
  if (raw.length > nameCharsMax) return ''
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return ''
  }
}
