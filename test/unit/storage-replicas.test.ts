import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { replicasContract } from '../contract/replicas.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await t.test('on a file of SQLite', t => replicasContract(t, sqliteHarness))
await t.test('on PostgreSQL', t => replicasContract(t, postgresHarness(postgres)))
