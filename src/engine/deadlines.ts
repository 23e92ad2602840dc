import { type Clock, type Member, type Pending, IntrusiveSet } from '../util/index.ts'

/** Deadlines are looked at this often; none fires early. */
const sweepMs = 100

/** Something that may take only so long. */
export type Timed = Member & {
  /** By the clock's `tick`. */
  deadlineAt: number
  /** The next deadline, for what recurs; nothing ends the watch. */
  onDeadline(): number | undefined | void
}

/** Watches over whatever is open, with one timer for all: a timer for each request costs more than the request's routing. */
export class Deadlines {
  readonly clock: Clock
  readonly #open = new IntrusiveSet<Timed>()
  #timer: Pending | undefined

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** When what may take so many milliseconds from now is over. */
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
