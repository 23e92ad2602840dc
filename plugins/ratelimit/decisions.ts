import type { LimitDecision, LimitStatus } from '../../src/kit/index.ts'
import type { Limit } from './limits.ts'
import { refuses } from './refusal.ts'

/** What each limit said of a request: of one that was refused, those that refused it alone. */
export function decisions(
  limits: readonly Limit[],
  standings: readonly LimitStatus[],
  isAdmitted: boolean,
): readonly LimitDecision[] {
  return limits.flatMap((limit, i): readonly LimitDecision[] => {
    const standing = standings[i] as LimitStatus
    if (!isAdmitted) return refuses(limit, standing) ? [{ limit: limit.name, decision: 'refused' }] : []
    return [{ limit: limit.name, decision: limit.shadow && standing.waitMs > 0 ? 'shadow' : 'admitted' }]
  })
}
