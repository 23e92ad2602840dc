import type { LogMatch, LogRow } from '../../domain/index.ts'
import { selectIn } from '../select-in.ts'
import { firstAt } from '../../util/first-at.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { begunAt } from '../charge-batches/time-bounds.ts'
import { placesIn } from './match.ts'
import { LogBatch } from './parse.ts'
import type { KeptSums } from './sums.ts'

/** The index columns of a batch. */
export type LogBatchHead = {
  readonly number: number
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
}

const batchesTogether = 128
/** The number of rows in batches that are read together. */
export const rowsTogether = 8_192
const columns = 'number, first_ms, last_ms, count'
const heads = `SELECT ${columns} FROM log_page WHERE last_ms >= ? AND first_ms <= ?`
/**
 * An uncompacted batch may have any word. The plus stops SQLite from using the index of all batches, which does not
 * distinguish uncompacted ones.
 */
const headsOfWord = `SELECT ${columns} FROM log_page WHERE sums IS NULL AND +last_ms >= ? AND +first_ms <= ?
  UNION ALL SELECT ${columns} FROM log_word JOIN log_page ON number = page
  WHERE word = ? AND sums IS NOT NULL AND last_ms >= ? AND first_ms <= ?`

/**
 * Batches with requests from one moment to another, both included, that may have a word. They are in no particular
 * order.
 */
export function* findHeads(firstMs: number, lastMs: number, word?: string): QueryProgram<readonly LogBatchHead[]> {
  const rows = yield word === undefined
    ? ask(heads, firstMs, lastMs)
    : ask(headsOfWord, firstMs, lastMs, word, firstMs, lastMs)
  return rows.map(row => ({
    number: whole(row, 'number'),
    firstMs: whole(row, 'first_ms'),
    lastMs: whole(row, 'last_ms'),
    count: whole(row, 'count'),
  }))
}

/** @throws Error that names the batch if it cannot be read */
export function readLogBatch(row: Row): LogBatch {
  try {
    return new LogBatch(text(row, 'body'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`log batch ${whole(row, 'number')} cannot be read: ${why}`, { cause: error })
  }
}

/** undefined for a batch that cannot be read. */
export function readSound(row: Row): LogBatch | undefined {
  try {
    return readLogBatch(row)
  } catch {
    return undefined
  }
}

/** The next batches to read with one statement: a few thousand rows together, or fewer if that may be enough. */
export function takeTogether(
  batches: readonly LogBatchHead[],
  from: number,
  rowsMax = rowsTogether,
): readonly LogBatchHead[] {
  let to = from
  for (let rows = 0; to < batches.length && to - from < batchesTogether && rows < rowsMax; to++)
    rows += (batches[to] as LogBatchHead).count
  return batches.slice(from, to)
}

/** How to treat a damaged batch: report it, or leave it out. */
export type OnDamaged = 'throw' | 'skip'

/** Some batches in the given order; deleted ones are left out. */
export function* readLogBatches(
  wanted: readonly LogBatchHead[],
  damaged: OnDamaged = 'throw',
): QueryProgram<readonly LogBatch[]> {
  const rows = yield* selectIn(
    'SELECT number, body FROM log_page WHERE number IN (…)',
    wanted.map(({ number }) => number),
  )
  const bodies = new Map(rows.map(row => [whole(row, 'number'), row]))
  return wanted.flatMap(({ number }) => {
    const row = bodies.get(number)
    const batch = row && (damaged === 'throw' ? readLogBatch(row) : readSound(row))
    return batch ? [batch] : []
  })
}

/** Reads some batches in the given order, a few thousand rows at a time. */
export function* eachLogBatch(
  wanted: readonly LogBatchHead[],
  take: (batch: LogBatch) => QueryProgram<void> | undefined,
  damaged: OnDamaged = 'throw',
): QueryProgram<void> {
  for (let from = 0; from < wanted.length; ) {
    const together = takeTogether(wanted, from)
    from += together.length
    for (const batch of yield* readLogBatches(together, damaged)) {
      const more = take(batch)
      if (more) yield* more
    }
  }
}

/** Stored sums of compacted batches that lie between two moments, by the numbers of the batches. */
export function* readSums(firstMs: number, lastMs: number): QueryProgram<ReadonlyMap<number, KeptSums>> {
  const rows = yield ask(
    'SELECT number, sums FROM log_page WHERE last_ms >= ? AND first_ms <= ? AND sums IS NOT NULL',
    firstMs,
    lastMs,
  )
  return new Map(rows.map(row => [whole(row, 'number'), JSON.parse(text(row, 'sums')) as KeptSums]))
}

/** Matching rows among some ids, by their ids; rows that are in no batch are left out. */
export function* findRows(
  ids: readonly string[],
  match: LogMatch = {},
  damaged: OnDamaged = 'throw',
): QueryProgram<ReadonlyMap<string, LogRow>> {
  const found = new Map<string, LogRow>()
  const inOrder = ids.toSorted()
  const heads = ids.length > 0 ? yield* findHeadsOf(ids) : []
  const take = (batch: LogBatch): undefined => {
    const places = new Set(placesIn(batch, match))
    const [first, last] = [batch.idOf(0), batch.idOf(batch.count - 1)]
    for (let next = firstAt(inOrder.length, i => (inOrder[i] as string) < first); next < inOrder.length; next++) {
      const id = inOrder[next] as string
      if (id > last) break
      const at = batch.placeOf(id)
      if (at !== undefined && places.has(at)) found.set(id, batch.rowOf(at))
    }
  }
  yield* eachLogBatch(heads, take, damaged)
  return found
}

/** Batches that may have rows of some ids. */
function* findHeadsOf(ids: readonly string[]): QueryProgram<readonly LogBatchHead[]> {
  const times = ids.map(begunAt).sort((a, b) => a - b)
  // An id that no gateway has created has no time.
  if (times.some(Number.isNaN)) return yield* findHeads(0, Number.MAX_SAFE_INTEGER)
  const heads = yield* findHeads(times[0] as number, times.at(-1) as number)
  return heads.filter(head => hasTime(times, head))
}

/** Whether one of some sorted moments lies in a batch. */
function hasTime(times: readonly number[], { firstMs, lastMs }: LogBatchHead): boolean {
  const at = firstAt(times.length, i => (times[i] as number) < firstMs)
  return at < times.length && (times[at] as number) <= lastMs
}
