import type { OpenCharges } from '../../domain/index.ts'
import { ask, type QueryProgram } from '../query.ts'

/** Charges that have not ended, by state and currency. The second condition is that of the index. */
export function* sumOpen(): QueryProgram<readonly OpenCharges[]> {
  const rows = yield ask(
    `SELECT state, currency, count(*) AS count,
       coalesce(sum(CASE WHEN state = 'reserved' OR kept = 1 THEN hold ELSE 0 END), 0) AS hold FROM charge
     WHERE state IN ('reserved', 'needs_review') AND state <> 'settled' GROUP BY state, currency`,
  )
  return rows.map(row => ({
    state: row['state'] === 'reserved' ? 'reserved' : 'needs_review',
    currency: String(row['currency']),
    count: Number(row['count']),
    hold: Number(row['hold']),
  }))
}
