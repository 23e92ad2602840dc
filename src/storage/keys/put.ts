import type { Key, NewKey, PutKey } from '../../domain/index.ts'
import { StorageError } from '../errors.ts'
import type { Signed } from '../people/trail.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { text } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { readKey } from './find.ts'
import { changeKey, createKey } from './write.ts'

/** Keys of a user by their name; a revoked key frees its name. */
export function* findNamed(user: string, name: string): QueryProgram<readonly Key[]> {
  const rows = yield ask(
    `SELECT id FROM key WHERE user_name = ? AND name = ? AND kind = 'key' AND status <> 'revoked' ORDER BY id`,
    user,
    name,
  )
  const keys: Key[] = []
  for (const row of rows) {
    const key = yield* readKey(text(row, 'id'))
    if (key) keys.push(key)
  }
  return keys
}

/**
 * Creates the only key of a name, or changes it: in one transaction, so that two simultaneous requests create one key.
 */
export function* putKey(
  identity: Scribe,
  { key, status, by, at }: Signed & { readonly key: NewKey; readonly status: 'active' | 'disabled' | null },
): QueryProgram<PutKey> {
  const [owner] = yield ask(`SELECT name FROM "user" WHERE name = ? AND erased_at IS NULL ${lockRows}`, key.user)
  if (!owner) throw new StorageError('user_unknown', { name: key.user })
  const [known, another] = yield* findNamed(key.user, key.name)
  if (another) return { kind: 'shared' }
  const { hash: _hash, hint: _hint, user: _user, kind: _kind, ...settings } = key
  const change = { ...settings, ...(status !== null && { status }) }
  if (known) {
    const changed = yield* changeKey(identity, { id: known.id, change, by, at })
    return { kind: 'changed', key: changed ?? known }
  }
  const made = yield* createKey(identity, { key, by, at })
  if (status !== 'disabled') return { kind: 'created', key: made }
  const disabled = yield* changeKey(identity, { id: made.id, change: { status }, by, at })
  return { kind: 'created', key: disabled ?? made }
}
