import type { Clock, Pending } from '../../../util/index.ts'

export type BreakerParts = {
  readonly clock: Pick<Clock, 'after'>
  /** Checks whether the store answers again. */
  probe(): Promise<unknown>
  /** Called when the store has stopped answering, or answers again. */
  onChange(isOpen: boolean): void
  /** Consecutive failures that open the breaker. */
  readonly failuresMax: number
  readonly probeEveryMs: number
}

/** Stops calls to a store that does not answer, so that requests neither wait for it nor probe it. */
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

  /** Closes the breaker for good: there are no more calls. */
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
