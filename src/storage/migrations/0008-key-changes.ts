/** The number of changes that are kept: a process that has seen fewer assumes that everything has changed. */
const kept = 1_000
const revision = `(SELECT value FROM meta WHERE name = 'key_revision')`
const moves = `UPDATE meta SET value = value + 1 WHERE name = 'key_revision'`
const forgets = `DELETE FROM key_change WHERE revision <= ${revision} - ${kept}`

export const keyChanges: readonly string[] = [
  // The key, or the user with all keys, whose change moved the revision: cached copies of the others stay valid. The
  // row of `meta` is written first, which makes changes commit one after the other: no revision is seen before an
  // earlier one.
  `CREATE TABLE key_change (revision INTEGER PRIMARY KEY, key_id TEXT, user_name TEXT) STRICT`,
  `DROP TRIGGER key_changed`,
  `CREATE TRIGGER key_changed AFTER UPDATE OF name, user_name, group_name, hash, old_hash, old_until, status, expires_at,
      models, ips, limits, budget, budget_period
    ON key BEGIN ${moves}; INSERT INTO key_change (revision, key_id) VALUES (${revision}, OLD.id); ${forgets}; END`,
  `DROP TRIGGER key_gone`,
  `CREATE TRIGGER key_gone AFTER DELETE ON key BEGIN
    ${moves}; INSERT INTO key_change (revision, key_id) VALUES (${revision}, OLD.id); ${forgets}; END`,
  `DROP TRIGGER user_changed`,
  `CREATE TRIGGER user_changed AFTER UPDATE ON "user" BEGIN
    ${moves}; INSERT INTO key_change (revision, user_name) VALUES (${revision}, OLD.name); ${forgets}; END`,
]
