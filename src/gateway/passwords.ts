import { argon2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { type Random, systemRandom } from '../util/random.ts'

const derive = promisify(argon2)
/** OWASP's second choice of argon2id parameters: 19 MiB, two passes, one lane; about 24 ms. */
const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const

/** Hashes a password with argon2id; the result contains algorithm, salt and tag. */
export async function hashPassword(password: string, random: Random = systemRandom): Promise<string> {
  const nonce = random.bytes(16)
  const tag = await derive('argon2id', { ...cost, message: password, nonce })
  return `argon2id$${nonce.toString('base64url')}$${tag.toString('base64url')}`
}

/** Whether a password matches a hash; false for a hash of another form. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [algorithm, nonce, tag] = hash.split('$')
  if (algorithm !== 'argon2id' || !nonce || !tag) return false
  const expected = Buffer.from(tag, 'base64url')
  const found = await derive('argon2id', { ...cost, message: password, nonce: Buffer.from(nonce, 'base64url') })
  return expected.length === found.length && timingSafeEqual(expected, found)
}
