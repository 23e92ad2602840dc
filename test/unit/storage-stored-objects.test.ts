import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { storedObjectsContract } from '../contract/stored-objects.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await t.test('stored objects on a file of SQLite', t => storedObjectsContract(t, sqliteHarness))
await t.test('stored objects on PostgreSQL', t => storedObjectsContract(t, postgresHarness(postgres)))
