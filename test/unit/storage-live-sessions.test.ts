import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { liveSessionsContract } from '../contract/live-sessions.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await t.test('keeps open sessions in a SQLite file', t => liveSessionsContract(t, sqliteHarness))
await t.test('keeps open sessions in PostgreSQL', t => liveSessionsContract(t, postgresHarness(postgres)))
