type Edit = { readonly from: number; readonly to: number; readonly bytes: Buffer }

/** Smaller pieces are put together: an upstream may write byte by byte. */
const smallBytes = 512
const blockBytes = 8192
/** From this size on a piece is better not cut. */
const largeBytes = 16_384

/**
 * Bytes on their way through, some of them held back. Places are counted from the first byte that ever came; but for small
 * pieces nothing is copied: what goes out are views of what came in, with edits put between them.
 */
export class Holdback {
  #pieces: Buffer[] = []
  /** How many of the pieces have gone. */
  #gone = 0
  #edits: Edit[] = []
  #from = 0
  #end = 0
  /** Where small pieces are put, how much of it is taken, and from where on by the last piece. */
  #block: Buffer | undefined
  #taken = 0
  #begun = 0

  /** After the last byte that came. */
  get end(): number {
    return this.#end
  }

  /** The first byte that is still held. */
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

  /** So many bytes have passed by, while none were held. */
  pass(bytes: number): void {
    this.#end += bytes
    this.#from = this.#end
  }

  /**
   * Puts `bytes` in the place of those from `from` to `to`, none of which has gone. Edits may come in any order; one takes the place
   * of those that lie within it, and none reaches over another's border.
   */
  replace(from: number, to: number, bytes: Buffer): void {
    const edits = this.#edits
    // An insertion comes after another one at the same place.
    const least = from < to ? from : from + 1
    let at = edits.length
    while (at > 0 && (edits[at - 1] as Edit).from >= least) at--
    let within = at
    while (within < edits.length && (edits[within] as Edit).to <= to) within++
    edits.splice(at, within - at, { from, to, bytes })
  }

  /**
   * All that is held before the place `until`. An edit goes with the byte after it. A large piece that begins
   * at `wholeFrom` or after it goes whole or not yet: cut, it would be copied, and could not be freed once it is written.
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

  /** After the small piece before it, where that is still the last and its block has room. */
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
