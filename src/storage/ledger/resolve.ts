import { decidedTier } from '../../domain/charge.ts'
import { spellsAt } from '../../domain/budget.ts'
import { movesOf } from '../accounts/levels.ts'
import { moveAccounts } from '../accounts/move.ts'
import { giveBack } from '../keys/spend.ts'
import { leave } from '../people/trail.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { findBooked } from '../charge-batches/find.ts'
import { rowsOf } from '../charge-batches/parse.ts'
import { bookedOn } from './budget-zone.ts'
import { accountOf, digestCharge, post, postAll, sales } from './entries.ts'
import { giveHoldsBack } from './give-holds-back.ts'
import { insertChargeItem } from './charge-item.ts'
import { book } from './settle.ts'

export type Decision = {
  readonly id: string
  readonly how: 'settle' | 'void'
  /** The cost of a settled one, at most its hold; 0 by default. */
  readonly amount?: number
  readonly by: string
  readonly reason: string
  readonly at: number
}

/** Ends a charge that needs review, as a person decided, and releases its hold. */
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
  yield* leave(identity, { by, at }, 'charge.resolve', id, { state: 'needs_review' }, { state }, reason)
  if (how === 'settle') {
    yield* book(identity, charge, { actor: by, heldNow: whole(charge, 'kept') === 1 ? whole(charge, 'hold') : 0, at })
    return true
  }
  if (whole(charge, 'kept') === 1) yield* giveHoldsBack([charge])
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

/** One item with the cost that a person decided. @returns false if it needs no review, or held less */
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

/**
 * Refunds a settled charge by an opposite entry; the charge itself does not change.
 * @returns the refunded micros: 0 if nothing was left to refund.
 */
export function* refund(
  identity: Scribe,
  { id, by, reason, at }: Omit<Decision, 'how' | 'amount'>,
): QueryProgram<number> {
  const sold = yield* findSold(id)
  if (!sold) return 0
  const { charge, lines, table } = sold
  const amount = whole(charge, 'amount')
  const keyId = text(charge, 'key_id')
  const digest = digestCharge(charge, lines)
  const entry = { chargeId: id, debit: sales, credit: accountOf(keyId), amount, actor: by, reason, at, digest }
  // Its entry first: of two refunds at once the second finds it before any money has moved.
  yield* postAll(identity, [{ ...entry, kind: 'refund' }], table)
  const then = yield* bookedOn(identity.zone, whole(charge, 'ended_at'))
  yield* giveBack(keyId, amount, then)
  yield* giveLevelsBack(identity, charge, then, at)
  yield* leave(identity, { by, at }, 'charge.refund', id, { refunded: 0 }, { refunded: amount }, reason)
  return amount
}

/** To the user, the balance that paid, and the group: also in the day and the month, if those are still current. */
function* giveLevelsBack(
  identity: Scribe,
  charge: Row,
  then: { readonly day: number; readonly month: number },
  at: number,
): QueryProgram<void> {
  const amount = whole(charge, 'amount')
  const now = spellsAt(at, identity.zone)
  const day = then.day === now.day ? -amount : 0
  const month = then.month === now.month ? -amount : 0
  yield* moveAccounts(identity, movesOf(identity, charge, { spent: -amount, day, month, released: 0 }), at)
}

type Sold = { readonly charge: Row; readonly lines: Rows; readonly table: 'entry' | 'reversal' }

/** A settled charge that cost something and was not refunded, and where its refund entry goes. */
function* findSold(id: string): QueryProgram<Sold | undefined> {
  const [charge] = yield ask(
    `SELECT * FROM charge WHERE id = ? AND state = 'settled' AND amount > 0
       AND NOT EXISTS (SELECT 1 FROM entry WHERE charge_id = charge.id AND kind = 'refund')`,
    id,
  )
  if (charge) {
    const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id)
    return { charge, lines, table: 'entry' }
  }
  const booked = (yield* findBooked([id])).get(id)
  if (!booked || booked.amount === 0) return undefined
  const [given] = yield ask(`SELECT 1 AS given FROM reversal WHERE charge_id = ? AND kind = 'refund'`, id)
  return given ? undefined : { ...rowsOf(booked), table: 'reversal' }
}
