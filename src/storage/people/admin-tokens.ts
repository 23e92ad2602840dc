import { actorOfToken, type AdminScope, type AdminToken, type NewAdminToken } from '../../domain/admin-tokens.ts'
import { aheadMs } from '../../domain/budget.ts'
import type { Role } from '../../domain/index.ts'
import { StorageError } from '../errors.ts'
import { refuseUnprintable } from '../refuse-unprintable.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, textOrNull, whole, wholeOrNull } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { appendTrail, type Signed } from './trail.ts'

/**
 * The condition for a valid token; its parameters are the moment and the latest creation. Its creator must still be
 * able to create tokens: an administrator, or a user of the machine itself.
 */
export const isValidToken = `(expires_at IS NULL OR expires_at > ?) AND created_at <= ?
  AND (made_by = 'command line' OR EXISTS
  (SELECT 1 FROM "user" a WHERE a.name = made_by AND a.role = 'admin' AND a.status = 'active'))`

function toToken(row: Row): AdminToken {
  const ips = textOrNull(row, 'ips')
  return {
    id: text(row, 'id'),
    name: text(row, 'name'),
    role: text(row, 'role') as Role,
    scopes: JSON.parse(text(row, 'scopes')) as AdminScope[],
    ips: ips === null ? null : (JSON.parse(ips) as string[]),
    hint: text(row, 'hint'),
    by: text(row, 'made_by'),
    createdAt: whole(row, 'created_at'),
    expiresAt: wholeOrNull(row, 'expires_at'),
    lastUsedAt: wholeOrNull(row, 'last_used_at'),
  }
}

export function* createAdminToken(
  identity: Scribe,
  { token, by, at }: Signed & { readonly token: NewAdminToken },
): QueryProgram<AdminToken> {
  const { name, hash, hint, role, scopes, ips, expiresAt } = token
  refuseUnprintable(name)
  // Expired tokens free their names.
  yield ask('DELETE FROM admin_token WHERE expires_at <= ?', at)
  // Invitations of an earlier token of this name ended with it.
  yield ask('DELETE FROM invitation WHERE made_by = ?', actorOfToken(token))
  const id = identity.ids.next('admin_', at)
  const [row] = yield ask(
    `INSERT INTO admin_token (id, name, hash, hint, role, scopes, ips, made_by, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING RETURNING *`,
    id,
    name,
    hash,
    hint,
    role,
    JSON.stringify(scopes),
    ips && JSON.stringify(ips),
    by,
    at,
    expiresAt,
  )
  if (!row) throw new StorageError('token_exists', { name })
  yield* appendTrail(identity, { by, at }, 'admin_token.create', id, null, { name, role, scopes, ips, expiresAt })
  return toToken(row)
}

export function* findAdminToken(hash: string, at: number): QueryProgram<AdminToken | undefined> {
  const [row] = yield ask(`SELECT * FROM admin_token WHERE hash = ? AND ${isValidToken}`, hash, at, at + aheadMs)
  return row && toToken(row)
}

export function* listAdminTokens(at: number): QueryProgram<readonly AdminToken[]> {
  const rows = yield ask(
    `SELECT * FROM admin_token WHERE ${isValidToken} ORDER BY created_at DESC, id DESC LIMIT 1000`,
    at,
    at + aheadMs,
  )
  return rows.map(toToken)
}

export function* revokeAdminToken(
  identity: Scribe,
  { idOrName, by, at }: Signed & { readonly idOrName: string },
): QueryProgram<AdminToken | undefined> {
  const [byId] = yield ask('DELETE FROM admin_token WHERE id = ? RETURNING *', idOrName)
  const [row] = byId ? [byId] : yield ask('DELETE FROM admin_token WHERE name = ? RETURNING *', idOrName)
  if (!row) return undefined
  const token = toToken(row)
  yield* appendTrail(identity, { by, at }, 'admin_token.revoke', token.id, { name: token.name }, { name: null })
  return token
}

export function* touchAdminToken({ id, at }: { readonly id: string; readonly at: number }): QueryProgram<null> {
  yield ask('UPDATE admin_token SET last_used_at = ? WHERE id = ?', at, id)
  return null
}
