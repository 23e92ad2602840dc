import { ask, type Steps } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Self } from '../self.ts'

export type EmptyEnd = {
  readonly id: string
  readonly state: 'voided' | 'needs_review'
  readonly reason: string
  readonly at: number
}

/**
 * Ends a reserved charge of ours that has no line and gives its hold back. A voided one also gives its idempotency key
 * back: nothing was bought. @returns false when there is none such.
 */
export function* endEmpty(self: Self, { id, state, reason, at }: EmptyEnd): Steps<boolean> {
  const keep = state === 'voided' ? 0 : 1
  const [charge] = yield ask(
    `UPDATE charge SET state = ?, reason = ?, ended_at = ?, idem_key = CASE WHEN ? = 1 THEN idem_key END,
       idem_fingerprint = CASE WHEN ? = 1 THEN idem_fingerprint END
     WHERE id = ? AND state = 'reserved' AND owner = ? AND epoch = ? AND line_count = 0 RETURNING key_id, hold`,
    state,
    reason,
    at,
    keep,
    keep,
    id,
    self.owner,
    self.epoch,
  )
  if (!charge) return false
  yield ask('UPDATE key SET held = held - ? WHERE id = ?', whole(charge, 'hold'), text(charge, 'key_id'))
  return true
}
