import t from 'tap'
import { erasureContract } from '../contract/erasure.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => erasureContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await erasureContract(t, postgresHarness(postgres))
})
