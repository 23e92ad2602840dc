import { addDays, monthOf } from '../../zone.ts'
import type { Range } from './range.ts'
import type { Where } from './where.ts'

/** The month of a range, if the range is a whole month with a statement for the same filters. */
export function statementMonthOf({ from, to }: Range, where: Where, today: string): string | undefined {
  const isStated = Object.keys(where).every(part => part === 'user' || part === 'group')
  const last = addDays(monthOf(from, 1), -1)
  const isWhole = from === monthOf(from) && (to === last || (to === today && monthOf(today) === from))
  return isStated && isWhole ? from.slice(0, 7) : undefined
}
