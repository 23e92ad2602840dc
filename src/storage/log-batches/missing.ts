import type { LogRow } from '../../domain/index.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { sortMs } from './draft.ts'
import { findRows } from './find.ts'

const lockBatches = `SELECT number FROM log_page WHERE sums IS NULL AND +last_ms >= ? AND +first_ms <= ? ORDER BY number ${lockRows}`

/**
 * Locks the uncompacted batches of a time against compaction until this transaction ends. A reader with more than one
 * statement sees commits in between: rows that move from batch to batch meanwhile would be in none. Compaction skips
 * locked batches.
 */
export function* lockUncompacted(firstMs: number, lastMs: number): QueryProgram<void> {
  yield ask(lockBatches, firstMs, lastMs)
}

/** Those of some rows that the log does not have. A batch that cannot be read counts as empty. */
export function* findMissing(rows: readonly LogRow[]): QueryProgram<readonly LogRow[]> {
  if (rows.length === 0) return rows
  const times = rows.map(sortMs)
  yield* lockUncompacted(
    times.reduce((a, b) => Math.min(a, b)),
    times.reduce((a, b) => Math.max(a, b)),
  )
  const there = yield* findRows(
    rows.map(({ id }) => id),
    {},
    'skip',
  )
  return rows.filter(({ id }) => !there.has(id))
}
