import { LoginGuard } from '../../src/admin/session/login-guard.ts'
import { NetworkRateLimit } from '../../src/admin/session/network-rate-limit.ts'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { systemTimers } from '../../src/util/index.ts'

/** The guard of sign-ins, with a stopped clock. */
export function newGuard(networkOf: (address: string) => string): LoginGuard {
  const clock = { now: () => 0, tick: () => 0, ...systemTimers }
  return new LoginGuard(clock, networkOf, new NetworkRateLimit(new MemoryCounters(clock), networkOf, 'attempts', 20))
}
