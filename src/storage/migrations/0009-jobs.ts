export const jobs: readonly string[] = [
  // What an upstream makes while no client waits: from the moment it has taken the work until a while after it is done. The
  // charge of the same id is reserved as long as the job runs, and passes with it to another process.
  `CREATE TABLE job (
    id TEXT PRIMARY KEY, key_id TEXT NOT NULL, operation TEXT NOT NULL, model TEXT NOT NULL, upstream TEXT NOT NULL,
    n INTEGER NOT NULL, told TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('running', 'done', 'failed')),
    owner TEXT NOT NULL, epoch INTEGER NOT NULL, created_at INTEGER NOT NULL, deadline_at INTEGER NOT NULL,
    ended_at INTEGER, status INTEGER, headers TEXT, body BLOB) STRICT, WITHOUT ROWID`,
  `CREATE INDEX job_running ON job (owner, epoch) WHERE state = 'running'`,
  `CREATE INDEX job_ended ON job (ended_at) WHERE ended_at IS NOT NULL`,
]
