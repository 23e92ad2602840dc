export const people: readonly string[] = [
  // After a rotation a key's old secret remains valid for a while; a key's budget may be for a day or a month.
  `ALTER TABLE key ADD COLUMN kind TEXT NOT NULL DEFAULT 'key' CHECK (kind IN ('key', 'session'))`,
  `ALTER TABLE key ADD COLUMN old_hash TEXT`,
  `ALTER TABLE key ADD COLUMN old_until INTEGER`,
  `ALTER TABLE key ADD COLUMN budget_period TEXT NOT NULL DEFAULT 'total' CHECK (budget_period IN ('total', 'day', 'month'))`,
  `ALTER TABLE key ADD COLUMN day_start INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE key ADD COLUMN day_spent INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE key ADD COLUMN month_start INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE key ADD COLUMN month_spent INTEGER NOT NULL DEFAULT 0`,
  `CREATE UNIQUE INDEX key_old_hash ON key (old_hash) WHERE old_hash IS NOT NULL`,
  `DROP TRIGGER key_changed`,
  `CREATE TRIGGER key_changed AFTER UPDATE OF name, user_name, group_name, hash, old_hash, old_until, status, expires_at,
      models, ips, limits, budget, budget_period
    ON key BEGIN UPDATE meta SET value = value + 1 WHERE name = 'key_revision'; END`,

  // Only browsers have the tokens; the table has their hashes.
  `CREATE TABLE session (
    hash TEXT PRIMARY KEY, user_name TEXT NOT NULL REFERENCES "user" (name), created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, agent TEXT NOT NULL, remote TEXT NOT NULL) STRICT`,
  `CREATE INDEX session_by_user ON session (user_name, created_at)`,
  `CREATE INDEX session_expires ON session (expires_at)`,
  `CREATE TABLE setup (hash TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT`,

  // The author of each change. Ids are ordered by time.
  `CREATE TABLE trail (
    id TEXT PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL,
    was TEXT, became TEXT, reason TEXT) STRICT`,
  `CREATE INDEX trail_subject ON trail (subject, id)`,
  `CREATE INDEX trail_actor ON trail (actor, id)`,
  `CREATE TRIGGER trail_same BEFORE UPDATE ON trail BEGIN SELECT RAISE(ABORT, 'the trail does not change'); END`,
  `CREATE TRIGGER trail_stays BEFORE DELETE ON trail BEGIN SELECT RAISE(ABORT, 'the trail is not deleted'); END`,

  // Images by tier and source, in order of time: only items that are counted in bulk have a quantity.
  `CREATE INDEX line_tier ON line (tier, charge_id) WHERE quantity IS NULL`,
  `CREATE INDEX line_source ON line (source, charge_id) WHERE quantity IS NULL`,
]
