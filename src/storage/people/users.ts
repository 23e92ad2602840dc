import type { NewUser, User, UserChange, UserFilter, UserTotals, WaysIn } from '../../domain/index.ts'
import { cellsOf, columnsOf } from '../../domain/shapes/member.ts'
import { userMembers, type UserSettings } from '../../domain/shapes/user.ts'
import { StorageError } from '../errors.ts'
import { ask, lockRows, type QueryProgram } from '../query.ts'
import { textOrNull, toUser, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { appendTrail, type Signed } from './trail.ts'
import { patternOf } from '../pattern-of.ts'
import { refuseUnprintable } from '../refuse-unprintable.ts'

const columns = columnsOf(userMembers).join(', ')
const changeable = {
  group: userMembers.group,
  role: userMembers.role,
  status: userMembers.status,
  keysMax: userMembers.keysMax,
  keyBounds: userMembers.keyBounds,
  budget: userMembers.budget,
  budgetPeriod: userMembers.budgetPeriod,
  budgetSoft: userMembers.budgetSoft,
}

export function* findUser(name: string): QueryProgram<User | undefined> {
  const [row] = yield ask(`SELECT ${columns} FROM "user" WHERE name = ? AND erased_at IS NULL`, name)
  return row && toUser(row)
}

/** By name; all users without a filter. */
export function* listUsers(filter: UserFilter | null): QueryProgram<readonly User[]> {
  const { after, search, limit } = filter ?? {}
  const conditions = ['erased_at IS NULL']
  const values: (string | number)[] = []
  if (after !== undefined) {
    conditions.push('name > ?')
    values.push(after)
  }
  if (search !== undefined) {
    const contains = (column: string) => `lower(${column}) LIKE lower(?) ESCAPE '\\'`
    conditions.push(`(${contains('name')} OR ${contains('group_name')})`)
    values.push(patternOf(search), patternOf(search))
  }
  if (limit !== undefined) values.push(limit)
  const rows = yield ask(
    `SELECT ${columns} FROM "user" WHERE ${conditions.join(' AND ')} ORDER BY name${limit === undefined ? '' : ' LIMIT ?'}`,
    ...values,
  )
  return rows.map(toUser)
}

export function* countUsers(): QueryProgram<UserTotals> {
  const [row = {}] = yield ask(
    `SELECT count(*) AS count, coalesce(sum(CASE WHEN status = 'active' THEN 1 ELSE 0 END), 0) AS active
     FROM "user" WHERE erased_at IS NULL`,
  )
  return { count: whole(row, 'count'), active: whole(row, 'active') }
}

export function* readPasswordHash(name: string): QueryProgram<string | undefined> {
  const [row] = yield ask('SELECT password_hash FROM "user" WHERE name = ?', name)
  return (row && textOrNull(row, 'password_hash')) ?? undefined
}

/** Whether an administrator other than `but` can sign in by one of these ways. */
export function* hasAdmin({ passwords, issuers }: WaysIn, but = ''): QueryProgram<boolean> {
  const linked = `EXISTS (SELECT 1 FROM sign_in_link l
    WHERE l.user_name = u.name AND l.issuer IN (${issuers.map(() => '?').join(', ')}))`
  const ways = [...(passwords ? ['u.password_hash IS NOT NULL'] : []), ...(issuers.length > 0 ? [linked] : [])]
  if (ways.length === 0) return false
  // The search ends at the first administrator, who is one of the first users: anyone may request it.
  const rows = yield ask(
    `SELECT 1 AS found FROM "user" u WHERE u.role = 'admin' AND u.status = 'active' AND u.name <> ?
       AND (${ways.join(' OR ')}) LIMIT 1`,
    but,
    ...issuers,
  )
  return rows.length > 0
}

/**
 * Whether a name belonged to an erased user whose charges are in the ledger. It is not given again: the two users
 * would be confused.
 */
export function* isErased(name: string): QueryProgram<boolean> {
  const [erased] = yield ask(
    'SELECT 1 AS found FROM "user" WHERE booked_as = ? OR (name = ? AND erased_at IS NOT NULL)',
    name,
    name,
  )
  return erased !== undefined
}

/** @throws StorageError `name_erased` */
export function* refuseErased(name: string): QueryProgram<void> {
  if (yield* isErased(name)) throw new StorageError('name_erased', { name })
}

export function* createUser(
  identity: Scribe,
  { user, by, at }: Signed & { readonly user: NewUser },
): QueryProgram<null> {
  const { name, group, role, passwordHash } = user
  refuseUnprintable(name, group)
  yield* refuseErased(name)
  const [created] = yield ask(
    `INSERT INTO "user" (name, group_name, role, status, password_hash, created_at) VALUES (?, ?, ?, 'active', ?, ?)
     ON CONFLICT (name) DO NOTHING RETURNING name`,
    name,
    group,
    role,
    passwordHash,
    at,
  )
  if (!created) throw new StorageError('user_exists', { name })
  // The user with that name may have been erased during the wait for the row.
  yield* refuseErased(name)
  yield* appendTrail(identity, { by, at }, 'user.create', name, null, { group, role })
  return null
}

/**
 * Changes a user. A user who is disabled or gets another role loses all sessions, and the keys created for them.
 * @returns undefined if there is no such user
 */
export function* changeUser(
  identity: Scribe,
  given: Signed & { readonly name: string; readonly change: UserChange; readonly ways?: WaysIn | null },
): QueryProgram<User | undefined> {
  const { name, change, ways = null, by, at } = given
  refuseUnprintable(change.group)
  // Updated first, so that one of two concurrent changes waits for the other, and the audit log records the state
  // before each.
  yield ask('UPDATE "user" SET name = name WHERE name = ?', name)
  const was = yield* findUser(name)
  if (!was) return undefined
  const cells = Object.entries(cellsOf(changeable, change))
  if (cells.length === 0) return was
  if (isAdmin(was) && !isAdmin({ ...was, ...change })) yield* needOtherAdmin(name, ways)
  yield ask(
    `UPDATE "user" SET ${cells.map(([column]) => `${column} = ?`).join(', ')} WHERE name = ?`,
    ...cells.map(([, cell]) => cell),
    name,
  )
  const became = yield* findUser(name)
  if (!became) return undefined
  // A session keeps the rights of its sign-in, so it has to end.
  if (became.status === 'disabled' || became.role !== was.role) {
    yield ask('DELETE FROM session WHERE user_name = ?', name)
    yield* revokeSessionKeys(name)
  }
  // The invitations and admin tokens of an administrator end with the role, and do not become valid again with it.
  if (isAdmin(was) && !isAdmin(became))
    for (const table of ['invitation', 'admin_token']) yield ask(`DELETE FROM ${table} WHERE made_by = ?`, name)
  yield* appendTrail(identity, { by, at }, 'user.change', name, settingsOf(was), settingsOf(became))
  return became
}

function isAdmin({ role, status }: Pick<User, 'role' | 'status'>): boolean {
  return role === 'admin' && status === 'active'
}

/** Administrators who can sign in: with a password, or through an issuer. */
const admins = `SELECT name FROM "user" u WHERE role = 'admin' AND status = 'active' AND (password_hash IS NOT NULL
  OR EXISTS (SELECT 1 FROM sign_in_link l WHERE l.user_name = u.name))`

/**
 * Refuses to demote, disable or erase the last administrator. Updates the row of the epoch, so that one of two
 * administrators who demote each other at once waits for the other. @throws StorageError `last_admin`
 */
export function* needOtherAdmin(name: string, ways: WaysIn | null = null): QueryProgram<void> {
  yield ask(`UPDATE meta SET value = value WHERE name = 'epoch'`)
  const known = (yield ask(admins)).map(row => row['name'])
  if (known.length === 1 && known[0] === name) throw new StorageError('last_admin', { name })
  // One of the others must be able to sign in: with a password only if passwords are on, and only through an issuer
  // that still exists.
  if (ways && (yield* hasAdmin(ways)) && !(yield* hasAdmin(ways, name))) throw new StorageError('last_admin', { name })
}

function settingsOf({ group, role, status, keysMax, keyBounds, budget, budgetPeriod, budgetSoft }: User): UserSettings {
  return { group, role, status, keysMax, keyBounds, budget, budgetPeriod, budgetSoft }
}

export function* revokeSessionKeys(user: string): QueryProgram<null> {
  yield ask(`UPDATE key SET status = 'revoked' WHERE user_name = ? AND kind = 'session' AND status = 'active'`, user)
  return null
}

/**
 * Sets a password. Ends the user's sessions except the given one; if none is given, also the keys created for them.
 * @returns false if there is no such user, or the given session has ended
 */
export function* setPassword(
  identity: Scribe,
  given: Signed & { readonly name: string; readonly passwordHash: string; readonly keep: string | null },
): QueryProgram<boolean> {
  const { name, passwordHash, keep, by, at } = given
  // Locked first: of two sessions that set a password at once, the second finds that it has ended.
  const [row] = yield ask(`SELECT name FROM "user" WHERE name = ? AND erased_at IS NULL ${lockRows}`, name)
  if (!row) return false
  if (
    keep !== null &&
    (yield ask('SELECT 1 AS found FROM session WHERE hash = ? AND user_name = ?', keep, name)).length === 0
  )
    return false
  yield ask('UPDATE "user" SET password_hash = ? WHERE name = ?', passwordHash, name)
  yield ask('DELETE FROM session WHERE user_name = ? AND hash <> ?', name, keep ?? '')
  if (keep === null) yield* revokeSessionKeys(name)
  yield* appendTrail(identity, { by, at }, 'user.password', name, null, null)
  return true
}
