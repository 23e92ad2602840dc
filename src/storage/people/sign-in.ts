import type { Identity, IdentityLink, User, WaysIn } from '../../domain/index.ts'
import { aheadMs } from '../../domain/budget.ts'
import { loginMs } from '../../domain/sign-in.ts'
import { columnsOf } from '../../domain/shapes/member.ts'
import { userMembers } from '../../domain/shapes/user.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, toUser, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { appendTrail, type Signed } from './trail.ts'
import { needOtherAdmin, revokeSessionKeys } from './users.ts'

/** The maximum number of sign-ins in progress. */
const loginsMax = 10_000

export type StoredLogin = { readonly hash: string; readonly state: string; readonly expiresAt: number }

export function* saveLogin({ login, at }: { readonly login: StoredLogin; readonly at: number }): QueryProgram<null> {
  // Deletes sign-ins that were never completed, and those from a clock that was ahead.
  yield ask('DELETE FROM sign_in_trip WHERE expires_at <= ? OR expires_at > ?', at, at + loginMs + aheadMs)
  const [row] = yield ask('SELECT count(*) AS count FROM sign_in_trip')
  // Deletes the oldest instead of refusing the next one: otherwise a few strangers could block every sign-in.
  if (row && whole(row, 'count') >= loginsMax)
    yield ask('DELETE FROM sign_in_trip WHERE hash = (SELECT hash FROM sign_in_trip ORDER BY expires_at, hash LIMIT 1)')
  yield ask(
    'INSERT INTO sign_in_trip (hash, told, expires_at) VALUES (?, ?, ?)',
    login.hash,
    login.state,
    login.expiresAt,
  )
  return null
}

export function* takeLogin({ hash, at }: { readonly hash: string; readonly at: number }): QueryProgram<string | null> {
  const [row] = yield ask('DELETE FROM sign_in_trip WHERE hash = ? RETURNING told, expires_at', hash)
  if (!row) return null
  const left = whole(row, 'expires_at') - at
  return left > 0 && left <= loginMs + aheadMs ? text(row, 'told') : null
}

export function* findLinked({ issuer, subject }: Identity): QueryProgram<User | undefined> {
  const [row] = yield ask(
    `SELECT ${columnsOf(userMembers).join(', ')} FROM "user"
     WHERE name = (SELECT user_name FROM sign_in_link WHERE issuer = ? AND subject = ?)`,
    issuer,
    subject,
  )
  return row && toUser(row)
}

/** Oldest first. */
export function* listLinks(user: string): QueryProgram<readonly IdentityLink[]> {
  const rows = yield ask('SELECT * FROM sign_in_link WHERE user_name = ? ORDER BY created_at, issuer, subject', user)
  return rows.map(row => ({
    issuer: text(row, 'issuer'),
    subject: text(row, 'subject'),
    user: text(row, 'user_name'),
    createdAt: whole(row, 'created_at'),
  }))
}

export type Linking = Signed & { readonly identity: Identity; readonly user: string; readonly alone: boolean }

export function* linkIdentity(
  identity: Scribe,
  { identity: who, user, alone, by, at }: Linking,
): QueryProgram<'linked' | 'taken' | 'other' | 'unknown'> {
  // Updated first, so that one of two concurrent links of a user waits for the other.
  const [known] = yield ask('UPDATE "user" SET name = name WHERE name = ? AND erased_at IS NULL RETURNING name', user)
  if (!known) return 'unknown'
  const links = yield* listLinks(user)
  if (links.some(one => one.issuer === who.issuer && one.subject === who.subject)) return 'linked'
  if (alone && links.some(one => one.issuer === who.issuer)) return 'other'
  if (!(yield* insertLink(who, user, at))) return 'taken'
  yield* appendTrail(identity, { by, at }, 'user.link', user, null, { issuer: who.issuer })
  return 'linked'
}

/** @returns false if another user already has the identity */
export function* insertLink({ issuer, subject }: Identity, user: string, at: number): QueryProgram<boolean> {
  const [row] = yield ask(
    `INSERT INTO sign_in_link (issuer, subject, user_name, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (issuer, subject) DO NOTHING RETURNING user_name`,
    issuer,
    subject,
    user,
    at,
  )
  return row !== undefined
}

export type Unlinking = Signed & {
  readonly user: string
  readonly which: Identity | null
  readonly keepWayIn: boolean
  readonly ways: WaysIn | null
}

export function* unlinkIdentity(identity: Scribe, given: Unlinking): QueryProgram<number> {
  const { user, which, keepWayIn, ways, by, at } = given
  const [known] = yield ask('UPDATE "user" SET name = name WHERE name = ? RETURNING role, status, password_hash', user)
  if (!known) return 0
  const links = yield* listLinks(user)
  const gone = links.filter(one => !which || (one.issuer === which.issuer && one.subject === which.subject))
  if (gone.length === 0) return 0
  const hasPassword = known['password_hash'] !== null && ways?.passwords !== false
  if (!hasPassword && !links.some(one => !gone.includes(one) && (ways?.issuers.includes(one.issuer) ?? true))) {
    if (keepWayIn) return 0
    if (known['role'] === 'admin' && known['status'] === 'active') yield* needOtherAdmin(user, ways)
  }
  for (const { issuer, subject } of gone) {
    yield ask('DELETE FROM sign_in_link WHERE issuer = ? AND subject = ?', issuer, subject)
    yield* appendTrail(identity, { by, at }, 'user.unlink', user, { issuer }, null)
  }
  return gone.length
}

export function* endUserSessions({ user }: { readonly user: string }): QueryProgram<null> {
  yield ask('DELETE FROM session WHERE user_name = ?', user)
  return yield* revokeSessionKeys(user)
}
