export const events: readonly string[] = [
  // What happened apart from charges, which the ledger has. A number is given once, also where the last rows were taken away.
  `CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL) STRICT`,
]
