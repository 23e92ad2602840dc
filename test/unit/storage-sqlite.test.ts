import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { systemClock } from '../../src/kit/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { runChild } from '../contract/run-child.ts'
import { silentLog, storageContract, type StorageHarness } from '../contract/storage.ts'

async function makeHarness(): Promise<StorageHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-storage-'))
  const path = join(folder, 'tollgate.db')
  const url = `sqlite:${path}`
  return {
    open: (role, clock = systemClock) => openStorage({ url, clock, log: silentLog, role }),
    child: async job => runChild(url, job),
    async lapse() {
      const db = new DatabaseSync(path, { timeout: 5_000 })
      db.exec('UPDATE replica SET lease_until = 0')
      db.close()
    },
    async tamper(sql) {
      const db = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: false })
      const triggers = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).all()
      for (const { name } of triggers) db.exec(`DROP TRIGGER "${String(name)}"`)
      db.exec(sql)
      db.close()
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

await storageContract(t, makeHarness)
