import { type ByteBudget, ByteClaim } from '../../src/wire/index.ts'

/** The maximum memory for complete records of all streams of a process; beyond it only the end of an image is held. */
export const wholeEventsBytesMax = 64 * 1024 * 1024

/** The record that a stream holds, completely as long as the budget has memory for it. */
export class HeldRecord {
  readonly #claim: ByteClaim
  /** Whether nothing of the record was delivered. */
  isBorne = true

  constructor(budget: ByteBudget) {
    this.#claim = new ByteClaim(budget)
  }

  /** Whether a record of this size may be held completely. If not, its remainder may not either. */
  holds(bytes: number): boolean {
    if (!this.isBorne) return false
    this.isBorne = this.#claim.hold(bytes)
    if (!this.isBorne) this.#claim.free()
    return this.isBorne
  }

  /** Ends the record; the next begins. */
  renew(): void {
    this.#claim.free()
    this.isBorne = true
  }

  /** Releases all memory. Idempotent. */
  drop(): void {
    this.#claim.free()
    this.isBorne = false
  }
}
