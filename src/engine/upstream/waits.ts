/** The age and number of the last waits that are known. */
const keptMs = 5 * 60_000
const keptMost = 1_024
/** The number and age of the waits that the rate is computed from. */
const ratedMost = 16
const ratedMs = 60_000

/** How long requests of the last five minutes waited, of those that did. */
export type WaitTimes = { readonly count: number; readonly p50Ms: number | null; readonly p95Ms: number | null }

/** Waits by when they ended, in a ring: the last one overwrites the oldest. */
export class Waits {
  readonly #ended: number[] = []
  readonly #waited: number[] = []
  #next = 0

  /** Monotonic milliseconds. */
  add(now: number, waitedMs: number): void {
    this.#ended[this.#next] = now
    this.#waited[this.#next] = waitedMs
    this.#next = (this.#next + 1) % keptMost
  }

  /** How long so many requests wait for their turn, at the rate of the last minute; undefined without any. */
  forecast(now: number, waiting: number): number | undefined {
    let served = 0
    let since = now
    for (let i = 1; i <= ratedMost; i++) {
      const ended = this.#ended[(this.#next - i + keptMost) % keptMost]
      if (ended === undefined || now - ended > ratedMs) break
      served++
      since = ended
    }
    return served === 0 ? undefined : (waiting * (now - since)) / served
  }

  read(now: number): WaitTimes {
    const some = this.#waited.filter((_, at) => now - (this.#ended[at] as number) <= keptMs).sort((a, b) => a - b)
    const at = (share: number): number | null =>
      some.length === 0 ? null : Math.round(some[Math.ceil(some.length * share) - 1] as number)
    return { count: some.length, p50Ms: at(0.5), p95Ms: at(0.95) }
  }
}
