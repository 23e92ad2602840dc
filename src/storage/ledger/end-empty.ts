import type { Review } from '../../domain/index.ts'
import { ask, type QueryProgram } from '../query.ts'
import { payerColumns } from '../accounts/levels.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { releaseHolds } from './release-holds.ts'

export type EmptyEnd = {
  readonly id: string
  readonly reason: string
  readonly at: number
} & ({ readonly state: 'voided'; readonly vendorCost?: number } | ({ readonly state: 'needs_review' } & Review))

/**
 * Ends a reserved charge of this process that has no item and releases its hold, unless it is kept for a review.
 * Voiding also frees its idempotency key: nothing was bought. @returns false if there is no such charge
 */
export function* endEmpty(identity: WriterIdentity, end: EmptyEnd): QueryProgram<boolean> {
  const { id, state, reason, at } = end
  const underReview = state === 'needs_review' ? 1 : 0
  const kept = state === 'needs_review' && end.hold === 'kept' ? 1 : 0
  const upstream = end.state === 'needs_review' ? (end.upstream ?? null) : null
  const lined = state === 'needs_review' && end.lined === true ? 1 : 0
  const [charge] = yield ask(
    `UPDATE charge SET state = ?, reason = ?, ended_at = ?, kept = ?, vendor_cost = ?, upstream = coalesce(?, upstream), idem_key = CASE WHEN ? = 1 THEN idem_key END,
       idem_fingerprint = CASE WHEN ? = 1 THEN idem_fingerprint END
     WHERE id = ? AND state = 'reserved' AND owner = ? AND epoch = ? AND (line_count = 0 OR ? = 1) RETURNING ${payerColumns}, hold`,
    state,
    reason,
    at,
    kept,
    end.vendorCost ?? null,
    upstream,
    underReview,
    underReview,
    id,
    identity.owner,
    identity.epoch,
    lined,
  )
  if (!charge) return false
  if (kept === 0) yield* releaseHolds([charge])
  return true
}
