import { spellsAt } from '../domain/budget.ts'

/**
 * What is booked together, day after day: at midnight, and where a clock jumps, it is of two. The earlier one first, whatever the
 * order of what is given: a row that is on the new day already would go back for the old one.
 */
export function byDay<T>(zone: string, given: readonly T[], momentOf: (one: T) => number): readonly (readonly T[])[] {
  if (given.length === 1) return [given]
  const days = Map.groupBy(given, one => spellsAt(momentOf(one), zone).day)
  return days.size === 1 ? [given] : [...days].sort(([a], [b]) => a - b).map(([, some]) => some)
}
