import { periodStartsAt } from '../domain/budget.ts'

/**
 * Bookings grouped by day: around midnight, and when a clock jumps, there are two days. The earlier day comes first,
 * whatever the input's order: a row that is already on the new day would return to the old one.
 */
export function byDay<T>(zone: string, given: readonly T[], momentOf: (one: T) => number): readonly (readonly T[])[] {
  if (given.length === 1) return [given]
  const days = Map.groupBy(given, one => periodStartsAt(momentOf(one), zone).day)
  return days.size === 1 ? [given] : [...days].sort(([a], [b]) => a - b).map(([, some]) => some)
}
