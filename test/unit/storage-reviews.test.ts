import t from 'tap'
import { clocksContract } from '../contract/clocks.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { reviewsContract } from '../contract/reviews.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await t.test('reviews on a file of SQLite', t => reviewsContract(t, sqliteHarness))
await t.test('reviews on PostgreSQL', t => reviewsContract(t, postgresHarness(postgres)))
await t.test('clocks on a file of SQLite', t => clocksContract(t, sqliteHarness))
await t.test('clocks on PostgreSQL', t => clocksContract(t, postgresHarness(postgres)))
