import { quarterMs } from '../../domain/costs.ts'
import { isTokens } from '../../domain/usage.ts'
import { askIn } from '../ask-in.ts'
import { groupRows } from '../ledger/find.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import { findBooked, readSound } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { type CostSums, type Counts, type Place, placeColumns, toKind } from './sums.ts'

/** Positions of a chain that are read together. */
const placesTogether = 256

const settled = `SELECT e.position, e.kind, c.id, c.key_id, c.user_name, c.group_name, c.model, c.operation, c.upstream,
  c.currency, c.attribution, c.size, c.rule, c.ended_at FROM entry e JOIN charge c ON c.id = e.charge_id
  WHERE e.chain = ? AND e.position > ? AND e.position <= ? AND e.kind IN ('settle', 'refund')`
const segments =
  'SELECT chain, position, body FROM segment WHERE chain = ? AND position > ? AND position <= ? ORDER BY position'
const reversals = `SELECT charge_id FROM reversal WHERE chain = ? AND position > ? AND position <= ? AND kind = 'refund'`
const linesOf = 'SELECT * FROM line WHERE charge_id IN (…) ORDER BY charge_id, idx'

/** Where each chain ends, and how far a pass has added it up, if they differ. */
export const openChains = `SELECT c.id, c.position AS last, coalesce(s.position, 0) AS upto
  FROM chain c LEFT JOIN cost_progress s ON s.pass = ? AND s.chain = c.id
  WHERE c.position > coalesce(s.position, 0) ORDER BY c.id`

/** Sources of a tier other than the returned image: such a price may be higher than necessary. */
const pricedUnseen = new Set<unknown>(['request', 'default'])

/**
 * Adds the next entries of a chain: settled charges, in rows and in segments, and refunds, each at the time and under
 * the names of its charge's settlement.
 * @returns the last position that was added, and how many charges
 */
export function* addPlaces(
  sums: CostSums,
  chain: string,
  from: number,
  last: number,
): QueryProgram<{ readonly upto: number; readonly charges: number }> {
  const upto = Math.min(from + placesTogether, last)
  let charges = yield* addRows(sums, yield ask(settled, chain, from, upto))
  // What cannot be read is damaged: an audit reports it.
  for (const row of yield ask(segments, chain, from, upto))
    for (const booked of readSound(row) ?? []) {
      charges++
      addBooked(sums, booked, 1)
    }
  const refunded = (yield ask(reversals, chain, from, upto)).map(row => text(row, 'charge_id'))
  for (const booked of (yield* findBooked(refunded)).values()) addBooked(sums, booked, -1)
  return { upto, charges: charges + refunded.length }
}

/** Charges of rows by settlement time, so that they are in the month of their statement. */
function* addRows(sums: CostSums, rows: Rows): QueryProgram<number> {
  const lines = groupRows(yield* askIn(linesOf, [...new Set(rows.map(row => text(row, 'id')))]), 'charge_id')
  for (const row of rows) {
    const place = placeOf(row, whole(row, 'ended_at'))
    const priced = (lines.get(text(row, 'id')) ?? []).map(line => ({
      tier: text(line, 'tier'),
      price: whole(line, 'price'),
      quantity: line['quantity'] === null ? null : whole(line, 'quantity'),
    }))
    const sign = text(row, 'kind') === 'settle' ? 1 : -1
    addLines(sums, place, priced, sign)
    for (const line of lines.get(text(row, 'id')) ?? [])
      if (line['quantity'] === null && pricedUnseen.has(line['source']) && whole(line, 'price') > 0)
        sums.addImage({ ...place, tier: text(line, 'tier') }, toKind({ ...row, ...line }), sign)
  }
  return rows.length
}

function addBooked(sums: CostSums, { payer, terms, at, counts }: Booked, sign: 1 | -1): void {
  const priced = terms.lines.map(([tier], i) => ({
    tier,
    price: counts[2 * i] as number,
    quantity: counts[2 * i + 1] as number,
  }))
  const { key_id, user_name, group_name } = payer
  const { model, operation, upstream, currency } = terms
  const place = {
    quarter: Math.floor(at / quarterMs),
    key_id,
    user_name,
    group_name,
    model,
    operation,
    upstream,
    currency,
    attribution: payer.attribution ?? '',
  }
  addLines(sums, place, priced, sign)
}

function placeOf(row: Row, at: number): Omit<Place, 'tier'> {
  const names = Object.fromEntries(placeColumns.map(column => [column, row[column]]))
  const attribution = textOrNull(row, 'attribution') ?? ''
  return {
    quarter: Math.floor(at / quarterMs),
    ...(names as Omit<Place, 'quarter' | 'tier' | 'attribution'>),
    attribution,
  }
}

/** `quantity`: null for an image. */
type Priced = { readonly tier: string; readonly price: number; readonly quantity: number | null }

/** Items of one charge: those of a tier together. `sign`: -1 for a refund. */
function addLines(sums: CostSums, place: Omit<Place, 'tier'>, lines: readonly Priced[], sign: 1 | -1): void {
  const seen = new Set<string>()
  for (const { tier, price, quantity } of lines) {
    const isBooked = sign === 1
    const counts: Counts = {
      charges: isBooked && !seen.has(tier) ? 1 : 0,
      firsts: isBooked && seen.size === 0 ? 1 : 0,
      images: isBooked && quantity === null ? 1 : 0,
      amount: isBooked ? price : 0,
      refunded: isBooked ? 0 : price,
      quantity: isBooked ? (quantity ?? 0) : 0,
      tokens: isBooked && isTokens(tier) ? (quantity ?? 0) : 0,
    }
    seen.add(tier)
    sums.add({ ...place, tier }, counts)
  }
}
