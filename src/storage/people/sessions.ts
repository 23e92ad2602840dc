import type { Session, User } from '../../domain/index.ts'
import { aheadMs } from '../../domain/budget.ts'
import { ask, lockRows, type Row, type QueryProgram } from '../query.ts'
import { text, toUser, whole } from '../rows.ts'

function toSession(row: Row): Session {
  return {
    hash: text(row, 'hash'),
    user: text(row, 'user_name'),
    createdAt: whole(row, 'created_at'),
    seenAt: whole(row, 'seen_at'),
    expiresAt: whole(row, 'expires_at'),
    agent: text(row, 'agent'),
    remote: text(row, 'remote'),
  }
}

export type NewSession = { readonly session: Session; readonly passwordHash: string | null }

/**
 * @param passwordHash the hash of the password that was checked; null after another sign-in
 * @returns false if the user is not active, or has another password by now. The row is locked: otherwise a session
 *   could begin in the moment in which the user's sessions end
 */
export function* createSession({ session, passwordHash }: NewSession): QueryProgram<boolean> {
  const { hash, user, createdAt, seenAt, expiresAt, agent, remote } = session
  const [found] = yield ask(`SELECT status, password_hash FROM "user" WHERE name = ? ${lockRows}`, user)
  if (found?.['status'] !== 'active') return false
  if (passwordHash !== null && found['password_hash'] !== passwordHash) return false
  // Each new session deletes expired ones.
  yield ask('DELETE FROM session WHERE expires_at <= ?', createdAt)
  yield ask(
    'INSERT INTO session (hash, user_name, created_at, seen_at, expires_at, agent, remote) VALUES (?, ?, ?, ?, ?, ?, ?)',
    hash,
    user,
    createdAt,
    seenAt,
    expiresAt,
    agent,
    remote,
  )
  return true
}

export function* touchSession({ hash, at }: { readonly hash: string; readonly at: number }): QueryProgram<null> {
  yield ask('UPDATE session SET seen_at = ? WHERE hash = ?', at, hash)
  return null
}

export function* endSession({ hash }: { readonly hash: string }): QueryProgram<null> {
  yield ask('DELETE FROM session WHERE hash = ?', hash)
  return null
}

/**
 * Finds a valid session. A session from a clock that was ahead is invalid, because it would stay valid for too long.
 */
export function* findSession(hash: string, at: number): QueryProgram<{ session: Session; user: User } | undefined> {
  const [row] = yield ask(
    `SELECT s.*, u.name, u.group_name, u.role, u.status, u.password_hash, u.keys_max, u.key_bounds, u.budget,
       u.budget_period, u.budget_soft, u.balance, u.created_at AS user_since
     FROM session s JOIN "user" u ON u.name = s.user_name
     WHERE s.hash = ? AND s.expires_at > ? AND s.created_at <= ? AND u.status = 'active'`,
    hash,
    at,
    at + aheadMs,
  )
  return row && { session: toSession(row), user: toUser({ ...row, created_at: row['user_since'] }) }
}

/** Newest first. */
export function* listSessions(user: string, at: number): QueryProgram<readonly Session[]> {
  const rows = yield ask(
    'SELECT * FROM session WHERE user_name = ? AND expires_at > ? AND created_at <= ? ORDER BY created_at DESC, hash',
    user,
    at,
    at + aheadMs,
  )
  return rows.map(toSession)
}
