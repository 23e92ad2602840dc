import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { toldContract } from '../contract/budget-events.ts'
import {
  levelsContract,
  levelsOfCallers,
  mixedContract,
  runningContract,
  zoneChangeContract,
  zonesContract,
} from '../contract/levels.ts'
import { openingContract } from '../contract/opening.ts'
import { holdOf, line, newKey } from '../contract/storage.ts'
import { someKey } from '../harness/request-context.ts'
import { startPostgres } from '../harness/postgres.ts'

t.test('payers that limit a request', async t => levelsOfCallers(t, someKey))
await t.test('on SQLite', async t => {
  await levelsContract(t, sqliteHarness)
  await zonesContract(t, sqliteHarness)
  await zoneChangeContract(t, sqliteHarness)
  await openingContract(t, sqliteHarness)
  await runningContract(t, sqliteHarness)
  await mixedContract(t, sqliteHarness)
  await toldContract(t, sqliteHarness, 1)
})
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const make = postgresHarness(postgres)
  await levelsContract(t, make)
  await zonesContract(t, make)
  await zoneChangeContract(t, make)
  await openingContract(t, make)
  await runningContract(t, make)
  await mixedContract(t, make)
  await toldContract(t, make, 3)

  await t.test('payments at once do not exceed the largest balance together', async t => {
    const harness = await make()
    const gateways = [await harness.open('gateway'), await harness.open('gateway')]
    const others = await postgres.connect(harness.url)
    t.teardown(async () => {
      await others.end()
      for (const one of gateways) await one.close()
    })
    const half = 5_000_000_000_000_000
    await others.query(`BEGIN; SELECT 1 FROM "user" WHERE name = 'local' FOR UPDATE`)
    const paid = gateways.map(async ({ users }) => users.topUp('local', half, null, 'boss'))
    const settled = Promise.allSettled(paid)
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
    const count = async () => Number((await others.query<{ count: string }>(waiting)).rows[0]?.count)
    while ((await count()) < 2) await new Promise(resolve => setTimeout(resolve, 20))
    await others.query('COMMIT')
    const [refused, ...more] = (await settled).flatMap(one =>
      one.status === 'rejected' ? [one.reason as unknown] : [],
    )
    t.match(refused, { code: 'balance_full' })
    t.same(more, [])
    const rows = await harness.read(`SELECT balance FROM "user" WHERE name = 'local'`)
    t.equal(Number(rows[0]?.['balance']), half)
  })

  await t.test('refunds by two gateways at once do not deadlock', async t => {
    const harness = await make()
    const gateways = [await harness.open('gateway'), await harness.open('gateway')]
    const others = await postgres.connect(harness.url)
    t.teardown(() => others.end())
    const deadlocks = async () =>
      (await others.query(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)).rows
    const before = await deadlocks()
    const ids: string[] = []
    for (const [i, { keys, ledger }] of gateways.entries()) {
      const request = holdOf(await keys.create(newKey()), 100)
      await ledger.hold(request)
      await ledger.line(request.facts.id, line(0, { price: i === 0 ? 50 : 30 }))
      await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      ids.push(request.facts.id)
    }
    // The refund of each gateway also takes from the row of the other one.
    await harness.edit(`UPDATE account SET day_spent = 40`)
    await harness.edit(`INSERT INTO account (kind, name, part, spent, held, day_start, day_spent, month_start, month_spent)
      SELECT kind, name, 'another.1', 1, 0, day_start, 1, month_start, 1 FROM account WHERE part = (SELECT min(part) FROM account)`)
    await others.query(`BEGIN; SELECT 1 FROM account WHERE part = 'another.1' FOR UPDATE`)
    const refunds = Promise.all(gateways.map(({ books }, i) => books.refund(ids[i] ?? '', 'boss', 'sorry')))
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
    const count = async () => Number((await others.query<{ count: string }>(waiting)).rows[0]?.count)
    while ((await count()) < 2) await new Promise(resolve => setTimeout(resolve, 20))
    await others.query('COMMIT')
    t.same(await refunds, [50, 30])
    for (const one of gateways) await one.close()
    const days = await harness.read(
      'SELECT kind, sum(day_spent) AS day, min(day_spent) AS least FROM account GROUP BY kind',
    )
    t.same(
      days.map(({ day, least }) => [Number(day), Number(least)]),
      [
        [1, 0],
        [1, 0],
      ],
    )
    t.same(await deadlocks(), before)
  })

  await t.test("without limits no gateway waits for another's commit", async t => {
    const harness = await make()
    const storage = await harness.open('gateway')
    const others = await postgres.connect(harness.url)
    t.teardown(async () => {
      await others.end()
      await storage.close()
    })
    const key = await storage.keys.create(newKey())
    await others.query('BEGIN')
    for (const [kind, name] of [
      ['user', 'local'],
      ['group', 'default'],
    ])
      for (const part of ['', 'another.1'])
        await others.query('INSERT INTO account (kind, name, part, spent) VALUES ($1, $2, $3, 0)', [kind, name, part])
    const request = holdOf(key, 100)
    await storage.ledger.hold(request)
    await storage.ledger.line(request.facts.id, line(0, { price: 50 }))
    t.ok(await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null }))
    storage.ledger.post(
      holdOf(key, 0).facts,
      [line(0, { price: 7, quantity: 7, width: null, height: null })],
      'confirmed',
    )
    await storage.flush()
    await others.query('ROLLBACK')
    t.same((await storage.books.verify()).problems, [])
  })

  await t.test('separate bookings of a dead gateway are added up, and count the same', async t => {
    const harness = await make()
    const first = await harness.open('gateway')
    const key = await first.keys.create(newKey())
    for (let i = 0; i < 5; i++) {
      const request = holdOf(key, 100)
      await first.ledger.hold(request)
      await first.ledger.line(request.facts.id, line(0, { price: 10 }))
      await first.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    }
    const parts = 'SELECT DISTINCT part FROM account'
    t.notSame(await harness.read(parts), [{ part: '' }])
    await first.close()
    const next = await harness.open('gateway')
    t.same(await harness.read(parts), [{ part: '' }])
    t.same((await next.books.verify()).problems, [])
    const bounded = {
      ...holdOf(key, 51),
      levels: [{ kind: 'group', name: 'default', amount: 100, per: 'month' }],
    } as const
    t.match(await next.ledger.hold(bounded), { level: 'group', availableMicros: 50 })
    await next.close()
  })
})
