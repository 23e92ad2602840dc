import type { Log } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import type { OnWait } from './options.ts'

const againMs = 30_000

/** Logs the older processes that a migration waits for: when the list changes, and every half minute. */
export function logWaits(clock: Pick<Clock, 'tick'>, log: Pick<Log, 'warn'>): OnWait {
  let logged = ''
  let nextAt = 0
  return waitsFor => {
    const processes = waitsFor.join(', ')
    if (processes === logged && clock.tick() < nextAt) return
    logged = processes
    nextAt = clock.tick() + againMs
    log.warn(
      { processes: waitsFor },
      `the schema of the storage is older; its migration waits for processes of the older version to stop: ${processes}`,
    )
  }
}
