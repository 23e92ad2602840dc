import type { AdminParts } from '../parts.ts'
import { WorkQueue } from '../work-queue.ts'
import { Issuers } from '../sign-in/issuers.ts'
import { LoginGuard } from './login-guard.ts'
import { NetworkRateLimit } from './network-rate-limit.ts'

/** The limits of a gateway for password checks and other sign-ins. */
export type LoginThrottle = {
  readonly guard: LoginGuard
  /** Each hash takes 19 MiB, and about 25 ms of a processor. */
  readonly hashes: WorkQueue
  /** The hash of a password that no user has. */
  readonly decoy: () => Promise<string>
  readonly issuers: Issuers
  /** For sign-ins at an issuer. */
  readonly departures: NetworkRateLimit
}

const attemptsAMinute = 20
const departuresAMinute = 60

export function createLoginThrottle({
  clock,
  random,
  hashPassword,
  networkOf,
  counters,
  log,
}: Pick<AdminParts, 'clock' | 'counters' | 'log' | 'random' | 'hashPassword' | 'networkOf'>): LoginThrottle {
  let hash: Promise<string> | undefined
  return {
    guard: new LoginGuard(
      clock,
      networkOf,
      new NetworkRateLimit(counters, networkOf, 'console attempts', attemptsAMinute),
    ),
    hashes: new WorkQueue(),
    issuers: new Issuers(clock, log),
    departures: new NetworkRateLimit(counters, networkOf, 'console departures', departuresAMinute),
    decoy: () => (hash ??= hashPassword(random.bytes(16).toString('hex'))),
  }
}
