/** The bytes of several pieces. One piece is returned as it is: a copy costs as much as it is long. @param bytes their sum, where it is known */
export function joined(pieces: readonly Buffer[], bytes?: number): Buffer {
  const [first] = pieces
  return first && pieces.length === 1 ? first : Buffer.concat(pieces, bytes)
}
