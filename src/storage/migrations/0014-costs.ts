import { costParts } from '../../domain/costs.ts'

const counts =
  'charges INTEGER NOT NULL, firsts INTEGER NOT NULL, images INTEGER NOT NULL, amount INTEGER NOT NULL, refunded INTEGER NOT NULL'
const facts =
  'key_id TEXT NOT NULL, user_name TEXT NOT NULL, group_name TEXT NOT NULL, model TEXT NOT NULL, operation TEXT NOT NULL, upstream TEXT NOT NULL, tier TEXT NOT NULL, currency TEXT NOT NULL'
const names = 'key_id, user_name, group_name, model, operation, upstream, tier, currency'

export const costs: readonly string[] = [
  // The sums of charges, by the quarter of an hour (since the epoch) in which the charges were created. `charges`
  // counts each charge once for each of its tiers, `firsts` once in total: for its first line.
  `CREATE TABLE cost_sum (quarter INTEGER NOT NULL, ${facts}, ${counts}, PRIMARY KEY (quarter, ${names})) STRICT, WITHOUT ROWID`,
  ...['user_name', 'group_name', 'key_id', 'model', 'tier'].map(
    column => `CREATE INDEX cost_sum_${column} ON cost_sum (${column}, quarter)`,
  ),
  // The same by one part alone: the most frequent queries read few rows.
  `CREATE TABLE cost_part (
    part TEXT NOT NULL CHECK (part IN (${['', ...costParts].map(part => `'${part}'`).join(', ')})), quarter INTEGER NOT NULL,
    what TEXT NOT NULL, currency TEXT NOT NULL, ${counts}, PRIMARY KEY (part, quarter, what, currency)) STRICT, WITHOUT ROWID`,
  // The position up to which each chain of the ledger has been added up.
  `CREATE TABLE cost_chain (chain TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `INSERT INTO meta (name, value) VALUES ('costed', 0)`,
]
