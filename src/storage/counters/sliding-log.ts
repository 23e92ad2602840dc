import { windowMs } from '../../domain/index.ts'

const capacityMin = 8

/**
 * The amounts that were admitted in the last 60 seconds, with their times, oldest first: a ring that grows as needed.
 * It is an exact log rather than buckets, because buckets admit up to twice the limit around a border.
 */
export class SlidingLog {
  #stamps = new Float64Array(capacityMin)
  /** Undefined while every amount is 1, as for requests. */
  #amounts: Float64Array | undefined
  #head = 0
  #length = 0
  #used = 0

  /** The sum of the amounts in the log. */
  get used(): number {
    return this.#used
  }

  /** How many amounts are in the log. */
  get length(): number {
    return this.#length
  }

  /** Drops amounts that are no longer within 60 seconds of `now`. An amount exactly 60 seconds old is dropped. */
  forget(now: number): void {
    while (this.#length > 0 && now - this.#stampAt(0) >= windowMs) {
      this.#used -= this.#amountAt(0)
      this.#head = (this.#head + 1) & (this.#stamps.length - 1)
      this.#length--
    }
  }

  /** Adds an amount above 0. Stamps never decrease. */
  add(stamp: number, amount: number): void {
    if (this.#length === this.#stamps.length) this.#grow()
    const place = this.#place(this.#length)
    if (amount !== 1) this.#amounts ??= new Float64Array(this.#stamps.length).fill(1)
    this.#stamps[place] = stamp
    if (this.#amounts) this.#amounts[place] = amount
    this.#length++
    this.#used += amount
  }

  /**
   * Changes one amount with exactly this stamp; 0 removes it. Returns false if there is none: it may have left the
   * window.
   */
  change(stamp: number, from: number, to: number): boolean {
    const at = this.#find(stamp, from)
    if (at === -1) return false
    if (to === 0) this.#remove(at)
    else {
      this.#amounts ??= new Float64Array(this.#stamps.length).fill(1)
      this.#amounts[this.#place(at)] = to
    }
    this.#used += to - from
    return true
  }

  /** Whole milliseconds until `amount` more fits the limit; 0 if it does now. Call `forget` first. */
  waitMs(limit: number, amount: number, now: number): number {
    let tooMuch = this.#used + amount - limit
    if (tooMuch <= 0 || amount === 0) return 0
    // An amount that can never fit waits for a whole window, and is refused again.
    let stamp = now
    if (amount <= limit)
      for (let i = 0; tooMuch > 0; i++) {
        stamp = this.#stampAt(i)
        tooMuch -= this.#amountAt(i)
      }
    let wait = Math.ceil(stamp + windowMs - now)
    // The sum above may have been rounded down; `forget` compares exactly when the client comes back.
    while (now + wait - stamp < windowMs) wait++
    return wait
  }

  /** Milliseconds until the log is empty if nothing is added. */
  resetMs(now: number): number {
    return this.#length === 0 ? 0 : this.#stampAt(this.#length - 1) + windowMs - now
  }

  // If several equal amounts have one stamp, any of them will do.
  #find(stamp: number, amount: number): number {
    let low = 0
    let high = this.#length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#stampAt(middle) < stamp) low = middle + 1
      else high = middle
    }
    for (let i = low; i < this.#length && this.#stampAt(i) === stamp; i++) if (this.#amountAt(i) === amount) return i
    return -1
  }

  #remove(at: number): void {
    for (let i = at + 1; i < this.#length; i++) {
      this.#stamps[this.#place(i - 1)] = this.#stampAt(i)
      if (this.#amounts) this.#amounts[this.#place(i - 1)] = this.#amountAt(i)
    }
    this.#length--
  }

  #place(i: number): number {
    return (this.#head + i) & (this.#stamps.length - 1)
  }

  #stampAt(i: number): number {
    return this.#stamps[this.#place(i)] as number
  }

  #amountAt(i: number): number {
    return this.#amounts ? (this.#amounts[this.#place(i)] as number) : 1
  }

  #grow(): void {
    const stamps = new Float64Array(this.#stamps.length * 2)
    const amounts = this.#amounts && new Float64Array(stamps.length)
    for (let i = 0; i < this.#length; i++) {
      stamps[i] = this.#stampAt(i)
      if (amounts) amounts[i] = this.#amountAt(i)
    }
    this.#stamps = stamps
    this.#amounts = amounts
    this.#head = 0
  }
}
