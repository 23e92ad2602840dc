import type { Kysely } from 'kysely'
import type { LogFilter, LogRow } from '../../kit/index.ts'
import type { Row } from '../query.ts'
import { logColumns, toLogRow } from '../rows.ts'
import type { Tables } from '../tables.ts'

/** No page is larger, whatever is asked for. */
const rowsMax = 1_000

/** Newest first, which is by id: ids are ordered by time. The next page begins `before` the last id of this one. */
export async function listLogs(db: Kysely<Tables>, filter: LogFilter): Promise<readonly LogRow[]> {
  let query = db
    .selectFrom('log')
    .select([...logColumns])
    .orderBy('id', 'desc')
    .limit(Math.min(Math.max(filter.limit, 0), rowsMax))
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  if (filter.id !== undefined) query = query.where('id', '=', filter.id)
  if (filter.keyId !== undefined) query = query.where('key_id', '=', filter.keyId)
  if (filter.user !== undefined) query = query.where('user_name', '=', filter.user)
  if (filter.model !== undefined) query = query.where('model', '=', filter.model)
  const rows: readonly Row[] = await query.execute()
  return rows.map(toLogRow)
}
