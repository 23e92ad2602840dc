import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { journalContract } from '../contract/journal.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => journalContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await journalContract(t, postgresHarness(postgres))
})
