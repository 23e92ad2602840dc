/** Shorter runs without a blank are words, names and links. */
const runBytesMin = 2048

/** By byte: whether it belongs to the alphabets of base64. */
const isEncoded = new Uint8Array(256)
for (const byte of Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_'))
  isEncoded[byte] = 1

/** What a body holds: bytes of text, and files written as base64 in it (pictures, documents, sound). */
export type TextMeasure = { readonly textBytes: number; readonly files: number }

/**
 * Tells text from files that are written as base64: long runs of its alphabet without a blank or a mark. Looks back from
 * where such a run would have to reach to, so that text is hardly read at all.
 */
export function measureText(bytes: Buffer): TextMeasure {
  let encoded = 0
  let files = 0
  for (let begin = 0; begin + runBytesMin <= bytes.length; ) {
    const reach = begin + runBytesMin - 1
    let back = reach
    while (back >= begin && isEncoded[bytes[back] as number] === 1) back--
    if (back >= begin) {
      begin = back + 1
      continue
    }
    let end = reach + 1
    while (end < bytes.length && isEncoded[bytes[end] as number] === 1) end++
    encoded += end - begin
    files++
    begin = end + 1
  }
  return { textBytes: bytes.length - encoded, files }
}
