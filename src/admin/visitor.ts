import type { Ask, Visitor } from './api.ts'
import { fail } from './errors.ts'

/** Who asks, at a route that only those who are logged in reach. @throws Failure not_logged_in */
export function visitorOf({ visitor }: Ask): Visitor {
  if (!visitor) throw fail('not_logged_in')
  return visitor
}

/** Whose rows may be seen: of one user alone, or undefined for everybody's. */
export function ownerOf(ask: Ask): string | undefined {
  const { user } = visitorOf(ask)
  return user.role === 'admin' ? undefined : user.name
}
