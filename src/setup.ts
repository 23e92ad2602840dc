import { hash, randomBytes } from 'node:crypto'
import type { Storage } from './kit/index.ts'

const offerMs = 24 * 3_600_000

/**
 * Offers to make the first administrator, while there is none: there is no password that everybody knows.
 * @returns the token for `/console/setup#…`, good once and for 24 hours; undefined when there is an administrator
 */
export async function offerSetup(storage: Storage): Promise<string | undefined> {
  if (await storage.users.hasAdmin()) return undefined
  const token = randomBytes(32).toString('base64url')
  await storage.users.offerSetup(hash('sha256', token, 'hex'), Date.now() + offerMs)
  return token
}
