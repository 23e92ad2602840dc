import { type ByteBudget, ByteClaim } from '../../src/wire/index.ts'

/** Held whole by all streams of a process together; what does not fit is held by its tail. */
export const wholeEventsBytesMax = 64 * 1024 * 1024

/** The record that a stream holds, whole as long as the budget has room for it. */
export class WholeRecord {
  readonly #claim: ByteClaim
  /** Nothing of the record has gone. */
  isBorne = true

  constructor(budget: ByteBudget) {
    this.#claim = new ByteClaim(budget)
  }

  /** Whether a record of so many bytes may be held whole. Once it may not, the rest of it may not either. */
  holds(bytes: number): boolean {
    if (!this.isBorne) return false
    this.isBorne = this.#claim.hold(bytes)
    if (!this.isBorne) this.#claim.free()
    return this.isBorne
  }

  /** The record is over, and the next begins. */
  renew(): void {
    this.#claim.free()
    this.isBorne = true
  }

  /** Nothing is held any more. Idempotent. */
  drop(): void {
    this.#claim.free()
    this.isBorne = false
  }
}
