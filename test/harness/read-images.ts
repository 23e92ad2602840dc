/**
 * A client's or an upstream's result for one image: `1254x1254`, `link`, or `unread` for bytes that are not a picture.
 */
export type Mark = string

const member = /"(b64_json|url)"\s*:\s*"((?:[^"\\]|\\.)*)("?)/g

/**
 * The images in a complete or partial answer, as a client finds them that wants every obtainable image: those whose
 * string is closed, and those whose string is not but whose bytes are a complete picture. Previews (`partial_image`)
 * do not count.
 */
export function readImages(text: string): Mark[] {
  const marks: Mark[] = []
  for (const record of text.split(/\n\n/)) {
    if (record.includes('partial_image"')) continue
    for (const [, name, value = '', quote] of record.matchAll(member)) {
      const content = value.replaceAll('\\/', '/')
      const inline = /^data:[^,]*,/.exec(content)
      if (name === 'url' && !inline) {
        if (quote !== '') marks.push('link')
        continue
      }
      const bytes = Buffer.from(content.slice(inline?.[0].length ?? 0), 'base64')
      if (quote === '' ? isWhole(bytes) : content !== '') marks.push(dimensions(bytes))
    }
  }
  return marks
}

/** A picture that is complete although its string is not. */
function isWhole(bytes: Buffer): boolean {
  if (bytes[0] === 0x89) return bytes.includes('IEND')
  if (bytes[0] === 0xff) return bytes.subarray(-2).equals(Buffer.from([0xff, 0xd9]))
  return bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.length >= bytes.readUInt32LE(4) + 8
}

/** Reads the test's own pictures (`pictures.ts`) with the test's own code, not the gateway's. */
function dimensions(bytes: Buffer): Mark {
  if (bytes.toString('latin1', 1, 4) === 'PNG') return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
  if (bytes.toString('latin1', 12, 16) === 'VP8X')
    return `${bytes.readUIntLE(24, 3) + 1}x${bytes.readUIntLE(27, 3) + 1}`
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return 'unread'
  for (let at = 2; at + 9 <= bytes.length; at += 2 + bytes.readUInt16BE(at + 2))
    if (bytes[at + 1] === 0xc0) return `${bytes.readUInt16BE(at + 7)}x${bytes.readUInt16BE(at + 5)}`
  return 'unread'
}

/** The number of occurrences of each. */
export function tally(marks: Iterable<Mark>): Map<Mark, number> {
  const counts = new Map<Mark, number>()
  for (const mark of marks) counts.set(mark, (counts.get(mark) ?? 0) + 1)
  return counts
}

/** The surplus of `part` over `whole`, as sentences. */
export function excess(part: Iterable<Mark>, whole: Iterable<Mark>): string[] {
  const has = tally(whole)
  return [...tally(part)]
    .filter(([mark, count]) => count > (has.get(mark) ?? 0))
    .map(([mark, count]) => `${mark}: ${count} against ${has.get(mark) ?? 0}`)
}
