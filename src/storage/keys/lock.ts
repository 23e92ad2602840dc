import { selectIn } from '../select-in.ts'
import { lockRows, type QueryProgram } from '../query.ts'

/** Locks keys in the order of their ids, so that two transactions cannot deadlock. @returns the existing ones */
export function* lockKeys(ids: Iterable<string>): QueryProgram<ReadonlySet<string>> {
  const rows = yield* selectIn(`SELECT id FROM key WHERE id IN (…) ORDER BY id ${lockRows}`, [...new Set(ids)].sort())
  return new Set(rows.map(({ id }) => id as string))
}
