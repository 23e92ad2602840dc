import type { LogFilter, LogMatch, LogRow } from '../../domain/index.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Value } from '../query.ts'
import { text } from '../rows.ts'
import { rangeOf } from '../log-batches/match.ts'
import { wordOf } from '../log-batches/search-words.ts'
import { findBooked } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { afterAll, begunAt } from '../charge-batches/time-bounds.ts'
import { ChargeBatchWalk } from '../charge-batches/walk.ts'
import { firstIdAt } from '../../util/ids.ts'
import { itemFactsBegin } from '../ledger/item-facts.ts'
import { findCounting, findGivenBack } from './counted.ts'

/** Conditions on an image of a charge: SQL on `line` and, for a filter by size, on the requested size. */
type Images = { readonly from: string; readonly where: string; readonly params: readonly Value[] }

/** The requested size in the form of measured sizes, if the client requested pixels. */
const requestedSize = "replace(lower(trim(asked.size)), '×', 'x')"
const isOtherSize = `line.width IS NOT NULL AND ${requestedSize} LIKE '%_x_%'
  AND substr(${requestedSize}, 1, 1) BETWEEN '0' AND '9' AND ${requestedSize} <> line.width || 'x' || line.height`

const isReported = `coalesce(substr(line.told, 1, ${itemFactsBegin.length}), '') = '${itemFactsBegin}'`

function imagesOf({ tier, source, otherSize, size }: LogMatch): Images | undefined {
  if (tier === undefined && source === undefined && otherSize !== true && size === undefined) return undefined
  const conditions = ['line.quantity IS NULL']
  const params: string[] = []
  if (tier !== undefined) {
    conditions.push('line.tier = ?')
    params.push(tier)
  }
  if (source !== undefined) {
    // A source reported by the response is stored as `output`, with a mark.
    conditions.push('line.source = ?', `${source === 'told' ? '' : 'NOT '}${isReported}`)
    params.push(source === 'told' ? 'output' : source)
  }
  if (otherSize === true) conditions.push(isOtherSize)
  if (size !== undefined) {
    conditions.push('asked.size = ?')
    params.push(size)
  }
  const from = otherSize === true || size !== undefined ? 'line JOIN charge asked ON asked.id = line.charge_id' : 'line'
  return { from, where: conditions.join(' AND '), params }
}

/** Whether a filter needs charges. */
export function asksForCharge({ tier, source, otherSize, size, unit, refunded, charge }: LogMatch): boolean {
  return otherSize === true || [tier, source, size, unit, refunded, charge].some(part => part !== undefined)
}

/** Keeps the rows whose charges match. Rows are in the order of their ids, in either direction. */
export function* keepCharged(rows: readonly LogRow[], match: LogMatch): QueryProgram<readonly LogRow[]> {
  let kept = rows
  const images = imagesOf(match)
  if (images) {
    const { from, where, params } = images
    const sql = `SELECT DISTINCT line.charge_id AS id FROM ${from} WHERE ${where} AND line.charge_id IN (…)`
    kept = keep(kept, yield* selectIn(sql, idsOf(kept), params))
  }
  const { unit, refunded } = match
  if (unit !== undefined) {
    const counting = yield* findCounting(idsOf(kept), unit)
    kept = kept.filter(({ id }) => counting.has(id))
  }
  if (refunded !== undefined) {
    const givenBack = yield* findGivenBack(idsOf(kept))
    kept = kept.filter(({ id }) => givenBack.has(id) === refunded)
  }
  if (match.charge === undefined) return kept
  const ofState = yield* selectIn('SELECT id FROM charge WHERE state = ? AND id IN (…)', idsOf(kept), [match.charge])
  if (match.charge !== 'settled') return keep(kept, ofState)
  const inRows = new Set(ofState.map(row => text(row, 'id')))
  const others = idsOf(kept).filter(id => !inRows.has(id))
  const booked = yield* findBatched(others, match)
  return kept.filter(({ id }) => inRows.has(id) || booked.has(id))
}

function idsOf(rows: readonly LogRow[]): readonly string[] {
  return rows.map(({ id }) => id)
}

function keep(rows: readonly LogRow[], found: readonly { readonly [column: string]: unknown }[]): readonly LogRow[] {
  const ids = new Set(found.map(row => row['id']))
  return rows.filter(({ id }) => ids.has(id))
}

/** The charges with these ids that are in charge batches. */
export function* findBatched(ids: readonly string[], match: LogMatch): QueryProgram<ReadonlyMap<string, Booked>> {
  // Sparse ids are looked up one by one.
  if (ids.length < 16 || wordOf(match) !== undefined) return yield* findBooked(ids)
  const inOrder = ids.toSorted()
  const begun = begunAt(inOrder[0] as string)
  const [wanted, found] = [new Set(ids), new Map<string, Booked>()]
  const walk = new ChargeBatchWalk(Number.isNaN(begun) ? '' : firstIdAt('req_', begun), `${inOrder.at(-1)}\0`)
  for (;;) {
    const some = yield* walk.next()
    if (some.length === 0) return found
    for (const one of some) if (wanted.has(one.id)) found.set(one.id, one)
  }
}

/**
 * Reads the next ids of matching charges from a selective index; undefined if there is none, or if the log has a
 * better one.
 */
export function idsOfFew(
  match: LogFilter,
): ((limit: number, last?: string) => QueryProgram<readonly string[]>) | undefined {
  const { id, tier, source, otherSize, charge, after } = match
  if (id !== undefined || wordOf(match) !== undefined) return undefined
  const isOfImages = tier !== undefined || source !== undefined
  const isOfState = charge !== undefined && charge !== 'settled'
  if (!isOfImages && otherSize !== true && !isOfState) return undefined
  const { size: _, ...unsized } = match
  const images = imagesOf({ ...unsized, otherSize: false })
  const [table, column] = isOfImages ? ['line', 'line.charge_id'] : ['charge', 'charge.id']
  // The condition must have the same text as in the indexes.
  const state = isOfState ? `charge.state = ? AND charge.state <> 'settled'` : 'charge.size IS NOT NULL'
  const where = isOfImages ? images?.where : state
  const params = isOfImages ? (images?.params ?? []) : isOfState ? [charge] : []
  const { from, before = afterAll } = rangeOf(match)
  const isOnward = after !== undefined
  const sql = `SELECT ${column} AS id FROM ${table} WHERE ${where} AND ${column} >= ? AND ${column} < ?
    GROUP BY ${column} ORDER BY ${column} ${isOnward ? 'ASC' : 'DESC'} LIMIT ?`
  return function* next(limit, last) {
    const bounds = last === undefined ? [from, before] : isOnward ? [`${last}\0`, before] : [from, last]
    const rows = yield ask(sql, ...params, ...bounds, limit)
    return rows.map(row => text(row, 'id'))
  }
}
