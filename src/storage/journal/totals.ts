import { firstIdAt } from '../../util/ids.ts'
import { requestOfCharge } from '../../plugin-api/image-tool.ts'
import type { LogFilter, LogMatch, LogTotals } from '../../domain/index.ts'
import { eachLogBatch, type LogBatchHead, readSums } from '../log-batches/find.ts'
import { placesIn, rangeOf } from '../log-batches/match.ts'
import type { LogBatch } from '../log-batches/parse.ts'
import { type KeptSpans, requestsIn } from '../log-batches/spans.ts'
import { failuresOf } from '../log-batches/sums.ts'
import { findLogBatches } from '../log-batches/walk.ts'
import { isErased } from '../people/users.ts'
import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import { standsAt } from '../charge-batches/time-bounds.ts'
import { asksForCharge, idsOfFew, keepCharged } from './charged.ts'
import { addLedger, type Shared } from './ledger-totals.ts'
import { listLogs } from './list.ts'
import { addKept, findKept, isKeptSeparately } from './batch-charges.ts'
import { addCharges, type Counted, findSettled, Totals } from './total-sums.ts'

/** A filter, optionally limited to rows older than a given one, for the remaining requests. */
export type TotalsMatch = LogMatch & Pick<LogFilter, 'before'>

const prefix = 'req_'

/**
 * The maximum number of log rows that one call reads, in some tenths of a second. The first call reads fewer, to be
 * faster.
 */
const rowsMost = 32_768
const rowsFirst = 8_192
/** Requests are dense if at least one of this number of rows matches. */
const denseMost = 4
/** The maximum number of rows that are found by their charges and read one by one. */
const fewMost = 4_096
const fewFirst = 1_024
const fewTogether = 1_000
const beginning = 'SELECT min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM log_page'

/**
 * The totals of a filter, or of its newest requests and where to continue: repeated calls with `before` cover every
 * request once. Charges come from the cost sums if the filter has only parts of a charge; from the sums of log batches
 * if it has kinds of requests; else from the charges of the requests.
 */
export function* sumMatching(
  match: TotalsMatch,
  most = match.before === undefined ? rowsFirst : rowsMost,
): QueryProgram<LogTotals> {
  const few = idsOfFew({ ...match, limit: 0 })
  return few
    ? yield* sumFew(match, Math.min(most, match.before === undefined ? fewFirst : fewMost))
    : yield* sumPages(match, most)
}

/** Totals for a filter by charges that match few requests in any range. */
function* sumFew(match: TotalsMatch, most: number): QueryProgram<LogTotals> {
  const totals = new Totals()
  let { before } = match
  let left = most
  for (;;) {
    const limit = Math.min(left, fewTogether)
    const rows = yield* listLogs({ ...match, limit, ...(before !== undefined && { before }) })
    const last = rows.at(-1)
    totals.requests += rows.length
    totals.errors += rows.filter(({ status, outcome }) => (status ?? 0) >= 400 || outcome !== 'answered').length
    yield* addCharges(totals, yield* findSettled(rows.map(({ id }) => id)))
    before = last?.id
    left -= rows.length
    if (!last || rows.length < limit) return { ...totals.all(), since: null, next: null }
    if (left === 0) return { ...totals.all(), since: last.time, next: last.id }
  }
}

function* sumPages(match: TotalsMatch, most: number): QueryProgram<LogTotals> {
  const totals = new Totals()
  const [ends] = yield ask(beginning)
  if (ends?.['first_ms'] === null || ends === undefined) return { ...totals.all(), since: null, next: null }
  const where = (yield* isOfErased(match)) ? undefined : sharedOf(match)
  const { batches, kept, from } = yield* takeBatches(match, most, where)
  const part: TotalsMatch = from === undefined ? match : { ...match, since: Math.max(from, match.since ?? 0) }
  for (const one of kept) if (typeof one !== 'number') addSpans(totals, one, match)
  yield* addKept(
    totals,
    kept.filter(one => typeof one === 'number'),
    match,
  )
  const rows = new Map<string, boolean>()
  yield* eachLogBatch(batches, batch => readRows(batch, part, where ? totals : rows))
  if (where) {
    const begun = { since: Math.max(part.since ?? 0, whole(ends, 'first_ms')), until: endOf(match) }
    if (begun.until === undefined || begun.since < begun.until)
      yield* addLedger(totals, begun, where, whole(ends, 'last_ms'))
  } else {
    const read = batches.reduce((sum, head) => sum + head.count, 0)
    const charges = yield* findSettled([...rows.keys()], rows.size * denseMost > read)
    const isSettled = match.charge === 'settled'
    for (const [id, isError] of rows) {
      if (!isSettled || charges.has(id)) countRow(totals, isError)
      else rows.delete(id)
    }
    yield* addCharges(totals, isSettled ? ofRows(charges, rows) : charges)
  }
  return { ...totals.all(), since: from ?? null, next: from === undefined ? null : firstIdAt(prefix, from) }
}

/**
 * Whether the filter names an erased user. Rows have the pseudonym and sums have the earlier name, so stored sums
 * cannot be used.
 */
function* isOfErased({ user }: TotalsMatch): QueryProgram<boolean> {
  return user !== undefined && (yield* isErased(user))
}

/** The filter for charges, if the filter has no other part and its end is a time; otherwise undefined. */
function sharedOf(match: TotalsMatch): Shared | undefined {
  const { since: _, until: __, before, user, group, keyId, model, operation, lookups: ___, ...others } = match
  if (Object.values(others).some(value => value !== undefined)) return undefined
  if (before !== undefined && before !== firstIdAt(prefix, standsAt(before))) return undefined
  return {
    ...(user !== undefined && { user }),
    ...(group !== undefined && { group }),
    ...(keyId !== undefined && { key: keyId }),
    ...(model !== undefined && { model }),
    ...(operation !== undefined && { operation }),
  }
}

function endOf({ until, before }: TotalsMatch): number | undefined {
  const ends = [until, before === undefined ? undefined : standsAt(before)].filter(one => one !== undefined)
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** The stored sums of a batch: the numbers of requests by kind; or the batch's number, for the sums of its charges. */
type Kept = KeptSpans | number

type Taken = {
  readonly batches: readonly LogBatchHead[]
  /** The batches that need not be read. */
  readonly kept: readonly Kept[]
  /** Requests that began before this time are left for the next call; undefined if there are none. */
  readonly from: number | undefined
}

/** The newest batches of a query. `where`: the filter, if its amounts are in the cost sums. */
function* takeBatches(match: TotalsMatch, most: number, where: Shared | undefined): QueryProgram<Taken> {
  const { from, before } = rangeOf(match)
  const [firstMs, endMs] = [standsAt(from), before === undefined ? Number.MAX_SAFE_INTEGER : standsAt(before)]
  const heads = (yield* findLogBatches(match)).toSorted((a, b) => b.lastMs - a.lastMs)
  const known = yield* findAllKept(match, where, firstMs, endMs, heads)
  const keptOf = ({ number, firstMs: first, lastMs: last }: LogBatchHead, sinceMs: number): Kept | undefined =>
    first >= sinceMs && last < endMs ? known.get(number) : undefined
  let [rows, taken] = [0, 0]
  let fromMs: number | undefined
  for (; taken < heads.length; taken++) {
    const head = heads[taken] as LogBatchHead
    // Batches that end in the same millisecond stay together.
    if (rows >= most && head.lastMs < (heads[taken - 1] as LogBatchHead).lastMs) {
      fromMs = head.lastMs + 1
      break
    }
    if (keptOf(head, firstMs) === undefined) rows += head.count
  }
  const since = fromMs === undefined ? firstMs : Math.max(fromMs, firstMs)
  const batches: LogBatchHead[] = []
  const kept: Kept[] = []
  for (const head of heads.slice(0, taken)) {
    const one = keptOf(head, since)
    if (one === undefined) batches.push(head)
    else kept.push(one)
  }
  return { batches, kept, from: fromMs }
}

/** The stored sums that answer the query, by batch number, of batches that are wholly in the range. */
function* findAllKept(
  match: TotalsMatch,
  where: Shared | undefined,
  firstMs: number,
  endMs: number,
  heads: readonly LogBatchHead[],
): QueryProgram<ReadonlyMap<number, Kept>> {
  if (!where) {
    if (!isKeptSeparately(match)) return new Map()
    return new Map([...(yield* findKept(firstMs, endMs, heads))].map(number => [number, number]))
  }
  if (where.user !== undefined || where.key !== undefined || where.group !== undefined) return new Map()
  const sums = yield* readSums(firstMs, endMs)
  return new Map([...sums].flatMap(([number, { spans }]) => (spans ? [[number, spans]] : [])))
}

function addSpans(totals: Totals, spans: KeptSpans, { model, operation, lookups }: LogMatch): void {
  for (const [kind, ofModel, ofOperation, errors, steps] of spans) {
    if (lookups === false && kind === 'lookup') continue
    if (model !== undefined && model !== ofModel) continue
    if (operation !== undefined && operation !== ofOperation) continue
    totals.requests += requestsIn(steps)
    totals.errors += errors
  }
}

/** Reads the matching rows of a batch: counts them at once, or collects their ids, each with whether it is an error. */
function* readRows(batch: LogBatch, match: TotalsMatch, into: Totals | Map<string, boolean>): QueryProgram<void> {
  const failures = failuresOf(batch)
  let places = placesIn(batch, match)
  // The caller checks later whether charges are settled.
  const { charge, ...unsettled } = match
  const filter = charge === 'settled' ? unsettled : match
  if (asksForCharge(filter)) {
    const rows = yield* keepCharged(
      places.map(at => batch.rowOf(at)),
      filter,
    )
    places = rows.map(({ id }) => batch.firstAt(id))
  }
  for (const at of places) {
    const isError = failures[batch.whatOf(at)] === true
    if (into instanceof Totals) countRow(into, isError)
    // A repeated row counts once.
    else into.set(batch.idOf(at), isError)
  }
}

function countRow(totals: Totals, isError: boolean): void {
  totals.requests++
  if (isError) totals.errors++
}

/** The charges of some requests, including charges of use besides images. */
function ofRows(
  charges: ReadonlyMap<string, Counted>,
  rows: ReadonlyMap<string, boolean>,
): ReadonlyMap<string, Counted> {
  return new Map([...charges].filter(([id]) => rows.has(requestOfCharge(id))))
}
