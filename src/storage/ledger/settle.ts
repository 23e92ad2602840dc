import type { Settlement } from '../../kit/index.ts'
import { spend } from '../keys/spend.ts'
import { ask, type Row, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { accountOf, digestCharge, post, sales } from './entries.ts'
import { idempotencyMs } from './hold.ts'

/** Stored answers are links or small pictures; anything larger is told by the charge's id alone. */
const answerBytesMax = 1_048_576 + 65_536

/** Ends a reserved charge of ours that has lines. @returns false when there is none such. */
export function* settle(identity: WriterIdentity, settlement: Settlement, at: number): QueryProgram<boolean> {
  const [charge] = yield ask(
    `UPDATE charge SET state = 'settled', reason = ?, delivery = ?, ended_at = ?, vendor_cost = ?
     WHERE id = ? AND state = 'reserved' AND owner = ? AND epoch = ? AND line_count > 0 RETURNING *`,
    settlement.reason,
    settlement.delivery,
    at,
    settlement.vendorCost ?? null,
    settlement.id,
    identity.owner,
    identity.epoch,
  )
  if (!charge) return false
  yield* book(identity, charge, { actor: 'gateway', heldNow: whole(charge, 'hold'), at })
  const { answer } = settlement
  if (answer && charge['idem_key'] !== null && answer.body.length <= answerBytesMax) {
    yield ask(
      'INSERT INTO answer (charge_id, status, headers, body, expires_at) VALUES (?, ?, ?, ?, ?)',
      settlement.id,
      answer.status,
      JSON.stringify(answer.headers),
      answer.body,
      whole(charge, 'created_at') + idempotencyMs,
    )
  }
  return true
}

/** Moves the money of a charge whose row says `settled`: from the hold to what was spent, with an entry that says so. */
export function* book(
  identity: WriterIdentity,
  charge: Row,
  { actor, heldNow, at }: { readonly actor: string; readonly heldNow: number; readonly at: number },
): QueryProgram<void> {
  const chargeId = text(charge, 'id')
  const keyId = text(charge, 'key_id')
  const amount = whole(charge, 'amount')
  const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', chargeId)
  yield spend({ keyId, amount, heldBack: heldNow, at })
  yield* post(identity, {
    chargeId,
    kind: 'settle',
    debit: accountOf(keyId),
    credit: sales,
    amount,
    actor,
    reason: charge['reason'] as string | null,
    at,
    digest: digestCharge(charge, lines),
  })
}
