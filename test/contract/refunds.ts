import type { Test } from 'tap'
import { differencesOf, type Key, type Storage } from '../../src/domain/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { diceOf, seed } from '../harness/seed.ts'
import { clockAt, facts, type Harness, holdOf, line, newKey, openHarness } from './storage.ts'

const day = 24 * 3_600_000
const bySize = (a: number, b: number): number => a - b
const from = Date.UTC(2027, 4, 20)
const ever = { since: Date.UTC(2027, 0), until: Date.UTC(2028, 0) }
const months = [4, 5, 6].map(month => ({ from: Date.UTC(2027, month), until: Date.UTC(2027, month + 1) }))

/** Tests of partial refunds of a charge, in rows and in segments, for every storage driver. */
export async function refundsContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test) {
    const clock = clockAt(from)
    const { harness, storage } = await openHarness(t, make, clock)
    const secret = newKey({ budget: null })
    const key = await storage.keys.create(secret)
    const spentOf = async () => (await storage.keys.findByHash(secret.hash))?.spent
    return { clock, harness, storage, key, spentOf, ...storage }
  }

  const images = [line(0, { price: 30 }), line(1, { price: 47, tier: '4K' }), line(2, { price: 23, source: 'request' })]
  const text = [
    line(0, { tier: 'input', width: null, height: null, price: 31, quantity: 12 }),
    line(1, { tier: 'output', width: null, height: null, price: 69, quantity: 34 }),
  ]

  /** A charge of 100. */
  async function sell(storage: Storage, key: Key, id: string, isText: boolean): Promise<string> {
    const { ledger } = storage
    const own = facts(key, { id })
    if (isText) ledger.post(own, text, 'confirmed')
    else {
      await ledger.hold({ ...holdOf(key, 100), facts: own })
      for (const one of images) await ledger.line(id, one)
      await ledger.settle({ id, delivery: 'confirmed', reason: null })
    }
    await storage.flush()
    return id
  }

  const next = (at: number, n: number): string => firstIdAt('req_', at) + String(n).padStart(10, '0')

  await t.test('a charge is refunded in parts, which never exceed it; a full refund takes the rest', async t => {
    const { clock, storage, key, ledger, books, spentOf } = await start(t)
    for (const [n, isText] of [false, true].entries()) {
      const id = await sell(storage, key, next(clock.now(), n), isText)
      const before = await ledger.find(id)
      const give = async (amount?: number, refunded?: number) =>
        books.refund(id, 'ada', `part ${amount}`, {
          ...(amount !== undefined && { amount }),
          ...(refunded !== undefined && { refunded }),
        })
      t.equal(await give(101), 0, caseName({ isText, why: 'more than it cost' }))
      t.equal(await give(0), 0, caseName({ isText, why: 'nothing' }))
      t.equal(await give(10), 10, caseName({ isText }))
      t.equal(await give(10), 10, caseName({ isText, why: 'the same again is another refund' }))
      t.equal(await give(10, 10), 0, caseName({ isText, why: 'unless it names what was refunded before' }))
      t.equal(await give(5, 20), 5, caseName({ isText }))
      t.equal(await give(76), 0, caseName({ isText, why: 'more than is left' }))
      t.same(await ledger.find(id), { ...before, refunded: 25 }, caseName({ isText }))
      t.equal(await spentOf(), 75, caseName({ isText }))
      t.equal(await give(), 75, caseName({ isText, why: 'the rest' }))
      t.equal(await give(), 0, caseName({ isText, why: 'the rest again' }))
      t.equal(await give(1), 0, caseName({ isText }))
      t.match(
        await books.refundsOf(id),
        [10, 10, 5, 75].map(amount => ({ amount, by: 'ada' })),
        caseName({ isText }),
      )
      t.equal(await spentOf(), 0, caseName({ isText }))
    }
    t.match(await books.verify(), { charges: 2, problems: [], sums: [] })
  })

  await t.test('a charge that was refunded in part is not repriced', async t => {
    const { clock, storage, key, ledger, books, spentOf } = await start(t)
    for (const [n, isText] of [false, true].entries()) {
      const id = await sell(storage, key, next(clock.now(), n), isText)
      await books.refund(id, 'ada', 'one of three', { amount: 30 })
      const charge = await ledger.find(id)
      if (!charge) throw new Error(`${id} is not there`)
      const { rule, lines } = charge
      const dearer = lines.map(one => ({ ...one, price: one.price + 1 }))
      const change = { charge, rule, lines: dearer, configRevision: 'next', by: 'ada', reason: 'dearer' }
      t.equal(await books.reprice(change), false, caseName({ isText }))
      t.same(await ledger.find(id), charge, caseName({ isText }))
    }
    t.equal(await spentOf(), 140)
    t.same((await books.verify()).problems, [])
  })

  await t.test('of many partial refunds at once, as many succeed as the charge covers', async t => {
    const { clock, harness, storage, key, ledger, books, spentOf } = await start(t)
    const tool = await harness.open('tool')
    for (const [n, isText] of [false, true].entries()) {
      const id = await sell(storage, key, next(clock.now(), n), isText)
      const tries = Array.from({ length: 8 }, (_, i) => (i % 2 ? tool : storage).books)
      const given = await Promise.all(tries.map(one => one.refund(id, 'ada', 'some', { amount: 30 })))
      t.same(given.toSorted(bySize), [0, 0, 0, 0, 0, 30, 30, 30], caseName({ isText }))
      t.match(await ledger.find(id), { refunded: 90 }, caseName({ isText }))
      const once = await Promise.all(tries.map(one => one.refund(id, 'ada', 'last', { amount: 5, refunded: 90 })))
      t.same(once.toSorted(bySize), [0, 0, 0, 0, 0, 0, 0, 5], caseName({ isText, why: 'one knows what it was before' }))
    }
    t.equal(await spentOf(), 10)
    await tool.close()
    t.same((await books.verify()).problems, [])
  })

  await t.test(`statements, costs and both audits agree on random partial refunds (seed ${seed})`, async t => {
    const { clock, storage, key, ledger, books, journal } = await start(t)
    const dice = diceOf(seed)
    const refunds: { readonly at: number; readonly amount: number; readonly id: string }[] = []
    const ids: string[] = []
    const ofImages: string[] = []
    for (let n = 0; n < 60; n++) {
      clock.set(clock.now() + dice(2 * day))
      const isText = dice(2) === 0
      if (n < 20) {
        const id = await sell(storage, key, next(clock.now(), n), isText)
        ids.push(id)
        if (!isText) ofImages.push(id)
      }
      const id = ids[dice(ids.length)] as string
      const part = dice(9) === 0 ? {} : { amount: 1 + dice(60) }
      const amount = await books.refund(id, 'ada', 'x', part)
      if (amount > 0) refunds.push({ at: clock.now(), amount, id })
    }
    const sum = (of: readonly { readonly amount: number }[]): number => of.reduce((all, one) => all + one.amount, 0)
    t.ok(refunds.length > ids.length, 'some charges have several refunds')
    for (const id of ids)
      t.match(await ledger.find(id), { refunded: sum(refunds.filter(one => one.id === id)) }, caseName({ id }))
    t.match(await books.verify(), { problems: [], sums: [] })

    const byTier = new Map<string, number>()
    for (const span of months) {
      const statement = await books.statement(span)
      t.same(differencesOf(statement), [], caseName({ from: span.from }))
      const own = refunds.filter(({ at }) => at >= span.from && at < span.until)
      t.match(statement.counted, { refunds: own.length, refunded: sum(own) }, caseName({ from: span.from }))
      for (const { tier, refunded } of statement.accounts.flatMap(({ lines }) => lines))
        byTier.set(tier, (byTier.get(tier) ?? 0) + refunded)
    }
    const usage = await journal.usageBy({ ...ever, by: 'tier' })
    t.same(Object.fromEntries(usage.map(one => [one.of, one.refunded])), Object.fromEntries(byTier))
    const readCosts = async (by: 'tier' | 'model') => {
      const { rows } = await journal.costs({ ...ever, bars: [ever.since], by, where: {} })
      return Object.fromEntries(rows.map(row => [row.what, row.refunded]))
    }
    t.same(await readCosts('tier'), Object.fromEntries(byTier), 'the entries that are not added up yet')
    for (let state = await books.rebuildCosts(); !state.isDone; ) state = await books.rebuildCosts(state)
    t.same(await readCosts('tier'), Object.fromEntries(byTier), 'the sums')
    t.same(await readCosts('model'), { 'alpha-image-2': sum(refunds) })
    t.match(await books.verify(), { problems: [], sums: [] })
    const rated = await journal.rated({ ...ever, where: {} })
    const kept = ofImages.filter(id => !refunds.some(one => one.id === id))
    const found = rated.reduce((all, one) => all + one.images, 0)
    t.equal(found, kept.length, 'one image of each charge that was not refunded was priced by its request')
  })

  await t.test('verification finds refunds that exceed their charge, and missing numbers', async t => {
    for (const [table, isText] of [
      ['entry', false],
      ['reversal', true],
    ] as const) {
      const { clock, harness, storage, key, books } = await start(t)
      const id = await sell(storage, key, next(clock.now(), 0), isText)
      for (const amount of [40, 20]) await books.refund(id, 'ada', 'x', { amount })
      t.same((await books.verify()).problems, [], table)
      await harness.tamper(`UPDATE ${table} SET amount = amount + 41 WHERE kind = 'refund' AND nth = 1`)
      const problems = (await books.verify()).problems.join('\n')
      t.match(problems, /the sum of its refund entries is 101, its amount is 100/, table)
      await harness.tamper(`UPDATE ${table} SET nth = 7 WHERE kind = 'refund' AND nth = 1`)
      t.match((await books.verify()).problems.join('\n'), /its refund entries are numbered 0, 7/, table)
    }
  })
}
