import { type Kysely, sql } from 'kysely'
import type { LogFilter, LogRow } from '../../kit/index.ts'
import type { Row } from '../query.ts'
import { logColumns, toLogRow } from '../rows.ts'
import type { Tables } from '../tables.ts'
import { type Run, listSettled } from './booked.ts'
import { conditionsOf, rowsMax, within } from './match.ts'

const columns = logColumns.map(name => `log.${name}` as const)

/** Newest first, which is by id: ids are ordered by time. The next page begins `before` the last id of this one. */
export async function listLogs(db: Kysely<Tables>, run: Run, filter: LogFilter): Promise<readonly LogRow[]> {
  if (filter.charge === 'settled') return listSettled(others => listRows(db, others), run, filter)
  return listRows(db, filter)
}

async function listRows(db: Kysely<Tables>, filter: LogFilter): Promise<readonly LogRow[]> {
  const rows: readonly Row[] = await pageOf(db, filter).execute()
  const found = rows.map(toLogRow)
  return filter.after === undefined ? found : found.toReversed()
}

/** Walks the index in which the rows asked for stand closest together, in order of time, and stops with the page. */
function pageOf(db: Kysely<Tables>, filter: LogFilter) {
  // Of what is newer than a row, the oldest come first: a tail that falls behind goes on where it was.
  const order = filter.after === undefined ? 'desc' : 'asc'
  const page = db
    .selectFrom('log')
    .select(columns)
    .where(is => is.and([...conditionsOf(is, filter), ...within('log.id', filter)]))
    .limit(Math.min(Math.max(filter.limit, 0), rowsMax))
  const { id, keyId, user, model, tier, source, otherSize, charge } = filter
  if ([id, keyId, user, model].some(word => word !== undefined)) return page.orderBy('log.id', order)
  if (tier !== undefined || source !== undefined) {
    // A request stands once in a page, however many of its images match.
    const isFirst = sql<boolean>`line.idx = (SELECT min(same.idx) FROM line same WHERE same.charge_id = line.charge_id
      AND same.quantity IS NULL AND same.tier = ${tier ?? sql.ref('same.tier')}
      AND same.source = ${source ?? sql.ref('same.source')})`
    return page
      .innerJoin('line', 'line.charge_id', 'log.id')
      .where('line.quantity', 'is', null)
      .$if(tier !== undefined, images => images.where('line.tier', '=', tier ?? ''))
      .$if(source !== undefined, images => images.where('line.source', '=', source ?? ''))
      .where(isFirst)
      .where(is => is.and(within('line.charge_id', filter)))
      .orderBy('line.charge_id', order)
  }
  if (charge !== undefined || otherSize === true)
    return (
      page
        .innerJoin('charge', 'charge.id', 'log.id')
        // Word for word as in the index of these.
        .$if(charge !== undefined, charges =>
          charges.where('charge.state', '=', charge ?? '').where(sql<boolean>`charge.state <> 'settled'`),
        )
        .$if(otherSize === true, charges => charges.where('charge.size', 'is not', null))
        .where(is => is.and(within('charge.id', filter)))
        .orderBy('charge.id', order)
    )
  return page.orderBy('log.id', order)
}
