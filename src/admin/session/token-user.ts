import { actorOfToken, adminScopes, type AdminToken, type Role, type User } from '../../domain/index.ts'
import { hashSecret, isTrusted, readAdminSecret } from '../../util/index.ts'
import type { AnyRoute, AdminRequest, TokenUser } from '../api.ts'
import { fail } from '../errors.ts'
import type { AdminParts } from '../parts.ts'
import { scopeOf } from '../scopes.ts'
import type { LoginGuard } from './login-guard.ts'

/** The minimum time between writes of a token's last use, so that most reads do not write. */
const touchMs = 60_000
export const challenge = { headers: { 'www-authenticate': 'Bearer realm="tollgate"' } } as const

type Sent = { readonly secret: string; readonly remote: string; readonly route: AnyRoute }

/** The text after `Bearer` in `Authorization`; undefined if there is none. */
export function readBearer(authorization: string | undefined): string | undefined {
  const [scheme = '', secret] = (authorization ?? '').trim().split(/ +/, 2)
  return scheme.toLowerCase() === 'bearer' && secret !== undefined ? secret : undefined
}

/**
 * The admin token of a request, which acts under its own name. Wrong tokens are slowed down as wrong passwords are.
 * @throws Failure token_invalid, token_address, token_scope, token_barred, slow_down
 */
export async function findTokenUser(
  parts: AdminParts,
  guard: LoginGuard,
  { secret, remote, route }: Sent,
): Promise<TokenUser> {
  const hash = hashSecret(secret)
  const account = `token ${hash}`
  await guard.refuseWaiting(account, remote)
  const token = readAdminSecret(secret) === undefined ? undefined : await parts.storage.adminTokens.find(hash)
  if (!token) {
    await guard.attempt(account, remote, () => undefined)
    throw fail('token_invalid', {}, challenge)
  }
  if (token.ips && !isTrusted(remote, token.ips)) throw fail('token_address', { address: remote })
  const scope = scopeOf(route)
  if (scope === undefined) throw fail('token_barred')
  if (!token.scopes.includes(scope)) throw fail('token_scope', { scope, scopes: token.scopes.join(', ') })
  const { clock, storage } = parts
  if (Math.abs(clock.now() - (token.lastUsedAt ?? 0)) >= touchMs) await storage.adminTokens.touch(token.id)
  return { user: userOfToken(token), token, hash }
}

/** A user with only the token's role: without keys, requests or a password. */
function userOfToken(token: AdminToken): User {
  return {
    name: actorOfToken(token),
    group: 'default',
    role: token.role,
    status: 'active',
    hasPassword: false,
    createdAt: token.createdAt,
    keysMax: null,
    keyBounds: {},
    budget: null,
    budgetPeriod: 'total',
    budgetSoft: false,
    balance: null,
  }
}

/**
 * A token without all scopes could get the others through a user that it creates or takes over. So it may only manage
 * users with the role `user`. @throws Failure token_roles
 */
export function needRightsOver({ sessionUser }: AdminRequest, ...roles: readonly (Role | undefined)[]): void {
  if (!sessionUser || !('token' in sessionUser)) return
  const { scopes } = sessionUser.token
  if (adminScopes.every(scope => scopes.includes(scope))) return
  if (roles.some(role => role !== undefined && role !== 'user')) throw fail('token_roles')
}
