/** Deadlines are looked at this often; none fires early. */
const sweepMs = 100

/** Something that may take only so long. */
export type Timed = {
  /** On the clock of `performance.now()`. */
  readonly deadlineAt: number
  onDeadline(): void
}

/** Watches over whatever is open, with one timer for all: a timer for each request costs more than the request's routing. */
export class Deadlines {
  readonly #open = new Set<Timed>()
  #timer: NodeJS.Timeout | undefined

  watch(timed: Timed): void {
    this.#open.add(timed)
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref()
  }

  forget(timed: Timed): void {
    this.#open.delete(timed)
  }

  #sweep(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    const now = performance.now()
    for (const timed of this.#open) {
      if (timed.deadlineAt > now) continue
      this.#open.delete(timed)
      timed.onDeadline()
    }
  }
}
