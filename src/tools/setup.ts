import { hash } from 'node:crypto'
import { setupOfferMs, type Storage, type WaysIn, waysIn } from '../domain/index.ts'
import { type Clock, type Random, systemClock, systemRandom } from '../util/index.ts'

/**
 * Offers to make the first administrator, while there is none: there is no default password.
 * `ways` are those of the configuration (`waysIn(plan)`): an administrator without an open one does not count.
 * @returns the token for `/console/setup#…`, good once and for 24 hours; undefined when there is an administrator
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
