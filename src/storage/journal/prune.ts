import { firstIdAt } from '../../kit/ids.ts'
import { ask, type Steps } from '../query.ts'

/** Deletes at most `limit` rows older than `until`, the oldest first. Charges stay. @returns how many. */
export function* pruneLogs({ until, limit }: { readonly until: number; readonly limit: number }): Steps<number> {
  const gone = yield ask(
    'DELETE FROM log WHERE id IN (SELECT id FROM log WHERE id < ? ORDER BY id LIMIT ?) RETURNING id',
    firstIdAt('req_', until),
    limit,
  )
  return gone.length
}
