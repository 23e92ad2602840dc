import type { LevelKind } from '../../kit/budget.ts'
import type { LevelSums } from '../../kit/levels.ts'
import { bounds } from '../keys/spend.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'

/** What users, balances and groups have spent by now, and what is held of them: all rows of each together. */
export function* readSums({
  at,
  zone,
}: {
  readonly at: number
  readonly zone: string
}): QueryProgram<readonly LevelSums[]> {
  const [day, dayAhead, month, monthAhead] = bounds({ zone }, at)
  const rows = yield ask(
    `SELECT kind, name, sum(spent) AS spent, sum(held) AS held,
       sum(CASE WHEN day_start BETWEEN ? AND ? THEN day_spent ELSE 0 END) AS day,
       sum(CASE WHEN month_start BETWEEN ? AND ? THEN month_spent ELSE 0 END) AS month
     FROM account GROUP BY kind, name ORDER BY kind, name`,
    day,
    dayAhead,
    month,
    monthAhead,
  )
  return rows.map(toSums)
}

function toSums(row: Row): LevelSums {
  return {
    kind: text(row, 'kind') as LevelKind,
    name: text(row, 'name'),
    held: whole(row, 'held'),
    spent: { total: whole(row, 'spent'), day: whole(row, 'day'), month: whole(row, 'month') },
  }
}
