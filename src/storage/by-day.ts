import { latestPeriodStarts, periodStartsAt } from '../domain/budget.ts'

/**
 * Bookings grouped by day: around midnight, and when a clock jumps, there are two days. The earlier day comes first,
 * whatever the input's order: a row that is already on the new day would return to the old one. The last hour of a day
 * is a group of its own: only its bookings may count on the next day.
 */
export function byDay<T>(zone: string, given: readonly T[], momentOf: (one: T) => number): readonly (readonly T[])[] {
  if (given.length === 1) return [given]
  const days = Map.groupBy(given, one => {
    const at = momentOf(one)
    return periodStartsAt(at, zone).day + latestPeriodStarts(at, zone).day
  })
  return days.size === 1 ? [given] : [...days].sort(([a], [b]) => a - b).map(([, some]) => some)
}
