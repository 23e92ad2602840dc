import { bookSpending } from '../accounts/book-spending.ts'
import { selectIn } from '../select-in.ts'
import { insertRows } from '../insert-rows.ts'
import { lockKeys } from '../keys/lock.ts'
import { bookKeySpending } from '../keys/book-key-spending.ts'
import { ask, type Row, type QueryProgram, type Value } from '../query.ts'
import { text, textOrNull, whole, wholeOrNull } from '../rows.ts'
import type { ChargeBatch, Spent } from '../charge-batches/draft.ts'
import { findBooked } from '../charge-batches/find.ts'
import { totalMax } from '../charge-batches/fits.ts'
import { writeChargeBatch } from '../charge-batches/write.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { accountOf, digestCharge, type Entry, postAll, sales } from './entries.ts'
import type { Posted, PostedCharge, PostedRows } from './charge-queue.ts'
import { chargeItemColumns } from './charge-item.ts'
import { factColumns } from './fact-values.ts'
import { bookAll, type Ended } from './settle.ts'

const ended =
  'rule state reason hold amount line_count delivery owner epoch created_at ended_at vendor_cost levels'.split(' ')
/** The columns of a charge that is written after its end. */
export const chargeColumns = [...factColumns, ...ended]

/**
 * Opens and settles charges in one step, in the groups of `ChargeQueue`: nearly all as one charge batch. A charge that
 * this process has reserved is settled with its items and releases its hold; a charge that has ended, or is in a charge
 * batch, stays unchanged, so nothing is booked twice. New charges are written many rows at a time: single rows cost
 * four times as much.
 */
export function* postCharges(
  identity: WriterIdentity,
  { batch, rows, at: now }: Posted & { readonly at: number },
): QueryProgram<null> {
  const posted = rows === null ? null : (JSON.parse(rows) as PostedRows)
  // Locks the keys of the charge batch and of the rows in one common order. Otherwise two transactions could each wait
  // for a key that the other has locked.
  if (batch && posted) yield* lockKeys([...keysOf(batch), ...posted.charges.map(charge => charge[keyAt] as string)])
  if (batch) yield* writeChargeBatch(identity, batch, now)
  if (posted) yield* postRows(identity, posted, now)
  return null
}

const keyAt = factColumns.indexOf('key_id')

function keysOf({ spent }: ChargeBatch): readonly string[] {
  return (JSON.parse(spent) as Spent[]).map(([keyId]) => keyId)
}

function* postRows(identity: WriterIdentity, { rules, charges, lines }: PostedRows, now: number): QueryProgram<void> {
  const linesOf = new Map<string, Row[]>(charges.map(([id]) => [id, []]))
  for (const line of lines) linesOf.get(line[0])?.push(toRow(chargeItemColumns, line))
  const known = yield* findKnown(charges.map(([id]) => id))
  const booked = yield* findBooked(charges.flatMap(([id]) => (known.has(id) ? [] : [id])))
  const fresh: Row[] = []
  const ended: Ended[] = []
  for (const posted of charges) {
    const [id] = posted
    if (booked.has(id)) continue
    const charge = chargeRow(identity, posted, rules)
    if (known.has(id)) ended.push(...(yield* endHeld(identity, charge, linesOf.get(id) ?? [])))
    else fresh.push(charge)
  }
  // Keys are locked before accounts, for both kinds of charges: held charges are booked on accounts that other
  // transactions wait for.
  if (ended.length > 0)
    yield* lockKeys([...fresh, ...ended.map(({ charge }) => charge)].map(charge => text(charge, 'key_id')))
  yield* insertSettled(identity, fresh, linesOf, now)
  if (ended.length > 0) yield* bookAll(identity, ended, 'gateway', now)
}

/** @throws Error for an amount that could be written but never read again */
export function chargeRow({ owner, epoch }: WriterIdentity, posted: PostedCharge, rules: readonly string[]): Row {
  const rest = posted.slice(factColumns.length) as [number, number, number, string, number, number | null]
  const [rule, amount, lineCount, delivery, at, vendorCost] = rest
  if (!Number.isSafeInteger(amount) || amount > totalMax)
    throw new Error(`the amount of charge ${posted[0]} is out of range: ${amount} micro-units`)
  return {
    ...toRow(factColumns, posted),
    rule: rules[rule],
    state: 'settled',
    reason: null,
    hold: 0,
    amount,
    line_count: lineCount,
    delivery,
    owner,
    epoch,
    created_at: at,
    ended_at: at,
    vendor_cost: vendorCost,
    levels: null,
  }
}

function* findKnown(ids: readonly string[]): QueryProgram<ReadonlySet<string>> {
  const rows = yield* selectIn('SELECT id FROM charge WHERE id IN (…)', ids)
  return new Set(rows.map(row => text(row, 'id')))
}

/** Ends a charge that a hold has opened. @returns the charge to book; undefined if it had ended before */
function* endHeld(identity: WriterIdentity, charge: Row, lines: readonly Row[]): QueryProgram<readonly Ended[]> {
  const id = text(charge, 'id')
  const [held] = yield ask(
    `UPDATE charge SET amount = ?, line_count = ?, upstream = ?, model = ?, rule = ? WHERE id = ? AND state = 'reserved' AND owner = ?
       AND epoch = ? AND line_count = 0 RETURNING hold`,
    whole(charge, 'amount'),
    lines.length,
    text(charge, 'upstream'),
    // If several models might have answered, the hold was for the most expensive.
    text(charge, 'model'),
    text(charge, 'rule'),
    id,
    identity.owner,
    identity.epoch,
  )
  if (!held) return []
  yield* insertRows('line', chargeItemColumns, lines)
  const at = whole(charge, 'ended_at')
  const [settled] = yield ask(
    `UPDATE charge SET state = 'settled', delivery = ?, ended_at = ?, vendor_cost = ? WHERE id = ? RETURNING *`,
    text(charge, 'delivery'),
    at,
    wholeOrNull(charge, 'vendor_cost'),
    id,
  )
  return [{ charge: settled as Row, heldNow: whole(held, 'hold'), at }]
}

/**
 * Books new charges that have ended. Items are written first, because a charge that has ended accepts no more items.
 */
function* insertSettled(
  identity: WriterIdentity,
  charges: readonly Row[],
  linesOf: ReadonlyMap<string, readonly Row[]>,
  now: number,
): QueryProgram<void> {
  const spent: Spent[] = []
  const entries: Entry[] = []
  const lines: Row[] = []
  for (const charge of charges) {
    const own = linesOf.get(text(charge, 'id')) ?? []
    lines.push(...own)
    entries.push(settleEntry(charge, own))
    const [amount, at] = [whole(charge, 'amount'), whole(charge, 'ended_at')]
    spent.push([text(charge, 'key_id'), amount, at, text(charge, 'user_name'), text(charge, 'group_name')])
  }
  yield* insertRows('line', chargeItemColumns, lines)
  yield* insertRows('charge', chargeColumns, charges)
  yield* bookKeySpending(identity, spent, now)
  yield* bookSpending(identity, spent, now)
  yield* postAll(identity, entries)
}

function settleEntry(charge: Row, lines: readonly Row[]): Entry {
  return {
    chargeId: text(charge, 'id'),
    kind: 'settle',
    debit: accountOf(text(charge, 'key_id')),
    credit: sales,
    amount: whole(charge, 'amount'),
    actor: 'gateway',
    reason: textOrNull(charge, 'reason'),
    at: whole(charge, 'ended_at'),
    digest: digestCharge(charge, lines),
  }
}

export function toRow(columns: readonly string[], values: readonly Value[]): Row {
  return Object.fromEntries(columns.map((column, i) => [column, values[i] as Value]))
}
