export const liveSessions: readonly string[] = [
  // Open WebSocket sessions: a row exists until its session or its process ends. `ended_at`: a person ended the
  // session.
  `CREATE TABLE live_session (
    id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, key_id TEXT NOT NULL, operation TEXT NOT NULL, model TEXT, upstream TEXT,
    opened_at INTEGER NOT NULL, ended_at INTEGER) STRICT, WITHOUT ROWID`,
  `CREATE INDEX live_session_owner ON live_session (owner)`,
]
