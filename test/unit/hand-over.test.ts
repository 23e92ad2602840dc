import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { handOver } from '../../src/cli/hand-over.ts'
import { makeFolder } from '../harness/folder.ts'
import { caseName } from '../harness/case-name.ts'

t.test('what is shown once goes to a terminal, or else into a file of mode 600, or nowhere', async t => {
  const { folder } = await makeFolder(t)
  await mkdir(join(folder, 'data'))
  await mkdir(join(folder, 'state'))
  const file = join(folder, 'gateway.yaml')
  const sqlite = { storage: `sqlite:${join(folder, 'data', 'a.db')}`, file }
  const postgres = { storage: 'postgres://h/db', file }
  t.same(await handOver('key', sqlite, { isTerminal: true, env: {} }), { kind: 'terminal' })
  const rows = [
    [sqlite, {}, join(folder, 'data', 'key')],
    [postgres, { STATE_DIRECTORY: join(folder, 'state') }, join(folder, 'state', 'key')],
    [postgres, {}, join(folder, 'key')],
    [{ storage: `sqlite://${join(folder, 'data', 'b.db')}`, file }, {}, join(folder, 'data', 'key')],
  ] as const
  for (const [plan, env, path] of rows) {
    const place = await handOver('key', plan, { isTerminal: false, env })
    t.match(place, { kind: 'file', path }, caseName({ plan, env, path }))
    if (place.kind === 'file') await place.write('sk-secret\n')
    t.equal(await readFile(path, 'utf8'), 'sk-secret\n', caseName({ plan, env, path }))
    t.equal(((await stat(path)).mode & 0o777).toString(8), '600', caseName({ plan, env, path }))
  }
  const old = join(folder, 'data', 'key')
  await chmod(old, 0o644)
  await writeFile(old, 'much longer than what comes')
  const again = await handOver('key', sqlite, { isTerminal: false, env: {} })
  if (again.kind === 'file') await again.write('new\n')
  t.equal(await readFile(old, 'utf8'), 'new\n')
  t.equal(((await stat(old)).mode & 0o777).toString(8), '600', 'one that everybody could read')
  const nowhere = { storage: 'postgres://h/db', file: join(folder, 'missing', 'gateway.yaml') }
  t.match(await handOver('key', nowhere, { isTerminal: false, env: {} }), { kind: 'nowhere', reason: /ENOENT/ })
})
