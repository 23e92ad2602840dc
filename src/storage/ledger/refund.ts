import type { PartialRefund, Refund } from '../../domain/refund.ts'
import { movesOf } from '../accounts/levels.ts'
import { lockAll, lockOne, moveAccounts } from '../accounts/move.ts'
import { refundPeriod } from '../accounts/past-days.ts'
import { findBooked } from '../charge-batches/find.ts'
import { rowsOf } from '../charge-batches/parse.ts'
import { giveBack } from '../keys/spend.ts'
import { appendTrail } from '../people/trail.ts'
import { ask, lockRows, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { bookedOn } from './budget-zone.ts'
import { accountOf, digestCharge, postAll, sales } from './entries.ts'

export type Refunding = PartialRefund & {
  readonly id: string
  readonly by: string
  readonly reason: string
  readonly at: number
}

/**
 * Locks the key, because the refund changes its spending: until it commits, no other process refunds a charge of that
 * key.
 */
const lockKey = `SELECT id FROM key WHERE id = ? ${lockRows}`

/**
 * Refunds the remainder of a settled charge, or a part of it, by an opposite entry; the charge itself does not change.
 * @returns the refunded micro-units: 0 if less was left, or if earlier refunds are not `refunded` in total
 */
export function* refund(
  identity: Scribe,
  { id, by, reason, at, amount: requested, refunded }: Refunding,
): QueryProgram<number> {
  const sold = yield* findSold(id)
  if (!sold) return 0
  const { charge, lines, table } = sold
  const keyId = text(charge, 'key_id')
  yield ask(lockKey, keyId)
  const earlier = yield ask(`SELECT amount FROM ${table} WHERE charge_id = ? AND kind = 'refund'`, id)
  const before = earlier.reduce((sum, row) => sum + whole(row, 'amount'), 0)
  const left = whole(charge, 'amount') - before
  const amount = requested ?? left
  if (amount <= 0 || amount > left || (refunded !== undefined && refunded !== before)) return 0
  const digest = digestCharge(charge, lines)
  const entry = { chargeId: id, debit: sales, credit: accountOf(keyId), amount, actor: by, reason, at, digest }
  // Writes the entry first: if another entry has its number, it fails before any budget has changed.
  yield* postAll(identity, [{ ...entry, kind: 'refund', nth: earlier.length }], table)
  const then = yield* bookedOn(identity.zone, whole(charge, 'ended_at'))
  yield* giveBack(keyId, amount, then)
  yield* giveLevelsBack(identity, charge, amount, then, at)
  yield* appendTrail(
    identity,
    { by, at },
    'charge.refund',
    id,
    { refunded: before },
    { refunded: before + amount },
    reason,
  )
  return amount
}

/**
 * Returns a refund to the user, to the balance that paid, and to the group; also in the day and the month of the
 * charge.
 */
function* giveLevelsBack(
  identity: Scribe,
  charge: Row,
  amount: number,
  then: { readonly day: number; readonly month: number },
  at: number,
): QueryProgram<void> {
  const moves = movesOf(identity, charge, { spent: -amount, day: 0, month: 0, released: 0 })
  // Other transactions lock tested rows before all others around midnight.
  for (const lock of [lockOne, lockAll]) for (const { kind, name } of moves) yield ask(lock, kind, name)
  yield* moveAccounts(identity, moves, at)
  for (const move of moves) {
    yield* refundPeriod(move, 'day', then.day, amount)
    yield* refundPeriod(move, 'month', then.month, amount)
  }
}

type Sold = { readonly charge: Row; readonly lines: Rows; readonly table: 'entry' | 'reversal' }

/** A settled charge, and the table of its refund entries. */
function* findSold(id: string): QueryProgram<Sold | undefined> {
  const [charge] = yield ask(`SELECT * FROM charge WHERE id = ? AND state = 'settled'`, id)
  if (charge) {
    const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', id)
    return { charge, lines, table: 'entry' }
  }
  const booked = (yield* findBooked([id])).get(id)
  return booked && { ...rowsOf(booked), table: 'reversal' }
}

/** The refunds of a charge in rows or in a charge batch, in their order. */
export function* findRefundsOf(id: string): QueryProgram<readonly Refund[]> {
  for (const table of ['entry', 'reversal'] as const) {
    const rows = yield ask(
      `SELECT amount, created_at, actor, reason FROM ${table} WHERE charge_id = ? AND kind = 'refund' ORDER BY nth`,
      id,
    )
    if (rows.length > 0)
      return rows.map(row => ({
        amount: whole(row, 'amount'),
        at: whole(row, 'created_at'),
        by: text(row, 'actor'),
        reason: textOrNull(row, 'reason'),
      }))
  }
  return []
}
