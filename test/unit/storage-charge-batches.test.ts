import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { refundsContract } from '../contract/refunds.ts'
import { segmentsContract, used } from '../contract/charge-batches.ts'
import { facts, newKey, openHarness } from '../contract/storage.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => segmentsContract(t, sqliteHarness))
await t.test('refunds on SQLite', t => refundsContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await segmentsContract(t, postgresHarness(postgres))
  await t.test('refunds', t => refundsContract(t, postgresHarness(postgres)))

  await t.test('[9.4] five thousand waiting charges go in four commits on a remote server', async t => {
    const { harness, storage } = await openHarness(t, postgresHarness(postgres))
    const key = await storage.keys.create(newKey({ budget: null }))
    for (let i = 0; i < 5_000; i++) storage.ledger.post(facts(key), used, 'confirmed')
    await storage.flush()
    t.same(await harness.read('SELECT count FROM segment ORDER BY count'), [
      { count: 256 },
      { count: 648 },
      { count: 2_048 },
      { count: 2_048 },
    ])
    t.match(await storage.keys.find(key.id), { spent: 500_000 })
    t.same((await storage.books.verify()).problems, [])
  })
})
