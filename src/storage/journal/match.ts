import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import { firstIdAt } from '../../kit/ids.ts'
import type { LogMatch } from '../../kit/index.ts'
import type { Tables } from '../tables.ts'

type Build = ExpressionBuilder<Tables, 'log'>

/** The conditions of a match, for the rows of `log`. Times become ids, which are in order of time and indexed. */
export function conditionsOf(is: Build, match: LogMatch): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  const equal = (
    column: 'id' | 'key_id' | 'user_name' | 'group_name' | 'model' | 'operation' | 'upstream',
    value: string | undefined,
  ): void => {
    if (value !== undefined) all.push(is(column, '=', value))
  }
  equal('id', match.id)
  equal('key_id', match.keyId)
  equal('user_name', match.user)
  equal('group_name', match.group)
  equal('model', match.model)
  equal('operation', match.operation)
  equal('upstream', match.upstream)
  if (match.since !== undefined) all.push(is('id', '>=', firstIdAt(prefix, match.since)))
  if (match.until !== undefined) all.push(is('id', '<', firstIdAt(prefix, match.until)))
  if (match.outcome !== undefined) all.push(is('outcome', '=', match.outcome))
  if (match.status !== undefined) all.push(...statusIn(is, match.status))
  if (match.tier !== undefined || match.source !== undefined || match.otherSize === true) all.push(hasImage(is, match))
  if (match.charge !== undefined)
    all.push(
      is.exists(
        is
          .selectFrom('charge')
          .select('charge.id')
          .whereRef('charge.id', '=', 'log.id')
          .where('state', '=', match.charge),
      ),
    )
  return all
}

/** Of requests' ids. */
const prefix = 'req_'

function statusIn(is: Build, status: NonNullable<LogMatch['status']>): Expression<SqlBool>[] {
  if (typeof status === 'number') return [is('status', '=', status)]
  const from = Number(status[0]) * 100
  return [is('status', '>=', from), is('status', '<', from + 100)]
}

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
      .where('asked.size', 'like', '%_x_%')
      .where(sql<boolean>`replace(lower(trim(asked.size)), '×', 'x') <> line.width || 'x' || line.height`)
  return is.exists(images)
}
