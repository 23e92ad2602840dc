export const jobs: readonly string[] = [
  // Work of an upstream for which no client waits: from the moment it has accepted the work until a while after its
  // end. The charge of the same id is reserved while the job runs, and moves with it to another process.
  `CREATE TABLE job (
    id TEXT PRIMARY KEY, key_id TEXT NOT NULL, operation TEXT NOT NULL, model TEXT NOT NULL, upstream TEXT NOT NULL,
    n INTEGER NOT NULL, told TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    owner TEXT NOT NULL, epoch INTEGER NOT NULL, created_at INTEGER NOT NULL, deadline_at INTEGER NOT NULL,
    ended_at INTEGER, status INTEGER, headers TEXT, body BLOB) STRICT, WITHOUT ROWID`,
  `CREATE INDEX job_running ON job (owner, epoch) WHERE state = 'running'`,
  `CREATE INDEX job_ended ON job (ended_at) WHERE ended_at IS NOT NULL`,
]
