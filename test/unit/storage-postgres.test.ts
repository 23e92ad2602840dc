import t from 'tap'
import { postgresHarness } from '../contract/harnesses.ts'
import { storageContract } from '../contract/storage.ts'
import { startPostgres } from '../harness/postgres.ts'

// Pages of a killed gateway stay with the operating system, so these tests do not depend on writes reaching the disk.
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await storageContract(t, postgresHarness(postgres))
