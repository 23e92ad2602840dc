const counts = ['charges', 'firsts', 'images', 'amount', 'refunded', 'quantity', 'tokens']
  .map(name => `${name} INTEGER NOT NULL`)
  .join(', ')
const kind = `kind TEXT NOT NULL CHECK (kind IN ('end_user', 'tag'))`
const facts = ['key_id', 'user_name', 'group_name', 'model', 'operation', 'upstream', 'currency', 'tier']

export const labels: readonly string[] = [
  // Names of end users and tags by their ids. An erased name is null: charges and log rows have only the ids.
  `CREATE TABLE label (
    id TEXT NOT NULL PRIMARY KEY, ${kind}, name TEXT, key_id TEXT, created_at INTEGER NOT NULL, seen_at INTEGER NOT NULL,
    erased_at INTEGER) STRICT`,
  `CREATE UNIQUE INDEX label_name ON label (kind, name) WHERE name IS NOT NULL`,
  `CREATE INDEX label_key ON label (kind, key_id) WHERE name IS NOT NULL`,
  `CREATE INDEX label_seen ON label (kind, seen_at) WHERE name IS NOT NULL`,

  // Tags of the requests of a key, as JSON.
  `ALTER TABLE key ADD COLUMN tags TEXT`,

  // The ids of a charge, separated by spaces. Charges in batches have them with their payer.
  `ALTER TABLE charge ADD COLUMN attribution TEXT`,

  // The sums of charges by one label, and by a label and all other parts, in the spans of `cost_place_sum`. A charge
  // with two tags counts for each of them, and once for the label '*', which is all charges that have any.
  `CREATE TABLE cost_label_part (
    ${kind}, span INTEGER NOT NULL, label TEXT NOT NULL, currency TEXT NOT NULL, ${counts},
    PRIMARY KEY (kind, span, label, currency)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE cost_label_place (
    id INTEGER NOT NULL PRIMARY KEY, ${kind}, label TEXT NOT NULL, ${facts.join(' TEXT NOT NULL, ')} TEXT NOT NULL) STRICT`,
  `CREATE UNIQUE INDEX cost_label_place_facts ON cost_label_place (kind, label, ${facts.join(', ')}) /* beside: id */`,
  `CREATE TABLE cost_label_sum (
    place INTEGER NOT NULL, span INTEGER NOT NULL, ${counts}, PRIMARY KEY (place, span)) STRICT, WITHOUT ROWID`,
]
