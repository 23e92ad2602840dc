import { ask, type QueryProgram } from '../query.ts'
import { whole } from '../rows.ts'
import { readPass } from './read.ts'
import { lengthCount, lengthOfSpan, numbersOf } from './spans.ts'

/** How many charges of a user were added up, from the longest spans: each charge is in one of every length. */
export function* countCharges(user: string): QueryProgram<number> {
  const [row] = yield ask(
    `SELECT coalesce(sum(firsts), 0) AS count FROM cost_place_sum WHERE span >= ? AND span < ? AND ${lengthOfSpan} = ${lengthCount - 1}
      AND place IN (SELECT id FROM cost_place WHERE user_name = ? AND detail = 'user')`,
    ...numbersOf(yield* readPass()),
    user,
  )
  return row ? whole(row, 'count') : 0
}
