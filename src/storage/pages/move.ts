import { ask, type QueryProgram } from '../query.ts'
import { logColumns, toLogRow } from '../rows.ts'
import { findRows } from './find.ts'
import { boundRows } from './loose.ts'
import { bind, writeRows } from './write.ts'

/** Binds the next rows of a table as pages. `select`: of those behind an id, so many. @returns the last id; undefined at the end */
export function* moveRows(select: string, after: string): QueryProgram<string | undefined> {
  const rows = (yield ask(select, after, boundRows)).map(toLogRow)
  yield* bind(rows, boundRows)
  return rows.at(-1)?.id
}

/** Takes in what a gateway of an older version has written since: at most a page. */
export function* takeInRows(): QueryProgram<void> {
  const rows = (yield ask(`SELECT ${logColumns.join(', ')} FROM log ORDER BY id LIMIT ?`, boundRows)).map(toLogRow)
  const last = rows.at(-1)
  if (!last) return
  const there = yield* findRows(rows.map(({ id }) => id))
  yield* writeRows(rows.filter(({ id }) => !there.has(id)))
  yield ask('DELETE FROM log WHERE id <= ?', last.id)
}
