import type { Test } from 'tap'
import type { Clock } from '../../src/util/index.ts'
import { clockAt, type Harness, holdOf, line, newKey, openHarness } from './storage.ts'

const now = 1_800_000_000_000
const day = 24 * 3_600_000

/** Tests of charges under review, for every driver. */
export async function reviewsContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test, clock?: Clock) {
    const { harness, storage } = await openHarness(t, make, clock)
    const made = newKey({ budget: 100_000 })
    const key = await storage.keys.create(made)
    const { ledger, books } = storage
    /** Opens a charge and puts it under review. */
    const review = async (hold: 'kept' | 'released') => {
      const request = holdOf(key, 40_000)
      await ledger.hold(request)
      t.equal(await ledger.review(request.facts.id, 'answer_unknown', { hold }), true)
      return request.facts.id
    }
    const problems = async () => (await books.verify()).problems
    return { harness, ledger, books, key, review, problems, readKey: async () => storage.keys.findByHash(made.hash) }
  }

  await t.test('[6.2] a review with a kept hold keeps its money until a person voids or settles it', async t => {
    const { ledger, books, key, review, problems, readKey } = await start(t)
    for (const how of ['void', 'settle'] as const) {
      const id = await review('kept')
      t.match(await ledger.find(id), { state: 'needs_review', reason: 'answer_unknown', hold: 40_000, amount: 0 })
      t.match(await readKey(), { held: 40_000, spent: 0 })
      t.same(await problems(), [])
      t.match(await ledger.hold(holdOf(key, 60_001)), { kind: 'overdrawn', availableMicros: 60_000 })
      t.equal(await ledger.void(id, 'again'), false)
      t.equal(await ledger.line(id, line(0)), false)
      t.equal(await books.resolve(id, how, 'ada', 'asked the upstream'), true)
      t.match(await readKey(), { held: 0, spent: 0 })
      t.same(await problems(), [])
    }
  })

  await t.test('[6.2] a review that releases its hold does so at once', async t => {
    const { review, readKey, problems, books } = await start(t)
    const id = await review('released')
    t.match(await readKey(), { held: 0, spent: 0 })
    t.equal(await books.resolve(id, 'void', 'ada', 'x'), true)
    t.match(await readKey(), { held: 0, spent: 0 })
    t.same(await problems(), [])
  })

  await t.test('[6.2] adds up charges in review and their holds', async t => {
    const { review, books } = await start(t)
    await review('kept')
    await review('released')
    t.same(await books.open(), [{ state: 'needs_review', currency: 'USD', count: 2, hold: 40_000 }])
  })

  await t.test(
    '[6.2] a review never ends by itself, whatever the clock does and however often the gateway starts',
    async t => {
      const harness = await make()
      const clock = clockAt(now)
      const first = await harness.open('gateway', clock)
      const key = await first.keys.create(newKey({ budget: 100_000 }))
      const [kept, released] = [holdOf(key, 40_000), holdOf(key, 40_000)]
      await first.ledger.hold(kept)
      await first.ledger.hold(released)
      await first.ledger.review(kept.facts.id, 'answer_unknown', { hold: 'kept' })
      await first.ledger.review(released.facts.id, 'timeout')
      await first.close()
      for (const jump of [400 * day, -400 * day, 0]) {
        const storage = await harness.open('gateway', clockAt(now + jump))
        for (const { facts } of [kept, released])
          t.match(await storage.ledger.find(facts.id), { state: 'needs_review' }, `after ${jump / day} days`)
        t.match(await storage.keys.list({ limit: 1_000 }), [{ held: 40_000, spent: 0 }])
        t.same((await storage.books.verify()).problems, [])
        await storage.close()
      }
      await harness.close()
    },
  )

  await t.test('[6.2] reviews older than the given time are voided, and their holds released', async t => {
    const clock = clockAt(now)
    const { ledger, books, review, readKey, problems } = await start(t, clock)
    const old = [await review('kept'), await review('released')]
    clock.set(now + day)
    const young = await review('kept')
    t.equal(await books.lapse(now), 2)
    t.equal(await books.lapse(now), 0)
    for (const id of old) t.match(await ledger.find(id), { state: 'voided', reason: /^answer_unknown, nobody decided/ })
    t.match(await ledger.find(young), { state: 'needs_review' })
    t.match(await readKey(), { held: 40_000, spent: 0 })
    t.same(await problems(), [])
  })

  await t.test('[6.2] [6.7] a review begun by a clock far ahead begins its wait when the clock is right', async t => {
    const clock = clockAt(now + 400 * day)
    const { ledger, books, review } = await start(t, clock)
    const id = await review('kept')
    clock.set(now)
    t.equal(await books.lapse(now - day), 0)
    clock.set(now + day)
    t.equal(await books.lapse(now), 1)
    t.match(await ledger.find(id), { state: 'voided' })
  })

  await t.test('[6.2] a person settles at an amount up to the hold, with an item that names them', async t => {
    const { harness, ledger, books, review, problems, readKey } = await start(t)
    for (const hold of ['kept', 'released'] as const) {
      const id = await review(hold)
      t.equal(await books.resolve(id, 'settle', 'ada', 'x', 40_001), false)
      t.match(await ledger.find(id), { state: 'needs_review', amount: 0, lines: [] })
      t.equal(await books.resolve(id, 'settle', 'ada', 'one picture', 30_000), true)
      t.equal(await books.resolve(id, 'settle', 'ada', 'again', 30_000), false)
      t.match(await ledger.find(id), {
        state: 'settled',
        amount: 30_000,
        reason: 'one picture',
        lines: [{ index: 0, tier: 'decided', price: 30_000, flags: ['decided'] }],
      })
    }
    t.match(await readKey(), { held: 0, spent: 60_000 })
    t.same(await problems(), [])
    await harness.tamper(`UPDATE entry SET actor = 'gateway'`)
    t.match((await problems()).join('\n'), /has a price that a person decided, and no person settled it/)
  })

  await t.test('[6.2] verification finds a hold that was kept or released by hand', async t => {
    const { harness, review, problems } = await start(t)
    await review('kept')
    await harness.tamper('UPDATE charge SET kept = 0')
    t.match(await problems(), [/holds 40000, its open charges say 0/])
    await harness.tamper('UPDATE charge SET kept = 1; UPDATE key SET held = 0')
    t.match(await problems(), [/holds 0, its open charges say 40000/])
  })

  await t.test('[6.2] the idempotency key stays taken as long as the review, and at least 24 hours', async t => {
    const clock = clockAt(now)
    const { ledger, books, key } = await start(t, clock)
    const idempotency = { key: 'once', fingerprint: 'abc' }
    const first = { ...holdOf(key, 40_000), idempotency }
    await ledger.hold(first)
    await ledger.review(first.facts.id, 'answer_unknown', { hold: 'kept' })
    const again = async () => ledger.hold({ ...holdOf(key, 40_000), idempotency })
    clock.set(now + 30 * day)
    t.same(await again(), { kind: 'ended', chargeId: first.facts.id, answer: null })
    await books.resolve(first.facts.id, 'void', 'ada', 'x')
    t.same(await again(), { kind: 'held' })
  })
}
