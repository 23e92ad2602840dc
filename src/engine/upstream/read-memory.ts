/** What one read takes at most, and a piece of a large answer is. */
export const pieceBytes = 65_536
/** Of an answer that has so much to come, pieces are read into memory of their own and not copied again. */
export const largeBytes = 32_768

/**
 * What small answers are read into, all of them: nobody is called back between a read and its end, and what is handed on
 * of it is copied.
 */
export const common = Buffer.allocUnsafeSlow(pieceBytes)

/** Memory of its own for a piece, of which so much at most is expected. */
export function allocatePiece(expectedBytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.min(pieceBytes, expectedBytes))
}

export function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from)
  bytes.copy(copy, 0, from, to)
  return copy
}
