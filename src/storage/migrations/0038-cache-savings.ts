/** The savings of answer cache hits, in every table with cost sums. */
const tables = ['cost_place_sum', 'cost_part_sum', 'cost_label_part', 'cost_label_model', 'cost_label_sum']

export const cacheSavings: readonly string[] = [
  ...tables.map(table => `ALTER TABLE ${table} ADD COLUMN saved INTEGER NOT NULL DEFAULT 0`),
  // Only earlier sums with hits do not have them: gateways add up everything again (step 1 of
  // `src/storage/costs/rebuild.ts`).
  `UPDATE meta SET value = 1 WHERE name = 'cost_rebuild'
    AND EXISTS (SELECT 1 FROM cost_part_sum WHERE part = 'tier' AND what = 'cached_response')`,
]
