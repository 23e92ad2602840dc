import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { midnightContract, periodsContract, softContract } from '../contract/periods.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', async t => {
  await periodsContract(t, sqliteHarness, 1)
  await midnightContract(t, sqliteHarness, 1)
  await softContract(t, sqliteHarness)
})
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await periodsContract(t, postgresHarness(postgres), 2)
  await midnightContract(t, postgresHarness(postgres), 2)
  await softContract(t, postgresHarness(postgres))
})
