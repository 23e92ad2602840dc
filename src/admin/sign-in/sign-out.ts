import type { Issuer } from '../../domain/index.ts'
import type { AdminRequest } from '../api.ts'
import { readCookie, writeCookie } from '../session/cookie.ts'
import type { Claims } from './claims.ts'

// Whose word a session began by is kept by the browser alone, in a cookie that pages cannot read: it says where signing out
// leads, and a person who changes it sends only themselves to another issuer of the configuration.

const hintCharsMax = 200

/** The cookie with the issuer of the session, or one that removes that of a session before; none where neither is needed. */
export function cookieOfIssuer(request: AdminRequest, issuer?: Issuer, claims: Claims = {}): readonly string[] {
  if (issuer?.signOut === 'issuer') {
    const hint = Buffer.from(hintOf(claims)).toString('base64url')
    return [writeCookie(`${issuer.name}.${hint}`, request.scheme, 'issuer')]
  }
  return readIssuer(request) === undefined ? [] : [writeCookie(null, request.scheme, 'issuer')]
}

/**
 * The address at which a person who has signed out here signs out at the issuer too. @returns undefined for a session by a password, where the
 * configuration keeps it here, and where the issuer has no such address or does not answer: the session here has ended anyway.
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

/** What identifies the user at the issuer, so that it does not ask for the account. */
function hintOf(claims: Claims): string {
  const names = [claims['login_hint'], claims['preferred_username'], claims['email']]
  return names.find((name): name is string => typeof name === 'string' && name.length <= hintCharsMax) ?? ''
}
