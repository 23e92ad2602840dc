/** Every limit counts the last 60 seconds (requirement 8: requests per minute). */
export const spanMs = 60_000

const capacityMin = 8

/**
 * When each request of the last 60 seconds was admitted, oldest first: a ring that grows to what it has to hold. An
 * exact log rather than buckets, because buckets admit up to twice the limit around a border.
 */
export class SlidingLog {
  #stamps = new Float64Array(capacityMin)
  #head = 0
  #length = 0

  /** Forgets what is no longer within 60 seconds of `now`. A request exactly 60 seconds ago is outside. */
  forget(now: number): void {
    while (this.#length > 0 && now - this.#at(0) >= spanMs) {
      this.#head = (this.#head + 1) & (this.#stamps.length - 1)
      this.#length--
    }
  }

  /** Adds a request. Stamps never decrease. */
  add(stamp: number): void {
    if (this.#length === this.#stamps.length) this.#grow()
    this.#stamps[this.#place(this.#length)] = stamp
    this.#length++
  }

  /** Takes one request with exactly this stamp out again; false when it has left the window already. */
  remove(stamp: number): boolean {
    let low = 0
    let high = this.#length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#at(middle) < stamp) low = middle + 1
      else high = middle
    }
    if (low === this.#length || this.#at(low) !== stamp) return false
    for (let i = low + 1; i < this.#length; i++) this.#stamps[this.#place(i - 1)] = this.#at(i)
    this.#length--
    return true
  }

  /** How many are in the log. */
  get length(): number {
    return this.#length
  }

  /** Whole milliseconds until fewer than `limit` are in the log; 0 when that is so now. Call `forget` first. */
  waitMs(limit: number, now: number): number {
    if (this.#length < limit) return 0
    // The request that has to leave before there is room; with a limit of 0, which nothing satisfies, a whole window.
    const stamp = limit > 0 ? this.#at(this.#length - limit) : now
    let wait = Math.ceil(stamp + spanMs - now)
    // The sum above may have been rounded down; the caller who waits is measured by `forget`.
    while (now + wait - stamp < spanMs) wait++
    return wait
  }

  /** Milliseconds until the log is empty when nothing is added. */
  resetMs(now: number): number {
    return this.#length === 0 ? 0 : this.#at(this.#length - 1) + spanMs - now
  }

  #place(i: number): number {
    return (this.#head + i) & (this.#stamps.length - 1)
  }

  #at(i: number): number {
    return this.#stamps[this.#place(i)] as number
  }

  #grow(): void {
    const grown = new Float64Array(this.#stamps.length * 2)
    for (let i = 0; i < this.#length; i++) grown[i] = this.#at(i)
    this.#stamps = grown
    this.#head = 0
  }
}
