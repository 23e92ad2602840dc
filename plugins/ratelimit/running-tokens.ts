import type { Clock, LimitStatus } from '../../src/plugin-api/index.ts'
import type { Limit } from './limits.ts'

/** Shorter waits cost as much as they save. */
const waitMinMs = 1_000
/** The number of limits with known averages. */
const limitsMax = 10_000
/** The weight of the last request in the averages. */
const share = 0.2

type Running = { readonly reserved: number; readonly since: number }

/** The statistics of one token limit in this process. */
type Known = {
  readonly running: Set<Running>
  reserved: number
  /** The average share of reserved tokens that was used. */
  usedShare: number
  /** The average duration of a request; undefined while none has ended. */
  tookMs: number | undefined
}

/**
 * The tokens that running requests have reserved, by limit. Most of them are released when the requests end: a client
 * that is refused because of them waits for that, and not for a minute. Reservations of other processes are not known
 * here.
 */
export class RunningTokens {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #limits = new Map<string, Known>()

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  /** Reserves tokens of all token limits that a request has taken. */
  reserve(limits: readonly Limit[]): readonly ((used: number) => void)[] {
    return limits.flatMap(({ counts, id, amount }) =>
      counts === 'tokens' && amount > 0 ? this.#begin(id, amount) : [],
    )
  }

  /** @returns a function that ends the reservation, with the used tokens */
  #begin(id: string, reserved: number): (used: number) => void {
    const known = this.#limits.get(id) ?? { running: new Set(), reserved: 0, usedShare: 0, tookMs: undefined }
    // Moves the limit to the end: the most recently used is the last.
    this.#limits.delete(id)
    this.#limits.set(id, known)
    if (this.#limits.size > limitsMax) this.#forgetIdle()
    const one = { reserved, since: this.#clock.tick() }
    known.running.add(one)
    known.reserved += reserved
    return used => {
      if (!known.running.delete(one)) return
      known.reserved -= reserved
      const tookMs = this.#clock.tick() - one.since
      known.usedShare += share * (Math.min(1, used / reserved) - known.usedShare)
      known.tookMs = known.tookMs === undefined ? tookMs : known.tookMs + share * (tookMs - known.tookMs)
    }
  }

  #forgetIdle(): void {
    for (const [id, { running }] of this.#limits) {
      if (running.size > 0) continue
      this.#limits.delete(id)
      return
    }
  }

  /**
   * The time until `missing` more tokens are free: until the oldest of the running requests is expected to end, if they
   * release that many; else `waitMs`, when used tokens leave the window.
   */
  waitMs(id: string, missing: number, waitMs: number): number {
    const known = this.#limits.get(id)
    if (!known || known.reserved * (1 - known.usedShare) < missing) return waitMs
    const [oldest] = known.running
    const age = this.#clock.tick() - (oldest?.since ?? 0)
    return Math.min(waitMs, Math.max(waitMinMs, Math.ceil((known.tookMs ?? age) - age)))
  }

  /** The state of limits, with the expected waits for those of tokens. */
  expected(limits: readonly Limit[], statuses: readonly LimitStatus[]): readonly LimitStatus[] {
    return statuses.map((status, i) => {
      const { counts, id, amount } = limits[i] as Limit
      if (counts !== 'tokens' || status.waitMs === 0) return status
      return { ...status, waitMs: this.waitMs(id, amount - status.remaining, status.waitMs) }
    })
  }
}
