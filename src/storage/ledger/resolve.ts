import { giveBack } from '../keys/spend.ts'
import { leave } from '../people/trail.ts'
import { ask, type Steps } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Self } from '../self.ts'
import { accountOf, digestCharge, post, sales } from './entries.ts'
import { book } from './settle.ts'

export type Decision = {
  readonly id: string
  readonly how: 'settle' | 'void'
  readonly by: string
  readonly reason: string
  readonly at: number
}

/** Ends a charge that needs review, as a person decided; its hold was given back before. */
export function* resolve(self: Self, { id, how, by, reason, at }: Decision): Steps<boolean> {
  const state = how === 'settle' ? 'settled' : 'voided'
  const [charge] = yield ask(
    `UPDATE charge SET state = ?, reason = ?, ended_at = ? WHERE id = ? AND state = 'needs_review' RETURNING *`,
    state,
    reason,
    at,
    id,
  )
  if (!charge) return false
  yield* leave({ by, at }, 'charge.resolve', id, { state: 'needs_review' }, { state }, reason)
  if (how === 'settle') {
    yield* book(self, charge, { actor: by, heldNow: 0, at })
    return true
  }
  const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id)
  yield* post(self, {
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
 * Gives back what a settled charge cost, by an opposite entry; the charge itself does not change.
 * @returns the micros given back: 0 when there was nothing left to give.
 */
export function* refund(self: Self, { id, by, reason, at }: Omit<Decision, 'how'>): Steps<number> {
  const [charge] = yield ask(
    `SELECT * FROM charge WHERE id = ? AND state = 'settled' AND amount > 0
       AND NOT EXISTS (SELECT 1 FROM entry WHERE charge_id = charge.id AND kind = 'refund')`,
    id,
  )
  if (!charge) return 0
  const amount = whole(charge, 'amount')
  const keyId = text(charge, 'key_id')
  const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id)
  yield giveBack(keyId, amount, whole(charge, 'ended_at'))
  yield* post(self, {
    chargeId: id,
    kind: 'refund',
    debit: sales,
    credit: accountOf(keyId),
    amount,
    actor: by,
    reason,
    at,
    digest: digestCharge(charge, lines),
  })
  yield* leave({ by, at }, 'charge.refund', id, { refunded: 0 }, { refunded: amount }, reason)
  return amount
}
