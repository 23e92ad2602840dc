import type { Counters } from '../../domain/index.ts'
import type { Log } from '../../plugin-api/index.ts'
import type { Clock, Random } from '../../util/index.ts'
import { MemoryCounters } from './memory.ts'

export type CountersOptions = {
  /** `memory:`, `redis://…` or `rediss://…`. */
  readonly url: string
  readonly clock: Clock
  readonly random?: Random
  readonly log: Log
}

/**
 * Opens the counters at an address. A Redis that does not answer yet is no error: until it answers, limits are counted
 * without it, or refuse requests.
 */
export async function openCounters(options: CountersOptions): Promise<Counters> {
  const kind = options.url.slice(0, options.url.indexOf(':'))
  if (kind === 'memory') return new MemoryCounters(options.clock)
  if (kind !== 'redis' && kind !== 'rediss')
    throw new Error(`there are no counters of the kind '${kind}:'; memory: and redis: are known`)
  const { RedisCounters } = await import('./redis/counters.ts')
  const counters = new RedisCounters(options)
  await counters.ready()
  return counters
}
