import { quarterMs } from '../../domain/costs.ts'
import { firstIdAt } from '../../util/ids.ts'
import { readPass } from '../costs/plain.ts'
import { readCosts } from '../costs/read.ts'
import { numbersOf, quarterOfSpan } from '../costs/spans.ts'
import { columnOf } from '../costs/sums.ts'
import { ask, type QueryProgram, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { ageMaxMs, aheadMs, begunAt } from '../charge-batches/time-bounds.ts'
import { ChargeBatchWalk } from '../charge-batches/walk.ts'
import { addCharges, type Counted, countedOf, type Totals } from './total-sums.ts'

/** Attributes that a request shares with its charge, whichever upstream answered it. */
export const sharedParts = ['user', 'group', 'key', 'model', 'operation'] as const
export type Shared = { readonly [P in (typeof sharedParts)[number]]?: string }

/** A range of start times: from `since` (inclusive) to `until` (exclusive; undefined for no end). */
export type Begun = { readonly since: number; readonly until: number | undefined }

const prefix = 'req_'
/**
 * The maximum time from the start of a request to the end of its charge in rows, except late settlements: no response
 * takes longer. A charge in a batch ends sooner (`ageMaxMs`).
 */
const longestMs = 86_400_000
/**
 * Condition: settled long after the hold, by an administrator or after a stop of its gateway. Must equal the text in
 * the index.
 */
const isLate = `state = 'settled' AND ended_at - created_at > 3600000`
const newestSpan = `SELECT max(span) AS span FROM cost_part_sum WHERE part = '' AND span >= ? AND span < ?`

/** A range of settlement times in whole quarters: `from` (inclusive) to `to` (exclusive). */
type Quarters = { readonly from: number; readonly to: number }

/**
 * Adds the charges of requests from the cost sums, which are by quarter hour of settlement. Near both ends, a charge
 * and its request may be on different sides of the end, so these charges are corrected one by one.
 */
export function* addLedger(totals: Totals, begun: Begun, where: Shared, lastMs: number): QueryProgram<void> {
  const quarters = yield* quartersOf(begun, lastMs)
  if (quarters.from < quarters.to) {
    const { from: since, to: until } = quarters
    const { rows } = yield* readCosts({ since, until, bars: [since], by: null, where })
    for (const { currency, charges, images, amount, refunded } of rows) {
      totals.images += images
      totals.add(currency, charges, amount, refunded)
    }
  }
  const charges = new Map<string, Counted>()
  for (const window of windowsOf(begun, quarters, longestMs)) {
    const near = { sql: `state = 'settled' AND id >= ? AND id < ?`, params: idsOf(window) }
    yield* findRows(charges, near, begun, quarters, where)
  }
  yield* findRows(charges, { sql: isLate, params: [] }, begun, quarters, where)
  for (const window of windowsOf(begun, quarters, ageMaxMs))
    yield* findInChargeBatches(charges, window, begun, quarters, where)
  yield* addCharges(totals, charges)
}

/** The whole quarters of a range; without an end, all quarters from its start. */
function* quartersOf({ since, until }: Begun, lastMs: number): QueryProgram<Quarters> {
  const from = Math.ceil(since / quarterMs) * quarterMs
  if (until !== undefined) return { from, to: Math.max(Math.floor(until / quarterMs) * quarterMs, from) }
  const { number: pass } = yield* readPass()
  const [row] = yield ask(newestSpan, ...numbersOf(pass))
  const last = row?.['span'] == null ? 0 : quarterOfSpan(whole(row, 'span'), pass)
  // Charges that are not in the sums yet are from the last minutes, possibly of a clock that is ahead.
  const to = Math.max((last + 1) * quarterMs, Math.ceil((lastMs + longestMs) / quarterMs) * quarterMs)
  return { from, to: Math.max(to, from) }
}

type Window = { readonly from: number; readonly to: number }

/**
 * Ranges of start times of requests whose charges may be on the other side of an end. `laterMs`: the maximum delay of
 * settlement.
 */
function windowsOf({ since, until }: Begun, quarters: Quarters, laterMs: number): readonly Window[] {
  const { from, to } = quarters
  if (from >= to) return [{ from: since, to: until ?? Number.MAX_SAFE_INTEGER }]
  const first = { from: Math.min(since, from - laterMs), to: from + aheadMs }
  if (until === undefined) return [first]
  const last = { from: to - laterMs, to: Math.max(until, to + aheadMs) }
  return last.from <= first.to ? [{ from: first.from, to: last.to }] : [first, last]
}

function* findRows(
  into: Map<string, Counted>,
  near: { readonly sql: string; readonly params: readonly Value[] },
  begun: Begun,
  { from, to }: Quarters,
  where: Shared,
): QueryProgram<void> {
  const own = sharedParts.filter(part => where[part] !== undefined)
  const until = begun.until === undefined ? [] : [firstIdAt(prefix, begun.until)]
  const params: readonly Value[] = [
    firstIdAt(prefix, begun.since),
    ...until,
    ...near.params,
    ...own.map(part => where[part] as string),
    from,
    to,
  ]
  const isMeant = `CASE WHEN id >= ? ${until.length > 0 ? 'AND id < ?' : ''} THEN 1 ELSE 0 END`
  const rows = yield ask(
    `SELECT id, currency, amount, line_count, is_meant FROM
       (SELECT id, currency, amount, line_count, ended_at, ${isMeant} AS is_meant FROM charge
         WHERE ${near.sql}
         ${own.map(part => `AND ${columnOf[part]} = ?`).join(' ')}) near
     WHERE is_meant <> CASE WHEN ended_at >= ? AND ended_at < ? THEN 1 ELSE 0 END`,
    ...params,
  )
  for (const row of rows) into.set(text(row, 'id'), countedOf(row, whole(row, 'is_meant') === 1 ? 1 : -1))
}

function* findInChargeBatches(
  into: Map<string, Counted>,
  window: Window,
  { since, until = Number.MAX_SAFE_INTEGER }: Begun,
  { from, to }: Quarters,
  where: Shared,
): QueryProgram<void> {
  const walk = new ChargeBatchWalk(...idsOf(window))
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return
    for (const one of some) {
      const ms = begunAt(one.id)
      const isMeant = ms >= since && ms < until
      if (isMeant === (one.at >= from && one.at < to) || !isOf(one, where)) continue
      const { currency } = one.terms
      into.set(one.id, { currency, amount: one.amount, weight: isMeant ? 1 : -1, isBooked: true, isEmpty: false })
    }
  }
}

function idsOf({ from, to }: Window): readonly [from: string, to: string] {
  // There is no id after the latest possible time, so the end is a text that sorts after all ids.
  return [firstIdAt(prefix, from), to === Number.MAX_SAFE_INTEGER ? '~' : firstIdAt(prefix, to)]
}

function isOf({ payer, terms }: Booked, where: Shared): boolean {
  const own: { readonly [P in keyof Shared]-?: string } = {
    user: payer.user_name,
    group: payer.group_name,
    key: payer.key_id,
    model: terms.model,
    operation: terms.operation,
  }
  return sharedParts.every(part => where[part] === undefined || where[part] === own[part])
}
