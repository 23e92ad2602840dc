import type { Key, KeyBounds, KeyChange, NewKey, Refused, Rotation } from '../../domain/index.ts'
import {
  boundsConfirmed,
  boundsOfChanged,
  boundsOfNew,
  type Chosen,
  checkKeyBounds,
  withinBounds,
} from '../../domain/check-key-bounds.ts'
import { keyMembers, settingMembers, settingsOf, unset } from '../../domain/shapes/key.ts'
import { cellsOf } from '../../domain/shapes/member.ts'
import { StorageError } from '../errors.ts'
import { appendTrail, type Signed } from '../people/trail.ts'
import { findUser } from '../people/users.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import type { Scribe } from '../writer-identity.ts'
import { whole } from '../rows.ts'
import { refuseUnprintable } from '../refuse-unprintable.ts'
import { readKey } from './find.ts'

/** Creates a key for an administrator, whose settings are the holder's bounds. */
export function* createKey(identity: Scribe, { key, by, at }: Signed & { readonly key: NewKey }): QueryProgram<Key> {
  const [user] = yield ask('SELECT name FROM "user" WHERE name = ? AND erased_at IS NULL', key.user)
  if (!user) throw new StorageError('user_unknown', { name: key.user })
  return yield* insertKey(identity, { key, by, at }, boundsOfNew(by, chosenOf(key)))
}

/** Creates a key for its future holder, within the bounds that administrators have set. */
export function* createOwnKey(
  identity: Scribe,
  { key, by, at, keysMax }: Signed & { readonly key: NewKey; readonly keysMax: number | null },
): QueryProgram<Key | Refused> {
  // Locked: if two keys are created at once, the second transaction counts the first key.
  yield ask(`SELECT name FROM "user" WHERE name = ? ${lockRows}`, key.user)
  const user = yield* findUser(key.user)
  if (!user) throw new StorageError('user_unknown', { name: key.user })
  const own = withinBounds(key, user.keyBounds)
  const refused = checkKeyBounds(undefined, chosenOf(own), [user.keyBounds])
  if (refused) return { refused }
  const most = user.keysMax ?? keysMax
  if (most !== null && key.kind !== 'session') {
    const [row] = yield ask(
      `SELECT count(*) AS value FROM key WHERE user_name = ? AND kind = 'key' AND status <> 'revoked'`,
      key.user,
    )
    const by = user.keysMax === null ? `group ${user.group}` : 'an administrator'
    if (row && whole(row, 'value') >= most)
      return { refused: { field: 'keys_max', allowed: `at most ${most} keys`, by, values: { keys: most } } }
  }
  return yield* insertKey(identity, { key: own, by, at }, {})
}

function chosenOf(key: NewKey): Chosen {
  return { ...unset, status: 'active', ...key }
}

function* insertKey(
  identity: Scribe,
  { key, by, at }: Signed & { readonly key: NewKey },
  bounds: KeyBounds,
): QueryProgram<Key> {
  refuseUnprintable(key.name, key.group)
  const id = identity.ids.next('key_', at)
  const cells = {
    id,
    user_name: key.user,
    kind: key.kind ?? 'key',
    hash: key.hash,
    hint: key.hint,
    status: 'active',
    created_at: at,
    ...cellsOf({ ...settingMembers, bounds: keyMembers.bounds }, { ...unset, ...key, bounds }),
  }
  const columns = Object.keys(cells)
  yield ask(
    `INSERT INTO key (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    ...Object.values(cells),
  )
  const made = yield* readKey(id)
  if (!made) throw new Error(`the key ${id} was not written`)
  if (made.kind === 'key')
    yield* appendTrail(identity, { by, at }, 'key.create', id, null, { user: made.user, ...settingsOf(made) })
  return made
}

const changeable = { ...settingMembers, status: keyMembers.status, bounds: keyMembers.bounds }

/** The current key, locked until the transaction ends; undefined if there is none or it was revoked. */
function* lockKey(id: string): QueryProgram<Key | undefined> {
  const [locked] = yield ask(`UPDATE key SET hint = hint WHERE id = ? AND status <> 'revoked' RETURNING id`, id)
  return locked && (yield* readKey(id))
}

type GivenChange = Signed & { readonly id: string; readonly change: KeyChange }

/**
 * Changes a key for an administrator, whose settings become the holder's bounds. @returns undefined if there is no such
 * key, or it was revoked.
 */
export function* changeKey(identity: Scribe, given: GivenChange): QueryProgram<Key | undefined> {
  const was = yield* lockKey(given.id)
  if (!was) return undefined
  return yield* writeChange(identity, given, was, boundsOfChanged(given.by, chosenAnew(was), given.change))
}

/** Changes a key for its holder, within the bounds that administrators have set. */
export function* changeOwnKey(identity: Scribe, given: GivenChange): QueryProgram<Key | Refused | undefined> {
  const was = yield* lockKey(given.id)
  if (!was) return undefined
  const user = yield* findUser(was.user)
  const before = chosenAnew(was)
  const refused = checkKeyBounds(before, { ...before, ...given.change }, [was.bounds, user?.keyBounds ?? {}])
  if (refused) return { refused }
  return yield* writeChange(identity, given, was, was.bounds)
}

/** A revoked key is not changed any more. */
function chosenAnew(key: Key): Key & Chosen {
  return { ...key, status: key.status === 'active' ? 'active' : 'disabled' }
}

function* writeChange(
  identity: Scribe,
  { id, change, by, at }: GivenChange,
  was: Key,
  bounds: KeyBounds,
): QueryProgram<Key | undefined> {
  refuseUnprintable(change.name, change.group)
  const cells = Object.entries(cellsOf(changeable, { ...change, bounds }))
  if (cells.length === 0) return was
  // A trigger on some columns reports changes to other processes, which need all changes: the name is always one of the
  // columns.
  const kept = cells.some(([column]) => column === 'name') ? '' : 'name = name, '
  yield ask(
    `UPDATE key SET ${kept}${cells.map(([column]) => `${column} = ?`).join(', ')} WHERE id = ?`,
    ...cells.map(([, cell]) => cell),
    id,
  )
  const became = yield* readKey(id)
  if (!became) throw new Error(`the key ${id} was not written`)
  const confirmed = boundsConfirmed(chosenAnew(was), chosenAnew(became))
  yield* appendTrail(
    identity,
    { by, at },
    'key.change',
    id,
    { ...settingsOf(was), ...(confirmed && { bounds: confirmed.was }) },
    { ...settingsOf(became), ...(confirmed && { bounds: confirmed.became }) },
  )
  return became
}

/** The old secret remains valid for a while; one from an earlier rotation ends now. */
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
  yield* appendTrail(identity, { by, at }, 'key.rotate', id, { hint: was.hint, oldUntil: was.oldUntil }, became)
  return yield* readKey(id)
}

/** @returns false if there is no such key, or it was revoked before. */
export function* revokeKey(identity: Scribe, { id, by, at }: Signed & { readonly id: string }): QueryProgram<boolean> {
  const was = yield* lockKey(id)
  if (!was) return false
  yield ask(`UPDATE key SET status = 'revoked' WHERE id = ?`, id)
  if (was.kind === 'key')
    yield* appendTrail(identity, { by, at }, 'key.revoke', id, { status: was.status }, { status: 'revoked' })
  return true
}
