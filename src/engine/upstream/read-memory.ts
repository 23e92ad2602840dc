/** The least and the most that a piece of a large answer is. */
const pieceBytesMin = 65_536
const pieceBytesMax = 262_144
/** Of an answer that has so much to come, pieces are read into memory of their own and not copied again. */
export const largeBytes = 32_768

/**
 * What small answers are read into, all of them: nobody is called back between a read and its end, and what is handed on
 * of it is copied.
 */
export const common = Buffer.allocUnsafeSlow(pieceBytesMin)

/**
 * Memory of its own for a piece, of which no more than `expectedBytes` is expected. Where reads come full they may grow: each
 * piece is handled in a turn of its own, and four times as many of them cost a third more.
 */
export function allocatePiece(expectedBytes: number, lastReadBytes: number): Buffer {
  const bytes = Math.min(pieceBytesMax, Math.max(pieceBytesMin, lastReadBytes * 2))
  return Buffer.allocUnsafeSlow(Math.min(bytes, expectedBytes))
}

export function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from)
  bytes.copy(copy, 0, from, to)
  return copy
}
