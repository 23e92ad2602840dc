import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../../kit/ids.ts'
import type { LogMatch, LogRow } from '../../kit/index.ts'
import type { Tables } from '../tables.ts'

type Build = ExpressionBuilder<Tables, 'log'>

/** No page is larger, whatever is asked for. */
export const rowsMax = 1_000
/** Of requests' ids. */
const prefix = 'req_'

/** Rows of `log` by what stands in them and in their charges; when they were is `within`. */
export function conditionsOf(is: Build, match: LogMatch): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  const equal = (
    column: 'id' | 'key_id' | 'user_name' | 'group_name' | 'model' | 'operation' | 'upstream',
    value: string | undefined,
  ): void => {
    if (value !== undefined) all.push(is(`log.${column}`, '=', value))
  }
  equal('id', match.id)
  equal('key_id', match.keyId)
  equal('user_name', match.user)
  equal('group_name', match.group)
  equal('model', match.model)
  equal('operation', match.operation)
  equal('upstream', match.upstream)
  if (match.outcome !== undefined) all.push(...outcomeIs(is, match.outcome))
  if (match.status !== undefined) all.push(...statusIn(is, match.status))
  if (match.endedFrom !== undefined) all.push(sql`log.time + log.duration_ms >= ${match.endedFrom}`)
  if (match.tier !== undefined || match.source !== undefined || match.otherSize === true) all.push(hasImage(is, match))
  if (match.charge !== undefined) all.push(hasCharge(is, match.charge))
  return all
}

/** In rows, or alone in a segment; others are looked for in the texts of segments (`booked.ts`). */
function hasCharge(is: Build, state: NonNullable<LogMatch['charge']>): Expression<SqlBool> {
  const inRows = is
    .selectFrom('charge')
    .select('charge.id')
    .whereRef('charge.id', '=', 'log.id')
    .where('state', '=', state)
  if (state !== 'settled') return is.exists(inRows)
  const alone = is
    .selectFrom('segment')
    .select('segment.first_id')
    .whereRef('segment.last_id', '=', 'log.id')
    .whereRef('segment.first_id', '=', 'log.id')
    .where('segment.amount', 'is not', null)
  return is.or([is.exists(inRows), is.exists(alone)])
}

/** Times become ids, which are in order of time and indexed. */
export function within(
  column: 'log.id' | 'line.charge_id' | 'charge.id',
  { since, until, before, after }: Pick<LogMatch, 'since' | 'until'> & { before?: string; after?: string },
): Expression<SqlBool>[] {
  const id = sql.ref<string>(column)
  const all: Expression<SqlBool>[] = []
  if (since !== undefined) all.push(sql`${id} >= ${firstIdAt(prefix, since)}`)
  if (until !== undefined) all.push(sql`${id} < ${firstIdAt(prefix, until)}`)
  if (before !== undefined) all.push(sql`${id} < ${before}`)
  if (after !== undefined) all.push(sql`${id} > ${after}`)
  return all
}

/** The rare ones have an index of their own, which is used where its condition stands word for word. */
function outcomeIs(is: Build, outcome: LogRow['outcome']): Expression<SqlBool>[] {
  const equal = is('log.outcome', '=', outcome)
  return outcome === 'answered' ? [equal] : [equal, sql`log.outcome <> 'answered'`]
}

function statusIn(is: Build, status: NonNullable<LogMatch['status']>): Expression<SqlBool>[] {
  const hundreds = typeof status === 'number' ? Math.floor(status / 100) : Number(status[0])
  const all: Expression<SqlBool>[] = [sql`log.status / 100 = ${sql.lit(hundreds)}`]
  if (hundreds >= 3) all.push(sql`log.status >= 300`)
  if (typeof status === 'number') all.push(is('log.status', '=', status))
  return all
}

/** A size as it would be measured, where the caller named one in pixels. */
const askedSize = sql<string>`replace(lower(trim(asked.size)), '×', 'x')`

/** One of the images of the request's charge is so. */
function hasImage(is: Build, { tier, source, otherSize }: LogMatch): Expression<SqlBool> {
  let images = is
    .selectFrom('line')
    .select('line.idx')
    .whereRef('line.charge_id', '=', 'log.id')
    .where('line.quantity', 'is', null)
  if (tier !== undefined) images = images.where('line.tier', '=', tier)
  if (source !== undefined) images = images.where('line.source', '=', source)
  if (otherSize === true)
    images = images
      .innerJoin('charge as asked', 'asked.id', 'line.charge_id')
      .where('line.width', 'is not', null)
      .where(sql<boolean>`${askedSize} LIKE '%_x_%' AND substr(${askedSize}, 1, 1) BETWEEN '0' AND '9'`)
      .where(sql<boolean>`${askedSize} <> line.width || 'x' || line.height`)
  return is.exists(images)
}
