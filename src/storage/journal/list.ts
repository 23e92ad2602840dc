import type { Kysely } from 'kysely'
import type { LogFilter, LogRow } from '../../kit/index.ts'
import type { Row } from '../query.ts'
import { logColumns, toLogRow } from '../rows.ts'
import type { Tables } from '../tables.ts'
import { conditionsOf } from './match.ts'

/** No page is larger, whatever is asked for. */
const rowsMax = 1_000

/** Newest first, which is by id: ids are ordered by time. The next page begins `before` the last id of this one. */
export async function listLogs(db: Kysely<Tables>, filter: LogFilter): Promise<readonly LogRow[]> {
  const { before, after } = filter
  let query = db
    .selectFrom('log')
    .select([...logColumns])
    .where(is => is.and(conditionsOf(is, filter)))
    // Of what is newer than a row, the oldest come first: a tail that falls behind goes on where it was.
    .orderBy('id', after === undefined ? 'desc' : 'asc')
    .limit(Math.min(Math.max(filter.limit, 0), rowsMax))
  if (before !== undefined) query = query.where('id', '<', before)
  if (after !== undefined) query = query.where('id', '>', after)
  const rows: readonly Row[] = await query.execute()
  const found = rows.map(toLogRow)
  return after === undefined ? found : found.toReversed()
}
