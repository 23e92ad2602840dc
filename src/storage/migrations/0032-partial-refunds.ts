// A charge has several refunds, numbered from 0: two simultaneous refunds cannot take the same number.
export const partialRefunds: readonly string[] = (['entry', 'reversal'] as const).flatMap(table => [
  `ALTER TABLE ${table} ADD COLUMN nth INTEGER NOT NULL DEFAULT 0`,
  `DROP INDEX ${table}_charge`,
  `CREATE UNIQUE INDEX ${table}_charge ON ${table} (charge_id, kind, nth)`,
])
