import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { peopleContract } from '../contract/people.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => peopleContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await peopleContract(t, postgresHarness(postgres))
})
