import type { Test } from 'tap'
import type { Anchor, Charge, ChargeFacts, Key, Storage } from '../../src/domain/index.ts'
import type { Clock } from '../../src/util/index.ts'
import { useChargeId } from '../../src/plugin-api/index.ts'
import { firstIdAt } from '../../src/util/index.ts'
import { clockAt, facts, type Harness, holdOf, line, logRow, newKey, openHarness } from './storage.ts'

const minute = 60_000

/** Lines of counted usage, with a total of 100. */
export const used = [
  line(0, { tier: 'input', width: null, height: null, price: 30, quantity: 12 }),
  line(1, { tier: 'output', width: null, height: null, price: 70, quantity: 34, flags: ['estimated'] }),
]

/** Tests of charges in segments, for every storage driver. */
export async function segmentsContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test, clock?: Clock) {
    const { harness, storage } = await openHarness(t, make, clock)
    const secret = newKey({ budget: null })
    const key = await storage.keys.create(secret)
    return { harness, storage, key, ...storage, readKey: async () => storage.keys.findByHash(secret.hash) }
  }

  async function post(storage: Storage, key: Key, count: number, changes: Partial<ChargeFacts> = {}) {
    const posted = Array.from({ length: count }, () => facts(key, changes))
    for (const one of posted) storage.ledger.post(one, used, 'confirmed')
    await storage.flush()
    return posted.map(({ id }) => id)
  }

  const problemsOf = async ({ books }: Storage, anchors?: readonly Anchor[]) => (await books.verify(anchors)).problems

  await t.test('[9.4] charges posted together are one row, and each is found as posted', async t => {
    const { harness, storage, key, ledger, books } = await start(t)
    const odd = { model: 'a "quoted"\nname \ud83d\ude00', size: 'a\0b\ud800', quality: null, n: 3 }
    const posted = [facts(key), facts(key, odd), facts(key, { user: 'ada', upstream: 'beta' })]
    for (const one of posted) ledger.post(one, used, 'partial')
    const waiting: (Charge | undefined)[] = []
    for (const one of posted) waiting.push(await ledger.find(one.id))
    await storage.flush()
    t.same(await harness.read('SELECT count FROM segment'), [{ count: 3 }])
    t.same(await harness.read('SELECT 1 FROM charge'), [])
    t.same(await harness.read('SELECT 1 FROM entry'), [])
    const [first, second, third] = waiting
    const { id } = posted[1] as ChargeFacts
    t.same(await ledger.find(posted[0]?.id ?? ''), first)
    t.same(await ledger.find(id), { ...second, size: 'a\uFFFDb\uFFFD' })
    t.same(await ledger.find(posted[2]?.id ?? ''), third)
    t.equal(await ledger.find(useChargeId(id)), undefined)
    t.equal(await ledger.find(id.slice(0, -1)), undefined)
    t.same(await books.verify(), { charges: 3, lines: 6, entries: 3, left: 0, problems: [], sums: [], budgets: 0 })
  })

  await t.test('[6.7] a hold gets what the charges posted before it release, at once', async t => {
    const { storage, ledger, books } = await start(t)
    const key = await storage.keys.create(newKey({ budget: 1_000 }))
    for (let i = 0; i < 4; i++) {
      const own = facts(key)
      t.match(await ledger.hold(holdOf(key, 600, own)), { kind: 'held' }, `request ${i}`)
      ledger.post(own, used, 'confirmed')
    }
    t.match(await ledger.hold(holdOf(key, 601)), { kind: 'overdrawn', availableMicros: 600, heldMicros: 0 })
    t.same((await books.verify()).problems, [])
  })

  await t.test('[14.1] a posted charge keeps its vendor cost, with or without a hold', async t => {
    const { storage, key, ledger, books } = await start(t)
    const [plain, held] = [facts(key), facts(key)]
    await ledger.hold(holdOf(key, 500, held))
    for (const one of [plain, held]) ledger.post(one, used, 'confirmed', 42)
    t.match(await ledger.find(plain.id), { amount: 100, vendorCost: 42 }, 'while it waits')
    await storage.flush()
    for (const { id } of [plain, held])
      t.match(await ledger.find(id), { amount: 100, vendorCost: 42, state: 'settled' })
    t.match(await books.verify(), { charges: 2, problems: [], sums: [], budgets: 0 })
  })

  await t.test('[14.1] charges in segments count as charges without a vendor cost, by day and model', async t => {
    const clock = clockAt(Date.UTC(2026, 9, 1, 23, 59, 58))
    const { storage, key, ledger, journal } = await start(t, clock)
    const post = async (model: string, vendorCost?: number) => {
      clock.set(clock.now() + 500)
      ledger.post(facts(key, { id: `${firstIdAt('req_', clock.now())}0`, model }), used, 'confirmed', vendorCost)
      await storage.flush()
    }
    for (const cost of [undefined, 90, undefined, undefined, undefined]) {
      await post('reporting', cost)
      await post('silent')
    }
    const month = { since: Date.UTC(2026, 9), until: Date.UTC(2026, 10) }
    const same = { model: 'reporting', currency: 'USD' }
    t.strictSame(await journal.vendorCosts(month), [
      { ...same, day: '2026-10-01', charges: 1, untold: 1, ours: 100, theirs: 90 },
      { ...same, day: '2026-10-02', charges: 0, untold: 3, ours: 0, theirs: 0 },
    ])
    t.strictSame(await journal.vendorCosts({ since: Date.UTC(2026, 9, 2), until: month.until }), [])
  })

  await t.test('[9.4] all charges are paged in the order of their ids, in rows and segments', async t => {
    const clock = clockAt(Date.UTC(2026, 9, 1))
    const { storage, key, ledger, books } = await start(t, clock)
    const ids: string[] = []
    // Requests take from nothing to half a minute, so segments overlap; every ninth has an image.
    for (let i = 0; i < 90; i++) {
      clock.set(Date.UTC(2026, 9, 1) + i * 1_000)
      const id = firstIdAt('req_', clock.now() - ((i * 7) % 31) * 1_000) + String(i).padStart(10, '0')
      ids.push(id)
      if (i % 9 === 4) {
        await ledger.hold(holdOf(key, 40_000, { id }))
        await ledger.line(id, line(0))
        await ledger.settle({ id, delivery: 'confirmed', reason: null })
      } else ledger.post(facts(key, { id }), used, 'confirmed')
      if (i % 4 === 0) await storage.flush()
    }
    await storage.flush()
    const found: string[] = []
    for (;;) {
      const page = await books.all(found.at(-1) ?? null, 7)
      t.ok(page.every(charge => charge.lines.length === (charge.amount === 100 ? 2 : 1)))
      found.push(...page.map(charge => charge.id))
      if (page.length < 7) break
    }
    t.same(found, ids.toSorted())
    t.same(await problemsOf(storage), [])
  })

  await t.test('[9.4] a charge of a request that began long ago has its own rows, and is found once', async t => {
    const clock = clockAt(Date.UTC(2026, 9, 1))
    const { harness, storage, key, ledger, books } = await start(t, clock)
    const idOf = (ms: number, n: number) => firstIdAt('req_', clock.now() + ms) + String(n).padStart(10, '0')
    const ids = [idOf(-minute - 1, 0), idOf(minute, 1), idOf(-minute, 2), 'not-an-id']
    for (const id of ids) ledger.post(facts(key, { id }), used, 'confirmed')
    await storage.flush()
    t.same(await harness.read('SELECT id FROM charge ORDER BY id'), [
      { id: 'not-an-id' },
      { id: ids[0] },
      { id: ids[1] },
    ])
    t.same(await harness.read('SELECT first_id, last_id FROM segment'), [{ first_id: ids[2], last_id: ids[2] }])
    clock.set(clock.now() + 5 * minute)
    for (const id of ids) ledger.post(facts(key, { id }), used, 'confirmed')
    await storage.flush()
    t.match(await books.verify(), { charges: 4, problems: [] })
  })

  await t.test('[9.4] no segment spans more time than a search for a charge covers', async t => {
    const from = Date.UTC(2026, 9, 1)
    const clock = clockAt(from)
    const { harness, storage, key, ledger } = await start(t, clock)
    const ids: string[] = []
    // As after an outage: all waiting charges are written at once.
    for (let i = 0; i < 40; i++) {
      clock.set(from + i * 15_000)
      ids.push(firstIdAt('req_', clock.now()) + String(i).padStart(10, '0'))
      ledger.post(facts(key, { id: ids[i] ?? '' }), used, 'confirmed')
    }
    await storage.flush()
    const rows = await harness.read('SELECT count FROM segment ORDER BY last_id')
    t.same(
      rows.map(row => Number(row['count'])),
      [9, 9, 9, 9, 4],
    )
    for (const id of ids) t.match(await ledger.find(id), { id, amount: 100 })
    t.same(await problemsOf(storage), [])
  })

  await t.test('[9.4] a charge exists once, whether posted again, held before, or in doubt', async t => {
    const { storage, key, ledger, books, readKey } = await start(t)
    const [again, held, both] = [facts(key), facts(key), facts(key)]
    ledger.post(again, used, 'confirmed')
    ledger.post(both, used, 'confirmed')
    ledger.post(both, used, 'confirmed')
    await ledger.hold({ facts: held, hold: 500, idempotency: null })
    ledger.post(held, used, 'confirmed')
    await storage.flush()
    for (const one of [again, held, both]) ledger.post(one, used, 'partial')
    await storage.flush()
    for (const { id } of [again, held, both]) t.match(await ledger.find(id), { amount: 100, delivery: 'confirmed' })
    t.match(await readKey(), { spent: 300, held: 0 })
    t.match(await books.verify(), { charges: 3, problems: [] })
  })

  await t.test('[9.4] a charge in a segment is refunded once, by the gateway or by a tool', async t => {
    const { harness, storage, key, ledger, books, journal, readKey } = await start(t)
    const [first = '', second = '', third = ''] = await post(storage, key, 3)
    journal.append(logRow({ id: first, keyId: key.id }))
    const before = await ledger.find(first)
    t.equal(await books.refund(first, 'ada', 'not received'), 100)
    t.equal(await books.refund(first, 'ada', 'again'), 0)
    const tool = await harness.open('tool')
    t.equal(await tool.books.refund(second, 'ada', 'x'), 100)
    t.equal(await tool.books.refund(first, 'ada', 'x'), 0)
    await tool.close()
    t.same(await ledger.find(first), { ...before, refunded: 100 })
    t.match(await ledger.find(third), { refunded: 0 })
    t.match(await readKey(), { spent: 100 })
    await storage.flush()
    t.match(await journal.list({ limit: 5 }), [{ charge: { id: first, refunded: 100 } }])
    const span = { since: Date.now() - 5 * minute, until: Date.now() + 5 * minute }
    t.match(await journal.usage(span), [{ requests: 3, amount: 300, refunded: 200 }])
    t.same(await books.verify(), { charges: 3, lines: 6, entries: 5, left: 0, problems: [], sums: [], budgets: 0 })
    t.equal(await books.resolve(third, 'void', 'ada', 'x'), false, 'a settled charge needs no decision')
  })

  await t.test('[9.4] segments and their reversals never change, whoever writes', async t => {
    const { harness, storage, key, books } = await start(t)
    const [id = ''] = await post(storage, key, 1)
    await books.refund(id, 'ada', 'x')
    for (const table of ['segment', 'reversal']) {
      await t.rejects(harness.edit(`UPDATE ${table} SET position = 9`), {
        message: new RegExp(`${table}s do not change`),
      })
      await t.rejects(harness.edit(`DELETE FROM ${table}`), { message: new RegExp(`${table}s are not deleted`) })
    }
  })

  await t.test('[9.4] verification finds a changed segment, and names the position and its charges', async t => {
    const frauds: readonly (readonly [name: string, sql: (id: string) => string, told: RegExp])[] = [
      [
        'a price',
        id => `UPDATE segment SET body = replace(body, ',30,12,', ',29,12,') WHERE first_id = '${id}'`,
        /: \d+ has been changed: it has the charges from req_\w+ to req_\w+$/,
      ],
      [
        'who pays',
        id => `UPDATE segment SET body = replace(body, '"key_id":"key_', '"key_id":"key_0') WHERE first_id = '${id}'`,
        /key key_0\w+: is gone, but has charges/,
      ],
      [
        'a charge that is gone',
        id => `UPDATE segment SET body = replace(body, '"${id}"', '"req_0"') WHERE first_id = '${id}'`,
        /its first or its last charge is gone/,
      ],
      [
        'the text',
        id => `UPDATE segment SET body = '[1' WHERE first_id = '${id}'`,
        /charge batch \d+ of \S+ cannot be read/,
      ],
      [
        'how many',
        id => `UPDATE segment SET count = count + 1 WHERE first_id = '${id}'`,
        /3 charges were written, 2 exist/,
      ],
      ['all of it', id => `DELETE FROM segment WHERE first_id = '${id}'`, /entries of \S+: (\d+) to \1 are missing/],
      ['a hash', id => `UPDATE segment SET prev_hash = 'x' WHERE first_id = '${id}'`, /does not follow the one before/],
      [
        'the end',
        () => `DELETE FROM segment WHERE last_id = (SELECT max(last_id) FROM segment)`,
        /entries of \S+: end at \d+, \d+ were written/,
      ],
      [
        'a charge that is there twice',
        id => `INSERT INTO segment (chain, position, first_id, last_id, count, owner, epoch, prev_hash, hash, body)
          SELECT chain, position + 1000, first_id, last_id || '0', count, owner, epoch, prev_hash, hash, body FROM segment WHERE first_id = '${id}'`,
        /is in charge batch \d+ of \S+ and in charge batch \d+ of/,
      ],
      [
        'what is added up of one that is alone',
        () => 'UPDATE segment SET amount = amount - 1 WHERE amount IS NOT NULL',
        /charge batch \d+ of \S+: its columns for sums differ from its charge/,
      ],
      [
        'the amount of a refund',
        () => 'UPDATE reversal SET amount = amount + 1',
        /the sum of its refund entries is 101, its amount is 100/,
      ],
      [
        'the charge of a refund',
        () => `UPDATE reversal SET charge_id = 'req_01kabcdefg0000000000'`,
        /charge req_01kabcdefg0000000000: is gone, but has a row in reversal/,
      ],
    ]
    for (const [name, sql, problem] of frauds)
      await t.test(name, async t => {
        const { harness, storage, key, books } = await start(t)
        await post(storage, key, 2)
        const [id = '', refunded = ''] = await post(storage, key, 2)
        await post(storage, key, 2)
        await books.refund(refunded, 'ada', 'x')
        await post(storage, key, 1)
        t.same(await problemsOf(storage), [])
        await harness.tamper(sql(id))
        t.match((await problemsOf(storage)).join('\n'), new RegExp(problem, 'm'))
      })
  })

  await t.test('[9.4] finds a charge that has both rows and a place in a segment', async t => {
    const { harness, storage, key, ledger } = await start(t)
    const request = holdOf(key, 100)
    const { id } = request.facts
    await ledger.hold(request)
    ledger.post(request.facts, used, 'confirmed')
    await post(storage, key, 1)
    await harness.tamper(`UPDATE segment SET first_id = '${id}', last_id = '${id}',
      body = replace(replace(body, first_id, '${id}'), last_id, '${id}')`)
    t.match((await problemsOf(storage)).join('\n'), new RegExp(`charge ${id}: is in a charge batch and has rows too`))
  })

  await t.test('[9.4] an anchor finds a removed newest segment with all its traces', async t => {
    const { harness, storage, key, books } = await start(t)
    await post(storage, key, 2)
    const before = await books.anchor()
    await post(storage, key, 2)
    const anchor = await books.anchor()
    t.same(await problemsOf(storage, [before, anchor]), [])
    const last = '(SELECT max(last_id) FROM segment)'
    await harness.tamper(`
      UPDATE key SET spent = spent - 200, day_spent = day_spent - 200, month_spent = month_spent - 200;
      UPDATE account SET spent = spent - 200, day_spent = day_spent - 200, month_spent = month_spent - 200 WHERE part = (SELECT max(part) FROM account);
      UPDATE chain SET position = position - 1, head = (SELECT prev_hash FROM segment WHERE last_id = ${last})
        WHERE id = (SELECT chain FROM segment WHERE last_id = ${last});
      DELETE FROM segment WHERE last_id = ${last}`)
    t.same(await problemsOf(storage), [], 'the remaining rows are consistent')
    t.match(await problemsOf(storage, [before, anchor]), [/^anchor of .*: entry 2 is missing; the last entry is 1$/])
  })

  await t.test('[9.4] a request whose log row was lost with its gateway has one after the next start', async t => {
    const harness = await make()
    t.teardown(() => harness.close())
    const first = await harness.open('gateway')
    const key = await first.keys.create(newKey())
    const posted = [facts(key), facts(key)]
    for (const one of posted) first.ledger.post(one, used, 'confirmed')
    first.ledger.post({ ...(posted[0] as ChargeFacts), id: useChargeId(posted[0]?.id ?? '') }, used, 'confirmed')
    first.journal.append(logRow({ id: posted[1]?.id ?? '', durationMs: 812 }))
    await first.close()
    await harness.lapse()
    const again = await harness.open('gateway')
    t.match(
      (await again.journal.list({ limit: 9 })).map(({ row }) => row),
      [
        { id: posted[1]?.id, durationMs: 812 },
        { id: posted[0]?.id, keyId: key.id, outcome: 'answered', model: 'alpha-image-2' },
      ],
    )
    await again.close()
  })

  await t.test('[9.4] after a kill during posting, flushed charges exist whole and once', async t => {
    const harness = await make()
    t.teardown(() => harness.close())
    for (let round = 0; round < 3; round++) {
      const child = await harness.child('gateway', 'post')
      const flushed: string[] = []
      while (flushed.length < 100 + 37 * round) flushed.push(await child.line())
      await child.kill()
      await harness.lapse()
      const storage = await harness.open('gateway')
      for (const id of flushed) t.match(await storage.ledger.find(id), { id, state: 'settled', amount: 100 })
      t.same(await problemsOf(storage), [])
      await storage.close()
    }
    t.same(await harness.read('SELECT 1 FROM charge'), [], 'all of them in segments')
  })

  await t.test('[9.4] concurrent spending of many keys is booked on each, also for days and months', async t => {
    const { storage, keys, ledger } = await start(t)
    const made = Array.from({ length: 37 }, () => newKey({ budgetPeriod: 'day' }))
    const own: Key[] = []
    for (const one of made) own.push(await keys.create(one))
    for (let i = 0; i < 111; i++) ledger.post(facts(own[i % 37] as Key), used, 'confirmed')
    await storage.flush()
    for (const { hash } of made)
      t.match(await keys.findByHash(hash), { spent: 300, spentIn: { day: { spent: 300 }, month: { spent: 300 } } })
    t.same(await problemsOf(storage), [])
  })

  await t.test('[9.4] a charge without a key affects none of its neighbours, which stay in segments', async t => {
    const { harness, storage, key, ledger, readKey } = await start(t)
    const bad = facts({ ...key, id: 'key_none' })
    for (const one of [facts(key), bad, facts(key)]) ledger.post(one, used, 'confirmed')
    await storage.flush()
    t.match(await readKey(), { spent: 200 })
    t.equal(await ledger.find(bad.id), undefined)
    t.same(await harness.read('SELECT 1 FROM charge'), [])
    t.same(await problemsOf(storage), [])
  })
}
