import { type Clock, type LimitStatus, type Log, OnceAMinute } from '../../src/plugin-api/index.ts'
import type { Limit } from './limits.ts'

/** Says what limits in shadow mode would have refused: each at once, and then once a minute with how many there were. */
export class ShadowLog {
  readonly #log: Log
  readonly #refused: OnceAMinute

  constructor(clock: Clock, log: Log) {
    this.#log = log
    this.#refused = new OnceAMinute(clock)
  }

  /** Takes note of a request that was admitted: `standings` as they were before it. */
  note(limits: readonly Limit[], standings: readonly LimitStatus[]): void {
    for (let i = 0; i < limits.length; i++) {
      const limit = limits[i] as Limit
      if (limit.shadow && (standings[i] as LimitStatus).waitMs > 0) this.#count(limit)
    }
  }

  #count({ name, of, limit }: Limit): void {
    const refused = this.#refused.count(`${name} ${of} ${limit}`)
    if (refused > 0)
      this.#log.warn({ limit: name, of, max: limit, refused }, 'a limit in shadow mode would have refused')
  }
}
