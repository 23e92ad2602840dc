export const segments: readonly string[] = [
  // Charges that were completely known when they were written, many to a row: a position in the chain of entries. The
  // body is JSON, one item to a line; docs/storage.md describes the format. The hash covers chain, position, prev_hash
  // and body. SQL can add up a lone charge: `at` to `amount` are its values, and null in all other rows.
  `CREATE TABLE segment (
    chain TEXT NOT NULL, position INTEGER NOT NULL, first_id TEXT NOT NULL, last_id TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0), owner TEXT NOT NULL, epoch INTEGER NOT NULL, prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL, at INTEGER, key_id TEXT, user_name TEXT, model TEXT, currency TEXT, amount INTEGER, body TEXT NOT NULL,
    PRIMARY KEY (chain, position)) STRICT`,
  // A group that is written again for a commit in doubt has the same ids.
  `CREATE UNIQUE INDEX segment_ids ON segment (last_id, first_id)`,

  // Entries about charges that are in segments: `entry` accepts none whose charge has no row.
  `CREATE TABLE reversal (
    chain TEXT NOT NULL, position INTEGER NOT NULL, charge_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'refund'), debit TEXT NOT NULL, credit TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0), actor TEXT NOT NULL, reason TEXT, created_at INTEGER NOT NULL,
    digest TEXT NOT NULL, prev_hash TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (chain, position)) STRICT`,
  `CREATE UNIQUE INDEX reversal_charge ON reversal (charge_id, kind)`,

  ...(['segment', 'reversal'] as const).flatMap(table => [
    `CREATE TRIGGER ${table}_same BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, '${table}s do not change'); END`,
    `CREATE TRIGGER ${table}_stays BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, '${table}s are not deleted'); END`,
  ]),
]
