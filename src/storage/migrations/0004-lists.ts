export const lists: readonly string[] = [
  // No process has cached a new key yet, so none has to drop it.
  `DROP TRIGGER key_made`,
  `CREATE INDEX key_listed ON key (id) WHERE kind = 'key'`,

  // Failures are rare and are searched for: few rows carry the cost of these indexes.
  `CREATE INDEX log_failed ON log ((status / 100), id, status) WHERE status >= 300`,
  `CREATE INDEX log_cut ON log (outcome, id) WHERE outcome <> 'answered'`,
  `CREATE INDEX charge_unsettled ON charge (state, id) WHERE state <> 'settled'`,
  `CREATE INDEX charge_sized ON charge (id) WHERE size IS NOT NULL`,
]
