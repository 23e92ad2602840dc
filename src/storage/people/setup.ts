import { aheadMs } from '../../domain/budget.ts'
import type { WaysIn } from '../../domain/sign-in.ts'
import { setupOfferMs } from '../../domain/users.ts'
import { ask, type QueryProgram } from '../query.ts'
import type { Scribe } from '../writer-identity.ts'
import { appendTrail } from './trail.ts'
import { findUser, hasAdmin, refuseErased, revokeSessionKeys } from './users.ts'

export type SetupClaim = {
  readonly tokenHash: string
  readonly name: string
  readonly group: string
  readonly passwordHash: string
  readonly ways: WaysIn
  readonly at: number
}

export function* offerSetup({ tokenHash, expiresAt }: { tokenHash: string; expiresAt: number }): QueryProgram<null> {
  yield ask('INSERT INTO setup (hash, expires_at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING', tokenHash, expiresAt)
  return null
}

/**
 * Creates the first administrator. Updates the row of the epoch first, so that one of two concurrent claims waits for
 * the other.
 */
export function* claimSetup(
  identity: Scribe,
  { tokenHash, name, group, passwordHash, ways, at }: SetupClaim,
): QueryProgram<'claimed' | 'unknown' | 'done'> {
  yield ask(`UPDATE meta SET value = value WHERE name = 'epoch'`)
  if (yield* hasAdmin(ways)) return 'done'
  // A setup link that was created by a clock that was ahead is invalid.
  const [offer] = yield ask(
    'SELECT hash FROM setup WHERE hash = ? AND expires_at > ? AND expires_at <= ?',
    tokenHash,
    at,
    at + setupOfferMs + aheadMs,
  )
  if (!offer) return 'unknown'
  yield* refuseErased(name)
  const was = yield* findUser(name)
  yield ask(
    `INSERT INTO "user" (name, group_name, role, status, password_hash, created_at) VALUES (?, ?, 'admin', 'active', ?, ?)
     ON CONFLICT (name) DO UPDATE SET role = 'admin', status = 'active', password_hash = excluded.password_hash`,
    name,
    group,
    passwordHash,
    at,
  )
  yield ask('DELETE FROM setup')
  // Earlier sessions and links under this name belong to another password or identity, so they end.
  yield ask('DELETE FROM session WHERE user_name = ?', name)
  yield ask('DELETE FROM sign_in_link WHERE user_name = ?', name)
  yield* revokeSessionKeys(name)
  yield* appendTrail(
    identity,
    { by: name, at },
    'user.setup',
    name,
    was ? { role: was.role, status: was.status } : null,
    {
      role: 'admin',
      status: 'active',
    },
  )
  return 'claimed'
}
