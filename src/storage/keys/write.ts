import { timeOrderedId } from '../../kit/ids.ts'
import type { Key, NewKey } from '../../kit/index.ts'
import { StorageError } from '../errors.ts'
import { ask, type Steps } from '../query.ts'
import { toKey } from '../rows.ts'

/** Columns of a key with its user's group; `toKey` reads them. */
export const keyQuery = `SELECT k.*, u.group_name AS user_group FROM key k JOIN "user" u ON u.name = k.user_name`

export function* createKey(key: NewKey, at: number): Steps<Key> {
  const [user] = yield ask('SELECT name FROM "user" WHERE name = ?', key.user)
  if (!user) throw new StorageError('user_unknown', { name: key.user })
  const id = timeOrderedId('key_', at)
  yield ask(
    `INSERT INTO key (id, name, user_name, group_name, hash, hint, status, expires_at, models, ips, limits, budget, created_at)
     VALUES (?, ?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?)`,
    id,
    key.name,
    key.user,
    key.group,
    key.hash,
    key.hint,
    key.expiresAt ?? null,
    jsonOrNull(key.models),
    jsonOrNull(key.ips),
    JSON.stringify(key.limits ?? {}),
    key.budget ?? null,
    at,
  )
  const [row] = yield ask(`${keyQuery} WHERE k.id = ?`, id)
  if (!row) throw new Error(`the key ${id} was not written`)
  return toKey(row)
}

/** @returns false when there is no such key, or it was revoked before. */
export function* revokeKey(id: string): Steps<boolean> {
  const rows = yield ask(`UPDATE key SET status = 'revoked' WHERE id = ? AND status <> 'revoked' RETURNING id`, id)
  return rows.length > 0
}

export type NewUser = {
  readonly name: string
  readonly group: string
  readonly role: 'user' | 'admin'
  readonly passwordHash: string | null
}

export function* createUser(user: NewUser, at: number): Steps<null> {
  const [created] = yield ask(
    `INSERT INTO "user" (name, group_name, role, status, password_hash, created_at) VALUES (?, ?, ?, 'active', ?, ?)
     ON CONFLICT (name) DO NOTHING RETURNING name`,
    user.name,
    user.group,
    user.role,
    user.passwordHash,
    at,
  )
  if (!created) throw new StorageError('user_exists', { name: user.name })
  return null
}

/** @returns false when there is no such user. */
export function* setPassword(name: string, passwordHash: string): Steps<boolean> {
  const rows = yield ask('UPDATE "user" SET password_hash = ? WHERE name = ? RETURNING name', passwordHash, name)
  return rows.length > 0
}

function jsonOrNull(value: readonly string[] | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
