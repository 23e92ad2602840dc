import type { LimitDecision, LimitState, LimitStatus } from '../../src/plugin-api/index.ts'
import type { Limit } from './limits.ts'
import { refuses } from './refusal.ts'

const none: readonly LimitState[] = []

/** The state of the tightest limit of each kind, for clients. Leaves out limits that never refuse. */
export function limitStates(limits: readonly Limit[], statuses: readonly LimitStatus[]): readonly LimitState[] {
  let requests: LimitState | undefined
  let tokens: LimitState | undefined
  for (let i = 0; i < limits.length; i++) {
    const { counts, limit, shadow } = limits[i] as Limit
    if (shadow || counts === 'places') continue
    const { remaining, resetMs } = statuses[i] as LimitStatus
    const state = { kind: counts, limit, remaining, resetMs }
    if (counts === 'requests') requests = tighter(requests, state)
    else tokens = tighter(tokens, state)
  }
  if (!tokens) return requests ? [requests] : none
  return requests ? [requests, tokens] : [tokens]
}

/** The limit with less left; of equal ones the one that takes longer until it is free again. */
function tighter(one: LimitState | undefined, other: LimitState): LimitState {
  if (!one || other.remaining < one.remaining) return other
  return other.remaining === one.remaining && other.resetMs > one.resetMs ? other : one
}

/** The result of each limit for a request; for a refused request only of those that refused it. */
export function decisions(
  limits: readonly Limit[],
  statuses: readonly LimitStatus[],
  isAdmitted: boolean,
): readonly LimitDecision[] {
  const result: LimitDecision[] = []
  for (let i = 0; i < limits.length; i++) {
    const limit = limits[i] as Limit
    const status = statuses[i] as LimitStatus
    if (isAdmitted)
      result.push({ limit: limit.name, decision: limit.shadow && status.waitMs > 0 ? 'shadow' : 'admitted' })
    else if (refuses(limit, status)) result.push({ limit: limit.name, decision: 'refused' })
  }
  return result
}
