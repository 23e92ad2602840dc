import { costParts, type CostPart, type PlainCostQuery, quarterMs } from '../../domain/costs.ts'
import { inOne } from '../select-in.ts'
import type { Value } from '../query.ts'
import type { Detail } from './write-sums.ts'
import { columnOf, countNames, type Place } from './sums.ts'

/** Whether charges of a place match the query. */
export function matchesQuery(
  place: Place,
  { since, until, where }: Pick<PlainCostQuery, 'since' | 'until' | 'where'>,
): boolean {
  const at = place.quarter * quarterMs
  if (at < since || at >= until) return false
  return costParts.every(part => where[part] === undefined || place[columnOf[part]] === where[part])
}

const counted = countNames.map(name => `sum(${name}) AS ${name}`).join(', ')

/** Combines all spans, for a query with one bar. */
export function inOneBar(sql: string): string {
  return `SELECT 0 AS span, what, currency, ${counted} FROM (${sql}) spans GROUP BY what, currency`
}

type Statement = { readonly sql: string; readonly params: readonly Value[] }
export type Narrowed = Pick<PlainCostQuery, 'by' | 'where'>

export function narrowedBy(where: PlainCostQuery['where']): readonly CostPart[] {
  return costParts.filter(part => where[part] !== undefined)
}

/** Whether sums by a single part answer the query. */
export function isOfOnePart({ by, where }: Narrowed): boolean {
  const parts = narrowedBy(where)
  return parts.length === 0 || (parts.length === 1 && (parts[0] === by || by === null))
}

/**
 * The statement for rows of spans (`(…)`) that answer a query. Its parameters precede the spans. By a single part
 * there are few sums, one for each name; otherwise it reads the places of the smallest detail that answers the query.
 * `named`: only some names, at most as many as one statement takes.
 */
export function statementOf(query: Narrowed, named?: readonly string[]): Statement {
  const { by, where } = query
  const names = named ? (inOne(named) ?? []) : []
  const isNamed = (column: string): string =>
    names.length === 0 ? '' : `AND ${column} IN (${names.map(() => '?').join(', ')})`
  if (isOfOnePart(query)) {
    const [only] = narrowedBy(where)
    const narrowed = only === undefined ? '' : 'AND what = ?'
    const sql = `SELECT span, ${by === null ? `''` : 'what'} AS what, currency, ${countNames.join(', ')} FROM cost_part_sum
      WHERE part = ? ${narrowed} ${isNamed('what')} AND span IN (…)`
    return { sql, params: [only ?? by ?? '', ...(only === undefined ? [] : [where[only] as string]), ...names] }
  }
  const { sql: places, params } = names.length === 0 || by === null ? placesOf(where, by) : placesOfNames(where, by)
  const what = by === null ? `''` : `p.${columnOf[by]}`
  const sql = `SELECT s.span AS span, ${what} AS what, p.currency AS currency, ${countNames.map(name => `sum(s.${name}) AS ${name}`).join(', ')}
    FROM cost_place p JOIN cost_place_sum s ON s.place = p.id WHERE ${places} ${isNamed(what)} AND s.span IN (…)
    GROUP BY 1, 2, 3`
  return { sql, params: [...params, ...names] }
}

/** A condition on `cost_place p`: places of the smallest detail that answers the query. */
export function placesOf(where: PlainCostQuery['where'], by: PlainCostQuery['by']): Statement {
  const conditions = conditionsOf(where)
  return {
    sql: ['p.detail = ?', ...conditions.sql].join(' AND '),
    params: [detailOf({ by, where }), ...conditions.params],
  }
}

/** The smallest detail of places that answers a query. */
export function detailOf({ by, where }: Narrowed): Detail {
  const isNamed = (part: 'key' | 'user'): boolean => by === part || where[part] !== undefined
  return isNamed('key') ? 'key' : isNamed('user') ? 'user' : 'all'
}

/**
 * The same for some names. The index has every column. It finds the names, and the other conditions are one
 * expression, so that the planner does not read all places for them.
 */
function placesOfNames(where: PlainCostQuery['where'], by: CostPart): Statement {
  const match = matchExpression(where)
  const detail = detailOf({ by, where })
  const isInOrder = detail === 'user' ? ` AND p.key_id = ''` : ''
  return { sql: `p.detail = ?${isInOrder} AND ${match.sql} = 1`, params: [detail, ...match.params] }
}

/** Whether a place `p` matches the query: 1, else 0. */
export function matchExpression(where: PlainCostQuery['where']): Statement {
  const conditions = conditionsOf(where)
  return { sql: `CASE WHEN ${conditions.sql.join(' AND ')} THEN 1 ELSE 0 END`, params: conditions.params }
}

function conditionsOf(where: PlainCostQuery['where']): {
  readonly sql: readonly string[]
  readonly params: readonly Value[]
} {
  const parts = narrowedBy(where)
  return { sql: parts.map(part => `p.${columnOf[part]} = ?`), params: parts.map(part => where[part] as string) }
}

export function quarterOf(ms: number): number {
  return Math.floor(ms / quarterMs)
}
