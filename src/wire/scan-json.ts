import { isUtf8 } from 'node:buffer'

/** Maximum nesting depth of a request body. */
export const depthMax = 64
/** Maximum number of opening brackets, colons and commas in a request body: limits what any later parser must build. */
export const structuralTokensMax = 200_000
/** The maximum length of a field name: it is decoded as text, in one turn of the event loop. */
const nameBytesMax = 4 * 1024 * 1024

/** Creates the errors for a refused text. */
export type TextRefusals = {
  /** The text is not a JSON object: `why`, and the byte that shows it. */
  malformed(why: string, at: number): Error
  /** Two top-level members have the same name. */
  doubled(name: string): Error
  tooComplex(what: string, max: string): Error
}

/** One top-level member: its decoded name and its position, `"name":value`, in a text. */
export type Member = {
  readonly name: string
  readonly text: Buffer
  readonly start: number
  readonly valueStart: number
  readonly end: number
  /** The number of opening brackets, colons and commas of its value. */
  readonly tokens: number
  /** The number of elements of a list; undefined for other values. */
  readonly elements: number | undefined
}

/** Callbacks while a text is scanned: every bracket, name and value, once, in order. */
export type ScanListener = {
  opened(isObject: boolean): void
  closed(): void
  /** From the opening quote to after the closing one. */
  named(bytes: Buffer, from: number, end: number, isEscaped: boolean): void
  text(bytes: Buffer, from: number, end: number, isEscaped: boolean): void
  /** A number or a word, by its first byte. */
  scalar(first: number): void
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const zero = 0x30

const array = 0
const object = 1

/** The next expected token, apart from whitespace; in the `in` states the token has already begun. */
const begin = 0
const nameOrEnd = 1
const name = 2
const colon = 3
const valueOrEnd = 4
const value = 5
const after = 6
const over = 7
const inName = 8
const inString = 9
const inWhole = 10
const inFraction = 11
const inExponent = 12

/** Bytes that a string may contain only escaped: quote, backslash, control characters. */
const stops = new Uint8Array(256).fill(1, 0, 0x20)
stops[quote] = 1
stops[backslash] = 1
/** Bytes that may follow a backslash, except `u`. */
const escapable = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) escapable[byte] = 1
const hex = new Uint8Array(256)
for (const byte of Buffer.from('0123456789abcdefABCDEF')) hex[byte] = 1

/** Parts of a string up to this length end before a search by words would begin. */
const byteLoop = 16
/** The number of words to check before the search becomes native. */
const nearWords = 64
/** The literals by their first byte. */
const words = { 0x74: 'true', 0x66: 'false', 0x6e: 'null' } as const

/**
 * Scans a JSON object in one pass, in slices if needed: validates the whole text as RFC 8259 and JSON.parse would, and
 * finds the top-level members without parsing their values. Reads each byte once; parts of strings four bytes at a
 * time, long ones sixteen. Depth is kept in an array of bytes, never in the call stack. It finds the ends of short
 * strings itself: a separate search would cost up to twice as much (`docs/decisions/0015-one-of-each-reader.md`).
 */
export class ObjectScan {
  readonly members: Member[] = []
  readonly #bytes: Buffer
  readonly #refuse: TextRefusals
  readonly #listener: ScanListener | undefined
  readonly #names = new Set<string>()
  readonly #kinds = new Uint8Array(depthMax)
  #words: Int32Array | undefined
  /** The position of the first aligned word of four bytes. */
  #wordsFrom = 0
  /** The next quote at or after the last search position. */
  #nextQuote = -1
  #nextBackslash = -1
  #state = begin
  #at = 0
  /** The end of the slice; a token that began before it may be read to its end, if that is near. */
  #until = 0
  #depth = 0
  #tokens = 0
  /** The beginning of the current string or number. */
  #from = 0
  #escaped = false
  /** The current top-level member. */
  #name = ''
  #nameStart = 0
  #valueStart = 0
  /** The number of commas so far in a top-level list. */
  #commas = 0
  /** The number of opening brackets, colons and commas before the current top-level value. */
  #tokensBefore = 0
  /** Whether the last completed list or object was empty. */
  #isEmpty = false

  constructor(bytes: Buffer, refuse: TextRefusals, listener?: ScanListener) {
    this.#bytes = bytes
    this.#refuse = refuse
    this.#listener = listener
  }

  /**
   * Reads the next `most` bytes, or a few more or less. @returns true when the object was read to its end
   * @throws the errors of `refuse`
   */
  read(most: number): boolean {
    this.#advance(most)
    while (this.#state !== over || this.#at < this.#bytes.length) {
      if (this.#state >= inName ? !this.#resume() : !this.#step()) return false
    }
    return true
  }

  /** Moves the end of the slice to after a whole character, and checks the bytes up to there. */
  #advance(most: number): void {
    const bytes = this.#bytes
    const from = this.#until
    let until = Math.min(from + most, bytes.length)
    while (until < bytes.length && ((bytes[until] as number) & 0xc0) === 0x80) until++
    const slice = from === 0 && until === bytes.length ? bytes : bytes.subarray(from, until)
    if (!isUtf8(slice)) throw this.#refuse.malformed('not UTF-8', from)
    this.#until = until
  }

  /** Reads the next token. @returns false if the slice ends before it */
  #step(): boolean {
    const byte = this.#blank()
    if (this.#at >= this.#until && this.#until < this.#bytes.length) return false
    switch (this.#state) {
      case value:
        return this.#value(byte)
      case after:
        return this.#after(byte)
      case name:
        return this.#beginName(byte)
      case colon:
        if (byte !== 0x3a) throw this.#wrong('a colon is missing')
        this.#token()
        this.#state = value
        return true
      case nameOrEnd:
        return byte === closeObject ? this.#closeEmpty() : this.#beginName(byte)
      case valueOrEnd:
        return byte === closeArray ? this.#closeEmpty() : this.#value(byte)
      case begin:
        if (byte !== openObject) throw this.#wrong('an object must start with {')
        return this.#open(object)
      default:
        if (this.#at < this.#bytes.length) throw this.#wrong('extra data follows the object')
        return true
    }
  }

  /** Continues the token in which the previous slice ended. */
  #resume(): boolean {
    if (this.#state === inName) return this.#readName()
    if (this.#state === inString) return this.#readText()
    return this.#number()
  }

  #value(byte: number | undefined): boolean {
    if (this.#depth === 1) {
      this.#valueStart = this.#at
      this.#commas = 0
      this.#tokensBefore = this.#tokens
    }
    this.#from = this.#at
    switch (byte) {
      case quote:
        this.#at++
        this.#escaped = false
        this.#state = inString
        return this.#readText()
      case openObject:
        return this.#open(object)
      case openArray:
        return this.#open(array)
      case 0x74:
      case 0x66:
      case 0x6e:
        return this.#word(words[byte])
      default:
        return this.#beginNumber(byte)
    }
  }

  #after(byte: number | undefined): boolean {
    const inObject = this.#kinds[this.#depth - 1] === object
    if (byte === comma) {
      if (this.#depth === 2) this.#commas++
      this.#token()
      this.#state = inObject ? name : value
      return true
    }
    if (byte !== (inObject ? closeObject : closeArray))
      throw this.#wrong(inObject ? 'a comma or } is missing' : 'a comma or ] is missing')
    return this.#close()
  }

  /** Called when a value has ended. */
  #ended(): true {
    this.#state = after
    if (this.#depth === 1)
      this.members.push({
        name: this.#name,
        text: this.#bytes,
        start: this.#nameStart,
        valueStart: this.#valueStart,
        end: this.#at,
        tokens: this.#tokens - this.#tokensBefore,
        elements: this.#elements(),
      })
    return true
  }

  #elements(): number | undefined {
    if (this.#bytes[this.#valueStart] !== openArray) return undefined
    return this.#isEmpty ? 0 : this.#commas + 1
  }

  #beginName(byte: number | undefined): boolean {
    if (byte !== quote) throw this.#wrong('a member must start with a quoted name')
    this.#from = this.#at
    this.#at++
    this.#escaped = false
    this.#state = inName
    return this.#readName()
  }

  #readName(): boolean {
    if (!this.#string()) return false
    this.#state = colon
    if (this.#depth === 1) this.#takeName()
    this.#listener?.named(this.#bytes, this.#from, this.#at, this.#escaped)
    return true
  }

  #readText(): boolean {
    if (!this.#string()) return false
    this.#listener?.text(this.#bytes, this.#from, this.#at, this.#escaped)
    return this.#ended()
  }

  #takeName(): void {
    const start = this.#from
    const end = this.#at
    if (end - start > nameBytesMax) throw this.#refuse.tooComplex('a field with a longer name', `${nameBytesMax} bytes`)
    const text = this.#escaped
      ? (JSON.parse(this.#bytes.toString('utf8', start, end)) as string)
      : this.#bytes.toString('utf8', start + 1, end - 1)
    if (this.#names.has(text)) throw this.#refuse.doubled(text)
    this.#names.add(text)
    this.#name = text
    this.#nameStart = start
  }

  /** Continues a string. @returns true after its closing quote, false if the slice ends before */
  #string(): boolean {
    const bytes = this.#bytes
    const until = this.#until
    let at = this.#at
    while (at < until) {
      at = this.#plain(at, until)
      if (at >= until) break
      const byte = bytes[at] as number
      if (byte === quote) {
        this.#at = at + 1
        return true
      }
      if (byte !== backslash) {
        this.#at = at
        throw this.#wrong('a string contains an unescaped control character')
      }
      at = this.#escape(at)
    }
    this.#at = at
    if (until < bytes.length) return false
    this.#at = this.#from
    throw this.#wrong('a string is not terminated')
  }

  /** The first byte from `at` on that must be escaped in a string, or `until`. */
  #plain(at: number, until: number): number {
    const bytes = this.#bytes
    const loopTo = Math.min(until, at + byteLoop)
    let i = at
    while (i < loopTo) {
      if (stops[bytes[i] as number] === 1) return i
      i++
    }
    return i === until ? until : this.#plainWords(i, until)
  }

  #plainWords(at: number, until: number): number {
    const bytes = this.#bytes
    this.#words ??= this.#viewWords()
    const view = this.#words
    const first = this.#wordsFrom
    let i = at
    while (((i - first) & 3) !== 0 && i < until) {
      if (stops[bytes[i] as number] === 1) return i
      i++
    }
    let word = (i - first) >> 2
    const last = (until - first) >> 2
    const near = Math.min(last, word + nearWords)
    while (word < near && markStops(view[word] as number) === 0) word++
    i = Math.max(i, first + (word << 2))
    if (word === near && word < last) return this.#plainFar(i, until)
    while (i < until && stops[bytes[i] as number] === 0) i++
    return i
  }

  /**
   * The same for a long part: searches for quote and backslash natively, and for control characters in steps of sixteen
   * bytes.
   */
  #plainFar(at: number, until: number): number {
    const bytes = this.#bytes
    if (this.#nextQuote < at) this.#nextQuote = place(bytes.indexOf(quote, at), bytes.length)
    if (this.#nextBackslash < at) this.#nextBackslash = place(bytes.indexOf(backslash, at), bytes.length)
    const end = Math.min(this.#nextQuote, this.#nextBackslash, until)
    const view = this.#words as Int32Array
    const first = this.#wordsFrom
    let word = (at - first) >> 2
    const last = ((end - first) >> 2) - 3
    for (; word < last; word += 4) {
      const a = view[word] as number
      const b = view[word + 1] as number
      const c = view[word + 2] as number
      const d = view[word + 3] as number
      const marks =
        ((a - 0x20202020) & ~a) | ((b - 0x20202020) & ~b) | ((c - 0x20202020) & ~c) | ((d - 0x20202020) & ~d)
      if ((marks & 0x80808080) !== 0) break
    }
    let i = Math.max(at, first + (word << 2))
    while (i < end && stops[bytes[i] as number] === 0) i++
    return i
  }

  #viewWords(): Int32Array {
    const { buffer, byteOffset, length } = this.#bytes
    this.#wordsFrom = -byteOffset & 3
    return new Int32Array(buffer, byteOffset + this.#wordsFrom, (length - this.#wordsFrom) >> 2)
  }

  /** Checks one escape; returns the position after it. */
  #escape(at: number): number {
    const bytes = this.#bytes
    this.#escaped = true
    if (at + 1 < bytes.length) {
      const kind = bytes[at + 1] as number
      if (escapable[kind] === 1) return at + 2
      if (kind === 0x75 && at + 5 < bytes.length) {
        const first = (hex[bytes[at + 2] as number] as number) & (hex[bytes[at + 3] as number] as number)
        const last = (hex[bytes[at + 4] as number] as number) & (hex[bytes[at + 5] as number] as number)
        if ((first & last) === 1) return at + 6
      }
    }
    this.#at = at
    throw this.#wrong('an escape is malformed')
  }

  #beginNumber(first: number | undefined): boolean {
    const bytes = this.#bytes
    const at = first === 0x2d ? this.#at + 1 : this.#at
    if (!isDigit(bytes[at]) || (bytes[at] === zero && isDigit(bytes[at + 1])))
      throw this.#wrong('a value is missing or malformed')
    this.#at = at + 1
    this.#state = inWhole
    this.#listener?.scalar(zero)
    return this.#number()
  }

  /** Continues a number, whose last part has at least one digit. @returns false if the slice ends among its digits */
  #number(): boolean {
    const bytes = this.#bytes
    let at = this.#digits()
    if (at < 0) return false
    if (this.#state === inWhole && bytes[at] === 0x2e) {
      at = this.#part(at + 1, inFraction)
      if (at < 0) return false
    }
    if (this.#state !== inExponent && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
      const signed = bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d
      at = this.#part(at + (signed ? 2 : 1), inExponent)
      if (at < 0) return false
    }
    return this.#ended()
  }

  /** Begins a fraction or an exponent, which needs at least one digit. */
  #part(at: number, state: typeof inFraction | typeof inExponent): number {
    if (!isDigit(this.#bytes[at])) throw this.#wrong('a number is malformed')
    this.#at = at + 1
    this.#state = state
    return this.#digits()
  }

  /** Reads digits. @returns the position after them, or -1 if the slice ends first */
  #digits(): number {
    const bytes = this.#bytes
    const until = this.#until
    let at = this.#at
    while (at < until && isDigit(bytes[at])) at++
    this.#at = at
    return at >= until && until < bytes.length ? -1 : at
  }

  #word(word: string): true {
    for (let i = 0; i < word.length; i++)
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) throw this.#wrong('a value is missing or malformed')
    this.#listener?.scalar(word.charCodeAt(0))
    this.#at += word.length
    return this.#ended()
  }

  #open(kind: typeof object | typeof array): true {
    if (this.#depth === depthMax) throw this.#refuse.tooComplex('deeper nesting', `${depthMax} levels`)
    this.#kinds[this.#depth++] = kind
    this.#listener?.opened(kind === object)
    this.#token()
    this.#state = kind === object ? nameOrEnd : valueOrEnd
    return true
  }

  #closeEmpty(): true {
    this.#isEmpty = true
    return this.#end()
  }

  #close(): true {
    this.#isEmpty = false
    return this.#end()
  }

  #end(): true {
    this.#listener?.closed()
    this.#depth--
    this.#at++
    if (this.#depth > 0) return this.#ended()
    this.#state = over
    return true
  }

  #token(): void {
    this.#at++
    if (++this.#tokens > structuralTokensMax)
      throw this.#refuse.tooComplex('too many members', `${structuralTokensMax} brackets, colons and commas`)
  }

  /** Skips whitespace up to the end of the slice. @returns the byte after it, undefined at the end of the text */
  #blank(): number | undefined {
    const bytes = this.#bytes
    let at = this.#at
    let byte = bytes[at]
    while ((byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) && at < this.#until) byte = bytes[++at]
    this.#at = at
    return byte
  }

  #wrong(why: string): Error {
    return this.#refuse.malformed(this.#at >= this.#bytes.length ? 'it ends too early' : why, this.#at)
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= 0x39
}

/**
 * The highest bit of the first of four bytes that is a quote, a backslash or a control character; bits of later bytes
 * may be set wrongly: the subtraction for each borrows from the highest bit of a byte that is none of these (Hacker's
 * Delight 6-1).
 */
function markStops(word: number): number {
  const quotes = word ^ 0x22222222
  const slashes = word ^ 0x5c5c5c5c
  const marks = ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes) | ((word - 0x20202020) & ~word)
  return marks & 0x80808080
}

function place(found: number, otherwise: number): number {
  return found === -1 ? otherwise : found
}
