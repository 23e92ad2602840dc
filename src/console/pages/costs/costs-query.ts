import type { CostSplit } from '../../../domain/costs.ts'
import { queryText } from '../../api/query-text.ts'
import { dateIn } from '../../zone.ts'
import { type Range, readRange } from './range.ts'
import { readBy, readWhere, type Where } from './where.ts'

/** The parameters in the address of the costs page. */
export type CostsQuery = {
  readonly range: Range
  readonly where: Where
  readonly by: CostSplit
  /** `?…` for costs. */
  readonly costs: string
  /** `?…` for possible savings. */
  readonly avoidable: string
}

export function readCostsQuery(
  query: { readonly [name: string]: string | undefined },
  zone: string,
  readsAll: boolean,
): CostsQuery {
  const range = readRange(query, dateIn(zone, new Date()))
  const where = readWhere(query)
  const { end_user: _, tag: __, ...rest } = where
  const by = readBy(query['by'], where, readsAll)
  const { from, to, step } = range
  return {
    range,
    where,
    by,
    costs: queryText({ from, to, zone, step, by, ...where }),
    // Savings are not stored by end user or tag, so they are not shown with such a filter.
    avoidable: queryText({ from, to, zone, ...rest }),
  }
}
