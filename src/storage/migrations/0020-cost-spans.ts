import { costParts } from '../../domain/costs.ts'

const names = ['charges', 'firsts', 'images', 'amount', 'refunded'] as const
const counts = names.map(name => `${name} INTEGER NOT NULL`).join(', ')
const facts = 'key_id, user_name, group_name, model, operation, upstream, currency, tier'

export const costSpans: readonly string[] = [
  // Locks the places of sums: on PostgreSQL a gateway of the previous version could otherwise add to rows that have
  // been copied.
  `UPDATE meta SET value = value WHERE name = 'costed'`,

  // The places of sums, each with a number: for all, by user, or by user and key; columns that a place does not
  // distinguish are empty.
  `CREATE TABLE cost_place (
    id INTEGER NOT NULL PRIMARY KEY, detail TEXT NOT NULL CHECK (detail IN ('all', 'user', 'key')),
    ${facts.split(', ').join(' TEXT NOT NULL, ')} TEXT NOT NULL) STRICT`,
  `CREATE UNIQUE INDEX cost_place_facts ON cost_place (detail, key_id, user_name, model, group_name, operation, upstream, tier, currency)`,
  `CREATE INDEX cost_place_user ON cost_place (user_name, detail)`,

  // The sums of charges, by places and by one part alone, in quarters of an hour, 4 hours, days, 4 days and 16 days: a
  // span's number contains its length (`src/storage/costs/spans.ts`). `charges` counts each charge once for each of its
  // tiers, `firsts` once in total: for its first line.
  `CREATE TABLE cost_place_sum (place INTEGER NOT NULL, span INTEGER NOT NULL, ${counts}, PRIMARY KEY (place, span)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE cost_part_sum (
    part TEXT NOT NULL CHECK (part IN (${['', ...costParts].map(part => `'${part}'`).join(', ')})), span INTEGER NOT NULL,
    what TEXT NOT NULL, currency TEXT NOT NULL, ${counts}, PRIMARY KEY (part, span, what, currency)) STRICT, WITHOUT ROWID`,
  // Images that may have cost more than necessary, by how they were priced.
  `CREATE TABLE cost_kind (
    id INTEGER NOT NULL PRIMARY KEY, hash TEXT NOT NULL UNIQUE, model TEXT NOT NULL, size TEXT, currency TEXT NOT NULL,
    rule TEXT NOT NULL, tier TEXT NOT NULL, source TEXT NOT NULL, width INTEGER, height INTEGER, price INTEGER NOT NULL,
    flags TEXT NOT NULL, told TEXT) STRICT`,
  `CREATE TABLE cost_image_sum (
    place INTEGER NOT NULL, span INTEGER NOT NULL, kind INTEGER NOT NULL, images INTEGER NOT NULL,
    PRIMARY KEY (place, span, kind)) STRICT, WITHOUT ROWID`,

  `DROP TABLE cost_sum`,
  `DROP TABLE cost_part`,

  // Charges that were settled long after they were held: they are few, and a range of start times does not find them.
  `CREATE INDEX charge_late ON charge (id) WHERE state = 'settled' AND ended_at - created_at > 3600000`,

  // The position up to which each chain has been added up, for each of two passes: queries read one (`costed`), and the
  // other is rebuilt on demand, and replaces it. `cost_rebuild` records the state of the rebuild.
  `CREATE TABLE cost_progress (
    pass INTEGER NOT NULL, chain TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (pass, chain)) STRICT, WITHOUT ROWID`,
  // Gateways add up everything again: images were not distinguished by how they were priced, and charges were counted
  // when they were held, not when they were settled.
  `DROP TABLE cost_chain`,
  `INSERT INTO meta (name, value) VALUES ('cost_rebuild', 0)`,
]
