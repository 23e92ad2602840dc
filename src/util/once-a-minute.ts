import type { Clock } from './clock.ts'

const minuteMs = 60_000

/** Counts what happens again and again and is worth a line of the log: at once, and then once a minute. */
export class OnceAMinute {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #seen = new Map<string, { count: number; loggedAt: number }>()

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  /** @returns how often it has happened since it was last said, this time too, when it is to be said now; otherwise 0 */
  count(what: string): number {
    const now = this.#clock.tick()
    let seen = this.#seen.get(what)
    if (!seen) {
      seen = { count: 0, loggedAt: Number.NEGATIVE_INFINITY }
      this.#seen.set(what, seen)
    }
    seen.count++
    if (now - seen.loggedAt < minuteMs) return 0
    const { count } = seen
    seen.count = 0
    seen.loggedAt = now
    return count
  }
}
