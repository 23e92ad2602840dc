import type { AdminParts } from '../parts.ts'
import { HashQueue } from './hash-queue.ts'
import { LoginGuard } from './login-guard.ts'

/** What stands before every password of one gateway. */
export type Door = {
  readonly guard: LoginGuard
  readonly hashes: HashQueue
  /** The hash of a password that nobody has. */
  readonly decoy: () => Promise<string>
}

export function createDoor({
  clock,
  random,
  hashPassword,
  networkOf,
}: Pick<AdminParts, 'clock' | 'random' | 'hashPassword' | 'networkOf'>): Door {
  let hash: Promise<string> | undefined
  return {
    guard: new LoginGuard(clock, networkOf),
    hashes: new HashQueue(),
    decoy: () => (hash ??= hashPassword(random.bytes(16).toString('hex'))),
  }
}
