import { requestOfCharge, useChargeId } from '../../plugin-api/image-tool.ts'
import { selectIn } from '../select-in.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text } from '../rows.ts'
import { reachOf } from '../charge-batches/time-bounds.ts'
import { endsOf, findInChargeBatches } from './total-sums.ts'

const inRows = 'SELECT DISTINCT charge_id AS id FROM line WHERE quantity IS NOT NULL AND tier = ? AND charge_id IN (…)'
/** For a rare unit the database searches the texts, so that charge batches need not be parsed. */
const inTexts = `SELECT 1 AS found FROM segment
  WHERE last_id >= ? AND last_id < ? AND first_id <= ? AND instr(body, ?) > 0 LIMIT 1`
const givenBack = [
  `SELECT charge_id AS id FROM entry WHERE kind = 'refund' AND amount > 0 AND charge_id IN (…)`,
  `SELECT charge_id AS id FROM reversal WHERE kind = 'refund' AND amount > 0 AND charge_id IN (…)`,
]

/** The ids of those requests whose charges count a unit. */
export function* findCounting(ids: readonly string[], unit: string): QueryProgram<ReadonlySet<string>> {
  const useIds = ids.map(useChargeId)
  const found = requestsOf(yield* selectIn(inRows, [...ids, ...useIds], [unit]))
  const [first, last] = endsOf(ids)
  if (first === undefined || last === undefined) return found
  const word = `[${JSON.stringify(unit)},`
  if ((yield ask(inTexts, first, reachOf(last), useChargeId(last), word)).length === 0) return found
  for (const some of [ids.filter(id => !found.has(id)), useIds])
    for (const [id, { terms }] of yield* findInChargeBatches(some))
      if (terms.lines.some(([tier]) => tier === unit)) found.add(requestOfCharge(id))
  return found
}

/** The ids of those requests that have refunds. */
export function* findGivenBack(ids: readonly string[]): QueryProgram<ReadonlySet<string>> {
  const all = [...ids, ...ids.map(useChargeId)]
  const rows: Row[] = []
  for (const sql of givenBack) rows.push(...(yield* selectIn(sql, all)))
  return requestsOf(rows)
}

function requestsOf(rows: readonly Row[]): Set<string> {
  return new Set(rows.map(row => requestOfCharge(text(row, 'id'))))
}
