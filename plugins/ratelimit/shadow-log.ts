import type { Clock, Log, LimitStatus } from '../../src/kit/index.ts'
import type { Limit } from './limits.ts'

const everyMs = 60_000

/** Says what limits in shadow mode would have refused: each at once, and then once a minute with how many there were. */
export class ShadowLog {
  readonly #clock: Clock
  readonly #log: Log
  readonly #seen = new Map<string, { refused: number; toldAt: number }>()

  constructor(clock: Clock, log: Log) {
    this.#clock = clock
    this.#log = log
  }

  /** Takes note of a request that was admitted: `standings` as they were before it. */
  note(limits: readonly Limit[], standings: readonly LimitStatus[]): void {
    for (const [i, limit] of limits.entries())
      if (limit.shadow && (standings[i] as LimitStatus).waitMs > 0) this.#count(limit)
  }

  #count({ name, of, limit }: Limit): void {
    const now = this.#clock.tick()
    const key = `${name} ${of} ${limit}`
    let seen = this.#seen.get(key)
    if (!seen) {
      seen = { refused: 0, toldAt: -Infinity }
      this.#seen.set(key, seen)
    }
    seen.refused++
    if (now - seen.toldAt < everyMs) return
    this.#log.warn({ limit: name, of, max: limit, refused: seen.refused }, 'a limit in shadow mode would have refused')
    seen.refused = 0
    seen.toldAt = now
  }
}
