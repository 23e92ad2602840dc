import { hash } from 'node:crypto'
import type { TopUp, TopUpChanged } from '../../domain/users.ts'
import { formatMoney } from '../../util/units.ts'
import { post } from '../ledger/entries.ts'
import { StorageError } from '../errors.ts'
import { appendTrail, type Signed } from '../people/trail.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'

/** The account that payments come from. */
export const cash = 'cash'
export const balanceOf = (user: string): string => `balance:${user}`

// Locked: payments at once could together exceed what can be counted.
const readPaidIn = `SELECT coalesce(balance, 0) AS paid_in FROM "user" WHERE name = ? AND erased_at IS NULL ${lockRows}`

export type Payment = {
  readonly name: string
  readonly amount: number
  readonly note: string | null
  /** The expected total of earlier payments; undefined for any. */
  readonly expected?: number | undefined
}

/**
 * Adds a payment for a user: one transaction writes its own entry and raises the balance.
 * @returns undefined if there is no such user
 * @throws StorageError `balance_full`
 */
export function* topUp(identity: Scribe, given: Signed & Payment): QueryProgram<TopUp | TopUpChanged | undefined> {
  const { name, amount, note, by, at, expected } = given
  const [user] = yield ask(readPaidIn, name)
  if (!user) return undefined
  const before = whole(user, 'paid_in')
  const left = Number.MAX_SAFE_INTEGER - before
  if (amount > left) throw new StorageError('balance_full', { name, left: formatMoney(left) })
  if (expected !== undefined && expected !== before) return { paidIn: before }
  const paidIn = before + amount
  yield ask('UPDATE "user" SET balance = ? WHERE name = ?', paidIn, name)
  const id = identity.ids.next('top_', at)
  const [debit, credit] = [cash, balanceOf(name)]
  const entry = { chargeId: id, kind: 'topup', debit, credit, amount, actor: by, reason: note, at } as const
  yield* post(identity, { ...entry, digest: digestTopUp(id, credit, amount) }, 'topup')
  yield* appendTrail(identity, { by, at }, 'user.topup', name, { paidIn: before }, { paidIn }, note)
  return { id, amount, at, by, note }
}

/** What the hash of an entry covers. */
export function digestTopUp(id: string, credit: string, amount: number): string {
  return hash('sha256', JSON.stringify([id, credit, amount]), 'hex')
}

/** Payments for a user, newest first. */
export function* readTopUps(name: string): QueryProgram<readonly TopUp[]> {
  const rows = yield ask('SELECT * FROM topup WHERE credit = ? ORDER BY charge_id DESC', balanceOf(name))
  return rows.map(row => ({
    id: text(row, 'charge_id'),
    amount: whole(row, 'amount'),
    at: whole(row, 'created_at'),
    by: text(row, 'actor'),
    note: textOrNull(row, 'reason'),
  }))
}
