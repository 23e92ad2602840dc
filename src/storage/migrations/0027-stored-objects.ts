export const storedObjects: readonly string[] = [
  // Objects that upstreams store for clients: written before a client gets an id. Ids are the vendors' own, so one may
  // occur for several keys.
  `CREATE TABLE stored_object (
    key_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, upstream TEXT NOT NULL, vendor_key TEXT, model TEXT NOT NULL,
    parent TEXT, request_id TEXT NOT NULL, bytes INTEGER NOT NULL, shown TEXT, created_at INTEGER NOT NULL, expires_at INTEGER,
    deleted_at INTEGER, PRIMARY KEY (key_id, kind, id)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX stored_object_parent ON stored_object (key_id, parent) WHERE parent IS NOT NULL`,
  `CREATE INDEX stored_object_expired ON stored_object (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE INDEX stored_object_deleted ON stored_object (deleted_at) WHERE deleted_at IS NOT NULL`,
]
