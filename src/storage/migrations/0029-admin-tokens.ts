export const adminTokens: readonly string[] = [
  // Secrets of programs that administer the gateway. Only the hash of a secret is stored.
  `CREATE TABLE admin_token (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE, hint TEXT NOT NULL, role TEXT NOT NULL,
    scopes TEXT NOT NULL, ips TEXT, made_by TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER,
    last_used_at INTEGER) STRICT, WITHOUT ROWID`,
]
