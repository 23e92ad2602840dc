import type { Issuer } from '../../domain/index.ts'
import type { AdminRequest } from '../api.ts'
import { readCookie, writeCookie } from '../session/cookie.ts'
import type { Claims } from './claims.ts'

// Only the browser stores the issuer of a session, in a cookie that pages cannot read. It determines the address after
// signing out. A person who changes it is only sent to another issuer of the configuration.

const hintCharsMax = 200

/** The cookie with the issuer of the session, or one that removes an earlier one; empty if neither is needed. */
export function cookieOfIssuer(request: AdminRequest, issuer?: Issuer, claims: Claims = {}): readonly string[] {
  if (issuer?.signOut === 'issuer') {
    const hint = Buffer.from(hintOf(claims)).toString('base64url')
    return [writeCookie(`${issuer.name}.${hint}`, request.scheme, 'issuer')]
  }
  return readIssuer(request) === undefined ? [] : [writeCookie(null, request.scheme, 'issuer')]
}

/**
 * The address that also ends the session at the issuer, for a person who has signed out here. @returns undefined for a
 * session with a password, if the configuration turns this off, and if the issuer has no such address or does not
 * answer: the session here has ended in any case.
 */
export async function signOutAt(request: AdminRequest): Promise<string | undefined> {
  const { signIn, server } = request.parts.plan()
  const [name = '', hint = ''] = readIssuer(request)?.split('.', 2) ?? []
  const issuer = signIn?.issuers.get(name)
  if (issuer?.signOut !== 'issuer' || server.publicUrl === undefined) return undefined
  const back = { redirect: `${server.publicUrl}/console`, hint: Buffer.from(hint, 'base64url').toString() }
  return request.door.issuers.signOut(issuer, back, request.id)
}

function readIssuer({ headers, scheme }: AdminRequest): string | undefined {
  return readCookie(headers['cookie'] as string | undefined, scheme, 'issuer')
}

/** Identifies the user at the issuer, so that it does not show a choice of accounts. */
function hintOf(claims: Claims): string {
  const names = [claims['login_hint'], claims['preferred_username'], claims['email']]
  return names.find((name): name is string => typeof name === 'string' && name.length <= hintCharsMax) ?? ''
}
