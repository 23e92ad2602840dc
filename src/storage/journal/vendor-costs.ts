import { firstIdAt } from '../../util/ids.ts'
import type { UsageMatch, VendorRow } from '../../domain/index.ts'
import { readRow } from '../../domain/shapes/member.ts'
import { vendorMembers } from '../../domain/shapes/vendor-row.ts'
import { ask, type QueryProgram } from '../query.ts'
import { placeOf } from './booked.ts'
import { dayMs, eachBooking } from './summed.ts'

type Span = Pick<UsageMatch, 'since' | 'until'>
type Writable<T> = { -readonly [N in keyof T]: T[N] }

/** The cost that vendors report and the amount that was charged here, by day and model, oldest first. */
export function* sumVendorCosts({ since, until }: Span): QueryProgram<readonly VendorRow[]> {
  const rows = yield ask(
    `SELECT created_at / ${dayMs} AS day, model, currency, count(vendor_cost) AS charges,
      sum(CASE WHEN vendor_cost IS NULL AND state = 'settled' THEN 1 ELSE 0 END) AS untold,
      sum(CASE WHEN vendor_cost IS NULL THEN 0 ELSE amount END) AS ours, coalesce(sum(vendor_cost), 0) AS theirs
     FROM charge WHERE id >= ? AND id < ? AND state IN ('settled', 'voided') GROUP BY 1, 2, 3`,
    firstIdAt('req_', since),
    firstIdAt('req_', until),
  )
  const all = rows.map(row => readRow(vendorMembers, row))
  const reporting = new Set(all.filter(({ charges }) => charges > 0).map(({ model }) => model))
  if (reporting.size === 0) return []
  const sums = new Map<string, Writable<VendorRow>>()
  for (const row of all) if (reporting.has(row.model)) sums.set(nameOf(row), { ...row })
  yield* addBatches(sums, reporting, { since, until })
  return [...sums]
    .filter(([, { charges, untold }]) => charges + untold > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row)
}

/** Adds charges in batches, which are all without a vendor cost. */
function* addBatches(
  sums: Map<string, Writable<VendorRow>>,
  reporting: ReadonlySet<string>,
  span: Span,
): QueryProgram<void> {
  yield* eachBooking({ ...span, which: 'all' }, some => {
    for (const booked of some) {
      const { day, model, currency } = placeOf(booked)
      if (!reporting.has(model)) continue
      const name = nameOf({ day, model, currency })
      const row = sums.get(name)
      if (row) row.untold++
      else sums.set(name, { day, model, currency, charges: 0, untold: 1, ours: 0, theirs: 0 })
    }
    return undefined
  })
}

/** Sorts by day, model and currency. */
function nameOf({ day, model, currency }: Pick<VendorRow, 'day' | 'model' | 'currency'>): string {
  return `${day}\0${model}\0${currency}`
}
