import type { Failure, LimitStatus } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import type { Limit } from './limits.ts'

/** Clients do not wait longer than this: some SDKs ignore such a Retry-After and retry at once. */
const patienceMs = 60_000
const units = {
  requests: 'requests in any 60 seconds',
  tokens: 'tokens in any 60 seconds',
  places: 'concurrent requests',
} as const

/** True if the limit is full and refuses requests. */
export function refuses(limit: Limit, status: LimitStatus): boolean {
  return status.waitMs > 0 && !limit.shadow
}

/** The 429 of the full limits. Of several it reports the slowest: until that one has room, the others do not matter. */
export function refusal(limits: readonly Limit[], statuses: readonly LimitStatus[]): Failure {
  const full = limits.flatMap((limit, i) => {
    const status = statuses[i] as LimitStatus
    return refuses(limit, status) ? [{ limit, waitMs: status.waitMs }] : []
  })
  const slowest = full[indexOfMost(full, (a, b) => a.waitMs - b.waitMs)]
  if (!slowest) throw new Error('no limit was reached')
  const { limit, waitMs } = slowest
  const headers: { [name: string]: string } = { 'x-ratelimit-scope': limit.name }
  if (waitMs > patienceMs) headers['x-should-retry'] = 'false'
  return fail(
    'rate_limit_exceeded',
    {
      limit: limit.name,
      max: limit.limit,
      what: limit.name === 'key_jobs' ? 'open jobs' : units[limit.counts],
      whose: limit.sharedBy === undefined ? '' : ` shared by ${limit.sharedBy}`,
      seconds: Math.ceil(waitMs / 1000),
    },
    {
      retryAfterMs: waitMs,
      headers,
      values: {
        limit: limit.name,
        max: limit.limit,
        counts: limit.counts,
        of: limit.sharedBy === undefined ? limit.of : limit.owner,
        seconds: Math.ceil(waitMs / 1000),
      },
      ...(limit.counts === 'tokens' && { type: limit.counts }),
      // Only if the limit of one upstream is full, another upstream can be tried.
      ...(limit.name === 'upstream_concurrency' && { elsewhere: true }),
    },
  )
}

/** The index of the largest element; the first of equal ones. */
function indexOfMost<T>(all: readonly T[], compare: (a: T, b: T) => number): number {
  let most = 0
  for (let i = 1; i < all.length; i++) if (compare(all[i] as T, all[most] as T) > 0) most = i
  return most
}
