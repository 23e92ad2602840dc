import { hash } from 'node:crypto'
import { type Clock, type Random, setupOfferMs, type Storage, systemClock, systemRandom } from '../kit/index.ts'

/**
 * Offers to make the first administrator, while there is none: there is no password that everybody knows.
 * @returns the token for `/console/setup#…`, good once and for 24 hours; undefined when there is an administrator
 */
export async function offerSetup(
  storage: Storage,
  clock: Clock = systemClock,
  random: Random = systemRandom,
): Promise<string | undefined> {
  if (await storage.users.hasAdmin()) return undefined
  const token = random.bytes(32).toString('base64url')
  await storage.users.offerSetup(hash('sha256', token, 'hex'), clock.now() + setupOfferMs)
  return token
}
