import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Json } from '../domain/index.ts'
import { StringEnd, unended } from './string-end.ts'

/** Values up to this length are parsed whole. */
const parsedBytesMax = 16_384
/** Bytes read or written in one turn of the event loop. */
const turnBytes = 262_144
const sliceBytes = 65_536

const quote = 0x22
const backslash = 0x5c
const letterU = 0x75
const openObject = 0x7b
const openArray = 0x5b
const comma = 0x2c

/** Bytes outside strings that form the structure. */
const structural = new Uint8Array(256)
for (const byte of Buffer.from('{}[],:"')) structural[byte] = 1

/** Receives the canonical text, piece by piece. */
export type Sink = (piece: Buffer | string) => void

/** A canonical form of a value: without whitespace, members sorted by name. */
export function canonical(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`)
  return `{${members.join(',')}}`
}

/** The same for a valid text of any length, in turns of the event loop; large strings and lists are never parsed. */
export async function writeCanonical(text: Buffer, sink: Sink): Promise<void> {
  if (mayBeParsed(text)) return sink(canonical(JSON.parse(text.toString()) as Json))
  const marks = new Marks(text)
  while (!marks.read(turnBytes)) await nextTurn()
  await new CanonicalWriter(text, marks, sink).value({ from: 0, mark: 0 })
}

/**
 * Whether a text is short enough to be parsed whole, and no name may contain an escape: V8 confuses such a name with
 * another name of an object of the same shape (nodejs/node issue 63785).
 */
function mayBeParsed(text: Buffer): boolean {
  return text.length <= parsedBytesMax && !text.includes(backslash)
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** The offsets of brackets, commas and colons outside strings, and the closing bracket of each opening one. */
class Marks {
  readonly at: number[] = []
  readonly closing: number[] = []
  readonly #text: Buffer
  readonly #open: number[] = []
  readonly #end = new StringEnd()
  #read = 0
  #inString = false

  constructor(text: Buffer) {
    this.#text = text
  }

  /** Continues reading. @returns true at the end */
  read(most: number): boolean {
    const to = Math.min(this.#read + most, this.#text.length)
    const piece = this.#text.subarray(0, to)
    while (this.#read < to)
      this.#read = this.#inString ? this.#string(piece, this.#read) : this.#structure(piece, this.#read)
    return to === this.#text.length
  }

  #structure(piece: Buffer, from: number): number {
    let i = from
    while (i < piece.length && structural[piece[i] as number] === 0) i++
    if (i === piece.length) return i
    const byte = piece[i] as number
    if (byte === quote) this.#inString = true
    else this.#mark(byte, i)
    return i + 1
  }

  #mark(byte: number, at: number): void {
    const mark = this.at.push(at) - 1
    this.closing.push(mark)
    if (byte === openObject || byte === openArray) this.#open.push(mark)
    else if (byte === openObject + 2 || byte === openArray + 2) this.closing[this.#open.pop() as number] = mark
  }

  #string(piece: Buffer, from: number): number {
    const end = this.#end.find(piece, from)
    if (end === unended) return piece.length
    this.#inString = false
    return end + 1
  }
}

/** The beginning of a value, with the whitespace before it, and the first mark from there on. */
type Place = { readonly from: number; readonly mark: number }

class CanonicalWriter {
  readonly #text: Buffer
  readonly #marks: Marks
  readonly #sink: Sink
  #written = 0

  constructor(text: Buffer, marks: Marks, sink: Sink) {
    this.#text = text
    this.#marks = marks
    this.#sink = sink
  }

  async value(place: Place): Promise<void> {
    const from = this.#skipBlanks(place.from)
    const { at, closing } = this.#marks
    const isContainer = at[place.mark] === from
    const to = isContainer ? (at[closing[place.mark] as number] as number) + 1 : (at[place.mark] ?? this.#text.length)
    const text = this.#text.subarray(from, to)
    if (mayBeParsed(text)) this.#write(canonical(JSON.parse(text.toString()) as Json))
    else if (this.#text[from] === openArray) await this.#list(place.mark)
    else if (this.#text[from] === openObject) await this.#object(place.mark)
    else if (this.#text[from] === quote) await this.#string(from + 1, this.#text.lastIndexOf(quote, to - 1))
    else this.#write(canonical(JSON.parse(this.#text.toString('utf8', from, to)) as Json))
    if (this.#written >= turnBytes) {
      this.#written = 0
      await nextTurn()
    }
  }

  async #list(open: number): Promise<void> {
    let separator = '['
    for (const place of this.#elements(open)) {
      this.#write(separator)
      await this.value(place)
      separator = ','
    }
    this.#write(']')
  }

  /**
   * The elements of a list, or the members of an object with their names. Never empty: such values are long or contain
   * an escape.
   */
  #elements(open: number): Place[] {
    const { at, closing } = this.#marks
    const end = closing[open] as number
    const places: Place[] = [{ from: (at[open] as number) + 1, mark: open + 1 }]
    for (let mark = open + 1; mark < end; mark++) {
      if (this.#text[at[mark] as number] === comma) places.push({ from: (at[mark] as number) + 1, mark: mark + 1 })
      else mark = closing[mark] as number
    }
    return places
  }

  async #object(open: number): Promise<void> {
    // The last of several members with one name counts.
    const members = new Map<string, Place>()
    for (const { from, mark } of this.#elements(open)) {
      const colon = this.#marks.at[mark] as number
      const name = JSON.parse(this.#text.toString('utf8', from, colon)) as string
      members.set(name, { from: colon + 1, mark: mark + 1 })
    }
    let separator = '{'
    for (const name of [...members.keys()].sort()) {
      this.#write(`${separator}${JSON.stringify(name)}:`)
      await this.value(members.get(name) as Place)
      separator = ','
    }
    this.#write('}')
  }

  /** The content of a long string, slice by slice; content without escapes is already canonical. */
  async #string(from: number, to: number): Promise<void> {
    this.#write('"')
    for (let at = from; at < to; ) {
      const end = this.#endOfSlice(at, to)
      const slice = this.#text.subarray(at, end)
      if (slice.includes(backslash)) this.#write(JSON.stringify(JSON.parse(`"${slice.toString()}"`)).slice(1, -1))
      else this.#write(slice)
      at = end
      if (this.#written < turnBytes) continue
      this.#written = 0
      await nextTurn()
    }
    this.#write('"')
  }

  /** Ends after a whole character, and never within a surrogate pair of escapes. */
  #endOfSlice(from: number, to: number): number {
    const text = this.#text
    const wanted = Math.min(from + sliceBytes, to)
    let at = from
    while (at < wanted) {
      if (text[at] !== backslash) at++
      else if (text[at + 1] !== letterU) at += 2
      else at += isPair(text, at) ? 12 : 6
    }
    while (at < to && ((text[at] as number) & 0xc0) === 0x80) at++
    return at
  }

  #write(piece: Buffer | string): void {
    this.#written += piece.length + 64
    this.#sink(piece)
  }

  #skipBlanks(from: number): number {
    let at = from
    for (let byte = this.#text[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; )
      byte = this.#text[++at]
    return at
  }
}

/** Whether a \u escape is followed by another that completes a surrogate pair. */
function isPair(text: Buffer, at: number): boolean {
  return (codeUnit(text, at) & 0xfc00) === 0xd800 && (codeUnit(text, at + 6) & 0xfc00) === 0xdc00
}

/** The character of an escape such as \u6e2f; 0 for anything else. */
function codeUnit(text: Buffer, at: number): number {
  if (text[at] !== backslash || text[at + 1] !== letterU) return 0
  return Number.parseInt(text.toString('latin1', at + 2, at + 6), 16)
}
