import type { Counters, LimitRequest, LimitStatus, LimitReservation, Ticket } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'
import { SlidingLog } from './sliding-log.ts'

/** Windows checked for idleness on each call. With two, memory is at most twice what a minute uses. */
const sweptPerTaking = 2
/** When a slot becomes free is unknown; a retry after a second costs little. */
export const placeWaitMs = 1_000

/** Counters of one process. Every call is synchronous, so nothing can happen between check and commit. */
export class MemoryCounters implements Counters {
  readonly #clock: Clock
  readonly #logs = new Map<string, SlidingLog>()
  readonly #places = new Map<string, number>()
  #sweep = this.#logs.entries()
  #newest = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  peek(demands: readonly LimitRequest[]): readonly LimitStatus[] {
    const now = this.#clock.tick()
    return demands.map(demand => this.#statusOf(demand, this.#waitMs(demand, now), now))
  }

  known(demands: readonly LimitRequest[]): readonly LimitStatus[] {
    return this.peek(demands)
  }

  take(demands: readonly LimitRequest[]): LimitReservation {
    const now = this.#clock.tick()
    this.#dropIdle(now)
    const waits: number[] = []
    let isFull = false
    for (const demand of demands) {
      const waitMs = this.#waitMs(demand, now)
      waits.push(waitMs)
      if (waitMs > 0 && !demand.shadow) isFull = true
    }
    const ticket = isFull ? undefined : this.record(demands, now)
    const statuses: LimitStatus[] = []
    for (let i = 0; i < demands.length; i++)
      statuses.push(this.#statusOf(demands[i] as LimitRequest, waits[i] as number, now))
    return { ticket, standings: statuses }
  }

  /** Counts requests that another process has admitted at `stamp`, whatever the limits. */
  record(demands: readonly LimitRequest[], stamp: number): Ticket {
    // A log is ordered: a late report is stored with the time of the one before it.
    this.#newest = Math.max(this.#newest, stamp)
    for (const { id, kind, amount } of demands) {
      if (amount === 0) continue
      if (kind === 'places') this.#places.set(id, (this.#places.get(id) ?? 0) + 1)
      else this.#logOf(id).add(this.#newest, amount)
    }
    return { stamp: this.#newest, demands }
  }

  settle({ stamp, demands }: Ticket, amounts: readonly number[]): void {
    const now = this.#clock.tick()
    for (let i = 0; i < demands.length; i++) {
      const { id, kind, amount: taken } = demands[i] as LimitRequest
      const amount = amounts[i] ?? taken
      if (kind === 'places') {
        if (taken > 0) this.#leave(id)
      } else if (amount !== taken) this.#change(id, { stamp, taken, amount, now })
    }
  }

  healthy(): boolean {
    return true
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** How many windows are in memory, and how many kinds of slots are in use. */
  get size(): number {
    return this.#logs.size + this.#places.size
  }

  #change(id: string, use: { stamp: number; taken: number; amount: number; now: number }): void {
    const { stamp, taken, amount, now } = use
    const log = this.#logs.get(id)
    log?.forget(now)
    if (taken > 0 && log?.change(stamp, taken, amount)) return
    // The taken amount has already left the window; use beyond it was counted nowhere.
    if (amount <= taken) return
    this.#newest = Math.max(this.#newest, now)
    this.#logOf(id).add(this.#newest, amount - taken)
  }

  #leave(id: string): void {
    const taken = (this.#places.get(id) ?? 1) - 1
    if (taken > 0) this.#places.set(id, taken)
    else this.#places.delete(id)
  }

  #waitMs({ id, kind, limit, amount }: LimitRequest, now: number): number {
    if (kind === 'places') return (this.#places.get(id) ?? 0) + amount > limit ? placeWaitMs : 0
    const log = this.#logs.get(id)
    log?.forget(now)
    if (log) return log.waitMs(limit, amount, now)
    return amount > limit ? new SlidingLog().waitMs(limit, amount, now) : 0
  }

  #statusOf({ id, kind, limit }: LimitRequest, waitMs: number, now: number): LimitStatus {
    if (kind === 'places') return { remaining: Math.max(0, limit - (this.#places.get(id) ?? 0)), waitMs, resetMs: 0 }
    const log = this.#logs.get(id)
    return { remaining: Math.max(0, limit - (log?.used ?? 0)), waitMs, resetMs: log?.resetMs(now) ?? 0 }
  }

  #logOf(id: string): SlidingLog {
    let log = this.#logs.get(id)
    if (!log) {
      log = new SlidingLog()
      this.#logs.set(id, log)
    }
    return log
  }

  // Sweeps a few windows on each call instead of all on a timer: a million windows would block the event loop.
  #dropIdle(now: number): void {
    for (let i = 0; i < sweptPerTaking; i++) {
      const next = this.#sweep.next()
      if (next.done) {
        this.#sweep = this.#logs.entries()
        return
      }
      const [id, log] = next.value
      log.forget(now)
      if (log.length === 0) this.#logs.delete(id)
    }
  }
}
