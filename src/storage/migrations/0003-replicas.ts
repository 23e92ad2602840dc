export const replicas: readonly string[] = [
  // Processes that bill. Any process may recover reserved charges whose process has no valid lease here.
  `CREATE TABLE replica (
    owner TEXT PRIMARY KEY, epoch INTEGER NOT NULL, host TEXT NOT NULL, started_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL) STRICT`,
]
