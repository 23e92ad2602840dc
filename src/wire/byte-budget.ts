/** The share of a payer with several bodies. The rest is free for others. */
const share = 0.75

/**
 * A budget of bytes for bodies, which all requests share. A request may pass the maximum, which a reload can change. A
 * payer that already holds bytes may hold at most three quarters: a key that announces uploads and does not send them
 * leaves a quarter to all others.
 */
export class ByteBudget {
  readonly #max: number
  readonly #byPayer = new Map<string, number>()
  #held = 0

  /** @param max bytes, for callers that pass no other limit */
  constructor(max = Number.POSITIVE_INFINITY) {
    this.#max = max
  }

  /** The total of held bytes. */
  get held(): number {
    return this.#held
  }

  /** Returns false, and takes nothing, if not enough is left, or not for this payer. */
  take(bytes: number, max = this.#max, payer?: string): boolean {
    const own = payer === undefined ? 0 : (this.#byPayer.get(payer) ?? 0)
    if (this.#held + bytes > max || (own > 0 && own + bytes > max * share)) return false
    this.#held += bytes
    if (payer !== undefined && bytes > 0) this.#byPayer.set(payer, own + bytes)
    return true
  }

  give(bytes: number, payer?: string): void {
    this.#held -= bytes
    if (payer === undefined) return
    const own = (this.#byPayer.get(payer) ?? 0) - bytes
    if (own > 0) this.#byPayer.set(payer, own)
    else this.#byPayer.delete(payer)
  }
}

/** The part of a budget that one body has taken. The code that opens a claim frees it in every case. */
export class ByteClaim {
  readonly #budget: ByteBudget
  readonly #max: number | undefined
  readonly #payer: string | undefined
  #bytes = 0

  constructor(budget: ByteBudget, max?: number, payer?: string) {
    this.#budget = budget
    this.#max = max
    this.#payer = payer
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Changes the claim to this number of bytes, more or fewer than before. Returns false, and changes nothing, if the
   * budget has not enough.
   */
  hold(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (more > 0 && !this.#budget.take(more, this.#max, this.#payer)) return false
    if (more < 0) this.#budget.give(-more, this.#payer)
    this.#bytes = bytes
    return true
  }

  /** Frees all of it. Idempotent. */
  free(): void {
    this.hold(0)
  }
}
