import type { AdminRequest } from '../api.ts'
import { fail } from '../errors.ts'
import { sessionUserOf } from '../session-user.ts'

/** A user who has signed in within this time need not enter a password again. */
const freshMs = 600_000

/**
 * Requires the password, or a session no older than 10 minutes, for irreversible actions: a session that was left open,
 * or stolen, is not enough. @throws Failure sign_in_again, slow_down
 */
export async function needFreshSignIn(request: AdminRequest, guess: string | undefined): Promise<void> {
  const { parts, door, remote } = request
  const found = sessionUserOf(request)
  // A program sends its token with every request: there is no session that could be left open.
  if ('token' in found) return
  const { user, session } = found
  if (guess === undefined) {
    if (parts.clock.now() - session.createdAt <= freshMs) return
    throw fail('sign_in_again', {}, { param: 'password' })
  }
  const takeBack = door.guard.begin(user.name, remote)
  const known = await parts.storage.users.passwordHash(user.name)
  if (!(await door.hashes.run(() => parts.verifyPassword(guess, known ?? ''))))
    throw fail('sign_in_again', {}, { param: 'password' })
  takeBack()
}
