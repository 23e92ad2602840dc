import { type Clock, type LimitStatus, type Log, OnceAMinute } from '../../src/plugin-api/index.ts'
import type { Limit } from './limits.ts'

/**
 * Logs the requests that limits in shadow mode would have refused: the first of each limit at once, and then their
 * number once a minute.
 */
export class ShadowLog {
  readonly #log: Log
  readonly #refused: OnceAMinute

  constructor(clock: Clock, log: Log) {
    this.#log = log
    this.#refused = new OnceAMinute(clock)
  }

  /** Records an admitted request: `statuses` are those before it. */
  note(limits: readonly Limit[], statuses: readonly LimitStatus[]): void {
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i] as Limit
      if (limit.shadow && (statuses[i] as LimitStatus).waitMs > 0) this.#count(limit)
    }
  }

  #count({ name, of, limit }: Limit): void {
    const refused = this.#refused.count(`${name} ${of} ${limit}`)
    if (refused > 0)
      this.#log.warn({ limit: name, of, max: limit, refused }, 'a limit in shadow mode would have refused')
  }
}
