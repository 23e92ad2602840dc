import { type Body, readField } from '../../src/plugin-api/index.ts'

const backslash = 0x5c
const quote = 0x22
const letterU = 0x75
/** The maximum length of a text that is parsed; longer ones are counted without parsing, which is faster. */
const parsedBytesMax = 65_536
const counted = new WeakMap<Body, { readonly field: string; readonly count: number | null }>()

/** The number of characters (code points, so an emoji is one) of a text field; null without such a text. */
export function countCharacters(body: Body, field: string | undefined): number | null {
  if (field === undefined) return null
  const written = body.kind === 'json' ? body.json.raw(field) : undefined
  if (!written || written.length <= parsedBytesMax) return countParsed(readField(body, field))
  const known = counted.get(body)
  if (known?.field === field) return known.count
  const count = written[0] === quote ? countWritten(written) : null
  counted.set(body, { field, count })
  return count
}

function countParsed(text: unknown): number | null {
  if (typeof text !== 'string') return null
  let count = text.length
  for (let i = 0; i + 1 < text.length; i++) if ((text.codePointAt(i) as number) > 0xffff) count--
  return count
}

/**
 * The number of characters of a JSON string with its quotes: it counts bytes that begin a character, and escapes, two
 * of which may be one character.
 */
export function countWritten(bytes: Buffer): number {
  const end = bytes.length - 1
  let count = 0
  for (let at = 1; at < end; ) {
    const byte = bytes[at] as number
    if (byte !== backslash) {
      if ((byte & 0xc0) !== 0x80) count++
      at++
      continue
    }
    count++
    at += isPair(bytes, at) ? 12 : bytes[at + 1] === letterU ? 6 : 2
  }
  return count
}

/** Whether two escapes are a surrogate pair, which is one character. */
function isPair(bytes: Buffer, at: number): boolean {
  return isSurrogate(bytes, at, 0x38, 0x62) && isSurrogate(bytes, at + 6, 0x63, 0x66)
}

/** Whether there is an escape `\\uDxyz` with x in a range of hexadecimal digits: 8 to b, or c to f. */
function isSurrogate(bytes: Buffer, at: number, first: number, last: number): boolean {
  if (bytes[at] !== backslash || bytes[at + 1] !== letterU || ((bytes[at + 2] as number) | 0x20) !== 0x64) return false
  const digit = bytes[at + 3] as number
  const lower = digit >= 0x41 ? digit | 0x20 : digit
  return lower >= first && lower <= last
}
