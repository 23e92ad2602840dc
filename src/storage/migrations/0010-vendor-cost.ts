const chargeFacts = `id, key_id, user_name, group_name, operation, model, family, upstream, config_revision, currency, size,
  quality, n, rule, state, reason, hold, amount, line_count, owner, epoch, lease_until, created_at, ended_at, vendor_cost`

export const vendorCost: readonly string[] = [
  // The cost that the upstream reports, in micro-units; it is not part of the amount that the client owes, nor covered
  // by entries.
  `ALTER TABLE charge ADD COLUMN vendor_cost INTEGER`,
  `DROP TRIGGER charge_terminal`,
  `CREATE TRIGGER charge_terminal BEFORE UPDATE OF ${chargeFacts} ON charge WHEN OLD.state IN ('settled', 'voided')
    BEGIN SELECT RAISE(ABORT, 'a settled or voided charge does not change'); END`,
  // The properties that the answer reported and the line was rated by, as JSON. A line whose source is the answer's
  // report records that here: `source` has three values since the first version, and a fourth would rewrite every line.
  `ALTER TABLE line ADD COLUMN told TEXT`,
]
