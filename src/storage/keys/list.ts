import type { Kysely } from 'kysely'
import type { Key } from '../../kit/index.ts'
import type { Row } from '../query.ts'
import { text, toKey, whole } from '../rows.ts'
import type { Tables } from '../tables.ts'

export type ListedUser = {
  readonly name: string
  readonly group: string
  readonly role: 'user' | 'admin'
  readonly status: 'active' | 'disabled'
  readonly createdAt: number
}

/** Every key, newest first. */
export async function listKeys(db: Kysely<Tables>): Promise<readonly Key[]> {
  const rows: readonly Row[] = await db
    .selectFrom('key')
    .innerJoin('user', 'user.name', 'key.user_name')
    .selectAll('key')
    .select('user.group_name as user_group')
    .orderBy('key.id', 'desc')
    .execute()
  return rows.map(toKey)
}

/** Every user, by name. */
export async function listUsers(db: Kysely<Tables>): Promise<readonly ListedUser[]> {
  const rows: readonly Row[] = await db
    .selectFrom('user')
    .select(['name', 'group_name', 'role', 'status', 'created_at'])
    .orderBy('name')
    .execute()
  return rows.map(row => ({
    name: text(row, 'name'),
    group: text(row, 'group_name'),
    role: text(row, 'role') as ListedUser['role'],
    status: text(row, 'status') as ListedUser['status'],
    createdAt: whole(row, 'created_at'),
  }))
}
