export const watch: readonly string[] = [
  // Events that may need attention are read by their kind, however many events there are.
  'CREATE INDEX event_kind ON event (kind, id)',
  // Alerts that a person has dealt with, for all users.
  'CREATE TABLE alert_done (alert TEXT PRIMARY KEY, actor TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  // Refused sign-ins by the hour: `name` is empty if no user has this name; all three are empty if there were too many
  // to distinguish.
  `CREATE TABLE refused_sign_in (hour INTEGER NOT NULL, name TEXT NOT NULL, remote TEXT NOT NULL, way TEXT NOT NULL,
    times INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    PRIMARY KEY (hour, name, remote, way)) STRICT, WITHOUT ROWID`,
  'ALTER TABLE replica ADD COLUMN version TEXT',
  'ALTER TABLE replica ADD COLUMN revision TEXT',
]
