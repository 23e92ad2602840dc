import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { handOver } from '../../src/cli/hand-over.ts'
import { caseName } from '../harness/case-name.ts'

t.test('two databases in one folder keep their first keys in separate files', async t => {
  const folder = t.testdir()
  const config = join(folder, 'gateway.yaml')
  const postgres = 'postgres://tollgate@db.example/tollgate'
  const places = [
    { storage: `sqlite:${join(folder, 'tollgate.db')}`, file: config, name: 'tollgate-first-key' },
    { storage: `sqlite:${join(folder, 'other.db')}`, file: config, name: 'tollgate-first-key-other.db' },
    { storage: `sqlite:${join(folder, 'other.sqlite')}`, file: config, name: 'tollgate-first-key-other.sqlite' },
    { storage: postgres, file: join(folder, 'staging.yaml'), name: 'tollgate-first-key-staging.yaml' },
  ]
  for (const { storage, file } of places) {
    const place = await handOver('tollgate-first-key', { storage, file }, { isTerminal: false, env: {} })
    if (place.kind === 'file') await place.write(storage)
  }
  for (const { storage, name } of places)
    t.equal(await readFile(join(folder, name), 'utf8'), storage, caseName({ name }))

  const plain = await handOver(
    'tollgate-first-key',
    { storage: postgres, file: config },
    { isTerminal: false, env: { STATE_DIRECTORY: t.testdir({}) } },
  )
  t.match(plain, { path: /tollgate-first-key$/ }, 'a configuration called gateway.yaml has the plain name')
  if (plain.kind === 'file') await plain.write('')
})
