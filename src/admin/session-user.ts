import type { AdminRequest, SessionUser, TokenUser } from './api.ts'
import { may } from './duties.ts'
import { fail } from './errors.ts'

/** The person or the admin token, at a route that requires one. @throws Failure not_logged_in */
export function sessionUserOf({ sessionUser }: AdminRequest): SessionUser | TokenUser {
  if (!sessionUser) throw fail('not_logged_in')
  return sessionUser
}

/** The person, at a route that no admin token may use. @throws Failure not_logged_in, token_barred */
export function personOf(request: AdminRequest): SessionUser {
  const found = sessionUserOf(request)
  if ('token' in found) throw fail('token_barred')
  return found
}

/** The user whose rows are visible; undefined if those of all users are. */
export function ownerOf(request: AdminRequest): string | undefined {
  const { user } = sessionUserOf(request)
  return may(user, 'readers') ? undefined : user.name
}
