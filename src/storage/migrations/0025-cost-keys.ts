const facts = 'group_name, model, operation, upstream, currency'
const isSame = facts
  .split(', ')
  .map(column => `b.${column} = p.${column}`)
  .join(' AND ')

export const costKeys: readonly string[] = [
  // Locks the places of sums: a gateway of the previous version could otherwise add to rows that have been copied.
  `UPDATE meta SET value = value WHERE name = 'costed'`,

  // Includes the number of each place: on PostgreSQL the index alone then finds places of a key or a user, as on
  // SQLite.
  `DROP INDEX cost_place_facts`,
  `CREATE UNIQUE INDEX cost_place_facts ON cost_place (detail, key_id, user_name, model, group_name, operation, upstream, tier, currency) /* beside: id */`,

  // The amounts charged to each key, by places without user and tier (an empty `tier`), in the usual spans: with one
  // row for each key the most expensive of very many keys are found. Rows that are read together are stored together.
  `CREATE TABLE cost_key_sum (
    place INTEGER NOT NULL, span INTEGER NOT NULL, key_id TEXT NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (place, span, key_id)) STRICT, WITHOUT ROWID`,
  `INSERT INTO cost_place (id, detail, key_id, user_name, tier, ${facts})
    SELECT (SELECT max(id) FROM cost_place) + row_number() OVER (ORDER BY ${facts}), 'all', '', '', '', ${facts}
    FROM (SELECT DISTINCT ${facts} FROM cost_place p WHERE detail = 'all'
      AND NOT EXISTS (SELECT 1 FROM cost_place b WHERE b.detail = 'all' AND b.tier = '' AND ${isSame})) fresh`,
  `INSERT INTO cost_key_sum (place, span, key_id, amount)
    SELECT b.id, s.span, p.key_id, sum(s.amount) FROM cost_place p JOIN cost_place_sum s ON s.place = p.id
      JOIN cost_place b ON b.detail = 'all' AND b.tier = '' AND ${isSame}
    WHERE p.detail = 'key' GROUP BY b.id, s.span, p.key_id ORDER BY b.id, s.span, p.key_id`,

  // A rollup records that it includes keys (`keyed`): a gateway of the previous version cannot, and leaves the work to
  // others.
  `CREATE TABLE cost_upto (
    pass INTEGER NOT NULL, chain TEXT NOT NULL, position INTEGER NOT NULL, keyed INTEGER NOT NULL CHECK (keyed = 1),
    PRIMARY KEY (pass, chain)) STRICT, WITHOUT ROWID`,
  `INSERT INTO cost_upto (pass, chain, position, keyed) SELECT pass, chain, position, 1 FROM cost_progress`,
  `DROP TABLE cost_progress`,
  `ALTER TABLE cost_upto RENAME TO cost_progress`,
]
