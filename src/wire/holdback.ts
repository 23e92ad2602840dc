type Edit = { readonly from: number; readonly to: number; readonly bytes: Buffer }

/** Smaller pieces are merged: an upstream may write byte by byte. */
const smallBytes = 512
const blockBytes = 8192
/** Pieces from this size on should not be cut. */
const largeBytes = 16_384

/**
 * Bytes of a stream, some of them held back. Positions count from the first byte of the stream. Only small pieces are
 * copied: the output consists of views of the input, with edits between them.
 */
export class Holdback {
  #pieces: Buffer[] = []
  /** The number of pieces that were released. */
  #gone = 0
  #edits: Edit[] = []
  #from = 0
  #end = 0
  /** The block for small pieces, its used bytes, and the start of the last piece. */
  #block: Buffer | undefined
  #taken = 0
  #begun = 0

  /** The position after the last received byte. */
  get end(): number {
    return this.#end
  }

  /** The position of the first byte that is still held. */
  get from(): number {
    return this.#from
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return
    this.#end += piece.length
    if (piece.length < smallBytes) return this.#join(piece)
    this.#block = undefined
    this.#pieces.push(piece)
  }

  /** Counts bytes that passed while none were held. */
  pass(bytes: number): void {
    this.#end += bytes
    this.#from = this.#end
  }

  /**
   * Replaces the bytes from `from` to `to`, none of which was released, with `bytes`. Edits may come in any order; an
   * edit replaces those that lie within it, and none crosses the border of another.
   */
  replace(from: number, to: number, bytes: Buffer): void {
    const edits = this.#edits
    // An insertion comes after another one at the same position.
    const least = from < to ? from : from + 1
    let at = edits.length
    while (at > 0 && (edits[at - 1] as Edit).from >= least) at--
    let within = at
    while (within < edits.length && (edits[within] as Edit).to <= to) within++
    edits.splice(at, within - at, { from, to, bytes })
  }

  /**
   * Releases everything before the position `until`. An edit is released with the byte after it. A large piece that
   * begins at or after `wholeFrom` is released whole or not yet: if it were cut, it would be copied, and could not be
   * freed after it is written.
   */
  release(until: number, wholeFrom = Number.POSITIVE_INFINITY): Buffer[] {
    const out: Buffer[] = []
    let done = 0
    for (let edit = this.#edits[0]; edit && edit.from < until; edit = this.#edits[++done]) {
      this.#take(edit.from, out)
      this.#take(edit.to, undefined)
      if (edit.bytes.length > 0) out.push(edit.bytes)
    }
    if (done > 0) this.#edits.splice(0, done)
    this.#take(until, out, wholeFrom)
    return out
  }

  /** Appends to the previous small piece, if that is still the last one and its block has room. */
  #join(piece: Buffer): void {
    const last = this.#pieces.length - 1
    if (!this.#block || this.#taken + piece.length > blockBytes || last < this.#gone) {
      this.#block ??= Buffer.allocUnsafe(blockBytes)
      if (this.#taken + piece.length > blockBytes) {
        this.#block = Buffer.allocUnsafe(blockBytes)
        this.#taken = 0
      }
      this.#begun = this.#taken
      this.#pieces.push(piece)
    }
    piece.copy(this.#block, this.#taken)
    this.#taken += piece.length
    this.#pieces[this.#pieces.length - 1] = this.#block.subarray(this.#begun, this.#taken)
  }

  #take(until: number, out: Buffer[] | undefined, wholeFrom = Number.POSITIVE_INFINITY): void {
    for (let piece = this.#pieces[this.#gone]; piece; piece = this.#pieces[this.#gone]) {
      const rest = until - this.#from
      if (rest <= 0) break
      if (piece.length > rest) {
        if (this.#from >= wholeFrom && piece.length >= largeBytes) break
        out?.push(piece.subarray(0, rest))
        this.#pieces[this.#gone] = piece.subarray(rest)
        if (this.#gone === this.#pieces.length - 1) this.#begun += rest
        this.#from += rest
        break
      }
      out?.push(piece)
      this.#from += piece.length
      this.#gone++
    }
    if (this.#gone === this.#pieces.length) {
      this.#pieces = []
      this.#gone = 0
    } else if (this.#gone > 64) {
      this.#pieces = this.#pieces.slice(this.#gone)
      this.#gone = 0
    }
  }
}
