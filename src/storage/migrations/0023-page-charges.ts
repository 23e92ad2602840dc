export const pageCharges: readonly string[] = [
  // What the requests of a bound page were charged, by kind. `count` and the times are those of the page: a page with
  // others is another one. A row is deleted when a charge of the page's time changes, and computed again.
  `CREATE TABLE log_page_charge (
    page INTEGER PRIMARY KEY, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, count INTEGER NOT NULL,
    body TEXT NOT NULL) STRICT`,
  `CREATE INDEX log_page_charge_time ON log_page_charge (last_ms, first_ms)`,
  // How far each chain of the ledger has been looked through for such changes.
  `CREATE TABLE log_page_chain (chain TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `INSERT INTO log_page_chain (chain, position) SELECT id, position FROM chain`,
  `INSERT INTO meta (name, value) VALUES ('page_charge', 0)`,
]
