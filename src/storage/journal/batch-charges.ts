import type { LogMatch, LogRow } from '../../domain/index.ts'
import { quarterMs } from '../../domain/costs.ts'
import { useChargeId } from '../../plugin-api/image-tool.ts'
import { firstIdAt } from '../../util/ids.ts'
import { selectIn } from '../select-in.ts'
import { type LogBatchHead, readLogBatches } from '../log-batches/find.ts'
import { isWhat } from '../log-batches/match.ts'
import type { What } from '../log-batches/members.ts'
import { failuresOf } from '../log-batches/sums.ts'
import { ask, lockRows, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { begunAt } from '../charge-batches/time-bounds.ts'
import { addCharges, type Counted, findSettled, Totals } from './total-sums.ts'

/** One kind of requests of a batch, and their charges. `isSettled`: each of them has a settled charge. */
type Group = readonly [
  model: string | null,
  operation: string,
  status: number | null,
  outcome: LogRow['outcome'],
  upstream: string | null,
  isSettled: 0 | 1,
  requests: number,
  errors: number,
  images: number,
  sums: readonly (readonly [currency: string, charges: number, amount: number, refunded: number])[],
]

/** The sums of a batch, for the writer. */
export type BatchCharges = LogBatchHead & {
  /** Null for a damaged batch. */
  readonly body: string | null
  /** The positions of the ledger up to which changes had been searched. */
  readonly through: string
}

const prefix = 'req_'
/**
 * The minimum age of a batch in milliseconds: charges of younger batches still change, because an image takes time, and
 * a charge in doubt may settle later.
 */
const ripeMs = 600_000
/** The number of chain positions that are searched in one commit. */
const placesTogether = 2_048

const known = 'SELECT page, first_ms, last_ms, count FROM log_page_charge WHERE last_ms >= ? AND first_ms <= ?'
/** Each query reads only the beginning of its batch, not the long rest. */
const nextPage = `SELECT number, first_ms, last_ms, count FROM log_page WHERE last_ms < ? AND sums IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM log_page_charge c WHERE c.page = log_page.number) ORDER BY last_ms DESC LIMIT 1`
const newest = 'SELECT max(last_ms) AS last_ms FROM log_page_charge'
const openChains = `SELECT c.id, c.position AS last, coalesce(s.position, 0) AS upto
  FROM chain c LEFT JOIN log_page_chain s ON s.chain = c.id WHERE c.position > coalesce(s.position, 0) ORDER BY c.id`
/** Allows one transaction at a time: others wait for this row. */
const wait = `SELECT value FROM meta WHERE name = 'page_charge' ${lockRows}`
const moveOn = `INSERT INTO log_page_chain (chain, position) VALUES (?, ?)
  ON CONFLICT (chain) DO UPDATE SET position = excluded.position`
const ofPlaces = 'chain = ? AND position > ? AND position <= ?'
/** Ids of a charge batch span two minutes (`reachMs`), so its first and last are enough. */
const changed = [
  `SELECT charge_id AS first_id, charge_id AS last_id FROM entry
    WHERE ${ofPlaces} AND kind IN ('settle', 'refund') AND charge_id < ?`,
  `SELECT charge_id AS first_id, charge_id AS last_id FROM reversal WHERE ${ofPlaces} AND charge_id < ?`,
  `SELECT first_id, last_id FROM segment WHERE ${ofPlaces} AND first_id < ?`,
] as const
const drop = 'DELETE FROM log_page_charge WHERE last_ms >= ? AND first_ms < ?'
const keep = `INSERT INTO log_page_charge (page, first_ms, last_ms, count, body)
  SELECT number, first_ms, last_ms, count, ? FROM log_page WHERE number = ? AND first_ms = ? AND last_ms = ? AND count = ?
  ON CONFLICT (page) DO NOTHING RETURNING page`

/** Whether the sums of batches answer a filter. */
export function isKeptSeparately(match: LogMatch): boolean {
  const {
    id,
    keyId,
    user,
    group,
    endedFrom,
    tier,
    source,
    otherSize,
    size,
    unit,
    refunded,
    charge,
    endUser,
    tag,
    cache,
  } = match
  return (
    [id, keyId, user, group, endedFrom, tier, source, otherSize, size, unit, refunded, endUser, tag, cache].every(
      part => part === undefined,
    ) &&
    (charge === undefined || charge === 'settled')
  )
}

/** Numbers of batches between two times whose stored sums are still valid. */
export function* findKept(
  firstMs: number,
  lastMs: number,
  heads: readonly LogBatchHead[],
): QueryProgram<ReadonlySet<number>> {
  const byNumber = new Map(heads.map(head => [head.number, head]))
  const rows = yield ask(known, firstMs, lastMs)
  const same = rows.map(toHead).filter(kept => isSame(kept, byNumber.get(kept.number)))
  if (same.length === 0) return new Set()
  const quarters = yield* findChanged(same.reduce((last, { lastMs: ms }) => Math.max(last, ms), 0))
  return new Set(same.filter(head => !isChanged(head, quarters)).map(({ number }) => number))
}

/** Adds the stored sums of some batches. */
export function* addKept(totals: Totals, batches: readonly number[], match: LogMatch): QueryProgram<void> {
  for (const row of yield* selectIn('SELECT body FROM log_page_charge WHERE page IN (…)', batches))
    for (const group of JSON.parse(text(row, 'body')) as readonly Group[]) {
      const [model, operation, status, outcome, upstream, isSettled, requests, errors, images, sums] = group
      if (match.charge === 'settled' && isSettled === 0) continue
      if (!isWhat({ model, operation, status, outcome, upstream }, match)) continue
      totals.requests += requests
      totals.errors += errors
      totals.images += images
      for (const [currency, charges, amount, refunded] of sums) totals.add(currency, charges, amount, refunded)
    }
}

/**
 * The sums of charges of the newest old enough log batch without stored sums, among those that end before a time. Null
 * if there is none. Must run on one snapshot.
 */
export function* sumNextBatch({ at, before }: { at: number; before: number }): QueryProgram<BatchCharges | null> {
  const [row] = yield ask(nextPage, Math.min(before, at - ripeMs))
  if (!row) return null
  const head = { ...toHead(row), number: whole(row, 'number') }
  const [batch] = yield* readLogBatches([head], 'skip')
  const through = JSON.stringify(
    (yield ask('SELECT chain, position FROM log_page_chain ORDER BY chain')).map(one => [
      text(one, 'chain'),
      whole(one, 'position'),
    ]),
  )
  if (!batch) return { ...head, body: null, through }
  const failures = failuresOf(batch)
  const groups = new Map<string, { readonly what: What; isSettled: 0 | 1; errors: number; readonly ids: string[] }>()
  const ids = Array.from({ length: batch.count }, (_, at) => batch.idOf(at))
  const charges = yield* findSettled(ids, true)
  for (const [at, id] of ids.entries()) {
    const place = batch.whatOf(at)
    const what = batch.whats[place] as What
    const isSettled = charges.has(id) ? 1 : 0
    const name = nameOf(what, isSettled)
    let group = groups.get(name)
    if (!group) groups.set(name, (group = { what, isSettled, errors: 0, ids: [] }))
    group.ids.push(id)
    if (failures[place] === true) group.errors++
  }
  const kept: Group[] = []
  for (const { what, isSettled, errors, ids: own } of groups.values()) {
    const totals = new Totals()
    yield* addCharges(totals, chargesOf(own, charges))
    const { model, operation, status, outcome, upstream } = what
    const { images } = totals
    kept.push([
      model,
      operation,
      status,
      outcome as LogRow['outcome'],
      upstream,
      isSettled,
      own.length,
      errors,
      images,
      totals.inCurrencies(),
    ])
  }
  return { ...head, body: JSON.stringify(kept), through }
}

/** Stores a batch's sums, unless something may have changed since they were read. @returns whether they were stored */
export function* writeBatchCharges({ body, through, ...head }: BatchCharges): QueryProgram<boolean> {
  yield ask(wait)
  const now = yield ask('SELECT chain, position FROM log_page_chain ORDER BY chain')
  const isSettledSince = JSON.stringify(now.map(row => [text(row, 'chain'), whole(row, 'position')])) !== through
  if (body === null || isSettledSince) return false
  const { number, firstMs, lastMs, count } = head
  return (yield ask(keep, body, number, firstMs, lastMs, count)).length > 0
}

/**
 * Reads the next entries of one chain of the ledger for charges of requests with stored sums: drops those sums, to be
 * computed again. @returns the number of entries, 0 if nothing is left; and whether there is a batch to sum
 */
export function* dropChanged(at: number): QueryProgram<{ readonly places: number; readonly isDue: boolean }> {
  yield ask(wait)
  const lastMs = yield* readNewest()
  for (const row of yield ask(openChains)) {
    const [chain, from] = [text(row, 'id'), whole(row, 'upto')]
    const upto = Math.min(from + placesTogether, whole(row, 'last'))
    const quarters = new Set<number>()
    if (lastMs !== null) yield* addQuarters(quarters, chain, from, upto, lastMs)
    for (const quarter of quarters)
      if (Number.isNaN(quarter)) yield ask('DELETE FROM log_page_charge')
      else yield ask(drop, quarter * quarterMs, (quarter + 1) * quarterMs)
    yield ask(moveOn, chain, upto)
    return { places: upto - from, isDue: false }
  }
  return { places: 0, isDue: (yield ask(nextPage, at - ripeMs)).length > 0 }
}

function* readNewest(): QueryProgram<number | null> {
  const [row] = yield ask(newest)
  return row?.['last_ms'] == null ? null : whole(row, 'last_ms')
}

/**
 * The quarters of an hour with requests whose charges changed since the last check, up to a time after which no
 * quarter matters.
 */
function* findChanged(lastMs: number): QueryProgram<ReadonlySet<number>> {
  const quarters = new Set<number>()
  for (const row of yield ask(openChains))
    yield* addQuarters(quarters, text(row, 'id'), whole(row, 'upto'), whole(row, 'last'), lastMs)
  return quarters
}

/** Adds the quarters of changed charges; NaN for a charge whose id has no time. */
function* addQuarters(
  quarters: Set<number>,
  chain: string,
  from: number,
  upto: number,
  lastMs: number,
): QueryProgram<void> {
  const end = firstIdAt(prefix, lastMs + 1)
  for (const sql of changed)
    for (const row of yield ask(sql, chain, from, upto, end))
      for (const id of ['first_id', 'last_id']) quarters.add(Math.floor(begunAt(text(row, id)) / quarterMs))
}

function isChanged({ firstMs, lastMs }: LogBatchHead, quarters: ReadonlySet<number>): boolean {
  if (quarters.has(Number.NaN)) return true
  const [first, last] = [Math.floor(firstMs / quarterMs), Math.floor(lastMs / quarterMs)]
  return quarters.values().some(quarter => quarter >= first && quarter <= last)
}

function isSame(kept: LogBatchHead, head: LogBatchHead | undefined): boolean {
  return head?.firstMs === kept.firstMs && head.lastMs === kept.lastMs && head.count === kept.count
}

function toHead(row: Row): LogBatchHead {
  return {
    number: whole(row, row['page'] === undefined ? 'number' : 'page'),
    firstMs: whole(row, 'first_ms'),
    lastMs: whole(row, 'last_ms'),
    count: whole(row, 'count'),
  }
}

/** The charges of some requests, including charges of use besides images. */
function chargesOf(ids: readonly string[], charges: ReadonlyMap<string, Counted>): ReadonlyMap<string, Counted> {
  const own = ids.flatMap(id => [id, useChargeId(id)])
  return new Map(own.flatMap(id => (charges.has(id) ? [[id, charges.get(id) as Counted]] : [])))
}

function nameOf(what: What, isSettled: 0 | 1): string {
  const { model, operation, status, outcome, upstream } = what
  return JSON.stringify([model, operation, status, outcome, upstream, isSettled])
}
