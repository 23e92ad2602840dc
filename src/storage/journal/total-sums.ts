import type { LogTotals } from '../../kit/index.ts'
import { useChargeId } from '../../kit/image-tool.ts'
import { askIn } from '../ask-in.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findBooked } from '../segments/find.ts'
import type { Booked } from '../segments/parse.ts'
import { begunAt, reachOf } from '../segments/reach.ts'
import { SegmentWalk } from '../segments/walk.ts'

const inRows = 'SELECT id, state, currency, amount, line_count FROM charge WHERE id IN (…)'
const images = `SELECT charge_id, count(*) AS images FROM line WHERE quantity IS NULL AND charge_id IN (…) GROUP BY charge_id`
const refunds = ['entry', 'reversal'].map(
  table => `SELECT charge_id, amount FROM ${table} WHERE kind = 'refund' AND charge_id IN (…)`,
)
const segmentsBetween = 'SELECT count(*) AS count FROM segment WHERE last_id >= ? AND last_id < ?'

/** Whoever looks for one charge reads about so many segments: all of two minutes, where each has a part of a second. */
const segmentsOfOne = 4

/** What is known of a settled charge. `weight`: 1 where it counts, -1 where it was counted and does not. */
export type Counted = { readonly currency: string; readonly amount: number; readonly weight: 1 | -1 }

type Sum = { charges: number; amount: number; refunded: number }

/** What requests and their charges come to. */
export class Totals {
  requests = 0
  errors = 0
  images = 0
  readonly #sums = new Map<string, Sum>()

  add(currency: string, charges: number, amount: number, refunded: number): void {
    let sum = this.#sums.get(currency)
    if (!sum) this.#sums.set(currency, (sum = { charges: 0, amount: 0, refunded: 0 }))
    sum.charges += charges
    sum.amount += amount
    sum.refunded += refunded
  }

  all(): Omit<LogTotals, 'since' | 'next'> {
    const { requests, errors, images } = this
    // What was counted and taken back is of no currency.
    const some = [...this.#sums].filter(([, { charges }]) => charges > 0)
    const sums = some.map(([currency, { amount, refunded }]) => ({ currency, amount, refunded }))
    return {
      requests,
      errors,
      charges: some.reduce((all, [, { charges }]) => all + charges, 0),
      images,
      sums: sums.sort((a, b) => (a.currency < b.currency ? -1 : 1)),
    }
  }
}

/** Adds settled charges: what they cost, the images that they are of, and what was given back of them. */
export function* addCharges(totals: Totals, charges: ReadonlyMap<string, Counted>): QueryProgram<void> {
  const ids = [...charges.keys()]
  for (const { currency, amount, weight } of charges.values()) totals.add(currency, weight, weight * amount, 0)
  for (const row of yield* askIn(images, ids))
    totals.images += (charges.get(text(row, 'charge_id'))?.weight ?? 0) * whole(row, 'images')
  for (const sql of refunds)
    for (const row of yield* askIn(sql, ids)) {
      const of = charges.get(text(row, 'charge_id'))
      if (of) totals.add(of.currency, 0, 0, of.weight * whole(row, 'amount'))
    }
}

/** The settled charges of some requests: also of what a request used beside its images. */
export function* findSettled(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Counted>> {
  const found = new Map<string, Counted>()
  const beside: string[] = []
  function* take(of: readonly string[]): QueryProgram<void> {
    for (const row of yield* askIn(inRows, of)) {
      const id = text(row, 'id')
      beside.push(useChargeId(id))
      // One that a person settled for nothing has no line, and is in no sum of costs.
      if (row['state'] === 'settled' && whole(row, 'line_count') > 0)
        found.set(id, { currency: text(row, 'currency'), amount: whole(row, 'amount'), weight: 1 })
    }
  }
  yield* take(ids)
  const [own, ofUse] = [ids.filter(id => !found.has(id)), beside.splice(0)]
  yield* take(ofUse)
  const others = [...own, ...ofUse.filter(id => !found.has(id))]
  for (const [id, { terms, amount }] of yield* findInSegments(others))
    found.set(id, { currency: terms.currency, amount, weight: 1 })
  return found
}

/** Charges in segments: one by one, or where they stand close together by reading all that are between them. */
function* findInSegments(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Booked>> {
  const inOrder = ids.filter(id => !Number.isNaN(begunAt(id))).toSorted()
  const [first, last] = [inOrder[0], inOrder.at(-1)]
  if (first === undefined || last === undefined) return new Map()
  const [row] = yield ask(segmentsBetween, first, reachOf(last))
  if (whole(row ?? {}, 'count') > inOrder.length * segmentsOfOne) return yield* findBooked(inOrder)
  const [wanted, found] = [new Set(inOrder), new Map<string, Booked>()]
  // What sorts directly before the first is all but its last character.
  const walk = new SegmentWalk(first.slice(0, -1), `${last}\0`)
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return found
    for (const one of some) if (wanted.has(one.id)) found.set(one.id, one)
  }
}
