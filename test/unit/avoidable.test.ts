import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { imageTierBilling } from '../../plugins/image-tier-billing/plugin.ts'
import {
  type Key,
  type ChargeItem,
  quarterMs,
  type RatedImages,
  type Storage,
  type TierRule,
} from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { rollUpCosts } from '../../src/storage/costs/roll-up.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { clockAt, facts, line, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { startPostgres } from '../harness/postgres.ts'

const from = Date.UTC(2026, 10, 1)
const spanMs = 3 * 86_400_000
const edges: readonly (readonly [tier: string, most: number | null])[] = [
  ['1K', 1024],
  ['2K', 2048],
  ['4K', null],
]

function ruleOf(prices: readonly number[], changes: Partial<TierRule> = {}): TierRule {
  const tiers = edges.map(([tier, longEdgeMax], i) => ({ tier, longEdgeMax, price: prices[i] ?? 0, at: `a.yaml:${i}` }))
  return { kind: 'tiers', tiers, tierFrom: ['request'], otherwise: '2K', requestedTier: null, warnings: [], ...changes }
}

/** The tier of a pixel size, computed by the test itself. */
const tierOf = (edge: number): number => edges.findIndex(([, most]) => most === null || edge <= most)
const sizes = ['512x512', '1024x768', '1536x1024', '2048x1152', '3840x2160', null] as const
const edgeOf = (size: string | null): number => (size === null ? 0 : Math.max(...size.split('x').map(Number)))

type Sold = { readonly at: number; readonly user: string; readonly saved: number; isRefunded: boolean }

/**
 * Sells images with a requested size and images whose price follows their output; refunds some and never charges
 * others.
 */
async function sell(storage: Storage, clock: ReturnType<typeof clockAt>, count: number): Promise<readonly Sold[]> {
  let state = 9
  const draw = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * n)
  }
  await storage.users.create({ name: 'ada', group: 'default', role: 'user', passwordHash: null })
  const keys: Key[] = [await storage.keys.create(newKey()), await storage.keys.create(newKey({ user: 'ada' }))]
  const sold: Sold[] = []
  for (let i = 0; i < count; i++) {
    clock.set(clock.now() + draw((2 * spanMs) / count))
    const at = clock.now()
    const key = keys[draw(2)] as Key
    const id = firstIdAt('req_', at) + String(i).padStart(10, '0')
    const prices = [draw(20_000), 20_000 + draw(20_000), 40_000 + draw(40_000)]
    const size = sizes[draw(sizes.length)] ?? null
    const requested = size === null ? undefined : tierOf(edgeOf(size))
    const isByOutput = draw(4) === 0
    // The family's size is known in advance, or only from the answer.
    const most = draw(3)
    const isTold = !isByOutput && requested !== undefined && draw(2) === 0 && requested > most
    const inWords = isTold && draw(2) === 0
    const made = edges[most]?.[0] ?? ''
    const rule = ruleOf(prices, {
      requestedTier: requested === undefined ? null : (edges[requested]?.[0] ?? null),
      ...(isByOutput && { tierFrom: ['output'] }),
      ...(isTold && !inWords && { cheaper: { tier: made, size: '640x480' } }),
      ...(inWords && {
        warnings: [
          `size ${size} is billed 4K by the requested size, but ${made} is made; size 640x480 is billed ${made}`,
        ],
      }),
    })
    const lines: ChargeItem[] = []
    let saved = 0
    for (let n = 1 + draw(3), index = 0; index < n; index++) {
      const come = sizes[draw(sizes.length)] ?? null
      const [width = null, height = null] = come === null ? [] : come.split('x').map(Number)
      const tierCome = come === null ? undefined : tierOf(edgeOf(come))
      const tier = isByOutput ? (tierCome ?? 1) : (requested ?? 1)
      const source = isByOutput
        ? come === null
          ? 'default'
          : 'output'
        : requested === undefined
          ? 'default'
          : 'request'
      const price = prices[tier] ?? 0
      lines.push(line(index, { tier: edges[tier]?.[0] ?? '', source, width, height, price }))
      const other = isByOutput ? undefined : isTold ? most : tierCome
      saved += other === undefined ? 0 : Math.max(0, price - (prices[other] ?? 0))
    }
    const own = facts(key, { id, user: key.user, size, rule, model: `m${draw(2)}` })
    await storage.ledger.hold({ facts: own, hold: 400_000, idempotency: null })
    for (const each of lines) await storage.ledger.line(id, each)
    if (draw(12) === 0) {
      await storage.ledger.review(id, 'x', { hold: 'released' })
      continue
    }
    await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
    const isRefunded = draw(97) % 9 === 4 && lines.some(({ price }) => price > 0)
    if (isRefunded) await storage.books.refund(id, 'ada', 'x')
    sold.push({ at, user: key.user, saved, isRefunded })
  }
  await storage.flush()
  return sold
}

const savedOf = (rows: readonly RatedImages[]): number =>
  rows.reduce(
    (sum, { rule, line, images }) => sum + images * (imageTierBilling.avoidable?.(rule, line)?.amount ?? 0),
    0,
  )

async function compare(t: Test, storage: Storage, sold: readonly Sold[]): Promise<void> {
  for (const [since, until] of [
    [from, from + 2 * spanMs],
    [from + 45 * quarterMs, from + 101 * quarterMs],
    [from + spanMs, from + spanMs],
  ] as const)
    for (const where of [{}, { user: 'ada' }]) {
      const rated = await storage.journal.rated({ since, until, where })
      const own = sold.filter(one => one.at >= since && one.at < until && !one.isRefunded)
      const wanted = own.filter(one => where.user === undefined || one.user === where.user)
      const expected = wanted.reduce((sum, { saved }) => sum + saved, 0)
      t.equal(savedOf(rated), expected, caseName({ since, until, where }))
    }
}

t.test('possible savings equal the charges, to the micro-unit', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-avoidable-'))
  const path = join(folder, 'tollgate.db')
  const clock = clockAt(from)
  const storage = await openDatabase({ url: `sqlite:${path}`, clock })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const sold = await sell(storage, clock, 500)
  t.ok(sold.filter(({ saved }) => saved > 0).length > 100, 'there is something to save')
  t.ok(
    sold.some(({ isRefunded, saved }) => isRefunded && saved > 0),
    'some was given back',
  )
  await compare(t, storage, sold)
  connection.transact(() => connection.run(rollUpCosts()))
  await compare(t, storage, sold)
  while (connection.transact(() => connection.run(rollUpCosts())) > 0);
  await compare(t, storage, sold)
})

t.test('the same on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const clock = clockAt(from)
  const storage = await openDatabase({ url: await postgres.createDatabase(), clock })
  t.teardown(() => storage.close())
  await compare(t, storage, await sell(storage, clock, 150))
})
