/**
 * Joins several pieces. Returns a single piece unchanged, because a copy costs as much as its length. @param bytes
 * their total length, if known
 */
export function joined(pieces: readonly Buffer[], bytes?: number): Buffer {
  const [first] = pieces
  return first && pieces.length === 1 ? first : Buffer.concat(pieces, bytes)
}
