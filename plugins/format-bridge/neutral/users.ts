import { createHash } from 'node:crypto'

/** The id of an end user for a vendor: a hash if it is longer than the vendor accepts, because it would refuse it. */
export function userWithin(user: string, charsMax: number): string {
  return user.length > charsMax ? hashedUser(user) : user
}

export function hashedUser(user: string): string {
  return createHash('sha256').update(user).digest('hex')
}
