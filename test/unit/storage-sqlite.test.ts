import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { systemClock } from '../../src/kit/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { type Child, silentLog, storageContract, type StorageHarness } from '../contract/storage.ts'

const childFile = fileURLToPath(new URL('../contract/storage-child.ts', import.meta.url))

async function makeHarness(): Promise<StorageHarness> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-storage-'))
  const path = join(folder, 'tollgate.db')
  const url = `sqlite:${path}`
  return {
    open: (role, clock = systemClock) => openStorage({ url, clock, log: silentLog, role }),
    child: job => runChild(url, job),
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

async function runChild(url: string, job: string): Promise<Child> {
  const child = spawn(process.execPath, [childFile, url, ...job.split(' ')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async line() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`the child ended before its next line (${job})`)
      return value
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

await storageContract(t, makeHarness)
