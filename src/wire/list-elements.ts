const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b])
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d])

/**
 * The bytes of each element of a valid JSON list, one after another. Parses nothing; whitespace around an element
 * stays.
 */
export function* listElements(list: Buffer): Generator<Buffer> {
  let depth = 0
  let from = -1
  for (let at = 0; at < list.length; at++) {
    const byte = list[at] as number
    if (byte === quote) at = stringEnd(list, at)
    else if (opening.has(byte)) {
      if (++depth === 1) from = at + 1
    } else if (closing.has(byte)) {
      if (--depth === 0) {
        const last = list.subarray(from, at)
        if (!isBlank(last)) yield last
        return
      }
    } else if (byte === comma && depth === 1) {
      yield list.subarray(from, at)
      from = at + 1
    }
  }
}

/** Position of the quote that ends the string which begins at `start`. */
function stringEnd(text: Buffer, start: number): number {
  for (let at = text.indexOf(quote, start + 1); at !== -1; at = text.indexOf(quote, at + 1)) {
    let before = at
    while (text[before - 1] === backslash) before--
    if ((at - before) % 2 === 0) return at
  }
  return text.length
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every(byte => byte <= 0x20)
}
