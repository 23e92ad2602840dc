import type { AdminRequest } from '../api.ts'
import { fail } from '../errors.ts'
import { sessionUserOf } from '../session-user.ts'

/** The time after a sign-in in which a user need not enter the password again. */
const freshMs = 600_000

/**
 * Requires the password, or a session of at most 10 minutes, for irreversible actions, so that an unattended or stolen
 * session is not enough. @throws Failure sign_in_again, slow_down
 */
export async function needFreshSignIn(request: AdminRequest, guess: string | undefined): Promise<void> {
  const { parts } = request
  const found = sessionUserOf(request)
  // Programs send their token with every request, so there is no unattended session.
  if ('token' in found) return
  const { user, session } = found
  if (guess === undefined) {
    if (parts.clock.now() - session.createdAt <= freshMs) return
    throw fail('sign_in_again', {}, { param: 'password' })
  }
  if (!(await hasPassword(request, user.name, guess))) throw fail('sign_in_again', {}, { param: 'password' })
}

/** Whether a password is that of the user. @throws Failure slow_down, busy */
export async function hasPassword(
  { parts, door, remote }: AdminRequest,
  name: string,
  guess: string,
): Promise<boolean> {
  const right = await door.guard.attempt(name, remote, async () => {
    const known = await parts.storage.users.passwordHash(name)
    return (await door.hashes.run(() => parts.verifyPassword(guess, known ?? ''))) || undefined
  })
  return right ?? false
}
