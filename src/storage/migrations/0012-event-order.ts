export const eventOrder: readonly string[] = [
  // One order of all events, given afterwards, so that nothing is written for a charge: pieces of the ledger's
  // chains, and other events. What has its position keeps it.
  `INSERT INTO meta (name, value) VALUES ('event_place', 0)`,
  `ALTER TABLE event ADD COLUMN place INTEGER`,
  `CREATE INDEX event_loose ON event (id) WHERE place IS NULL`,
  `CREATE UNIQUE INDEX event_place ON event (place) WHERE place IS NOT NULL`,
  // After \`begins\` up to \`ends\` of a chain.
  `CREATE TABLE event_slice (place INTEGER PRIMARY KEY, at INTEGER NOT NULL, chain TEXT NOT NULL, begins INTEGER NOT NULL,
    ends INTEGER NOT NULL) STRICT`,
  `CREATE TABLE event_chain (chain TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID`,

  // How far each receiver has got, and which process sends to it: as long as that one has its lease in \`replica\`.
  `CREATE TABLE webhook (name TEXT PRIMARY KEY, through TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL) STRICT`,
  // What has to be sent again. Without a moment it was given up.
  `CREATE TABLE webhook_retry (webhook TEXT NOT NULL, event TEXT NOT NULL, tries INTEGER NOT NULL, next_at INTEGER, at INTEGER NOT NULL,
    why TEXT NOT NULL, PRIMARY KEY (webhook, event)) STRICT, WITHOUT ROWID`,
]
