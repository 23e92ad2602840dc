/** @returns the index of the first byte that is not whitespace; a byte order mark may precede it */
export function skipBlanks(begin: Buffer): number {
  let at = begin[0] === 0xef && begin[1] === 0xbb && begin[2] === 0xbf ? 3 : 0
  while (begin[at] === 0x20 || begin[at] === 0x09 || begin[at] === 0x0a || begin[at] === 0x0d) at++
  return Math.min(at, begin.length)
}
