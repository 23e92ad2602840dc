import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import { readPass, readTail } from './read.ts'
import { lengthCount, lengthOfSpan, numbersOf } from './spans.ts'

/**
 * How many charges of a user are in the ledger: those that are added up, from the longest spans (each charge is in one span of
 * every length), and those after them.
 */
export function* countCharges(user: string): QueryProgram<number> {
  const pass = yield* readPass()
  const { sums } = yield* readTail(pass)
  const [row] = yield ask(
    `SELECT coalesce(sum(firsts), 0) AS count FROM cost_place_sum WHERE span >= ? AND span < ? AND ${lengthOfSpan} = ${lengthCount - 1}
      AND place IN (SELECT id FROM cost_place WHERE user_name = ? AND detail = 'user')`,
    ...numbersOf(pass),
    user,
  )
  let count = row ? whole(row, 'count') : 0
  for (const { place, counts } of sums.all()) if (place.user_name === user) count += counts.firsts
  return count
}
