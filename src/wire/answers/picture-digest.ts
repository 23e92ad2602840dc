import { createHash, type Hash } from 'node:crypto'

const backslash = 0x5c

/**
 * Equal for two strings with the same picture. One may have more levels of escapes than the other (`\/`), so
 * backslashes do not count.
 */
export class PictureDigest {
  #hash: Hash | undefined = createHash('sha256')
  #digest = ''

  write(piece: Buffer, from: number, to: number): void {
    for (let at = from; at < to; ) {
      const found = piece.indexOf(backslash, at)
      const end = found === -1 || found >= to ? to : found
      if (end > at) this.#hash?.update(piece.subarray(at, end))
      at = end + 1
    }
  }

  /** Returns the same text each time; nothing may be written after the first call. */
  end(): string {
    if (this.#hash) this.#digest = this.#hash.digest('base64')
    this.#hash = undefined
    return this.#digest
  }
}
