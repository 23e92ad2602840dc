const quote = 0x22
const backslash = 0x5c
/** Strings up to this length end before a native search would begin. */
const byteLoop = 24
/** If the next bytes contain more escapes than this, bytes are still read one by one. */
const escapesMax = 8

/**
 * The result of `findStringEnd` if a text ends first: within a string, or after a backslash that escapes the next byte.
 */
export const unended = -1
const unendedEscape = -2

/**
 * The only function that finds the end of a JSON string: the first quote that no backslash escapes. It does not check
 * the content. @returns the quote's position; a negative number if the text ends first
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
    // With many escapes, a search for quotes finds escaped ones, or a run of backslashes that has to be walked back.
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

/** The same for a string that arrives in pieces. */
export class StringEnd {
  #isEscaped = false

  /**
   * The position of the quote that ends the string, or `unended` if it continues in the next piece. `from` is a
   * position in the piece.
   */
  find(piece: Buffer, from: number): number {
    const end = findStringEnd(piece, this.#isEscaped ? from + 1 : from)
    this.#isEscaped = end === unendedEscape
    return end < 0 ? unended : end
  }
}
