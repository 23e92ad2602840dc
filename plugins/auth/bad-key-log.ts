import type { Clock } from '../../src/plugin-api/index.ts'

const spanMs = 60_000
const networksMax = 10_000

/**
 * The bad keys of the last 60 seconds by network. Bounded: of more than 10,000 networks those that failed longest ago
 * are dropped. Good keys are never counted here, so guesses lock no one out of their key.
 */
export class BadKeyLog {
  readonly #stamps = new Map<string, number[]>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Counts a bad key. Returns 0, or the milliseconds to wait if the network has reached its `max`; then it is not
   * counted.
   */
  count(network: string, max: number): number {
    const now = this.#clock.tick()
    const stamps = (this.#stamps.get(network) ?? []).filter(stamp => now - stamp < spanMs)
    // Moves the network to the end: the first entry of the Map is then the one that failed longest ago.
    this.#stamps.delete(network)
    this.#stamps.set(network, stamps)
    if (this.#stamps.size > networksMax) this.#forgetFirst()
    const first = stamps[stamps.length - max]
    if (first !== undefined) return first + spanMs - now
    stamps.push(now)
    return 0
  }

  get size(): number {
    return this.#stamps.size
  }

  #forgetFirst(): void {
    for (const network of this.#stamps.keys()) {
      this.#stamps.delete(network)
      return
    }
  }
}
