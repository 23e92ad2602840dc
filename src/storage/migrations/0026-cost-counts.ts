const counts = ['quantity', 'tokens']

export const costCounts: readonly string[] = [
  // The use, in addition to the cost: `quantity` in the unit of the tier, `tokens` of all tiers that count tokens.
  ...['cost_place_sum', 'cost_part_sum'].flatMap(table =>
    counts.map(name => `ALTER TABLE ${table} ADD COLUMN ${name} INTEGER NOT NULL DEFAULT 0`),
  ),
  // Earlier sums do not have these: gateways add up everything again (step 1 of `src/storage/costs/rebuild.ts`).
  `UPDATE meta SET value = 1 WHERE name = 'cost_rebuild' AND EXISTS (SELECT 1 FROM cost_progress)`,
]
