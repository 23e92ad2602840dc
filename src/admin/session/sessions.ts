import { fail } from '../errors.ts'
import { sessionUserOf } from '../session-user.ts'
import { challenge } from './token-user.ts'
import { hash } from 'node:crypto'
import { aheadMs, type Session } from '../../domain/index.ts'
import { toMoment } from '../to-moment.ts'
import type { AdminRequest, SessionUser } from '../api.ts'
import type { AdminParts } from '../parts.ts'

const idleMs = 30 * 60_000
const sessionMs = 12 * 3_600_000
/** The minimum time between writes of a session's last use, so that most reads of pages do not write. */
const touchMs = 30_000
const agentCharsMax = 200
const tokenText = /^[\w-]{43}$/

/** The stored form of a token, which is useless to a reader of the storage. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex')
}

export function newToken(random: AdminParts['random']): string {
  return random.bytes(32).toString('base64url')
}

/** The public id of a session. */
export function sessionId(session: Session): string {
  return session.hash.slice(0, 16)
}

/**
 * Begins a session. @returns its token, which only the browser stores; undefined if the user may not sign in any more
 */
export async function beginSession(
  request: AdminRequest,
  user: string,
  passwordHash: string | undefined,
): Promise<string | undefined> {
  const { storage, clock, random } = request.parts
  const token = newToken(random)
  const now = clock.now()
  const agent = String(request.headers['user-agent'] ?? '').slice(0, agentCharsMax)
  const begun = { createdAt: now, seenAt: now, expiresAt: now + sessionMs, agent, remote: request.remote }
  const isBegun = await storage.sessions.create({ hash: hashToken(token), user, ...begun }, passwordHash)
  return isBegun ? token : undefined
}

/**
 * The user of a token; undefined if its session has ended or was idle for too long, or if the user is disabled.
 * Automatic requests of a page (`isPoll`) do not count as use, so that an absent person is signed out.
 */
export async function findSessionUser(
  parts: AdminParts,
  token: string | undefined,
  isPoll = false,
): Promise<SessionUser | undefined> {
  if (token === undefined || !tokenText.test(token)) return undefined
  const { storage, clock } = parts
  const found = await storage.sessions.find(hashToken(token))
  if (!found) return undefined
  const { session } = found
  const idle = clock.now() - session.seenAt
  if (idle >= idleMs) {
    await endSession(parts, session)
    return undefined
  }
  // If a clock was ahead, the recorded use is in the future, and would keep the session from being idle.
  if (!isPoll && (idle >= touchMs || idle < -aheadMs)) await storage.sessions.touch(session.hash)
  return found
}

/** Ends a session, and the keys that were created for it. */
export async function endSession(parts: AdminParts, session: Session): Promise<void> {
  await parts.storage.sessions.end(session.hash)
  await revokeSessionKeys(parts, session.user, name => name === sessionKeyName(session))
}

/** The name of a key that is created for a session. */
export function sessionKeyName(session: Session): string {
  return `console ${sessionId(session)}`
}

/** The newest keys of a user include all that can be active, because a session's key is valid for an hour. */
const keysLooked = 500

export async function revokeSessionKeys(
  { storage }: AdminParts,
  user: string,
  which: (name: string) => boolean,
): Promise<void> {
  const keys = await storage.keys.list({ user, sessions: true, limit: keysLooked })
  for (const { kind, status, name, id } of keys)
    if (kind === 'session' && status === 'active' && which(name)) await storage.keys.revoke(id, user)
}

/** For requests that last: whether the user is still signed in with the same role, or the token is still valid. */
export async function isSessionOpen(
  { parts, sessionUser }: AdminRequest,
  { evenIdle = false }: { readonly evenIdle?: boolean } = {},
): Promise<boolean> {
  if (sessionUser && 'token' in sessionUser)
    return (await parts.storage.adminTokens.find(sessionUser.hash)) !== undefined
  const found = sessionUser && (await parts.storage.sessions.find(sessionUser.session.hash))
  if (!found || found.user.role !== sessionUser.user.role) return false
  return evenIdle || parts.clock.now() - found.session.seenAt < idleMs
}

/** @throws Failure not_logged_in, token_invalid if the rights of a request have ended */
export async function needOpenSession(request: AdminRequest, how?: { readonly evenIdle?: boolean }): Promise<void> {
  if (await isSessionOpen(request, how)) return
  throw 'token' in sessionUserOf(request) ? fail('token_invalid', {}, challenge) : fail('not_logged_in')
}

const keyMs = 3_600_000

/** Creates a key that ends with the session. The session's previous key ends now. */
export async function newSessionKey(parts: AdminParts, by: SessionUser) {
  const { storage, clock } = parts
  const { session } = by
  const { user, expiresAt } = session
  const name = sessionKeyName(session)
  await revokeSessionKeys(parts, user, known => known === name)
  const { secret, hash, hint } = parts.newSecret()
  const expires = Math.min(clock.now() + keyMs, expiresAt)
  const key = { name, user, group: null, kind: 'session', hash, hint, expiresAt: expires } as const
  // The bounds for the user's keys also apply to this one.
  const made = await (by.user.role === 'admin' ? storage.keys.create(key, user) : storage.keys.createOwn(key, user))
  if ('refused' in made) throw fail('forbidden')
  return { id: made.id, key: secret, expires: toMoment(expires) }
}
