import { mkdir, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { chooseSecretOutput } from '../../src/cli/secret-output.ts'
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
    const place = await chooseSecretOutput('tollgate-first-key', { storage, file }, { isTerminal: false, env: {} })
    if (place.kind === 'file') await place.write(storage)
  }
  for (const { storage, name } of places)
    t.equal(await readFile(join(folder, name), 'utf8'), storage, caseName({ name }))

  const plain = await chooseSecretOutput(
    'tollgate-first-key',
    { storage: postgres, file: config },
    { isTerminal: false, env: { STATE_DIRECTORY: t.testdir({}) } },
  )
  t.match(plain, { path: /tollgate-first-key$/ }, 'a configuration called gateway.yaml has the plain name')
  if (plain.kind === 'file') await plain.write('')
})

t.test('a secret is in a new file, which no process has open, and nothing else is left in the folder', async t => {
  const folder = t.testdir({ 'gateway.yaml': '', 'of-others': 'theirs\n' })
  const path = join(folder, 'tollgate-first-key')
  const plan = { storage: 'postgres://tollgate@db.example/tollgate', file: join(folder, 'gateway.yaml') }
  const hand = () => chooseSecretOutput('tollgate-first-key', plan, { isTerminal: false, env: {} })
  await writeFile(path, 'the old secret\n', { mode: 0o644 })
  const reader = await open(path, 'r')
  const place = await hand()
  if (place.kind === 'file') await place.write('the new secret\n')
  t.equal(await readFile(path, 'utf8'), 'the new secret\n')
  t.equal((await stat(path)).mode & 0o777, 0o600)
  t.equal(await reader.readFile('utf8'), 'the old secret\n', 'an open file keeps its text')
  await reader.close()

  const linked = join(folder, 'linked')
  await mkdir(linked)
  await symlink(join(folder, 'of-others'), join(linked, 'tollgate-first-key'))
  const other = await chooseSecretOutput(
    'tollgate-first-key',
    { ...plan, file: join(linked, 'gateway.yaml') },
    { isTerminal: false, env: {} },
  )
  if (other.kind === 'file') await other.write('the new secret\n')
  t.equal(await readFile(join(folder, 'of-others'), 'utf8'), 'theirs\n', 'a link is replaced, not followed')
  t.equal(await readFile(join(linked, 'tollgate-first-key'), 'utf8'), 'the new secret\n')
  t.strictSame((await readdir(folder)).toSorted(), ['gateway.yaml', 'linked', 'of-others', 'tollgate-first-key'])
})

t.test('a folder in place of the file is reported before a secret exists', async t => {
  const folder = t.testdir({ 'gateway.yaml': '' })
  await mkdir(join(folder, 'tollgate-first-key'))
  const plan = { storage: 'postgres://tollgate@db.example/tollgate', file: join(folder, 'gateway.yaml') }
  const place = await chooseSecretOutput('tollgate-first-key', plan, { isTerminal: false, env: {} })
  t.match(place, { kind: 'nowhere', reason: /EISDIR|EEXIST|ENOTEMPTY/ })
  t.strictSame((await readdir(folder)).toSorted(), ['gateway.yaml', 'tollgate-first-key'])
})
