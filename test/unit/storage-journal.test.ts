import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { journalContract } from '../contract/journal.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite, before anything is bound', t => journalContract(t, sqliteHarness))
await t.test('on SQLite, of bound pages', t => journalContract(t, sqliteHarness, 20))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await t.test('before anything is bound', t => journalContract(t, postgresHarness(postgres)))
  await t.test('of bound pages', t => journalContract(t, postgresHarness(postgres), 20))
})
