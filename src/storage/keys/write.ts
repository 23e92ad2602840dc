import type { Key, KeyChange, KeySettings, NewKey, Rotation } from '../../kit/index.ts'
import { StorageError } from '../errors.ts'
import { leave, type Signed } from '../people/trail.ts'
import { ask, type QueryProgram, type Value } from '../query.ts'
import type { Scribe } from '../writer-identity.ts'
import { readKey } from './find.ts'

export function* createKey(identity: Scribe, { key, by, at }: Signed & { readonly key: NewKey }): QueryProgram<Key> {
  const [user] = yield ask('SELECT name FROM "user" WHERE name = ?', key.user)
  if (!user) throw new StorageError('user_unknown', { name: key.user })
  const id = identity.ids.next('key_', at)
  yield ask(
    `INSERT INTO key (id, name, user_name, group_name, kind, hash, hint, status, expires_at, models, ips, limits, budget,
       budget_period, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'active', ?, ?, ?, ?, ?, ?, ?)`,
    id,
    key.name,
    key.user,
    key.group,
    key.kind ?? 'key',
    key.hash,
    key.hint,
    key.expiresAt ?? null,
    jsonOrNull(key.models),
    jsonOrNull(key.ips),
    JSON.stringify(key.limits ?? {}),
    key.budget ?? null,
    key.budgetPeriod ?? 'total',
    at,
  )
  const made = yield* readKey(id)
  if (!made) throw new Error(`the key ${id} was not written`)
  if (made.kind === 'key')
    yield* leave(identity, { by, at }, 'key.create', id, null, { user: made.user, ...settingsOf(made) })
  return made
}

/** Columns of what may be changed, and how each is written. */
const columns: { readonly [S in keyof KeyChange]-?: readonly [column: string, write: (value: never) => Value] } = {
  name: ['name', plain],
  group: ['group_name', plain],
  status: ['status', plain],
  expiresAt: ['expires_at', plain],
  models: ['models', jsonOrNull],
  ips: ['ips', jsonOrNull],
  limits: ['limits', (value: object) => JSON.stringify(value)],
  budget: ['budget', plain],
  budgetPeriod: ['budget_period', plain],
}

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
  const names = (Object.keys(columns) as (keyof KeyChange)[]).filter(name => change[name] !== undefined)
  if (names.length === 0) return was
  yield ask(
    `UPDATE key SET ${names.map(name => `${columns[name][0]} = ?`).join(', ')} WHERE id = ?`,
    ...names.map(name => columns[name][1](change[name] as never)),
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

/** What the trail says of a key. */
function settingsOf(key: Key): KeySettings & Pick<Key, 'status'> {
  const { name, group, status, expiresAt, models, ips, limits, budget, budgetPeriod } = key
  return { name, group, status, expiresAt, models, ips, limits, budget, budgetPeriod }
}

function plain(value: string | number | null): Value {
  return value
}

function jsonOrNull(value: readonly string[] | null | undefined): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}
