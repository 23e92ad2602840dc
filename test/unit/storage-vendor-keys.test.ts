import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { vendorKeysContract } from '../contract/vendor-keys.ts'
import { startPostgres } from '../harness/postgres.ts'

await t.test('on SQLite', t => vendorKeysContract(t, sqliteHarness))
await t.test('on PostgreSQL', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await vendorKeysContract(t, postgresHarness(postgres))
})
