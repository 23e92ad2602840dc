import type { Key, KeyChange, NewKey, Rotation } from '../../kit/index.ts'
import { keyMembers, settingMembers, settingsOf, unset } from '../../kit/shapes/key.ts'
import { cellsOf } from '../../kit/shapes/member.ts'
import { StorageError } from '../errors.ts'
import { leave, type Signed } from '../people/trail.ts'
import { ask, type QueryProgram } from '../query.ts'
import type { Scribe } from '../writer-identity.ts'
import { readKey } from './find.ts'

export function* createKey(identity: Scribe, { key, by, at }: Signed & { readonly key: NewKey }): QueryProgram<Key> {
  const [user] = yield ask('SELECT name FROM "user" WHERE name = ?', key.user)
  if (!user) throw new StorageError('user_unknown', { name: key.user })
  const id = identity.ids.next('key_', at)
  const cells = {
    id,
    user_name: key.user,
    kind: key.kind ?? 'key',
    hash: key.hash,
    hint: key.hint,
    status: 'active',
    created_at: at,
    ...cellsOf(settingMembers, { ...unset, ...key }),
  }
  const columns = Object.keys(cells)
  yield ask(
    `INSERT INTO key (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...Object.values(cells),
  )
  const made = yield* readKey(id)
  if (!made) throw new Error(`the key ${id} was not written`)
  if (made.kind === 'key')
    yield* leave(identity, { by, at }, 'key.create', id, null, { user: made.user, ...settingsOf(made) })
  return made
}

const changeable = { ...settingMembers, status: keyMembers.status }

/** The key as it stands, kept from others until the transaction ends; undefined when there is none or it was revoked. */
function* lockKey(id: string): QueryProgram<Key | undefined> {
  const [locked] = yield ask(`UPDATE key SET hint = hint WHERE id = ? AND status <> 'revoked' RETURNING id`, id)
  return locked && (yield* readKey(id))
}

/** @returns undefined when there is no such key, or it was revoked. */
export function* changeKey(
  identity: Scribe,
  given: Signed & { readonly id: string; readonly change: KeyChange },
): QueryProgram<Key | undefined> {
  const { id, change, by, at } = given
  const was = yield* lockKey(id)
  if (!was) return undefined
  const cells = Object.entries(cellsOf(changeable, change))
  if (cells.length === 0) return was
  yield ask(
    `UPDATE key SET ${cells.map(([column]) => `${column} = ?`).join(', ')} WHERE id = ?`,
    ...cells.map(([, cell]) => cell),
    id,
  )
  const became = yield* readKey(id)
  yield* leave(identity, { by, at }, 'key.change', id, settingsOf(was), became ? settingsOf(became) : null)
  return became
}

/** The old secret lives on for a while; one that an earlier rotation left ends now. */
export function* rotateKey(
  identity: Scribe,
  given: Signed & { readonly id: string; readonly rotation: Rotation },
): QueryProgram<Key | undefined> {
  const { id, rotation, by, at } = given
  const was = yield* lockKey(id)
  if (!was) return undefined
  const oldUntil = at + rotation.overlapMs
  yield ask(
    'UPDATE key SET old_hash = hash, old_until = ?, hash = ?, hint = ? WHERE id = ?',
    oldUntil,
    rotation.hash,
    rotation.hint,
    id,
  )
  const became = { hint: rotation.hint, oldUntil }
  yield* leave(identity, { by, at }, 'key.rotate', id, { hint: was.hint, oldUntil: was.oldUntil }, became)
  return yield* readKey(id)
}

/** @returns false when there is no such key, or it was revoked before. */
export function* revokeKey(identity: Scribe, { id, by, at }: Signed & { readonly id: string }): QueryProgram<boolean> {
  const was = yield* lockKey(id)
  if (!was) return false
  yield ask(`UPDATE key SET status = 'revoked' WHERE id = ?`, id)
  if (was.kind === 'key')
    yield* leave(identity, { by, at }, 'key.revoke', id, { status: was.status }, { status: 'revoked' })
  return true
}
