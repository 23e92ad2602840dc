import { chmodSync, chownSync, existsSync, rmSync, statSync, utimesSync } from 'node:fs'
import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { backupStorage, createKey, restoreStorage } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { askOnce } from '../harness/ask.ts'
import { prepareSite, runTollgate } from '../harness/child.ts'
import { picture } from '../harness/pictures.ts'
import { startUpstream } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const ask = { model: 'alpha-image-2', prompt: 'a boat' }

t.test('a copy made under load balances, and can replace the database [D5]', async t => {
  const folder = t.testdir()
  const upstream = await startUpstream({ created: 1, data: [picture(1024, 1024)] })
  t.teardown(() => upstream.close())
  const site = await prepareSite(folder, {
    upstreams: { alpha: upstream.url },
    edit: [[/default: \{ rpm: 60, tpm: (\d+), concurrency: \d+ \}/, 'default: { rpm: 100000, tpm: $1 }']],
  })
  const tollgate = (...words: readonly string[]) => runTollgate(site, [...words, '-c', site.config], {})
  const gateway = site.start()
  t.teardown(() => gateway.kill())
  const url = await gateway.ready
  const copy = join(folder, 'copy.db')

  const load = { on: true }
  const statuses: (number | undefined)[] = []
  const askAll = async (): Promise<void> => {
    while (load.on) statuses.push((await askOnce(url, ask, { key: site.key })).status)
  }
  const loads = Array.from({ length: 4 }, askAll)
  while (statuses.length < 20) await askOnce(url, ask, { key: site.key })
  t.match(await tollgate('backup', copy), { code: 0, stderr: /Backed up the database/ })
  const during = statuses.length
  t.match(await tollgate('backup', copy), { code: 1, stderr: /already exists/ })
  load.on = false
  await Promise.all(loads)
  t.ok(during > 20, 'requests went on meanwhile')
  t.same([...new Set(statuses)], [200])
  t.equal((await stat(copy)).mode & 0o777, 0o600, 'only its owner may read it')
  t.notOk((await readdir(folder)).some(name => name.endsWith('.part')))

  const storage = await openDatabase({ url: `sqlite:${copy}`, role: 'tool' })
  const audit = await storage.books.verify()
  const charges = await storage.books.all(null, 100_000)
  await storage.close()
  t.same(audit.problems, [])
  t.ok(charges.length >= 20)
  for (const { state, amount, lines } of charges)
    t.equal(
      state === 'settled' ? amount : 0,
      state === 'settled' ? lines.reduce((sum, one) => sum + one.price, 0) : 0,
      caseName({ state, amount, lines }),
    )

  t.equal((await stat(join(folder, 'tollgate.db'))).mode & 0o007, 0, 'nor may everybody read the database')
  t.match(await tollgate('restore', copy), { code: 1, stderr: /another gateway already works on .*; stop it first/ })
  await gateway.stop()
  const bad = join(folder, 'bad.db')
  await writeFile(bad, 'nothing of the kind')
  t.match(await tollgate('restore', bad), { code: 1, stderr: /bad\.db cannot be restored: the file is not a database/ })
  t.match(await tollgate('restore', 'nope.db'), { code: 1, stderr: /^nope\.db does not exist\n/ })
  const restored = await tollgate('restore', copy)
  t.match(restored, { code: 0, stderr: new RegExp(`^Restored \\S+: ${audit.charges} charges`) })
  const aside = /previous database is (\S+)\.$/m.exec(restored.stderr)?.[1] ?? ''
  t.ok((await stat(aside)).isFile(), 'existing data is kept')
  const again = site.start()
  t.teardown(() => again.kill())
  t.equal((await askOnce(await again.ready, ask, { key: site.key })).status, 200)
  await again.stop()
  t.match(await tollgate('ledger', 'verify'), { code: 0, stderr: /: 0 problems$/m })
})

t.test('restores the data that a killed gateway had not checkpointed yet', async t => {
  const folder = t.testdir()
  const [live, aside, back] = ['live.db', 'aside.db', 'back.db'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const storage = await openDatabase({ url: `sqlite:${live}`, role: 'tool' })
  const { key } = await createKey(storage, { name: 'kept', user: 'local' })
  for (const suffix of ['', '-wal']) await copyFile(live + suffix, aside + suffix)
  await storage.close()
  await restoreStorage({ url: `sqlite:${back}`, from: aside })
  t.same(
    (await readdir(folder)).filter(name => name.startsWith('back.db') && name !== 'back.db.lock'),
    ['back.db'],
  )
  const restored = await openDatabase({ url: `sqlite:${back}`, role: 'tool' })
  t.match(await restored.keys.list({ limit: 1_000 }), [{ id: key.id }])
  await restored.close()
})

t.test('what a killed restore has left does not reach the next one', async t => {
  const folder = t.testdir()
  const [other, own, copy, back] = ['other.db', 'own.db', 'copy.db', 'back.db'].map(name => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ]
  const stranger = await openDatabase({ url: `sqlite:${other}`, role: 'tool' })
  await createKey(stranger, { name: 'stranger', user: 'local' })
  for (const suffix of ['', '-wal']) await copyFile(other + suffix, `${back}.restoring${suffix}`)
  await stranger.close()
  const storage = await openDatabase({ url: `sqlite:${own}`, role: 'tool' })
  await createKey(storage, { name: 'own', user: 'local' })
  await storage.close()
  await backupStorage({ url: `sqlite:${own}`, to: copy })
  await restoreStorage({ url: `sqlite:${back}`, from: copy })
  const restored = await openDatabase({ url: `sqlite:${back}`, role: 'tool' })
  t.match(await restored.keys.list({ limit: 1_000 }), [{ name: 'own' }])
  await restored.close()
})

t.test('a restore that is killed leaves the earlier database or the restored one, with all of its data', async t => {
  const site = await prepareSite(t.testdir(), { upstreams: {} })
  const copy = join(site.folder, 'copy.db')
  await backupStorage({ url: `sqlite:${site.database}`, to: copy })
  const living = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
  await createKey(living, { name: 'later', user: 'local' })
  // As a killed gateway leaves them: its last commits are only in the log.
  const files = await Promise.all(['', '-wal'].map(async suffix => readFile(site.database + suffix)))
  await living.close()
  /** Ends the process after the nth name that it changes. */
  const killer = (nth: number): string => {
    const code = `import fs from 'node:fs/promises'; import { syncBuiltinESMExports } from 'node:module'
      let left = ${nth}
      for (const name of ['link', 'rename']) {
        const original = fs[name]
        fs[name] = async (...given) => {
          await original(...given)
          if (--left === 0) process.kill(process.pid, 'SIGKILL')
        }
      }
      syncBuiltinESMExports()`
    return `--import=data:text/javascript,${encodeURIComponent(code)}`
  }
  for (let nth = 1, code: number | null = null; code !== 0; nth++) {
    for (const [i, suffix] of ['', '-wal'].entries()) await writeFile(site.database + suffix, files[i] ?? '')
    ;({ code } = await runTollgate(site, ['restore', copy, '-c', site.config], { NODE_OPTIONS: killer(nth) }))
    t.ok(existsSync(site.database), `${caseName({ nth })}: the place is not empty`)
    const storage = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
    const names = (await storage.keys.list({ limit: 1_000 })).map(({ name }) => name)
    await storage.close()
    if (names.length > 1) t.not(code, 0, `${caseName({ nth })}: the earlier database, with its last commits`)
    t.same(names.toSorted(), names.length > 1 ? ['crash', 'later'] : ['crash'], caseName({ nth }))
  }
})

t.test('a database without a file is refused, with how to copy it', async t => {
  await t.rejects(backupStorage({ url: 'postgres://localhost/none', to: join(t.testdir(), 'x') }), {
    code: 'storage_not_a_file',
    message: /pg_dump/,
  })
})

t.test('a copy into a folder that does not exist is refused, with the folder', async t => {
  const folder = t.testdir()
  const url = `sqlite:${join(folder, 'books.db')}`
  await (await openDatabase({ url, role: 'tool' })).close()
  await t.rejects(backupStorage({ url, to: join(folder, 'none', 'copy.db') }), {
    code: 'storage_unavailable',
    message: /the copy needs the folder .*none/,
  })
})

t.test('a second backup to the same file is refused while the first writes it, but not after a killed one', async t => {
  const folder = t.testdir()
  const [path, to] = [join(folder, 'books.db'), join(folder, 'copy.db')]
  const url = `sqlite:${path}`
  const storage = await openDatabase({ url, role: 'tool' })
  const { key } = await createKey(storage, { name: 'kept', user: 'local' })
  await storage.close()
  const first = backupStorage({ url, to })
  // The first one has created its file, and its thread starts.
  while (!existsSync(`${to}.part`)) await new Promise(resolve => setImmediate(resolve))
  await t.rejects(backupStorage({ url, to }), {
    code: 'storage_unavailable',
    message: /the copy .*copy\.db: another backup writes it, or was killed a moment ago; try again in 10 s, or choose /,
  })
  await first
  const copied = await openDatabase({ url: `sqlite:${to}`, role: 'tool' })
  t.match(await copied.keys.list({ limit: 1_000 }), [{ id: key.id }])
  await copied.close()
  rmSync(to)
  await writeFile(`${to}.part`, 'what a killed backup has left')
  utimesSync(`${to}.part`, 0, 0)
  await backupStorage({ url, to })
  t.notOk(existsSync(`${to}.part`))
})

t.test('a failure of the copy names the copy, and one of the database names the database', async t => {
  const folder = t.testdir({ folder: {}, file: 'text '.repeat(400) })
  const path = join(folder, 'books.db')
  await (await openDatabase({ url: `sqlite:${path}`, role: 'tool' })).close()
  const to = join(folder, 'file', 'copy.db')
  await t.rejects(backupStorage({ url: `sqlite:${path}`, to }), {
    code: 'storage_unavailable',
    message: `the storage cannot be written: the copy ${to}: a part of its path is a file; name a file in a folder, or choose another file for the copy`,
  })
  for (const name of ['folder', 'file']) {
    const url = `sqlite:${join(folder, name)}`
    await t.rejects(
      backupStorage({ url, to: join(folder, 'copy.db') }),
      {
        code: 'storage_unavailable',
        message: new RegExp(`the storage cannot be written: ${join(folder, name)}: `),
      },
      caseName({ name }),
    )
  }
})

t.test('a restored database has the owner and the mode of the replaced one', async t => {
  const folder = t.testdir()
  const [path, copy] = [join(folder, 'books.db'), join(folder, 'copy.db')]
  const url = `sqlite:${path}`
  await (await openDatabase({ url, role: 'tool' })).close()
  await backupStorage({ url, to: copy })
  chmodSync(path, 0o660)
  const isRoot = process.getuid?.() === 0
  if (isRoot) chownSync(path, 4_321, 4_322)
  const before = statSync(path)
  await restoreStorage({ url, from: copy })
  const { mode, uid, gid } = statSync(path)
  t.same([mode, uid, gid], [before.mode, before.uid, before.gid])
  rmSync(path)
  await restoreStorage({ url, from: copy })
  t.equal(statSync(path).mode & 0o777, 0o640, 'as a new database')
})
