export const replicas: readonly string[] = [
  // Processes that bill. Charges that are reserved by one without a row here are anybody's to end.
  `CREATE TABLE replica (
    owner TEXT PRIMARY KEY, epoch INTEGER NOT NULL, host TEXT NOT NULL, started_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL) STRICT`,
]
