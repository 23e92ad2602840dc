import type { ChargeRule, Key, Storage } from '../src/domain/index.ts'
import { firstIdAt } from '../src/util/index.ts'
import { facts, line, newKey } from '../test/contract/storage.ts'

const [users, groups, models] = [50, 5, 12]
/** One in this many charges is of images, which has rows of its own. */
const imageEach = 100
const keysTogether = 250
const flushEach = 500

/** Charges over a period, each derived from its number. */
export type Charges = {
  readonly count: number
  readonly keys: readonly string[]
  readonly begun: number
  readonly until: number
  /** Every key requests as much as any other; otherwise some request far more. */
  readonly isEven: boolean
}

export const upstream = 'alpha'
export const currency = 'USD'
/** Tokens of each line of a text. */
export const tokensOf = (n: number): number => 100 + (n % 900)
export const textTiers = ['input', 'output'] as const
export const imageTier = '4K'
export const imagePrice = 60_000
export const imageSize = '3840x2160'
export const imageRule: ChargeRule = {
  kind: 'tiers',
  tiers: ['1K', '2K', '4K'].map((tier, i) => ({
    tier,
    longEdgeMax: [1024, 2048, null][i] ?? null,
    price: 20_000 * (i + 1),
    at: 'a.yaml:1',
  })),
  tierFrom: ['request'],
  otherwise: '2K',
  requestedTier: '4K',
  warnings: [],
}
/** One object: charges that share it share their terms in a segment, like those of one model. */
const usageRule: ChargeRule = { kind: 'usage', prices: [], multiplier: '1', warnings: [] }

export const counts = { users, groups, models } as const
export const timeOf = ({ count, begun, until }: Charges, n: number): number =>
  begun + Math.floor((n * (until - begun - 1)) / count)
export const keyOf = ({ keys, isEven }: Charges, n: number): number =>
  Math.floor(keys.length * ((n * 0.618_033_988_75) % 1) ** (isEven ? 1 : 3))
export const userOf = (key: number): number => key % users
export const groupOf = (user: number): number => user % groups
export const modelOf = (n: number): number => n % models
export const isImage = (n: number): boolean => n % imageEach === 0
/** Of each line of text. */
export const priceOf = (n: number): number => 10 + (n % 90)

export async function makeKeys(storage: Storage, count: number): Promise<readonly Key[]> {
  const keys: Key[] = []
  for (let n = 0; n < users; n++)
    await storage.users.create({ name: `user ${n}`, group: `group ${groupOf(n)}`, role: 'user', passwordHash: null })
  while (keys.length < count) {
    const from = keys.length
    const some = Array.from({ length: Math.min(keysTogether, count - from) }, async (_, i) =>
      storage.keys.create(newKey({ user: `user ${userOf(from + i)}` })),
    )
    keys.push(...(await Promise.all(some)))
  }
  return keys
}

/** Sells them through the storage's own API. `setNow`: each is settled at its own time. */
export async function sell(
  storage: Storage,
  charges: Charges,
  keys: readonly Key[],
  setNow: (now: number) => void,
): Promise<void> {
  for (let n = 0; n < charges.count; n++) {
    const now = timeOf(charges, n)
    setNow(now)
    const key = keys[keyOf(charges, n)] as Key
    const own = facts(key, {
      id: firstIdAt('req_', now) + n.toString(36).padStart(10, '0'),
      user: key.user,
      group: `group ${groupOf(Number(key.user.slice(5)))}`,
      model: `model ${modelOf(n)}`,
      operation: 'chat',
      size: null,
    })
    if (isImage(n)) await sellImage(storage, { ...own, operation: 'image.generate', size: imageSize })
    else
      storage.ledger.post(
        { ...own, rule: usageRule },
        textTiers.map((tier, i) =>
          line(i, { tier, width: null, height: null, price: priceOf(n), quantity: tokensOf(n) }),
        ),
        'confirmed',
      )
    if (n % flushEach === flushEach - 1) await storage.flush()
  }
  await storage.flush()
}

async function sellImage(storage: Storage, own: ReturnType<typeof facts>): Promise<void> {
  await storage.ledger.hold({ facts: { ...own, rule: imageRule }, hold: imagePrice, idempotency: null })
  await storage.ledger.line(own.id, line(0, { tier: imageTier, source: 'request', price: imagePrice }))
  await storage.ledger.settle({ id: own.id, delivery: 'confirmed', reason: null })
}
