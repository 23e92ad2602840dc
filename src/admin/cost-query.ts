import { costParts, type CostPart } from '../domain/index.ts'
import { dateIn, isTimeZone } from '../util/index.ts'
import type { Ask } from './api.ts'
import { fail } from './errors.ts'
import { refuse } from './reasons.ts'
import { ownerOf } from './session-user.ts'

export const dayMs = 86_400_000

const date = { type: 'string', pattern: String.raw`^\d{4}-\d\d-\d\d$`, description: 'As in 2026-11-21.' } as const
const name = { type: 'string', minLength: 1, maxLength: 200 } as const

/** Which costs are meant: days of a zone, and what they are narrowed to. */
export const costQuery = {
  from: { ...date, description: 'The first day; 29 days before the last one by default.' },
  to: { ...date, description: 'The last day, which is part of the range; today by default.' },
  zone: { ...name, default: 'UTC', description: 'A time zone of the IANA database, such as Europe/Berlin.' },
  user: name,
  group: name,
  key: name,
  model: name,
  operation: name,
  upstream: name,
  tier: { ...name, description: 'A tier of images, or a unit such as input.' },
} as const

/** The first and the last day, as midnights of UTC. @throws Failure for what is no day or zone, or the wrong way round */
export function daysOf(
  { from, to, zone }: { readonly from?: string; readonly to?: string; readonly zone: string },
  now: number,
): readonly [number, number] {
  if (!isTimeZone(zone)) throw refuse('invalid', 'zone', {}, { param: 'zone' })
  const last = to === undefined ? dateIn(zone, now) : Date.parse(`${to}T00:00:00Z`)
  const first = from === undefined ? last - 29 * dayMs : Date.parse(`${from}T00:00:00Z`)
  for (const [param, day, said] of [
    ['from', first, from],
    ['to', last, to],
  ] as const)
    if (Number.isNaN(day) || (said !== undefined && new Date(day).toISOString().slice(0, 10) !== said))
      throw refuse('invalid', 'day', { field: param }, { param })
  if (last < first) throw refuse('invalid', 'range_backward', {}, { param: 'from' })
  return [first, last]
}

/** What costs are narrowed to: for who sees only themselves, to them. @throws Failure forbidden */
export function costWhere(ask: Ask<{ readonly [P in CostPart]?: string }>): { readonly [P in CostPart]?: string } {
  const where: { [P in CostPart]?: string } = {}
  for (const part of costParts) {
    const value = ask.query[part]
    if (value !== undefined) where[part] = value
  }
  const owner = ownerOf(ask)
  if (owner === undefined) return where
  if (where.user !== undefined && where.user !== owner) throw fail('forbidden', {}, { param: 'user' })
  return { ...where, user: owner }
}
