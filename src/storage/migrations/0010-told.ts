const chargeFacts = `id, key_id, user_name, group_name, operation, model, family, upstream, config_revision, currency, size,
  quality, n, rule, state, reason, hold, amount, line_count, owner, epoch, lease_until, created_at, ended_at, vendor_cost`

export const told: readonly string[] = [
  // What the upstream says that it charges, in micro-units; no part of what the caller owes, nor of what entries cover.
  `ALTER TABLE charge ADD COLUMN vendor_cost INTEGER`,
  `DROP TRIGGER charge_terminal`,
  `CREATE TRIGGER charge_terminal BEFORE UPDATE OF ${chargeFacts} ON charge WHEN OLD.state IN ('settled', 'voided')
    BEGIN SELECT RAISE(ABORT, 'a settled or voided charge does not change'); END`,
  // What the answer said of itself that the line was rated by, as JSON. A line whose source is its words says so here:
  // `source` knows three words since the first version, and a fourth would rewrite every line.
  `ALTER TABLE line ADD COLUMN told TEXT`,
]
