import { type Kysely, sql } from 'kysely'
import type { Key, KeyFilter } from '../../domain/index.ts'
import { patternOf } from '../pattern-of.ts'
import type { Row } from '../query.ts'
import { toKey } from '../rows.ts'
import type { Tables } from '../tables.ts'
import { daysOf } from './find.ts'

/** Keys, newest first. */
export async function listKeys(db: Kysely<Tables>, filter: KeyFilter): Promise<readonly Key[]> {
  let query = db
    .selectFrom('key')
    .innerJoin('user', 'user.name', 'key.user_name')
    .selectAll('key')
    .select([
      'user.group_name as user_group',
      'user.status as user_status',
      'user.budget as user_budget',
      'user.budget_period as user_budget_period',
      'user.budget_soft as user_budget_soft',
      'user.balance as user_balance',
      sql.raw<string | null>(daysOf('key')).as('days'),
    ])
    .orderBy('key.id', 'desc')
  if (filter.sessions !== true) query = query.where('key.kind', '=', sql.lit('key'))
  if (filter.ownRules === true)
    query = query.where(eb => eb.or([eb('key.budget', 'is not', null), eb('key.group_name', 'is not', null)]))
  if (filter.user !== undefined) query = query.where('key.user_name', '=', filter.user)
  if (filter.search !== undefined) {
    query = query.where(sql<boolean>`lower(key.name) LIKE lower(${patternOf(filter.search)}) ESCAPE '\\'`)
  }
  if (filter.before !== undefined) query = query.where('key.id', '<', filter.before)
  if (filter.limit !== undefined) query = query.limit(filter.limit)
  const rows: readonly Row[] = await query.execute()
  return rows.map(toKey)
}
