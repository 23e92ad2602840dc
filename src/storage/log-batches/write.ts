import type { LogRow } from '../../domain/index.ts'
import { selectIn } from '../select-in.ts'
import { insertRows } from '../insert-rows.ts'
import { noteUsed } from '../keys/note-used.ts'
import { ask, type QueryProgram, skipLocked } from '../query.ts'
import { whole } from '../rows.ts'
import type { UncompactedBatches } from './uncompacted.ts'
import { draftLogBatch, type LogBatchText, sortMs, sortById, type Used } from './draft.ts'
import { readSound } from './find.ts'
import { findMissing } from './missing.ts'
import { LogBatch } from './parse.ts'
import { sumLogBatch } from './sums.ts'
import { wordsOf } from './search-words.ts'

/**
 * The maximum time from the first request of a compacted batch to its last, so that a query of an hour reads few
 * batches of other hours.
 */
const spanMaxMs = 3_600_000

const insertUncompacted = 'INSERT INTO log_page (first_ms, last_ms, count, body) VALUES (?, ?, ?, ?)'
const insertBound =
  'INSERT INTO log_page (first_ms, last_ms, count, sums, body) VALUES (?, ?, ?, ?, ?) RETURNING number'

/** The sums of requests that have left a batch or share it with others now. */
const dropCharges = 'DELETE FROM log_page_charge WHERE page = ?'

/** Rows in the form sent to the writer. `again`: they may have been written before. */
export type LogBatchWrite = { readonly batch: LogBatchText; readonly again: boolean }

/**
 * Writes a batch as a row of its own, and records when each key was last used. Queries search all such uncompacted
 * batches; once there are enough they are compacted: their rows, in the order of their ids, become large batches with
 * an index of their words. A row in four trees costs ten times as much as its share of a batch.
 */
export function* writeLogs(uncompacted: UncompactedBatches, { batch, again }: LogBatchWrite): QueryProgram<void> {
  const missing = again ? yield* withoutThose(batch) : batch
  if (!missing) return
  yield* insertPage(missing)
  if (uncompacted.isDue(missing.count)) yield* bindUncompacted(uncompacted)
  // Runs last: a transaction that needs one of these keys then waits only for this update and the commit.
  yield* noteUsed(new Map(JSON.parse(missing.used) as Used[]))
}

/** Rows that another writer puts in a batch wait for the next compaction like all others. */
export function* writeRows(rows: readonly LogRow[]): QueryProgram<void> {
  if (rows.length > 0) yield* insertPage(draftLogBatch(rows))
}

function* insertPage({ firstMs, lastMs, count, body }: LogBatchText): QueryProgram<void> {
  yield ask(insertUncompacted, firstMs, lastMs, count, body)
}

/** The rows of a batch that are not in the log yet. */
function* withoutThose(batch: LogBatchText): QueryProgram<LogBatchText | undefined> {
  const missing = yield* findMissing(new LogBatch(batch.body).rows())
  if (missing.length === batch.count) return batch
  return missing.length > 0 ? draftLogBatch(missing) : undefined
}

/** Compacts all uncompacted batches, of all writers, once there are enough together. */
function* bindUncompacted(uncompacted: UncompactedBatches): QueryProgram<void> {
  const found = yield ask(`SELECT number, count FROM log_page WHERE sums IS NULL ORDER BY number ${skipLocked}`)
  const count = found.reduce((sum, row) => sum + whole(row, 'count'), 0)
  if (!uncompacted.areEnough(found.length, count)) return
  yield* compact(yield* takeRows(found.map(row => whole(row, 'number'))), uncompacted.compactedRows)
  uncompacted.bound()
}

/** Removes and returns the rows of some batches. A damaged batch stays unchanged. */
function* takeRows(numbers: readonly number[]): QueryProgram<readonly LogRow[]> {
  const found = yield* selectIn('SELECT number, body FROM log_page WHERE number IN (…)', numbers)
  const batches = new Map<number, LogBatch>()
  for (const row of found) {
    const batch = readSound(row)
    if (batch) batches.set(whole(row, 'number'), batch)
  }
  const sound = numbers.filter(number => batches.has(number))
  yield* selectIn('DELETE FROM log_page WHERE number IN (…)', sound)
  return sound.flatMap(number => batches.get(number)?.rows() ?? [])
}

/** Writes rows as compacted batches. */
export function* compact(rows: readonly LogRow[], rowsMax: number): QueryProgram<void> {
  const sorted = sortById(rows)
  for (let from = 0; from < sorted.length; ) {
    const to = endOfPage(sorted, from, rowsMax)
    yield* bindPage(sorted.slice(from, to))
    from = to
  }
}

function endOfPage(rows: readonly LogRow[], from: number, rowsMax: number): number {
  const firstMs = sortMs(rows[from] as LogRow)
  let to = from + 1
  while (to < rows.length && to - from < rowsMax && Math.abs(sortMs(rows[to] as LogRow) - firstMs) <= spanMaxMs) to++
  return to
}

function* bindPage(rows: readonly LogRow[]): QueryProgram<void> {
  const { firstMs, lastMs, count, body } = draftLogBatch(rows)
  const batch = new LogBatch(body)
  const [inserted] = yield ask(insertBound, firstMs, lastMs, count, JSON.stringify(sumLogBatch(batch)), body)
  const number = whole(inserted ?? {}, 'number')
  const words = wordsOf(batch).map(word => ({ word, page: number }))
  yield* insertRows('log_word', ['word', 'page'], words)
}

/** Replaces the rows of a batch: by some of them, or by other rows of the same requests. */
export function* rewriteLogBatch(number: number, batch: LogBatch, rows: readonly LogRow[]): QueryProgram<void> {
  const { firstMs, lastMs, count, body } = draftLogBatch(rows)
  const left = new LogBatch(body)
  const set = 'first_ms = ?, last_ms = ?, count = ?, body = ?'
  yield ask(`UPDATE log_page SET ${set} WHERE number = ?`, firstMs, lastMs, count, body, number)
  if (count !== batch.count) yield ask(dropCharges, number)
  const sums = JSON.stringify(sumLogBatch(left))
  const [bound] = yield ask(
    'UPDATE log_page SET sums = ? WHERE number = ? AND sums IS NOT NULL RETURNING number',
    sums,
    number,
  )
  if (!bound) return
  const [before, words] = [new Set(wordsOf(batch)), new Set(wordsOf(left))]
  yield* dropWords(number, [...before.difference(words)])
  const added = [...words.difference(before)].map(word => ({ word, page: number }))
  yield* insertRows('log_word', ['word', 'page'], added)
}

/** Deletes a batch with its search words; those of a damaged batch are not known. */
export function* deleteLogBatch(number: number, batch: LogBatch | undefined): QueryProgram<void> {
  yield ask('DELETE FROM log_page WHERE number = ?', number)
  yield ask(dropCharges, number)
  if (batch) yield* dropWords(number, wordsOf(batch))
  else yield ask('DELETE FROM log_word WHERE page = ?', number)
}

function* dropWords(number: number, words: readonly string[]): QueryProgram<void> {
  for (const word of words) yield ask('DELETE FROM log_word WHERE word = ? AND page = ?', word, number)
}
