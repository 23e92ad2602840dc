import { firstIdAt } from '../../util/ids.ts'
import type { UsageMatch, VendorRow } from '../../domain/index.ts'
import { readRow } from '../../domain/shapes/member.ts'
import { vendorMembers } from '../../domain/shapes/vendor-row.ts'
import { ask, type QueryProgram } from '../query.ts'
import { dayMs } from './summed.ts'

/**
 * The cost that vendors report and the amount that was charged here, by day and model, oldest first. Charges in
 * segments have no vendor cost.
 */
export function* sumVendorCosts({
  since,
  until,
}: Pick<UsageMatch, 'since' | 'until'>): QueryProgram<readonly VendorRow[]> {
  const rows = yield ask(
    `SELECT created_at / ${dayMs} AS day, model, currency, count(vendor_cost) AS charges,
      sum(CASE WHEN vendor_cost IS NULL AND state = 'settled' THEN 1 ELSE 0 END) AS untold,
      sum(CASE WHEN vendor_cost IS NULL THEN 0 ELSE amount END) AS ours, coalesce(sum(vendor_cost), 0) AS theirs
     FROM charge WHERE id >= ? AND id < ? AND state IN ('settled', 'voided') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    firstIdAt('req_', since),
    firstIdAt('req_', until),
  )
  const all = rows.map(row => readRow(vendorMembers, row))
  const reporting = new Set(all.filter(({ charges }) => charges > 0).map(({ model }) => model))
  return all.filter(({ model, charges, untold }) => reporting.has(model) && charges + untold > 0)
}
