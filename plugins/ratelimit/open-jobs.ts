import type { RequestContext, JobStore } from '../../src/plugin-api/index.ts'
import { decisions } from './limit-states.ts'
import { fail } from './errors.ts'
import type { Limit } from './limits.ts'
import { refusal } from './refusal.ts'

/** The end of a job is unknown; a retry after a second costs little. */
const openJobMs = 1_000
const unavailableMs = 5_000

/**
 * Refuses a job if its key has the maximum number of open jobs. They are counted in the storage, because the counters
 * lose them when the processes with their slots end. The slots of this request are already taken, so no other request
 * is admitted meanwhile.
 * @throws Failure rate_limit_exceeded, storage_unavailable
 */
export async function refuseFull(
  context: RequestContext,
  jobs: Pick<JobStore, 'openOf'>,
  keyId: string,
  limits: readonly Limit[],
): Promise<undefined> {
  const open = await countOpen(jobs, keyId)
  // A batch takes no slot of a request in flight.
  const isBatch = context.route.deferred?.batch !== undefined
  const names = isBatch ? ['key_jobs'] : ['key_jobs', 'key_concurrency']
  const full = limits.filter(({ name, shadow, limit }) => names.includes(name) && !shadow && open + 1 > limit)
  if (full.length === 0) return undefined
  const statuses = full.map(() => ({ remaining: 0, waitMs: openJobMs, resetMs: 0 }))
  context.notes.limits = decisions(full, statuses, false)
  throw refusal(full, statuses)
}

async function countOpen(jobs: Pick<JobStore, 'openOf'>, keyId: string): Promise<number> {
  try {
    return await jobs.openOf(keyId)
  } catch (cause) {
    throw fail('storage_unavailable', {}, { cause, retryAfterMs: unavailableMs })
  }
}
