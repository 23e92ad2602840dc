import { isAroundMidnight, isLate } from '../../domain/budget.ts'
import type { Settlement } from '../../domain/index.ts'
import { byDay } from '../by-day.ts'
import { lockAccounts, movesOf, nameOf } from '../accounts/levels.ts'
import { type Move, moveAccounts, moveBounded } from '../accounts/move.ts'
import { readHeld } from '../accounts/held-budgets.ts'
import { writeKeyEvents, writeAccountEvents, type Watched } from '../accounts/account-events.ts'
import { lockKeys } from '../keys/lock.ts'
import { comeBack, spend, spendOfBudget } from '../keys/spend.ts'
import { ask, type Row, type QueryProgram } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { accountOf, digestCharge, type Entry, postAll, sales } from './entries.ts'
import { idempotencyMs } from './hold.ts'

/** The maximum size of a stored response: links or small images. For larger ones only the charge's id is stored. */
const answerBytesMax = 1_048_576 + 65_536

/**
 * Ends a reserved charge of this process that has items. `at`: its end; `now`: the time of booking. @returns false if
 * there is no such charge
 */
export function* settle(identity: WriterIdentity, settlement: Settlement, at: number, now = at): QueryProgram<boolean> {
  const [charge] = yield ask(
    `UPDATE charge SET state = 'settled', reason = ?, delivery = ?, ended_at = ?, vendor_cost = ?, upstream = coalesce(?, upstream)
     WHERE id = ? AND state = 'reserved' AND owner = ? AND epoch = ? AND line_count > 0 RETURNING *`,
    settlement.reason,
    settlement.delivery,
    at,
    settlement.vendorCost ?? null,
    settlement.upstream ?? null,
    settlement.id,
    identity.owner,
    identity.epoch,
  )
  if (!charge) return false
  yield* book(identity, charge, { actor: 'gateway', heldNow: whole(charge, 'hold'), at, now })
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

/** A settled charge by its row, its current hold, and its end. */
export type Ended = { readonly charge: Row; readonly heldNow: number; readonly at: number }

/** Moves the money of a settled charge: from the hold to the spending, with an entry. */
export function book(
  identity: WriterIdentity,
  charge: Row,
  given: { readonly actor: string; readonly heldNow: number; readonly at: number; readonly now?: number },
): QueryProgram<void> {
  const { actor, heldNow, at, now = at } = given
  return bookAll(identity, [{ charge, heldNow, at }], actor, now)
}

/**
 * The same for several charges: first keys in the order of their ids, then accounts, each once, in the common lock
 * order. In another order two transactions could deadlock.
 */
export function* bookAll(
  identity: WriterIdentity,
  ended: readonly Ended[],
  actor: string,
  now: number,
): QueryProgram<void> {
  const inOrder = ended.length === 1 ? ended : ended.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const late = new Set(ended.flatMap(one => (isLate(one.at, now, identity.zone) ? [text(one.charge, 'key_id')] : [])))
  // As with accounts, changes by other transactions around midnight or for late bookings are read after they commit.
  if (late.size > 0 || ended.some(({ at }) => isAroundMidnight(at, identity.zone)))
    yield* lockKeys(ended.map(({ charge }) => text(charge, 'key_id')))
  for (const { charge, heldNow, at } of inOrder) {
    const spending = { keyId: text(charge, 'key_id'), amount: whole(charge, 'amount'), heldBack: heldNow, at }
    const { isKeyBounded } = readHeld(textOrNull(charge, 'levels'))
    if (isKeyBounded)
      yield* writeKeyEvents(identity, yield spendOfBudget(identity, spending), text(charge, 'currency'), at)
    else yield spend(identity, spending)
  }
  for (const keyId of late) yield comeBack(identity, keyId, now)
  const days = byDay(identity.zone, inOrder, ({ at }) => at)
  // Within a day accounts are in order; an account of the second day may precede one of the first.
  if (days.length > 1) yield* lockAccounts(ended.map(({ charge }) => charge))
  for (const ofDay of days) yield* bookAccounts(identity, ofDay, now)
  const entries: Entry[] = []
  for (const { charge, at } of ended) entries.push(yield* entryOf(charge, actor, at))
  yield* postAll(identity, entries)
}

function* bookAccounts(identity: WriterIdentity, ended: readonly Ended[], now: number): QueryProgram<void> {
  const moves: Move[] = []
  const watched: Watched[] = []
  let last = 0
  for (const { charge, heldNow, at } of ended) {
    const amount = whole(charge, 'amount')
    const currency = text(charge, 'currency')
    const { budgets } = readHeld(textOrNull(charge, 'levels'))
    for (const budget of budgets) watched.push({ ...budget, name: nameOf(charge, budget.kind), currency })
    moves.push(...movesOf(identity, charge, { spent: amount, day: amount, month: amount, released: heldNow }))
    last = Math.max(last, at)
  }
  if (watched.length === 0) yield* moveAccounts(identity, moves, last, now)
  else yield* writeAccountEvents(identity, yield* moveBounded(identity, moves, last, now), watched, last)
}

const keyOf = ({ charge }: Ended): string => text(charge, 'key_id')

function* entryOf(charge: Row, actor: string, at: number): QueryProgram<Entry> {
  const chargeId = text(charge, 'id')
  const lines = yield ask('SELECT * FROM line WHERE charge_id = ? ORDER BY idx', chargeId)
  return {
    chargeId,
    kind: 'settle',
    debit: accountOf(text(charge, 'key_id')),
    credit: sales,
    amount: whole(charge, 'amount'),
    actor,
    reason: charge['reason'] as string | null,
    at,
    digest: digestCharge(charge, lines),
  }
}
