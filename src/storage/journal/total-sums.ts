import type { LogTotals } from '../../domain/index.ts'
import { useChargeId, useSuffix } from '../../plugin-api/image-tool.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import { findBooked, readChargeBatch } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { begunAt, reachOf } from '../charge-batches/time-bounds.ts'
import { ChargeBatchWalk } from '../charge-batches/walk.ts'

const columns = 'id, state, currency, amount, line_count'
const inRows = `SELECT ${columns} FROM charge WHERE id IN (…)`
const between = `SELECT ${columns} FROM charge WHERE id >= ? AND id <= ?`
const images = `SELECT charge_id, count(*) AS images FROM line WHERE quantity IS NULL AND charge_id IN (…) GROUP BY charge_id`
const refunds = `SELECT charge_id, amount FROM entry WHERE kind = 'refund' AND charge_id IN (…)`
/** Refunds are few, in any range. */
const reversals = `SELECT charge_id, amount FROM reversal WHERE kind = 'refund' AND charge_id >= ? AND charge_id <= ?`
/**
 * Charges that are not images are rare: the database searches the texts, so that charge batches without any are not
 * read.
 */
const withUse = `SELECT chain, position, body FROM segment
  WHERE last_id >= ? AND last_id < ? AND first_id <= ? AND instr(body, '.u"') > 0`
const batchesBetween = 'SELECT count(*) AS count FROM segment WHERE last_id >= ? AND last_id < ?'

/**
 * The number of charge batches whose reading costs about as much as one lookup, which searches all batches of two
 * minutes.
 */
const batchesOfOne = 4

/** A settled charge. */
export type Counted = {
  readonly currency: string
  readonly amount: number
  /** 1 if the charge counts, -1 if it was counted and no longer counts. */
  readonly weight: 1 | -1
  /** Whether it is in a charge batch, instead of separate rows. */
  readonly isBooked: boolean
  /** Whether it has no item, after an administrator settled it at 0. Such a charge is in no cost sum. */
  readonly isEmpty: boolean
}

type Sum = { charges: number; amount: number; refunded: number }

/** The sums of requests and their charges. */
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

  /** For each currency the number of charges, their amount and the refunds. */
  inCurrencies(): readonly (readonly [currency: string, charges: number, amount: number, refunded: number])[] {
    return [...this.#sums].map(([currency, { charges, amount, refunded }]) => [currency, charges, amount, refunded])
  }

  all(): Omit<LogTotals, 'since' | 'next'> {
    const { requests, errors, images } = this
    // A charge that was counted and then subtracted has no currency.
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

/** Adds settled charges: their cost, their images, and their refunds. */
export function* addCharges(totals: Totals, charges: ReadonlyMap<string, Counted>): QueryProgram<void> {
  const [own, booked]: [string[], string[]] = [[], []]
  for (const [id, { currency, amount, weight, isBooked, isEmpty }] of charges) {
    if (isEmpty) continue
    totals.add(currency, weight, weight * amount, 0)
    if (isBooked) booked.push(id)
    else own.push(id)
  }
  for (const row of yield* selectIn(images, own))
    totals.images += (charges.get(text(row, 'charge_id'))?.weight ?? 0) * whole(row, 'images')
  const givenBack = [yield* selectIn(refunds, own)]
  const [first, last] = endsOf(booked)
  if (first !== undefined && last !== undefined) givenBack.push(yield ask(reversals, first, last))
  for (const row of givenBack.flat()) {
    const of = charges.get(text(row, 'charge_id'))
    if (of) totals.add(of.currency, 0, 0, of.weight * whole(row, 'amount'))
  }
}

export function endsOf(ids: readonly string[]): readonly [first: string | undefined, last: string | undefined] {
  let [first, last] = [ids[0], ids[0]]
  for (const id of ids) {
    if (first === undefined || id < first) first = id
    if (last === undefined || id > last) last = id
  }
  return [first, last]
}

/**
 * The settled charges of some requests, including charges of use besides images. `isDense`: there are few other
 * requests between them.
 */
export function* findSettled(ids: readonly string[], isDense = false): QueryProgram<ReadonlyMap<string, Counted>> {
  const found = new Map<string, Counted>()
  const left = new Set(ids)
  const useIds: string[] = []
  const take = (rows: Rows): void => {
    for (const row of rows) {
      const id = text(row, 'id')
      if (!left.delete(id)) continue
      useIds.push(useChargeId(id))
      if (row['state'] === 'settled') found.set(id, countedOf(row, 1))
    }
  }
  const [first, last] = endsOf(ids)
  if (isDense && first !== undefined && last !== undefined) {
    const rows = yield ask(between, first, useChargeId(last))
    take(rows)
    for (const id of useIds.splice(0)) left.add(id)
    take(rows)
  } else {
    take(yield* selectIn(inRows, ids))
    const ofUse = useIds.splice(0)
    for (const id of ofUse) left.add(id)
    take(yield* selectIn(inRows, ofUse))
  }
  for (const [id, { terms, amount }] of yield* findInChargeBatches([...left]))
    found.set(id, { currency: terms.currency, amount, weight: 1, isBooked: true, isEmpty: false })
  return found
}

/** Reads a row of `charge`. */
export function countedOf(row: Row, weight: 1 | -1): Counted {
  return {
    currency: text(row, 'currency'),
    amount: whole(row, 'amount'),
    weight,
    isBooked: false,
    isEmpty: whole(row, 'line_count') === 0,
  }
}

/** Charges in batches: looked up one by one, or for dense ids by reading everything between them. */
export function* findInChargeBatches(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Booked>> {
  const inOrder = ids.filter(id => !Number.isNaN(begunAt(id))).toSorted()
  const [first, last] = [inOrder[0], inOrder.at(-1)]
  if (first === undefined || last === undefined) return new Map()
  if (inOrder.every(id => id.endsWith(useSuffix))) return yield* findUse(new Set(inOrder), first, last)
  const [row] = yield ask(batchesBetween, first, reachOf(last))
  if (whole(row ?? {}, 'count') > inOrder.length * batchesOfOne) return yield* findBooked(inOrder)
  const [wanted, found] = [new Set(inOrder), new Map<string, Booked>()]
  // The first id without its last character sorts directly before the first id.
  const walk = new ChargeBatchWalk(first.slice(0, -1), `${last}\0`)
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return found
    for (const one of some) if (wanted.has(one.id)) found.set(one.id, one)
  }
}

function* findUse(wanted: ReadonlySet<string>, first: string, last: string): QueryProgram<ReadonlyMap<string, Booked>> {
  const found = new Map<string, Booked>()
  for (const row of yield ask(withUse, first, reachOf(last), last))
    for (const one of readChargeBatch(row)) if (wanted.has(one.id)) found.set(one.id, one)
  return found
}
