export const vendorKeys: readonly string[] = [
  // The status of upstreams' keys that are not active, or were not: for all models (''), or for one model.
  `CREATE TABLE vendor_key (
    upstream TEXT NOT NULL, name TEXT NOT NULL, model TEXT NOT NULL, hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'cooling', 'suspended')), reason TEXT, code TEXT,
    since INTEGER NOT NULL, until INTEGER, tries INTEGER NOT NULL, changed_at INTEGER NOT NULL,
    PRIMARY KEY (upstream, name, model)) STRICT, WITHOUT ROWID`,
  // The amounts charged for requests with a key that has a budget: in total, by days and by months of UTC.
  `CREATE TABLE vendor_key_spending (
    upstream TEXT NOT NULL, name TEXT NOT NULL, per TEXT NOT NULL CHECK (per IN ('total', 'day', 'month')),
    begins INTEGER NOT NULL, spent INTEGER NOT NULL,
    PRIMARY KEY (upstream, name, per, begins)) STRICT, WITHOUT ROWID`,
  // A job is polled with the key that started it.
  `ALTER TABLE job ADD COLUMN vendor_key TEXT`,
]
