import { decidedTier } from '../../domain/charge.ts'
import { appendTrail } from '../people/trail.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { accountOf, digestCharge, post, sales } from './entries.ts'
import { releaseHolds } from './release-holds.ts'
import { insertChargeItem } from './charge-item.ts'
import { book } from './settle.ts'

export type Decision = {
  readonly id: string
  readonly how: 'settle' | 'void'
  /** The cost of a settled charge, at most its hold; 0 by default. */
  readonly amount?: number
  readonly by: string
  readonly reason: string
  readonly at: number
}

/** Ends a charge under review by an administrator's decision, and releases its hold. */
export function* resolve(identity: Scribe, { id, how, by, reason, at, amount = 0 }: Decision): QueryProgram<boolean> {
  const state = how === 'settle' ? 'settled' : 'voided'
  if (how === 'settle' && amount > 0 && !(yield* addDecided(id, amount))) return false
  const [charge] = yield ask(
    `UPDATE charge SET state = ?, reason = ?, ended_at = ?, amount = CASE WHEN ? = 1 THEN amount ELSE 0 END
     WHERE id = ? AND state = 'needs_review' RETURNING *`,
    state,
    reason,
    at,
    how === 'settle' ? 1 : 0,
    id,
  )
  if (!charge) return false
  yield* appendTrail(identity, { by, at }, 'charge.resolve', id, { state: 'needs_review' }, { state }, reason)
  if (how === 'settle') {
    yield* book(identity, charge, { actor: by, heldNow: whole(charge, 'kept') === 1 ? whole(charge, 'hold') : 0, at })
    return true
  }
  if (whole(charge, 'kept') === 1) yield* releaseHolds([charge])
  const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id)
  yield* post(identity, {
    chargeId: id,
    kind: 'void',
    debit: accountOf(text(charge, 'key_id')),
    credit: sales,
    amount: 0,
    actor: by,
    reason,
    at,
    digest: digestCharge(charge, lines),
  })
  return true
}

/**
 * Adds one item with the cost that an administrator decided. @returns false if the charge is not under review, or held
 * less
 */
function* addDecided(id: string, amount: number): QueryProgram<boolean> {
  const [charge] = yield ask(
    `UPDATE charge SET amount = ?, line_count = 1 WHERE id = ? AND state = 'needs_review' AND line_count = 0 AND hold >= ?
     RETURNING id`,
    amount,
    id,
    amount,
  )
  if (!charge) return false
  yield insertChargeItem(id, {
    index: 0,
    tier: decidedTier,
    source: 'default',
    width: null,
    height: null,
    price: amount,
    flags: [decidedTier],
    quantity: 1,
  })
  return true
}
