import type { LevelKind } from '../../domain/budget.ts'
import type { LevelName, LevelSums } from '../../domain/levels.ts'
import { askIn } from '../ask-in.ts'
import { bounds } from '../keys/spend.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole } from '../rows.ts'
import { spentNow } from './hold.ts'

const sums = (which: string): string => `SELECT kind, name, sum(spent) AS spent, sum(held) AS held,
    sum(${spentNow('account', 'day')}) AS day, sum(${spentNow('account', 'month')}) AS month
  FROM account ${which} GROUP BY kind, name ORDER BY kind, name`

/**
 * What users, balances and groups have spent so far, and what is held from them, as budgets see it: the sum of each
 * account's rows. Of those named, or of all.
 */
export function* readSums({
  at,
  zone,
  of,
}: {
  readonly at: number
  readonly zone: string
  readonly of: readonly LevelName[] | null
}): QueryProgram<readonly LevelSums[]> {
  const [day, dayAhead, month, monthAhead] = bounds({ zone }, at)
  const spells = [day, dayAhead, day, month, monthAhead, month]
  if (of === null) return (yield ask(sums(''), ...spells)).map(toSums)
  const found: LevelSums[] = []
  for (const [kind, some] of Map.groupBy(of, one => one.kind)) {
    const names = [...new Set(some.map(({ name }) => name))]
    const rows = yield* askIn(sums('WHERE kind = ? AND name IN (…)'), names, [...spells, kind])
    found.push(...rows.map(toSums))
  }
  return found
}

function toSums(row: Row): LevelSums {
  return {
    kind: text(row, 'kind') as LevelKind,
    name: text(row, 'name'),
    held: whole(row, 'held'),
    spent: { total: whole(row, 'spent'), day: whole(row, 'day'), month: whole(row, 'month') },
  }
}
