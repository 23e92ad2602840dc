import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { segmentsContract } from '../contract/segments.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => segmentsContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await segmentsContract(t, postgresHarness(postgres))
})
