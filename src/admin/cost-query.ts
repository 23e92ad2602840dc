import { costParts, type CostPart } from '../domain/index.ts'
import { dateIn, isTimeZone, readDate } from '../util/index.ts'
import type { AdminRequest } from './api.ts'
import { fail } from './errors.ts'
import { refuse } from './reasons.ts'
import { day as daySchema, names } from './schemas.ts'
import { ownerOf } from './session-user.ts'

export const dayMs = 86_400_000

const name = { type: 'string', minLength: 1, maxLength: 200 } as const

/** The query of costs: days in a time zone, and filters. */
export const costQuery = {
  from: { ...daySchema, description: 'First day, such as 2026-11-21. The default is 29 days before the last day.' },
  to: { ...daySchema, description: 'Last day, inclusive. The default is today.' },
  zone: { ...name, default: 'UTC', description: 'IANA time zone of the days, such as Europe/Berlin.' },
  user: names,
  group: names,
  key: names,
  model: names,
  operation: names,
  upstream: names,
  tier: { ...names, description: 'Image tier, or a unit such as input. Several values are separated by commas.' },
} as const

/**
 * The first and the last day, as midnights of UTC. @throws Failure for an invalid day or zone, or if the last day
 * precedes the first
 */
export function daysOf(
  { from, to, zone }: { readonly from?: string; readonly to?: string; readonly zone: string },
  now: number,
): readonly [number, number] {
  if (!isTimeZone(zone)) throw refuse('invalid', 'zone', {}, { param: 'zone' })
  const first = from === undefined ? undefined : readDay('from', from)
  const last = to === undefined ? dateIn(zone, now) : readDay('to', to)
  if (first !== undefined && last < first) throw refuse('invalid', 'range_backward', {}, { param: 'from' })
  return [first ?? last - 29 * dayMs, last]
}

/** Days in other years have other formats. @throws Failure for an invalid day */
function readDay(param: 'from' | 'to', text: string): number {
  const at = text >= '1970' && text < '9999' ? readDate(text) : undefined
  if (at === undefined) throw refuse('invalid', 'day', { field: param }, { param })
  return at
}

type Where = { readonly [P in CostPart]?: string }

/** The maximum number of filters, each of which needs a query. */
const filtersMax = 12

/**
 * The filters of a query, one for each combination of values. A user who may not see other users' costs gets only their
 * own.
 *
 * @throws Failure forbidden, invalid for too many combinations
 */
export function costWheres(request: AdminRequest<Where>): readonly Where[] {
  const owner = ownerOf(request)
  let wheres: readonly Where[] = [owner === undefined ? {} : { user: owner }]
  for (const part of costParts) {
    const values = [...new Set(request.query[part]?.split(',').filter(value => value !== '') ?? [])]
    if (values.length === 0) continue
    if (part === 'user' && owner !== undefined && values.some(value => value !== owner))
      throw fail('forbidden', {}, { param: 'user' })
    wheres = wheres.flatMap(where => values.map(value => ({ ...where, [part]: value })))
    if (wheres.length > filtersMax)
      throw refuse('invalid', 'too_many', { field: part, limit: filtersMax }, { param: part })
  }
  return wheres
}
