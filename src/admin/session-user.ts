import type { Ask, SessionUser, TokenUser } from './api.ts'
import { may } from './duties.ts'
import { fail } from './errors.ts'

/** The person or the admin token, at a route that no one else reaches. @throws Failure not_logged_in */
export function sessionUserOf({ sessionUser }: Ask): SessionUser | TokenUser {
  if (!sessionUser) throw fail('not_logged_in')
  return sessionUser
}

/** The person, at a route that no admin token may use. @throws Failure not_logged_in, token_barred */
export function personOf(ask: Ask): SessionUser {
  const found = sessionUserOf(ask)
  if ('token' in found) throw fail('token_barred')
  return found
}

/** Whose rows may be seen: of one user alone, or undefined for everybody's. */
export function ownerOf(ask: Ask): string | undefined {
  const { user } = sessionUserOf(ask)
  return may(user, 'readers') ? undefined : user.name
}
