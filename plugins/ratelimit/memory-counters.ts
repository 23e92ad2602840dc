import type { Clock } from '../../src/kit/index.ts'
import type { Counters, Standing, Taking, Ticket, Window } from './counters.ts'
import { SlidingLog } from './sliding-log.ts'

/** Windows looked at on each taking to see whether they are idle. Two hold memory to twice what a minute uses. */
const sweptPerTaking = 2

/** Counters of one process. Every call is synchronous, so nothing can come between check and commit. */
export class MemoryCounters implements Counters {
  readonly #clock: Clock
  readonly #logs = new Map<string, SlidingLog>()
  #sweep = this.#logs.entries()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  peek(windows: readonly Window[]): readonly Standing[] {
    const now = this.#clock.tick()
    return windows.map(window => {
      const log = this.#logs.get(window.id)
      log?.forget(now)
      return log ? standingOf(log, window.limit, now) : { remaining: window.limit, waitMs: 0, resetMs: 0 }
    })
  }

  take(windows: readonly Window[]): Taking {
    const now = this.#clock.tick()
    this.#dropIdle(now)
    const logs = windows.map(window => this.#logOf(window.id, now))
    const full = windows.some((window, i) => (logs[i] as SlidingLog).length >= window.limit)
    if (!full) for (const log of logs) log.add(now)
    const standings = windows.map((window, i) => standingOf(logs[i] as SlidingLog, window.limit, now))
    return { ticket: full ? undefined : { stamp: now, windows }, standings }
  }

  giveBack(ticket: Ticket): void {
    for (const window of ticket.windows) this.#logs.get(window.id)?.remove(ticket.stamp)
  }

  /** How many windows are in memory. */
  get size(): number {
    return this.#logs.size
  }

  #logOf(id: string, now: number): SlidingLog {
    let log = this.#logs.get(id)
    if (!log) {
      log = new SlidingLog()
      this.#logs.set(id, log)
    }
    log.forget(now)
    return log
  }

  // A little on each call instead of all at once on a timer: a million windows would stop the event loop for long.
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

function standingOf(log: SlidingLog, limit: number, now: number): Standing {
  return {
    remaining: Math.max(0, limit - log.length),
    waitMs: log.waitMs(limit, now),
    resetMs: log.resetMs(now),
  }
}
