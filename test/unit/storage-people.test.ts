import t from 'tap'
import { configHistoryContract } from '../contract/config-history.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { peopleContract } from '../contract/people.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', async t => {
  await peopleContract(t, sqliteHarness)
  await configHistoryContract(t, sqliteHarness)
})
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await peopleContract(t, postgresHarness(postgres))
  await configHistoryContract(t, postgresHarness(postgres))
})
