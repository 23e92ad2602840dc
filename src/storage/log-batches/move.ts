import { ask, type QueryProgram, skipLocked } from '../query.ts'
import { logColumns, toLogRow } from '../rows.ts'
import { compactedRows } from './uncompacted.ts'
import { findMissing } from './missing.ts'
import { compact, writeRows } from './write.ts'

const takeOld = `DELETE FROM log WHERE id IN (SELECT id FROM log ORDER BY id LIMIT ? ${skipLocked}) RETURNING ${logColumns.join(', ')}`

/**
 * Compacts the next rows of a table into batches. `select`: a number of rows after an id. @returns the last id;
 * undefined at the end
 */
export function* moveRows(select: string, after: string): QueryProgram<string | undefined> {
  const rows = (yield ask(select, after, compactedRows)).map(toLogRow)
  yield* compact(rows, compactedRows)
  return rows.at(-1)?.id
}

/** Compacts rows that a gateway of an older version has written since: at most a batch. */
export function* takeInRows(): QueryProgram<void> {
  // One statement: rows that are written meanwhile stay, and another process takes others.
  const rows = yield ask(takeOld, compactedRows)
  yield* writeRows(yield* findMissing(rows.map(toLogRow)))
}
