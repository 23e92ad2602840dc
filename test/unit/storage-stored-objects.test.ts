import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { storedObjectsContract } from '../contract/stored-objects.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await t.test('keeps stored objects in a SQLite file', t => storedObjectsContract(t, sqliteHarness))
await t.test('keeps stored objects in PostgreSQL', t => storedObjectsContract(t, postgresHarness(postgres)))
