import type { Test } from 'tap'
import type { Storage } from '../../src/domain/index.ts'
import type { Clock } from '../../src/util/index.ts'
import { clockAt, type Harness, holdOf, line, newKey } from './storage.ts'

/** In the middle of a day and of a month. */
const now = Date.UTC(2027, 4, 15, 12)
const hour = 3_600_000
const day = 24 * hour
const far = 400 * day
/** Clock jumps forward and back, in both orders, and overlapping. */
const journeys = [[far], [-far], [far, -far], [-far, far], [far, 2 * far, -far, 3 * far]]

/**
 * Tests for every driver that a clock jump breaks nothing: once the clock is right again, the state is as without the
 * jump.
 */
export async function clocksContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test, clock: Clock) {
    const harness = await make()
    const storage = await harness.open('gateway', clock)
    t.teardown(async () => {
      await storage.close()
      await harness.close()
    })
    return { harness, storage, ...storage }
  }

  async function buy({ ledger }: Pick<Storage, 'ledger'>, key: Parameters<typeof holdOf>[0], price: number) {
    const request = holdOf(key, price)
    const { kind } = await ledger.hold(request)
    if (kind !== 'held') return undefined
    await ledger.line(request.facts.id, line(0, { price }))
    await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    return request.facts.id
  }

  for (const period of ['day', 'month', 'week', '30d'] as const) {
    for (const journey of journeys) {
      const name = journey.map(ms => ms / day).join(', ')
      await t.test(`[6.7] a budget for a ${period} is exact after a clock jump of ${name} days`, async t => {
        const clock = clockAt(now)
        const { storage, ledger, books, keys } = await start(t, clock)
        const key = await keys.create(newKey({ budget: 100_000, budgetPeriod: period }))
        t.ok(await buy(storage, key, 60_000))
        for (const jump of journey) {
          clock.set(now + jump)
          t.ok(await buy(storage, key, 90_000), 'by its own time this is another day')
        }
        clock.set(now + 1)
        t.match(await ledger.hold(holdOf(key, 40_001)), { kind: 'overdrawn', availableMicros: 40_000 })
        t.ok(await buy(storage, key, 40_000), 'the rest of the right day is available')
        t.match(await ledger.hold(holdOf(key, 1)), { kind: 'overdrawn', availableMicros: 0 })
        clock.set(now + (period === 'day' ? day : 31 * day))
        t.ok(await buy(storage, key, 100_000), 'the next one is whole')
        t.same((await books.verify()).problems, [])
      })
    }
  }

  await t.test(
    '[6.7] a refund returns to the day and month of its charge, also when the clock was ahead in them',
    async t => {
      const clock = clockAt(now)
      const { storage, ledger, books, keys } = await start(t, clock)
      const key = await keys.create(newKey({ budget: 100_000, budgetPeriod: 'day' }))
      for (const ahead of [2 * day, far]) {
        clock.set(now + ahead)
        const id = await buy(storage, key, 60_000)
        t.ok(id)
        clock.set(now)
        t.equal(await books.refund(id ?? '', 'ada', 'test'), 60_000)
        clock.set(now + ahead)
        t.ok(await buy(storage, key, 10_000))
        t.match(await ledger.hold(holdOf(key, 90_001)), { kind: 'overdrawn', availableMicros: 90_000 }, `${ahead}`)
        const [sums] = await books.levels([{ kind: 'user', name: 'local' }], ['day', 'month'])
        t.match(sums?.spent, { day: 10_000, month: 10_000 }, `${ahead}: the user's`)
        t.same((await books.verify()).problems, [], `${ahead}`)
      }
    },
  )

  await t.test('[6.7] a clock jump during a request moves no money to the wrong day', async t => {
    const clock = clockAt(now)
    const { ledger, books, keys } = await start(t, clock)
    const made = newKey({ budget: 100_000, budgetPeriod: 'day' })
    const key = await keys.create(made)
    for (const jump of [far, -far]) {
      clock.set(now)
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      clock.set(now + jump)
      await ledger.line(request.facts.id, line(0))
      t.equal(await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null }), true)
      t.match(await keys.findByHash(made.hash), { held: 0 })
    }
    clock.set(now)
    t.match(await keys.findByHash(made.hash), { spent: 80_000, held: 0 })
    t.match(await ledger.hold(holdOf(key, 100_000)), { kind: 'held' })
    t.same((await books.verify()).problems, [])
  })

  await t.test('[6.7] charges of one group are booked on their own days when the clock jumps between them', async t => {
    const clock = clockAt(now)
    const { storage, ledger, books, keys } = await start(t, clock)
    const key = await keys.create(newKey({ budget: 100_000, budgetPeriod: 'day' }))
    for (const at of [now, now + far, now, now - far]) {
      clock.set(at)
      ledger.post(holdOf(key, 0).facts, [line(0, { price: 30_000 })], 'confirmed')
    }
    await storage.flush()
    clock.set(now)
    t.match(await ledger.hold(holdOf(key, 40_001)), { kind: 'overdrawn', availableMicros: 40_000 })
    t.same((await books.verify()).problems, [])
  })

  await t.test('[6.7] a refund after a clock jump goes back to the day of the spending', async t => {
    const clock = clockAt(now)
    const { storage, ledger, books, keys } = await start(t, clock)
    const key = await keys.create(newKey({ budget: 100_000, budgetPeriod: 'day' }))
    const id = await buy(storage, key, 60_000)
    clock.set(now + far)
    await buy(storage, key, 10_000)
    t.equal(await books.refund(id ?? '', 'ada', 'x'), 60_000)
    clock.set(now)
    t.match(await ledger.hold(holdOf(key, 100_000)), { kind: 'held' })
    t.same((await books.verify()).problems, [])
  })

  await t.test('two clocks that differ around midnight never open a budget twice', async t => {
    const midnight = Date.UTC(2027, 4, 16)
    const clock = clockAt(midnight + 1_000)
    const { storage, ledger, keys } = await start(t, clock)
    const key = await keys.create(newKey({ budget: 100_000, budgetPeriod: 'day' }))
    await buy(storage, key, 60_000)
    clock.set(midnight - 1_000)
    t.match(await ledger.hold(holdOf(key, 40_001)), { kind: 'overdrawn', availableMicros: 40_000 })
    await buy(storage, key, 40_000)
    clock.set(midnight + 2_000)
    t.match(await ledger.hold(holdOf(key, 1)), { kind: 'overdrawn', availableMicros: 0 })
  })

  await t.test('a clock before midnight reports the right end of the next day', async t => {
    const midnight = Date.UTC(2027, 4, 16)
    const clock = clockAt(midnight + 1_000)
    const { storage, ledger, keys } = await start(t, clock)
    const key = await keys.create(newKey({ budget: 100_000, budgetPeriod: 'day' }))
    await buy(storage, key, 60_000)
    clock.set(midnight - 1_000)
    await buy(storage, key, 40_000)
    t.match(await ledger.hold(holdOf(key, 1)), { kind: 'overdrawn' })
    const { events } = await storage.events.page({
      after: null,
      limit: 100,
      kinds: ['budget.threshold', 'budget.exhausted'],
    })
    const renews = new Date(midnight + 86_400_000).toISOString()
    t.match(
      events.map(({ data }) => data['renews']),
      [renews, renews, renews],
    )
  })

  await t.test('[6.7] an idempotency key from a clock ahead is free 24 hours after its next use', async t => {
    const clock = clockAt(now + far)
    const { storage, ledger, keys } = await start(t, clock)
    const key = await keys.create(newKey())
    const idempotency = { key: 'once', fingerprint: 'abc' }
    const first = { ...holdOf(key, 1), idempotency }
    await ledger.hold(first)
    await ledger.line(first.facts.id, line(0, { price: 1 }))
    await ledger.settle({ id: first.facts.id, delivery: 'confirmed', reason: null })
    const again = async () => (await ledger.hold({ ...holdOf(key, 1), idempotency })).kind
    clock.set(now)
    t.equal(await again(), 'ended')
    clock.set(now + day - 1)
    t.equal(await again(), 'ended')
    clock.set(now + day)
    t.equal(await again(), 'held')
    t.same((await storage.books.verify()).problems, [])
  })

  await t.test('[6.7] a session from a clock ahead ends with it', async t => {
    const clock = clockAt(now + far)
    const { sessions } = await start(t, clock)
    const facts = { user: 'local', createdAt: now + far, seenAt: now + far, agent: '', remote: '127.0.0.1' }
    await sessions.create({ hash: 'of a clock ahead', ...facts, expiresAt: now + far + 12 * hour })
    t.ok(await sessions.find('of a clock ahead'))
    clock.set(now)
    t.equal(await sessions.find('of a clock ahead'), undefined)
    t.same(await sessions.list('local'), [])
    await sessions.create({ hash: 'right', ...facts, createdAt: now, seenAt: now, expiresAt: now + 12 * hour })
    clock.set(now - far)
    t.equal(await sessions.find('right'), undefined, 'a signed-in user signs in again while the clock is behind')
    clock.set(now)
    t.ok(await sessions.find('right'))
  })

  await t.test('[6.7] a setup link from a clock ahead is valid for no longer than others', async t => {
    const clock = clockAt(now + far)
    const { users } = await start(t, clock)
    await users.offerSetup('a token', now + far + day)
    clock.set(now)
    const claim = { tokenHash: 'a token', name: 'ada', group: 'default', passwordHash: 'x' }
    t.equal(await users.claimSetup(claim), 'unknown')
    await users.offerSetup('another', now + day)
    t.equal(await users.claimSetup({ ...claim, tokenHash: 'another' }), 'claimed')
  })
}
