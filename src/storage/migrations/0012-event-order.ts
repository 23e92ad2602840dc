export const eventOrder: readonly string[] = [
  // One order of all events, assigned afterwards, so that a charge needs no extra write: pieces of the ledger's chains,
  // and other events. A position never changes.
  `INSERT INTO meta (name, value) VALUES ('event_place', 0)`,
  `ALTER TABLE event ADD COLUMN place INTEGER`,
  `CREATE INDEX event_loose ON event (id) WHERE place IS NULL`,
  `CREATE UNIQUE INDEX event_place ON event (place) WHERE place IS NOT NULL`,
  // Positions after `begins` up to and including `ends` of a chain.
  `CREATE TABLE event_slice (place INTEGER PRIMARY KEY, at INTEGER NOT NULL, chain TEXT NOT NULL, begins INTEGER NOT NULL,
    ends INTEGER NOT NULL) STRICT`,
  `CREATE TABLE event_chain (chain TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID`,

  // The last event sent to each receiver, and the process that sends to it, as long as it has its lease in `replica`.
  `CREATE TABLE webhook (name TEXT PRIMARY KEY, through TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL) STRICT`,
  // Events to send again. If there is no time, delivery was given up.
  `CREATE TABLE webhook_retry (webhook TEXT NOT NULL, event TEXT NOT NULL, tries INTEGER NOT NULL, next_at INTEGER, at INTEGER NOT NULL,
    why TEXT NOT NULL, PRIMARY KEY (webhook, event)) STRICT, WITHOUT ROWID`,
]
