import { firstIdAt } from '../../kit/ids.ts'
import { ask, type QueryProgram } from '../query.ts'

/** Where `meta` keeps how far the log was pruned. */
export const prunedUntil = 'pruned_until'

/** Deletes at most `limit` rows older than `until`, the oldest first. Charges stay. @returns how many. */
export function* pruneLogs({ until, limit }: { readonly until: number; readonly limit: number }): QueryProgram<number> {
  yield ask(
    `INSERT INTO meta (name, value) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value < excluded.value`,
    prunedUntil,
    Math.floor(until),
  )
  const gone = yield ask(
    'DELETE FROM log WHERE id IN (SELECT id FROM log WHERE id < ? ORDER BY id LIMIT ?) RETURNING id',
    firstIdAt('req_', until),
    limit,
  )
  return gone.length
}
