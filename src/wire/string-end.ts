const quote = 0x22
const backslash = 0x5c
/** Strings that are no longer end before a native search has begun. */
const byteLoop = 24
/** With more escapes among so many bytes the next are looked at one by one, too. */
const escapesMax = 8

/** What `findStringEnd` returns where a text ends first: within a string, or after a backslash that escapes what comes next. */
export const unended = -1
const unendedEscape = -2

/**
 * The one place that knows how a JSON string ends: at the first quote that no backslash escapes. What else may be in it
 * is not looked at. @returns the quote's place; less than 0 when the text ends first
 */
export function findStringEnd(bytes: Buffer, from: number): number {
  const { length } = bytes
  let at = from
  for (;;) {
    const loopTo = Math.min(length, at + byteLoop)
    let escapes = 0
    while (at < loopTo) {
      const byte = bytes[at] as number
      if (byte === quote) return at
      if (byte !== backslash) at++
      else {
        at += 2
        escapes++
      }
    }
    if (at >= length) return at > length ? unendedEscape : unended
    // Where escapes are many, a search for quotes finds those, or a run of backslashes that has to be walked back.
    if (escapes > escapesMax) continue
    const found = bytes.indexOf(quote, at)
    const end = found === -1 ? length : found
    let first = end
    while (first > at && bytes[first - 1] === backslash) first--
    const isEscaped = (end - first) % 2 === 1
    if (found === -1) return isEscaped ? unendedEscape : unended
    if (!isEscaped) return found
    at = found + 1
  }
}

/** The same for a string that comes in pieces. */
export class StringEnd {
  #isEscaped = false

  /** The place of the quote that ends the string, or `unended` when it goes on in the next piece. `from` is in the piece. */
  find(piece: Buffer, from: number): number {
    const end = findStringEnd(piece, this.#isEscaped ? from + 1 : from)
    this.#isEscaped = end === unendedEscape
    return end < 0 ? unended : end
  }
}
