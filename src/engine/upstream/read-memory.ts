/** The smallest and the largest piece of a large answer. */
const pieceBytesMin = 65_536
const pieceBytesMax = 262_144
/** If an answer still has so many bytes to come, pieces are read into memory of their own and not copied again. */
export const largeBytes = 32_768

/**
 * The common read buffer for small answers: no callback runs between a read and its end, and what is passed on is
 * copied.
 */
export const common = Buffer.allocUnsafeSlow(pieceBytesMin)

/**
 * Memory of its own for a piece of at most `expectedBytes`. Pieces may grow while reads fill them: each is handled in
 * its own turn, and four times as many cost a third more.
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
