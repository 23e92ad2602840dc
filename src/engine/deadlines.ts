/** Deadlines are looked at this often; none fires early. */
const sweepMs = 100

/** Something that may take only so long. */
export type Timed = {
  /** On the clock of `performance.now()`. */
  deadlineAt: number
  /** The next deadline, for what recurs; nothing ends the watch. */
  onDeadline(): number | undefined | void
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
      const next = timed.onDeadline()
      if (typeof next === 'number') timed.deadlineAt = next
      else this.#open.delete(timed)
    }
  }
}
