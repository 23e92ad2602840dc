import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/util/index.ts'
import { openStorage } from '../../src/storage/index.ts'
import { silentLog } from '../contract/storage.ts'

t.test('the folders of a new database have names that survive a loss of power', async t => {
  const top = fs.realpathSync(t.testdir())
  const opened = new Map<number, string>()
  const synced: string[] = []
  const { openSync, fsyncSync } = fs
  fs.openSync = (path, ...more) => {
    const file = openSync(path, ...more)
    opened.set(file, String(path))
    return file
  }
  fs.fsyncSync = file => {
    synced.push(opened.get(file) ?? '')
    fsyncSync(file)
  }
  syncBuiltinESMExports()
  t.teardown(() => {
    Object.assign(fs, { openSync, fsyncSync })
    syncBuiltinESMExports()
  })
  const url = `sqlite:${join(top, 'one/two/books.db')}`
  const open = () => openStorage({ url, clock: systemClock, log: silentLog, role: 'gateway', diskBytesMin: 0 })
  const storage = await open()
  await storage.close()
  t.strictSame(synced, [join(top, 'one'), top])
  const again = await open()
  await again.close()
  t.equal(synced.length, 2, 'folders that are there are left alone')
})
