import type { Key } from '../../kit/index.ts'
import { ask, type QueryProgram } from '../query.ts'
import { toKey, whole } from '../rows.ts'

/** Columns of a key with those of its user that go with it; `toKey` reads them. */
const keyQuery = `SELECT k.*, u.group_name AS user_group, u.status AS user_status FROM key k JOIN "user" u ON u.name = k.user_name`
const byHash = `${keyQuery} WHERE k.hash = ?`
const byOldHash = `${keyQuery} WHERE k.old_hash = ?`
const byId = `${keyQuery} WHERE k.id = ?`

/** By the secret's hash; one from before the last rotation ends the key earlier. */
export function* findKeyByHash(hash: string): QueryProgram<Key | undefined> {
  const [row] = yield ask(byHash, hash)
  if (row) return toKey(row)
  const [old] = yield ask(byOldHash, hash)
  if (!old) return undefined
  const key = toKey(old)
  return { ...key, expiresAt: Math.min(key.expiresAt ?? Infinity, key.oldUntil ?? 0) }
}

export function* readKey(id: string): QueryProgram<Key | undefined> {
  const [row] = yield ask(byId, id)
  return row && toKey(row)
}

/** Keys that people made. */
export function* countKeys(): QueryProgram<number> {
  const [row] = yield ask(`SELECT count(*) AS value FROM key WHERE kind = 'key'`)
  return row ? whole(row, 'value') : 0
}

export function* readKeyRevision(): QueryProgram<number> {
  const [row] = yield ask(`SELECT value FROM meta WHERE name = 'key_revision'`)
  return row ? whole(row, 'value') : 0
}
