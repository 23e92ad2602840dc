import { type Clock, type Member, type Pending, IntrusiveSet } from '../util/index.ts'

/** The interval at which deadlines are checked; none fires early. */
const sweepMs = 100

/** Something with a deadline. */
export type Timed = Member & {
  /** By the clock's `tick`. */
  deadlineAt: number
  /** The next deadline, if it recurs; the watch continues. */
  onDeadline(): number | undefined | void
}

/** Watches all deadlines with one timer: a timer for each request costs more than routing it. */
export class Deadlines {
  readonly clock: Clock
  readonly #open = new IntrusiveSet<Timed>()
  #timer: Pending | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** The deadline for something that may take so many milliseconds from now. */
  in(ms: number): number {
    return this.clock.tick() + ms
  }

  watch(timed: Timed): void {
    this.#open.add(timed)
    this.#timer ??= this.clock.every(sweepMs, () => this.#sweep())
  }

  forget(timed: Timed): void {
    this.#open.delete(timed)
  }

  #sweep(): void {
    if (this.#open.size === 0) {
      this.#timer?.cancel()
      this.#timer = undefined
      return
    }
    const now = this.clock.tick()
    this.#open.each(timed => {
      if (timed.deadlineAt > now) return
      const next = timed.onDeadline()
      if (typeof next === 'number') timed.deadlineAt = next
      else this.#open.delete(timed)
    })
  }
}
