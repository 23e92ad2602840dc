type Edit = { readonly from: number; readonly to: number; readonly bytes: Buffer }

/**
 * Bytes on their way through, some of them held back. Places are counted from the first byte that ever came; nothing
 * is copied, what goes out are views of what came in, with edits put between them.
 */
export class Holdback {
  #pieces: Buffer[] = []
  #edits: Edit[] = []
  #from = 0
  #end = 0

  /** Behind the last byte that came. */
  get end(): number {
    return this.#end
  }

  /** The first byte that is still held. */
  get from(): number {
    return this.#from
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return
    this.#pieces.push(piece)
    this.#end += piece.length
  }

  /** Puts `bytes` in the place of those from `from` to `to`, none of which has gone; edits are made in their order. */
  replace(from: number, to: number, bytes: Buffer): void {
    this.#edits.push({ from, to, bytes })
  }

  /** All that is held before the place `until`. An edit goes with the byte that it stands before. */
  release(until: number): Buffer[] {
    const out: Buffer[] = []
    for (let edit = this.#edits[0]; edit && edit.from < until; edit = this.#edits[0]) {
      this.#take(edit.from, out)
      this.#take(edit.to, undefined)
      out.push(edit.bytes)
      this.#edits.shift()
    }
    this.#take(until, out)
    return out
  }

  #take(until: number, out: Buffer[] | undefined): void {
    let whole = 0
    for (const piece of this.#pieces) {
      const rest = until - this.#from
      if (rest <= 0) break
      if (piece.length <= rest) {
        out?.push(piece)
        this.#from += piece.length
        whole++
      } else {
        out?.push(piece.subarray(0, rest))
        this.#pieces[whole] = piece.subarray(rest)
        this.#from += rest
        break
      }
    }
    if (whole > 0) this.#pieces.splice(0, whole)
  }
}
