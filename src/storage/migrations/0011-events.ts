export const events: readonly string[] = [
  // Events other than charges, which are in the ledger. A number is used once, even after the last rows were deleted.
  `CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL) STRICT`,
]
