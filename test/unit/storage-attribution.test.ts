import t from 'tap'
import { attributionContract } from '../contract/attribution.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => attributionContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await attributionContract(t, postgresHarness(postgres))
})
