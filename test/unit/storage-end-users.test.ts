import t from 'tap'
import { attackContract, endUsersContract } from '../contract/end-users.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', async t => {
  await endUsersContract(t, sqliteHarness)
  await attackContract(t, sqliteHarness, 100_000)
})
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await endUsersContract(t, postgresHarness(postgres))
})
