import { ask, type Steps } from '../query.ts'

/** How long a charge waits for an operator. */
const reviewMs = 24 * 3_600_000

/** Ends reviews that nobody decided in 24 hours, without cost, and forgets answers and sessions that are out of date. */
export function* sweep(at: number): Steps<number> {
  const voided = yield ask(
    `UPDATE charge SET state = 'voided', reason = coalesce(reason || ', ', '') || 'not decided in 24 h', ended_at = ?
     WHERE state = 'needs_review' AND ended_at <= ? RETURNING id`,
    at,
    at - reviewMs,
  )
  yield ask('DELETE FROM answer WHERE expires_at <= ?', at)
  yield ask('DELETE FROM session WHERE expires_at <= ?', at)
  yield ask('DELETE FROM setup WHERE expires_at <= ?', at)
  return voided.length
}
