import type { Ask, SessionUser } from './api.ts'
import { may } from './duties.ts'
import { fail } from './errors.ts'

/** The user, at a route that only signed-in users reach. @throws Failure not_logged_in */
export function sessionUserOf({ sessionUser }: Ask): SessionUser {
  if (!sessionUser) throw fail('not_logged_in')
  return sessionUser
}

/** Whose rows may be seen: of one user alone, or undefined for everybody's. */
export function ownerOf(ask: Ask): string | undefined {
  const { user } = sessionUserOf(ask)
  return may(user, 'readers') ? undefined : user.name
}
