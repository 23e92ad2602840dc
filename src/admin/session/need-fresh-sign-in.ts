import type { AdminRequest } from '../api.ts'
import { fail } from '../errors.ts'
import { sessionUserOf } from '../session-user.ts'

/** Who has signed in no longer ago need not give a password again. */
const freshMs = 600_000

/**
 * A session that was left open, or stolen, is not enough for what cannot be taken back: the password is, or a session no
 * older than 10 minutes. @throws Failure sign_in_again, slow_down
 */
export async function needFreshSignIn(request: AdminRequest, guess: string | undefined): Promise<void> {
  const { parts, door, remote } = request
  const found = sessionUserOf(request)
  // A program sends its token with every request: there is no session that a person could leave open.
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
