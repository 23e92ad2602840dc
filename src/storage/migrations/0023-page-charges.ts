export const pageCharges: readonly string[] = [
  // The amounts charged for the requests of a compacted page, by kind. `count` and the times are those of the page: if
  // they differ, it is another page. A row is deleted when a charge in the page's time changes, and computed again.
  `CREATE TABLE log_page_charge (
    page INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, count INTEGER NOT NULL,
    body TEXT NOT NULL) STRICT`,
  `CREATE INDEX log_page_charge_time ON log_page_charge (last_ms, first_ms)`,
  // The position up to which each chain of the ledger has been searched for such changes.
  `CREATE TABLE log_page_chain (chain TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `INSERT INTO log_page_chain (chain, position) SELECT id, position FROM chain`,
  `INSERT INTO meta (name, value) VALUES ('page_charge', 0)`,
]
