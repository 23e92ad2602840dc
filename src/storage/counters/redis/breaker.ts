import type { Clock, Pending } from '../../../kit/index.ts'

export type BreakerParts = {
  readonly clock: Pick<Clock, 'after'>
  /** Asks whether it answers again. */
  probe(): Promise<unknown>
  /** It has stopped answering, or answers again. */
  onChange(isOpen: boolean): void
  /** Failures in a row that open it. */
  readonly failuresMax: number
  readonly probeEveryMs: number
}

/** Leaves a store alone that does not answer: who asks meanwhile does not wait, and no request is the one that tries it. */
export class Breaker {
  readonly #parts: BreakerParts
  #failures = 0
  #isOpen = false
  #isClosed = false
  #probing: Pending | undefined

  constructor(parts: BreakerParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(): void {
    this.#failures++
    if (this.#failures >= this.#parts.failuresMax) this.open()
  }

  open(): void {
    if (this.#isOpen || this.#isClosed) return
    this.#isOpen = true
    this.#parts.onChange(true)
    this.#probeLater()
  }

  /** For good: nothing is asked any more. */
  close(): void {
    this.#isClosed = true
    this.#probing?.cancel()
  }

  #probeLater(): void {
    this.#probing = this.#parts.clock.after(this.#parts.probeEveryMs, () => {
      this.#parts.probe().then(
        () => {
          this.#isOpen = false
          this.#failures = 0
          this.#parts.onChange(false)
        },
        () => {
          if (!this.#isClosed) this.#probeLater()
        },
      )
    })
  }
}
