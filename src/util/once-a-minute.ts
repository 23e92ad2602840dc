import type { Clock } from './clock.ts'

const minuteMs = 60_000

/** Rate limit for repeated log lines: at once, and then once a minute. */
export class OnceAMinute {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #seen = new Map<string, { count: number; loggedAt: number }>()

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  /** @returns the number of occurrences since the last log line, including this one, if a line is due; otherwise 0 */
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
