/** Of what all share, one may hold so much when holding more than once: the others find room, whatever it does. */
const share = 0.75

/**
 * A budget of bytes for bodies, which all requests share. Each taking names the most there is: a reload can change it.
 * A payer that holds something already may not go beyond three quarters, so that one key that announces uploads and does
 * not send them leaves a quarter to everybody else.
 */
export class ByteBudget {
  readonly #byPayer = new Map<string, number>()
  #held = 0

  /** Bytes, all together. */
  get held(): number {
    return this.#held
  }

  /** False, and nothing taken, when there is not so much left, or not for this payer. */
  take(bytes: number, max: number, payer: string): boolean {
    const own = this.#byPayer.get(payer) ?? 0
    if (this.#held + bytes > max || (own > 0 && own + bytes > max * share)) return false
    this.#held += bytes
    if (bytes > 0) this.#byPayer.set(payer, own + bytes)
    return true
  }

  give(bytes: number, payer: string): void {
    this.#held -= bytes
    const own = (this.#byPayer.get(payer) ?? 0) - bytes
    if (own > 0) this.#byPayer.set(payer, own)
    else this.#byPayer.delete(payer)
  }
}
