import t from 'tap'
import { eventsContract } from '../contract/events.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => eventsContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await eventsContract(t, postgresHarness(postgres))
})
