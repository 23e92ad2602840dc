/** Held whole by all streams of a process together; what does not fit is held by its tail. */
export const wholeEventsBytesMax = 64 * 1024 * 1024

/** Bytes that may be held by several together. */
export class Allowance {
  #left: number

  constructor(bytesMax: number) {
    this.#left = bytesMax
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false
    this.#left -= bytes
    return true
  }

  give(bytes: number): void {
    this.#left += bytes
  }
}

/** What one stream has taken of an allowance for the record that it holds. */
export class Borne {
  readonly #allowance: Allowance
  /** Undefined once the allowance did not bear it. */
  #bytes: number | undefined = 0

  constructor(allowance: Allowance) {
    this.#allowance = allowance
  }

  /** Whether a record of so many bytes may be held whole. Once it may not, the rest of it may not either. */
  holds(bytes: number): boolean {
    if (this.#bytes === undefined) return false
    if (this.#allowance.take(bytes - this.#bytes)) {
      this.#bytes = bytes
      return true
    }
    this.drop()
    return false
  }

  /** The record is over, and the next begins. */
  renew(): void {
    this.drop()
    this.#bytes = 0
  }

  /** Nothing is held any more. Idempotent. */
  drop(): void {
    this.#allowance.give(this.#bytes ?? 0)
    this.#bytes = undefined
  }
}
