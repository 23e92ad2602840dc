import type { LimitDecision, LimitStatus } from '../../src/plugin-api/index.ts'
import type { Limit } from './limits.ts'
import { refuses } from './refusal.ts'

/** What each limit said of a request: of one that was refused, those that refused it alone. */
export function decisions(
  limits: readonly Limit[],
  standings: readonly LimitStatus[],
  isAdmitted: boolean,
): readonly LimitDecision[] {
  const said: LimitDecision[] = []
  for (let i = 0; i < limits.length; i++) {
    const limit = limits[i] as Limit
    const status = standings[i] as LimitStatus
    if (isAdmitted)
      said.push({ limit: limit.name, decision: limit.shadow && status.waitMs > 0 ? 'shadow' : 'admitted' })
    else if (refuses(limit, status)) said.push({ limit: limit.name, decision: 'refused' })
  }
  return said
}
