import { hash } from 'node:crypto'
import { setupOfferMs, type Storage, type WaysIn, waysIn } from '../domain/index.ts'
import { type Clock, type Random, systemClock, systemRandom } from '../util/index.ts'

/**
 * Offers to create the first administrator, if there is none: there is no default password. `ways` are the sign-in
 * methods of the configuration (`waysIn(plan)`): an administrator who can use none of them does not count.
 * @returns the token for `/console/setup#…`, valid once and for 24 hours; undefined if there is an administrator
 */
export async function offerSetup(
  storage: Storage,
  clock: Clock = systemClock,
  random: Random = systemRandom,
  ways: WaysIn = waysIn({}),
): Promise<string | undefined> {
  if (await storage.users.hasAdmin(ways)) return undefined
  const token = random.bytes(32).toString('base64url')
  await storage.users.offerSetup(hash('sha256', token, 'hex'), clock.now() + setupOfferMs)
  return token
}
