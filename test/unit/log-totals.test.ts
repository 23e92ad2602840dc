import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { firstIdAt, type Key, type LogMatch, type LogTotals } from '../../src/kit/index.ts'
import { sumMatching } from '../../src/storage/journal/totals.ts'
import { openStorage } from '../../src/storage/index.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { clockAt, facts, line, logRow, newKey, silentLog } from '../contract/storage.ts'
import { caseName } from '../harness/case-name.ts'

const from = Date.UTC(2026, 10, 1)
const count = 700

type Sold = {
  readonly at: number
  readonly user: string
  readonly model: string
  readonly status: number
  readonly amount: number | null
  readonly tiers: readonly string[]
  readonly isRefunded: boolean
}

t.test('totals of a filter are what its requests were charged, whoever keeps their charges', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-totals-'))
  const path = join(folder, 'tollgate.db')
  const clock = clockAt(from)
  const storage = await openStorage({ url: `sqlite:${path}`, clock, log: silentLog, role: 'gateway' })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let state = 5
  const draw = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * n)
  }
  await storage.users.create({ name: 'ada', group: 'default', role: 'user', passwordHash: null })
  const keys: Key[] = [await storage.keys.create(newKey()), await storage.keys.create(newKey({ user: 'ada' }))]
  const sold: Sold[] = []
  const givenBack: string[] = []
  for (let i = 0; i < count; i++) {
    clock.set(clock.now() + 60_000)
    const key = keys[draw(2)] as Key
    const id = firstIdAt('req_', clock.now()) + String(i).padStart(10, '0')
    const [user, model] = [key.user, `m${draw(3)}`]
    const own = facts(key, { id, user, model })
    const kind = ['refused', 'image', 'chat'][draw(3)] ?? ''
    const lines = Array.from({ length: 1 + draw(3) }, (_, at) =>
      kind === 'image'
        ? line(at, { tier: ['1K', '4K'][draw(2)] ?? '', price: 1 + draw(90_000) })
        : line(at, {
            tier: ['input', 'output', 'x'][at] ?? '',
            width: null,
            height: null,
            price: 1 + draw(900),
            quantity: 7,
          }),
    )
    if (kind === 'image') {
      await storage.ledger.hold({ facts: own, hold: 400_000, idempotency: null })
      for (const each of lines) await storage.ledger.line(id, each)
      await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
    }
    if (kind === 'chat') storage.ledger.post(own, lines, 'confirmed')
    const status = kind === 'refused' ? 429 : 200
    storage.journal.append(logRow({ id, time: clock.now(), keyId: key.id, user, model, status }))
    const isRefunded = kind !== 'refused' && draw(97) % 9 === 4
    if (isRefunded) givenBack.push(id)
    sold.push({
      at: clock.now(),
      user,
      model,
      status,
      amount: kind === 'refused' ? null : lines.reduce((sum, { price }) => sum + price, 0),
      tiers: kind === 'image' ? lines.map(({ tier }) => tier) : [],
      isRefunded,
    })
    if (draw(40) === 0) await storage.flush()
  }
  await storage.flush()
  for (const id of givenBack) await storage.books.refund(id, 'ada', 'x')
  t.ok(givenBack.length > 20, 'some was given back')

  const expect = (some: readonly Sold[]): Omit<LogTotals, 'since'> => {
    const charged = some.filter(({ amount }) => amount !== null)
    const sum = (of: readonly Sold[]): number => of.reduce((all, { amount }) => all + (amount ?? 0), 0)
    const refunded = sum(charged.filter(one => one.isRefunded))
    return {
      requests: some.length,
      errors: some.filter(({ status }) => status >= 400).length,
      charges: charged.length,
      images: some.reduce((all, { tiers }) => all + tiers.length, 0),
      sums: charged.length === 0 ? [] : [{ currency: 'USD', amount: sum(charged), refunded }],
    }
  }
  const filters: readonly (readonly [LogMatch, (one: Sold) => boolean])[] = [
    [{}, () => true],
    [{ user: 'ada' }, one => one.user === 'ada'],
    [{ user: 'ada', model: 'm1' }, one => one.user === 'ada' && one.model === 'm1'],
    [{ tier: '4K' }, one => one.tiers.includes('4K')],
    [{ status: '4xx' }, one => one.status >= 400],
    [{ charge: 'settled', model: 'm2' }, one => one.amount !== null && one.model === 'm2'],
    [
      { since: from + 3_600_000, until: from + 20_000_000 },
      one => one.at >= from + 3_600_000 && one.at < from + 20_000_000,
    ],
    [{ model: 'none' }, () => false],
  ]
  for (const [match, isMeant] of filters) {
    const wanted = { ...expect(sold.filter(isMeant)), since: null }
    t.same(await storage.journal.totals(match), wanted, caseName({ match }))
    const few = connection.snapshot(sumMatching(match, 10))
    const newest = sold.filter(isMeant).slice(-10)
    const isAll = sold.filter(isMeant).length <= 10
    t.same(few, { ...expect(newest), since: isAll ? null : newest[0]?.at }, caseName({ match, most: 10 }))
  }
})
