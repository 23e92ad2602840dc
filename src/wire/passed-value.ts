import { joined } from './joined.ts'
import { StringEnd, unended } from './string-end.ts'

const quote = 0x22
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const comma = 0x2c

/** Bytes with a meaning: inside a list or an object, and after a value, where a comma ends it. */
const within = tableOf([quote, openObject, closeObject, openArray, closeArray])
const delimiters = tableOf([quote, openObject, closeObject, openArray, closeArray, comma])

/**
 * Skips a JSON value, or the rest of a list, by its brackets and strings alone: checks nothing of it, and a million
 * numbers cost no more than their bytes. Can keep the bytes of the value.
 */
export class PassedValue {
  readonly #end = new StringEnd()
  #depth = 0
  #inString = false
  #isRest = false
  #kept: Buffer[] | undefined
  #keptBytes = 0
  #keptMax = 0

  /** Begins to skip a value, of which up to `keptMax` bytes are kept. */
  begin(keptMax: number): void {
    this.#enter(0, false, false)
    this.#kept = keptMax > 0 ? [] : undefined
    this.#keptBytes = 0
    this.#keptMax = keptMax
  }

  /** Begins within an open list or object: skips all of it; with `isRest` also the rest of the list around it. */
  beginOpened(isRest: boolean): void {
    this.#enter(1, false, isRest)
  }

  /** Begins to skip the rest of a list, after the opening quote of a string or after a value. */
  beginRest(inString: boolean): void {
    this.#enter(0, inString, true)
  }

  /** The position of the comma or bracket that follows, or `unended` if it is not in this piece. */
  read(piece: Buffer, from: number): number {
    const end = this.#pass(piece, from)
    if (this.#kept) this.#keep(this.#kept, piece, from, end === unended ? piece.length : end)
    return end
  }

  /** Returns the kept bytes of the completed value; undefined if it was longer, or nothing was to be kept. */
  take(): Buffer | undefined {
    const kept = this.#kept
    this.#kept = undefined
    return kept && joined(kept)
  }

  #enter(depth: number, inString: boolean, isRest: boolean): void {
    this.#depth = depth
    this.#inString = inString
    this.#isRest = isRest
    this.#kept = undefined
  }

  #pass(piece: Buffer, from: number): number {
    const { length } = piece
    const outside = this.#isRest ? within : delimiters
    let depth = this.#depth
    let table = depth === 0 ? outside : within
    for (let at = from; at < length; at++) {
      if (this.#inString) {
        at = this.#end.find(piece, at)
        if (at === unended) break
        this.#inString = false
        continue
      }
      while (at < length && table[piece[at] as number] === 0) at++
      const byte = piece[at]
      if (byte === quote) this.#inString = true
      else if (byte === openObject || byte === openArray) {
        depth++
        table = within
      } else if (byte !== undefined) {
        if (depth === 0) return at
        depth--
        if (depth === 0) table = outside
      }
    }
    this.#depth = depth
    return unended
  }

  #keep(kept: Buffer[], piece: Buffer, from: number, to: number): void {
    this.#keptBytes += to - from
    if (this.#keptBytes > this.#keptMax) this.#kept = undefined
    else if (to > from) kept.push(piece.subarray(from, to))
  }
}

function tableOf(bytes: readonly number[]): Uint8Array {
  const table = new Uint8Array(256)
  for (const byte of bytes) table[byte] = 1
  return table
}
