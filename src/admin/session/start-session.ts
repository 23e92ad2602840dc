import type { User } from '../../domain/index.ts'
import { userView } from '../../domain/shapes/user.ts'
import type { AdminRequest } from '../api.ts'
import { dutiesOf } from '../duties.ts'
import { fail } from '../errors.ts'
import { readCookie, writeCookie } from './cookie.ts'
import { beginSession, endSession, findSessionUser } from './sessions.ts'

/** The user of a session, and the gateway. */
export function describeSession({ parts, scheme, host }: AdminRequest, user: User) {
  const { currency, revision } = parts.plan()
  return {
    user: userView.show(user),
    may: dutiesOf(user),
    gateway: {
      base_url: `${scheme}://${host}`,
      currency,
      version: parts.facts.version,
      revision,
      simulated: parts.facts.simulated(),
      public_pricing: true,
    },
  }
}

/**
 * Signs a person in with a new session, whether or not the browser has another one. `issuer` is the one that verified
 * the person, and `passwordHash` the hash of a password that was checked.
 * @returns the session for the response, and its `Set-Cookie`
 * @throws Failure not_logged_in or wrong_password if the user was disabled or has another password by now
 */
export async function enter(
  request: AdminRequest,
  name: string,
  { issuer, passwordHash }: { readonly issuer?: string; readonly passwordHash?: string } = {},
) {
  const { parts, headers, scheme, remote } = request
  const user = await parts.storage.users.find(name)
  if (user?.status !== 'active') throw fail('not_logged_in')
  const before = await findSessionUser(parts, readCookie(headers['cookie'] as string | undefined, scheme))
  if (before) await endSession(parts, before.session)
  const token = await beginSession(request, name, passwordHash)
  if (token === undefined) throw fail(passwordHash === undefined ? 'not_logged_in' : 'wrong_password')
  await parts.storage.trail.note({
    actor: name,
    action: 'session.begin',
    subject: name,
    before: null,
    after: { remote, ...(issuer !== undefined && { issuer }) },
    reason: null,
  })
  return { session: describeSession(request, user), cookie: writeCookie(token, scheme) }
}
