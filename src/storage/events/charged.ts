import type { Charge, EventData, FeedEvent, ChargeItem } from '../../domain/index.ts'
import { formatMoney } from '../../util/units.ts'
import { requestOfCharge } from '../../plugin-api/image-tool.ts'
import { findCharges } from '../ledger/find.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import { readChargeBatch } from '../charge-batches/find.ts'
import { chargeOf } from '../charge-batches/parse.ts'
import { endOfPiece, idOfPosition, type EventPosition } from './position.ts'

/** A piece of a chain: positions after `begins` up to and including `ends`. */
export type Slice = { readonly place: number; readonly chain: string; readonly begins: number; readonly ends: number }

/** Entries that one statement reads; also about how many charges the batches of one statement have. */
const entriesTogether = 200
const batchesTogether = 32
/** Tiers of a charge that an event lists. */
const tiersMax = 20

const entries = (table: 'entry' | 'reversal'): string =>
  `SELECT position, charge_id, kind, amount, created_at FROM ${table} WHERE chain = ? AND position > ? AND position <= ?
   AND kind <> 'void' ORDER BY position LIMIT ?`
const nextEntries = entries('entry')
const nextReversals = entries('reversal')
const nextBatches = `SELECT chain, position, body FROM segment WHERE chain = ? AND position > ? AND position <= ?
  ORDER BY position LIMIT ?`

type Found = { readonly position: number; readonly events: readonly FeedEvent[] }

/**
 * The next events of charges in a piece of a chain, after a position in it. All events up to `upto` are known.
 * @throws Error that names a charge batch that cannot be read
 */
export function* readSlice(
  slice: Slice,
  after: Pick<EventPosition, 'position' | 'index'> | undefined,
): QueryProgram<{ readonly events: readonly FeedEvent[]; readonly upto: number }> {
  const { chain, begins, ends } = slice
  // First the rest of a charge batch of which a part was read.
  const from = after ? Math.max(begins, after.index === endOfPiece.index ? after.position : after.position - 1) : begins
  const tables = [
    yield ask(nextEntries, chain, from, ends, entriesTogether),
    yield ask(nextReversals, chain, from, ends, entriesTogether),
    yield ask(nextBatches, chain, from, ends, batchesTogether),
  ] as const
  const [own, back, batches] = tables
  const upto = Math.min(
    ends,
    ...[
      [own, entriesTogether],
      [back, entriesTogether],
      [batches, batchesTogether],
    ].flatMap(([rows, most]) => endOf(rows as Rows, most as number)),
  )
  const inTime = (row: Row): boolean => whole(row, 'position') <= upto
  const found = [
    ...(yield* eventsOfEntries(slice.place, [...own, ...back].filter(inTime))),
    ...batches.filter(inTime).map(row => eventsOfBatch(slice.place, row)),
  ]
  found.sort((a, b) => a.position - b.position)
  const isBehind = (id: string): boolean => after === undefined || id > idOfPosition({ place: slice.place, ...after })
  return { events: found.flatMap(({ events }) => events).filter(({ id }) => isBehind(id)), upto }
}

/** Where rows end, if the query may have more. */
function endOf(rows: Rows, most: number): readonly number[] {
  const last = rows.at(-1)
  return last && rows.length === most ? [whole(last, 'position')] : []
}

function* eventsOfEntries(place: number, rows: Rows): QueryProgram<readonly Found[]> {
  const charges = yield* findCharges([...new Set(rows.map(row => text(row, 'charge_id')))])
  return rows.flatMap(row => {
    const charge = charges.get(text(row, 'charge_id'))
    if (!charge) return []
    const position = whole(row, 'position')
    const own = { id: idOfPosition({ place, position, index: 0 }), at: whole(row, 'created_at') }
    const event: FeedEvent =
      text(row, 'kind') === 'refund'
        ? { ...own, kind: 'charge.refunded', data: refundData(charge, whole(row, 'amount')) }
        : { ...own, kind: 'charge.settled', data: notifyPlugins(charge) }
    return [{ position, events: [event] }]
  })
}

function eventsOfBatch(place: number, row: Row): Found {
  const position = whole(row, 'position')
  const events = readChargeBatch(row).map((booked, index): FeedEvent => {
    const id = idOfPosition({ place, position, index })
    return { id, at: booked.at, kind: 'charge.settled', data: notifyPlugins(chargeOf(booked, 0)) }
  })
  return { position, events }
}

function refundData(charge: Charge, amount: number): EventData {
  return { ...payerData(charge), amount: formatMoney(amount), currency: charge.currency }
}

function notifyPlugins(charge: Charge): EventData {
  const { operation, upstream, configRevision, amount, currency, lines } = charge
  return {
    ...payerData(charge),
    operation,
    upstream,
    amount: formatMoney(amount),
    currency,
    lines: itemsData(lines),
    config_revision: configRevision,
    created_at: new Date(charge.createdAt).toISOString(),
  }
}

function payerData({ id, keyId, user, group, model }: Charge): EventData {
  return { charge_id: id, request_id: requestOfCharge(id), key_id: keyId, user, group, model }
}

/** Items of each tier together: their quantity and amount. */
function itemsData(lines: readonly ChargeItem[]): readonly EventData[] {
  const tiers = new Map<string, { quantity: number; amount: number }>()
  for (const { tier, quantity, price } of lines) {
    const { quantity: before, amount } = tiers.get(tier) ?? { quantity: 0, amount: 0 }
    tiers.set(tier, { quantity: before + (quantity ?? 1), amount: amount + price })
  }
  return [...tiers]
    .slice(0, tiersMax)
    .map(([tier, { quantity, amount }]) => ({ tier, quantity, amount: formatMoney(amount) }))
}
