import { type QueryProgram, ask } from '../query.ts'
import { logColumns } from '../rows.ts'
import { moveRows } from '../log-batches/move.ts'

export const logPages: readonly string[] = [
  // Rows of the request log, many to a page. The body is JSON; docs/storage.md describes the format. A page without
  // sums is uncompacted: it is stored as it was written, and has no search words. From time to time such pages are
  // compacted to large ones, in the order of the requests' ids, with their sums and an index of the keys, users and
  // models in them.
  `CREATE TABLE log_page (
    number INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0), sums TEXT, body TEXT NOT NULL) STRICT`,
  `CREATE INDEX log_page_time ON log_page (last_ms, first_ms, count)`,
  `CREATE INDEX log_page_loose ON log_page (number, count) WHERE sums IS NULL`,
  `CREATE TABLE log_word (word TEXT NOT NULL, page INTEGER NOT NULL, PRIMARY KEY (word, page)) STRICT, WITHOUT ROWID`,

  // The sums of charges in segments, by the start of their requests: use by days, because lists of use are by the day
  // of the charge, and the spending of users by hours. `usage_chain` records how far each chain has been added up.
  `CREATE TABLE usage_sum (
    begun INTEGER NOT NULL, day INTEGER NOT NULL, user_name TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL,
    currency TEXT NOT NULL, requests INTEGER NOT NULL, amount INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, PRIMARY KEY (begun, day, key_id, model, user_name, currency)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE spent_sum (
    hour INTEGER NOT NULL, user_name TEXT NOT NULL, currency TEXT NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (hour, user_name, currency)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE usage_chain (chain TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `INSERT INTO meta (name, value) VALUES ('summed', 0)`,

  // A running gateway of an older version continues to write rows: they are moved from here.
  `ALTER TABLE log RENAME TO log_before`,
  `CREATE TABLE log (
    id TEXT PRIMARY KEY, time INTEGER NOT NULL, key_id TEXT, user_name TEXT, group_name TEXT, model TEXT,
    operation TEXT NOT NULL, status INTEGER, outcome TEXT NOT NULL, error_code TEXT, duration_ms INTEGER NOT NULL,
    upstream TEXT, config_revision TEXT NOT NULL, forwarded TEXT NOT NULL, dropped TEXT NOT NULL, client_request_id TEXT,
    input_tokens INTEGER, output_tokens INTEGER) STRICT, WITHOUT ROWID`,
]

/** Moves rows of a separate table to pages. */
export function* bindOldLog(): QueryProgram<void> {
  const select = `SELECT ${logColumns.join(', ')} FROM log_before WHERE id > ? ORDER BY id LIMIT ?`
  for (let last: string | undefined = ''; last !== undefined; ) last = yield* moveRows(select, last)
  yield ask('DROP TABLE log_before')
}
