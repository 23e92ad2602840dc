import { insertRows } from '../insert-rows.ts'
import { spellsAt } from '../../kit/budget.ts'
import { spend } from '../keys/spend.ts'
import { ask, type Row, type QueryProgram, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { accountOf, digestCharge, type Entry, postAll, sales } from './entries.ts'
import type { PostedCharge, PostedLine, Posted } from './charge-queue.ts'
import { lineColumns } from './line.ts'
import { factColumns } from './fact-values.ts'
import { book } from './settle.ts'

const idsTogether = 16
/** A thousand million of the currency: thousands of these still add up exactly. */
const totalMax = 1e15
const findOne = 'SELECT id FROM charge WHERE id IN (?)'
const findMany = `SELECT id FROM charge WHERE id IN (${Array(idsTogether).fill('?').join(', ')})`
const ended = 'rule state reason hold amount line_count delivery owner epoch created_at ended_at'.split(' ')
const chargeColumns = [...factColumns, ...ended]

/**
 * Opens and settles charges in one step, given as the JSON of what `ChargeQueue` has taken. One that is reserved by us already
 * is settled with its lines and gives its hold back; one that has ended stays as it is, so nothing is ever booked twice.
 * New ones, nearly all, are written many rows at a time: done one by one they cost four times as much.
 */
export function* postCharges(identity: WriterIdentity, given: string): QueryProgram<null> {
  const { rules, charges, lines } = JSON.parse(given) as Posted
  const linesOf = new Map<string, Row[]>(charges.map(([id]) => [id, []]))
  for (const line of lines) linesOf.get(line[0])?.push(toRow(lineColumns, line))
  const known = yield* findKnown(charges.map(([id]) => id))
  const fresh: Row[] = []
  for (const posted of charges) {
    const charge = chargeRow(identity, posted, rules)
    if (known.has(posted[0])) yield* endHeld(identity, charge, linesOf.get(posted[0]) ?? [])
    else fresh.push(charge)
  }
  yield* insertSettled(identity, fresh, linesOf)
  return null
}

/** @throws Error for an amount that could be written and never be read again */
function chargeRow({ owner, epoch }: WriterIdentity, posted: PostedCharge, rules: readonly string[]): Row {
  const rest = posted.slice(factColumns.length) as [number, number, number, string, number]
  const [rule, amount, lineCount, delivery, at] = rest
  if (!Number.isSafeInteger(amount) || amount > totalMax)
    throw new Error(`charge ${posted[0]} would come to ${amount} micro-units`)
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
  }
}

function* findKnown(ids: readonly string[]): QueryProgram<ReadonlySet<string>> {
  const known = new Set<string>()
  for (let at = 0; at < ids.length; ) {
    const many = ids.length - at >= idsTogether
    for (const row of yield ask(many ? findMany : findOne, ...ids.slice(at, at + (many ? idsTogether : 1))))
      known.add(text(row, 'id'))
    at += many ? idsTogether : 1
  }
  return known
}

/** Ends a charge that a hold has opened. */
function* endHeld(identity: WriterIdentity, charge: Row, lines: readonly Row[]): QueryProgram<void> {
  const id = text(charge, 'id')
  const [held] = yield ask(
    `UPDATE charge SET amount = ?, line_count = ?, upstream = ? WHERE id = ? AND state = 'reserved' AND owner = ?
       AND epoch = ? AND line_count = 0 RETURNING hold`,
    whole(charge, 'amount'),
    lines.length,
    text(charge, 'upstream'),
    id,
    identity.owner,
    identity.epoch,
  )
  if (!held) return
  yield* insertRows('line', lineColumns, lines)
  const at = whole(charge, 'ended_at')
  const [settled] = yield ask(
    `UPDATE charge SET state = 'settled', delivery = ?, ended_at = ? WHERE id = ? RETURNING *`,
    text(charge, 'delivery'),
    at,
    id,
  )
  yield* book(identity, settled as Row, { actor: 'gateway', heldNow: whole(held, 'hold'), at })
}

/** Lines first: a charge that has ended takes no more of them. */
function* insertSettled(
  identity: WriterIdentity,
  charges: readonly Row[],
  linesOf: ReadonlyMap<string, readonly Row[]>,
): QueryProgram<void> {
  // By key and day, which is another one within a group where the clock jumps.
  const spent = new Map<string, { keyId: string; amount: number; at: number }>()
  const entries: Entry[] = []
  const lines: Row[] = []
  for (const charge of charges) {
    const own = linesOf.get(text(charge, 'id')) ?? []
    lines.push(...own)
    entries.push(settleEntry(charge, own))
    const keyId = text(charge, 'key_id')
    const at = whole(charge, 'ended_at')
    const place = `${keyId} ${spellsAt(at).day}`
    spent.set(place, { keyId, amount: (spent.get(place)?.amount ?? 0) + whole(charge, 'amount'), at })
  }
  yield* insertRows('line', lineColumns, lines)
  yield* insertRows('charge', chargeColumns, charges)
  // In the order of their ids: two that lock the same keys do so in the same order.
  const inOrder = [...spent].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [, { keyId, amount, at }] of inOrder) yield spend({ keyId, amount, heldBack: 0, at })
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
    reason: null,
    at: whole(charge, 'ended_at'),
    digest: digestCharge(charge, lines),
  }
}

function toRow(columns: readonly string[], values: PostedLine): Row {
  return Object.fromEntries(columns.map((column, i) => [column, values[i] as Value]))
}
