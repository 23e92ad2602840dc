import { ask, type QueryProgram } from '../query.ts'
import { lockKeys } from './lock.ts'

/** Keys of one statement; a statement costs as much as three keys. */
const together = 16
// The first row sets the types of all of them.
const rows = ['(CAST(? AS TEXT), CAST(? AS BIGINT))', ...Array<string>(together - 1).fill('(?, ?)')]
const noteMany = `UPDATE key SET last_used_at = v.column2 FROM (VALUES ${rows.join(', ')}) AS v
  WHERE key.id = v.column1 AND coalesce(last_used_at, 0) < v.column2`
const noteOne = 'UPDATE key SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?'

/** Records when keys were last used, in the order of their ids, so that two transactions cannot deadlock. */
export function* noteUsed(usedAt: ReadonlyMap<string, number>): QueryProgram<void> {
  const used = [...usedAt].sort(([a], [b]) => (a < b ? -1 : 1))
  const inMany = used.length - (used.length % together)
  if (inMany > 0) yield* lockKeys(used.slice(0, inMany).map(([id]) => id))
  for (let next = 0; next < inMany; next += together) yield ask(noteMany, ...used.slice(next, next + together).flat())
  for (const [id, at] of used.slice(inMany)) yield ask(noteOne, at, id, at)
}
