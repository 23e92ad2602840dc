import { type ChargeRule, savedBy } from '../../domain/charge.ts'
import { quarterMs } from '../../domain/costs.ts'
import { isTokens } from '../../domain/usage.ts'
import { selectIn } from '../select-in.ts'
import { groupRows } from '../ledger/find.ts'
import { splitRefund } from '../ledger/split-amount.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import { findBooked, readSound } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { type CostSums, type Counts, type Place, placeColumns, toKind } from './sums.ts'

/**
 * The limits of what is added together. `rollUpCosts` writes it in one transaction, for which all charges wait: each
 * sum takes some 0.02 ms (0.04 ms of very many keys), and each charge of a sum that exists already some 0.01 ms.
 */
const placesTogether = 256
const chargesTogether = 10_000
const sumsTogether = 2_000
const batchesTogether = 8

const settled = `SELECT e.position, e.kind, e.nth, e.amount, c.id, c.key_id, c.user_name, c.group_name, c.model, c.operation,
  c.upstream, c.currency, c.attribution, c.size, c.rule, c.ended_at FROM entry e JOIN charge c ON c.id = e.charge_id
  WHERE e.chain = ? AND e.position > ? AND e.position <= ? AND e.kind IN ('settle', 'refund')`
const batches =
  'SELECT chain, position, body FROM segment WHERE chain = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?'
const reversals = `SELECT charge_id AS id, nth, amount FROM reversal WHERE chain = ? AND position > ? AND position <= ? AND kind = 'refund'`
const linesOf = 'SELECT * FROM line WHERE charge_id IN (…) ORDER BY charge_id, idx'
const refundsIn = (table: 'entry' | 'reversal'): string =>
  `SELECT charge_id AS id, nth, amount FROM ${table} WHERE kind = 'refund' AND charge_id IN (…)`

/** The end of each chain, and the position up to which a pass has added it up, for chains where the two differ. */
export const openChains = `SELECT c.id, c.position AS last, coalesce(s.position, 0) AS upto
  FROM chain c LEFT JOIN cost_progress s ON s.pass = ? AND s.chain = c.id
  WHERE c.position > coalesce(s.position, 0) ORDER BY c.id`

/** Sources of a tier other than the returned image: its price may be higher than necessary. */
const pricedUnseen = new Set<unknown>(['request', 'default'])

/**
 * Adds the next entries of a chain: settled charges, in rows and in charge batches, and refunds, each at the time and
 * under the names of its charge's settlement.
 * @returns the last position that was added, and the number of charges
 */
export function* addPlaces(
  sums: CostSums,
  chain: string,
  from: number,
  last: number,
): QueryProgram<{ readonly upto: number; readonly charges: number }> {
  const booked = yield* addBatches(sums, chain, from, Math.min(from + placesTogether, last))
  const { upto } = booked
  const charges = booked.charges + (yield* addRows(sums, yield ask(settled, chain, from, upto)))
  const refunds = yield ask(reversals, chain, from, upto)
  const bookings = yield* findBooked([...new Set(refunds.map(row => text(row, 'id')))])
  const beforeOf = yield* findEarlier('reversal', refunds)
  for (const row of refunds) {
    const booked = bookings.get(text(row, 'id'))
    if (booked) addBooked(sums, booked, { amount: whole(row, 'amount'), before: beforeOf(row) })
  }
  return { upto, charges: charges + refunds.length }
}

/** Adds charges in batches, up to `last` or until they are enough for one step. */
function* addBatches(
  sums: CostSums,
  chain: string,
  from: number,
  last: number,
): QueryProgram<{ readonly upto: number; readonly charges: number }> {
  const sizeMax = sums.size + sumsTogether
  let charges = 0
  for (let at = from; at < last; ) {
    const some = yield ask(batches, chain, at, last, batchesTogether)
    for (const row of some) {
      at = whole(row, 'position')
      // A charge batch that cannot be read is damaged: an audit reports it.
      for (const booked of readSound(row) ?? []) {
        charges++
        addBooked(sums, booked)
      }
      if (charges >= chargesTogether || sums.size >= sizeMax) return { upto: at, charges }
    }
    if (some.length < batchesTogether) break
  }
  return { upto: last, charges }
}

/** A refund; `before`: the earlier refunds of its charge, in micro-units. */
type Back = { readonly amount: number; readonly before: number }

/**
 * Finds the sum of earlier refunds of the same charge, for each refund. Refunds are numbered, and may be in several
 * chains.
 */
function* findEarlier(table: 'entry' | 'reversal', refunds: Rows): QueryProgram<(row: Row) => number> {
  const later = refunds.filter(row => whole(row, 'nth') > 0).map(row => text(row, 'id'))
  if (later.length === 0) return () => 0
  const all = groupRows(yield* selectIn(refundsIn(table), [...new Set(later)]), 'id')
  return row =>
    (all.get(text(row, 'id')) ?? [])
      .filter(other => whole(other, 'nth') < whole(row, 'nth'))
      .reduce((sum, other) => sum + whole(other, 'amount'), 0)
}

/** Adds charges in rows, by settlement time, so that they are in the month of their statement. */
function* addRows(sums: CostSums, rows: Rows): QueryProgram<number> {
  const lines = groupRows(yield* selectIn(linesOf, [...new Set(rows.map(row => text(row, 'id')))]), 'charge_id')
  const isBack = (row: Row): boolean => text(row, 'kind') === 'refund'
  const beforeOf = yield* findEarlier('entry', rows.filter(isBack))
  for (const row of rows) {
    const place = placeOf(row, whole(row, 'ended_at'))
    const priced = (lines.get(text(row, 'id')) ?? []).map(line => ({
      tier: text(line, 'tier'),
      price: whole(line, 'price'),
      quantity: line['quantity'] === null ? null : whole(line, 'quantity'),
    }))
    const back = isBack(row) ? { amount: whole(row, 'amount'), before: beforeOf(row) } : undefined
    addLines(sums, place, priced, { back, rule: ruleWithSaving(row) })
    // The first refund removes the images of its charge.
    if (back && whole(row, 'nth') > 0) continue
    for (const line of lines.get(text(row, 'id')) ?? [])
      if (line['quantity'] === null && pricedUnseen.has(line['source']) && whole(line, 'price') > 0)
        sums.addImage({ ...place, tier: text(line, 'tier') }, toKind({ ...row, ...line }), back ? -1 : 1)
  }
  return rows.length
}

function addBooked(sums: CostSums, { payer, terms, at, counts }: Booked, back?: Back): void {
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
  addLines(sums, place, priced, { back, rule: terms.rule })
}

/** The rule of a charge that may have saved an amount; undefined for others, whose long rules are not parsed. */
function ruleWithSaving(row: Row): ChargeRule | undefined {
  const rule = text(row, 'rule')
  return rule.includes('"full"') ? (JSON.parse(rule) as ChargeRule) : undefined
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

/** Adds the items of a charge or of its refund; items of one tier are added together. */
function addLines(
  sums: CostSums,
  place: Omit<Place, 'tier'>,
  lines: readonly Priced[],
  { back, rule }: { readonly back: Back | undefined; readonly rule: ChargeRule | undefined },
): void {
  const seen = new Set<string>()
  const prices = lines.map(({ price }) => price)
  const backs = back ? splitRefund(back.amount, back.before, prices) : undefined
  const isBooked = backs === undefined
  const saved =
    isBooked && rule
      ? savedBy(
          rule,
          prices.reduce((sum, price) => sum + price, 0),
        )
      : 0
  for (const [i, { tier, price, quantity }] of lines.entries()) {
    const counts: Counts = {
      charges: isBooked && !seen.has(tier) ? 1 : 0,
      firsts: isBooked && seen.size === 0 ? 1 : 0,
      images: isBooked && quantity === null ? 1 : 0,
      amount: isBooked ? price : 0,
      refunded: backs?.[i] ?? 0,
      quantity: isBooked ? (quantity ?? 0) : 0,
      tokens: isBooked && isTokens(tier) ? (quantity ?? 0) : 0,
      saved: i === 0 ? saved : 0,
    }
    seen.add(tier)
    sums.add({ ...place, tier }, counts)
  }
}
