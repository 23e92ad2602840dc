export const watch: readonly string[] = [
  // What may need a person is read by its kind, however many events there are.
  'CREATE INDEX event_kind ON event (kind, id)',
  // What a person has dealt with, for all.
  'CREATE TABLE alert_done (alert TEXT PRIMARY KEY, actor TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  // Refused sign-ins by the hour: `name` is empty where no user is called so, all three where there were too many to distinguish.
  `CREATE TABLE refused_sign_in (hour INTEGER NOT NULL, name TEXT NOT NULL, remote TEXT NOT NULL, way TEXT NOT NULL,
    times INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    PRIMARY KEY (hour, name, remote, way)) STRICT, WITHOUT ROWID`,
  'ALTER TABLE replica ADD COLUMN version TEXT',
  'ALTER TABLE replica ADD COLUMN revision TEXT',
]
