import t from 'tap'
import { postgresHarness } from '../contract/harnesses.ts'
import { storageContract } from '../contract/storage.ts'
import { startPostgres } from '../harness/postgres.ts'

// A killed gateway leaves its pages with the operating system, so nothing here depends on what reaches the disk.
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

await storageContract(t, postgresHarness(postgres))
