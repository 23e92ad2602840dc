import type { Budget } from '../../api/shapes.ts'
import { addDays, dateIn, monthOf } from '../../zone.ts'

type Range = { readonly range?: string; readonly from?: string; readonly to?: string; readonly zone?: string }

/** Ranges of the costs page that have the same days as a period, regardless of the day on which they are opened. */
const named: { readonly [per: string]: string } = { day: 'today', '7d': '7d', '30d': '30d' }

/** The days of a budget's current period as parameters of the costs page; empty for a period without a start. */
export function costRangeOf({ per, resets_on: day, renews }: Budget, zone: string, now: Date): Range {
  const [today, range] = [dateIn(zone, now), per === 'month' && day === 1 ? 'month' : named[per]]
  if (range !== undefined) return { range, zone }
  const days = /^(\d+)d$/.exec(per)?.[1]
  if (days !== undefined) return { from: addDays(today, 1 - Number(days)), to: today, zone }
  if (renews === null || (per !== 'week' && per !== 'month')) return {}
  const end = dateIn(zone, new Date(renews))
  const from = per === 'week' ? addDays(end, -7) : monthOf(end, -1).slice(0, 8) + end.slice(8)
  return { from, to: today, zone }
}
