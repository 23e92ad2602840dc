import type { QueryProgram } from '../query.ts'
import { ask } from '../query.ts'
import { logColumns } from '../rows.ts'
import { moveRows } from '../pages/move.ts'

export const logPages: readonly string[] = [
  // Rows of the request log, many to a page. The body is JSON; docs/storage.md says how it reads. A page without sums is
  // loose: as it was written, and found without a word. From time to time those are bound: to large ones, in the order of
  // the requests' ids, with what they come to and an index of the keys, users and models in them.
  `CREATE TABLE log_page (
    number INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0), sums TEXT, body TEXT NOT NULL) STRICT`,
  `CREATE INDEX log_page_time ON log_page (last_ms, first_ms, count)`,
  `CREATE INDEX log_page_loose ON log_page (number, count) WHERE sums IS NULL`,
  `CREATE TABLE log_word (word TEXT NOT NULL, page INTEGER NOT NULL, PRIMARY KEY (word, page)) STRICT, WITHOUT ROWID`,

  // A gateway of an older version that is still at work goes on writing rows: they are moved from here.
  `ALTER TABLE log RENAME TO log_before`,
  `CREATE TABLE log (
    id TEXT PRIMARY KEY, time INTEGER NOT NULL, key_id TEXT, user_name TEXT, group_name TEXT, model TEXT,
    operation TEXT NOT NULL, status INTEGER, outcome TEXT NOT NULL, error_code TEXT, duration_ms INTEGER NOT NULL,
    upstream TEXT, config_revision TEXT NOT NULL, forwarded TEXT NOT NULL, dropped TEXT NOT NULL, client_request_id TEXT,
    input_tokens INTEGER, output_tokens INTEGER) STRICT, WITHOUT ROWID`,
]

/** Rows that were in a table of their own become pages. */
export function* bindOldLog(): QueryProgram<void> {
  const select = `SELECT ${logColumns.join(', ')} FROM log_before WHERE id > ? ORDER BY id LIMIT ?`
  for (let last: string | undefined = ''; last !== undefined; ) last = yield* moveRows(select, last)
  yield ask('DROP TABLE log_before')
}
