import type { Json } from '../../src/kit/index.ts'

const quote = 0x22
const backslash = 0x5c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c
const colon = 0x3a

/** The longest value that is read; a usage object has a few hundred bytes. */
const valueBytesMax = 65_536
const nameCharsMax = 32
/** Bytes that are more to JSON than a part of a number, a word or a blank. */
const structural = new Uint8Array(256)
for (const byte of [quote, openObject, closeObject, openArray, closeArray, comma, colon]) structural[byte] = 1

/** Short strings are over before a native search has begun. */
const byteLoop = 24

/**
 * Reads some top-level members of a JSON object as it passes in pieces of any size, and nothing else of it: megabytes of
 * numbers or text cost no memory. Of a list of objects, those of each element, one after another.
 */
export class MemberReader {
  readonly #wanted: ReadonlySet<string>
  readonly #found: (name: string, value: Json) => void
  #depth = 0
  /** How deep the members stand: 1 in an object, 2 in a list of objects. */
  #level = 1
  #inString = false
  #escaped = false
  /** At `level`, the next string is a name. */
  #naming = false
  /** The name being read, or read and not yet followed by its value; undefined while strings are no names. */
  #name: string | undefined
  /** Pieces of the value being read; undefined when it is not wanted. */
  #value: Buffer[] | undefined
  #valueBytes = 0

  constructor(wanted: ReadonlySet<string>, found: (name: string, value: Json) => void) {
    this.#wanted = wanted
    this.#found = found
  }

  /** The text is a list, not an object. */
  get isList(): boolean {
    return this.#level === 2
  }

  write(piece: Buffer): void {
    let from = this.#value ? 0 : -1
    for (let i = 0; i < piece.length; ) {
      if (this.#inString) {
        i = this.#string(piece, i)
        continue
      }
      const byte = piece[i] as number
      if (structural[byte] === 0 || (byte === comma && this.#depth > this.#level)) {
        i++
        continue
      }
      if (byte === quote) {
        this.#inString = true
        if (this.#naming && this.#depth === this.#level) this.#name = ''
      } else if (byte === openObject || byte === openArray) {
        if (this.#depth === 0) this.#level = byte === openArray ? 2 : 1
        this.#depth++
        if (this.#depth === this.#level) this.#naming = byte === openObject
      } else if (byte === closeObject || byte === closeArray || byte === comma) {
        if (this.#depth === this.#level) {
          if (from >= 0) this.#end(piece.subarray(from, i))
          from = -1
          this.#naming = byte === comma
        }
        if (byte !== comma) this.#depth--
      } else if (byte === colon && this.#depth === this.#level && this.#name !== undefined) {
        if (this.#wanted.has(this.#name)) {
          from = i + 1
          this.#value = []
          this.#valueBytes = 0
        } else this.#name = undefined
        this.#naming = false
      }
      i++
    }
    if (from >= 0) this.#keep(piece.subarray(from))
  }

  #keep(part: Buffer): void {
    this.#valueBytes += part.length
    if (this.#valueBytes <= valueBytesMax) this.#value?.push(part)
    else {
      this.#value = undefined
      this.#name = undefined
    }
  }

  #end(part: Buffer): void {
    const name = this.#name
    const parts = this.#value
    this.#name = undefined
    this.#value = undefined
    if (name === undefined || !parts) return
    const text = parts.length === 0 ? part.toString() : Buffer.concat([...parts, part]).toString()
    if (text.length > valueBytesMax) return
    try {
      this.#found(name, JSON.parse(text) as Json)
    } catch (error) {
      // An answer that is no JSON has no usage.
      if (!(error instanceof SyntaxError)) throw error
    }
  }

  /** Reads on in a string. @returns the place behind its closing quote, or behind the piece. */
  #string(piece: Buffer, from: number): number {
    const to = this.#closing(piece, from)
    if (this.#naming && this.#name !== undefined && this.#depth === this.#level && this.#name.length <= nameCharsMax)
      this.#name += piece.toString('latin1', from, Math.min(to, from + nameCharsMax + 1))
    if (to === piece.length) return to
    this.#inString = false
    return to + 1
  }

  /** The place of the closing quote, or the piece's end. */
  #closing(piece: Buffer, from: number): number {
    const { length } = piece
    let i = from
    if (this.#escaped) {
      this.#escaped = false
      i++
    }
    for (;;) {
      const loopTo = Math.min(length, i + byteLoop)
      while (i < loopTo) {
        const byte = piece[i] as number
        if (byte === quote) return i
        if (byte === backslash) {
          if (i + 1 === length) this.#escaped = true
          i++
        }
        i++
      }
      if (i >= length) return length
      const found = piece.indexOf(quote, i)
      const end = found === -1 ? length : found
      let first = end
      while (first > i && piece[first - 1] === backslash) first--
      const odd = (end - first) % 2 === 1
      if (found === -1) {
        this.#escaped = odd
        return length
      }
      if (!odd) return found
      i = found + 1
    }
  }
}
