export const replicas: readonly string[] = [
  // Processes that bill. Reserved charges whose process has no live lease here may be recovered by any process.
  `CREATE TABLE replica (
    owner TEXT PRIMARY KEY, epoch INTEGER NOT NULL, host TEXT NOT NULL, started_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL) STRICT`,
]
