import t from 'tap'
import { systemClock } from '../../src/kit/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { runChild } from '../contract/run-child.ts'
import { silentLog, storageContract, type StorageHarness } from '../contract/storage.ts'
import { startPostgres } from '../harness/postgres.ts'

// A killed gateway leaves its pages with the operating system, so nothing here depends on what reaches the disk.
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

async function makeHarness(): Promise<StorageHarness> {
  const url = await postgres.createDatabase()
  return {
    open: (role, clock = systemClock) => openStorage({ url, clock, log: silentLog, role }),
    child: async job => runChild(url, job),
    async lapse() {
      const client = await postgres.connect(url)
      await client.query('UPDATE replica SET lease_until = 0')
      await client.end()
    },
    async tamper(sql) {
      const client = await postgres.connect(url)
      // Past triggers and foreign keys.
      await client.query('SET session_replication_role = replica')
      await client.query(sql)
      await client.end()
    },
    close: async () => undefined,
  }
}

await storageContract(t, makeHarness)
