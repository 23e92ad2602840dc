import { appendFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { definePlugin } from '../../src/index.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, passwordOfTests } from '../harness/visitor.ts'

const price = (value: string) => ({ path: ['models', 'alpha-image-2', 'prices', '2K'], value })

t.test('requests at once wait for each other', async t => {
  const started = await start(t, {
    simulated: true,
    onDisk: true,
    edit: [{ 'server/console_edits': 'on' }],
  })
  const root = await enterAsAdmin(started)
  const edits = [price('0.05')]
  const six = async <T>(send: () => Promise<T>) => Promise.all(Array.from({ length: 6 }, send))
  for (const [name, send] of Object.entries({
    propose: () => root.post('/api/config/propose', { edits }),
    cost: () => root.post('/api/config/cost', { edits }),
    difference: () => root.get('/api/config/history/1'),
    statement: () => root.get('/api/statements'),
  }))
    t.same(
      (await six(send)).map(one => one.status),
      Array(6).fill(200),
      name,
    )
  const { base } = (await root.get('/api/config/editable')).body as { base: string }
  const written = await six(() => root.post('/api/config/write', { edits, base }))
  t.equal(written.filter(one => one.status === 200).length, 1)
  t.equal(written.filter(one => one.code === 'config_changed').length, 5)
})

t.test('groups that a program declares at once are all written', async t => {
  const edit = [{ 'server/console_edits': 'on' }]
  const started = await start(t, { simulated: true, onDisk: true, edit })
  const root = await enterAsAdmin(started)
  const names = ['one', 'two', 'three', 'four', 'two']
  const put = await Promise.all(names.map((name, i) => root.ask('PUT', `/api/groups/${name}`, { rpm: 5 + (i % 3) })))
  t.same(
    put.map(({ status }) => status),
    names.map(() => 200),
  )
  const groups = [...started.gateway.plan.groups.keys()]
  t.same(new Set(groups), new Set(['default', 'partner', ...names]), 'each of them')
  t.equal(groups.length, 6)
  const again = await Promise.all(Array.from({ length: 40 }, () => root.ask('PUT', '/api/groups/one', { rpm: 5 })))
  t.ok(
    again.every(({ status }) => status === 200),
    'a group that does not change waits for none',
  )
})

t.test('a change is proposed, written in place and applied, or nothing is changed', async t => {
  const started = await start(t, {
    simulated: true,
    onDisk: true,
    edit: [{ 'server/console_edits': 'on' }, ['Bearer ${ALPHA_API_KEY:-}', 'Bearer sk-literal-secret-77']],
  })
  const file = join(started.folder, 'gateway.yaml')
  const root = await enterAsAdmin(started)
  const text = () => readFile(file, 'utf8')
  const original = await text()
  await chmod(file, 0o640)
  const propose = async (...edits: object[]) => root.post('/api/config/propose', { edits })
  type Proposal = { base: string; patch: string; ok: boolean }
  const baseNow = async () => ((await root.get('/api/config/editable')).body as Proposal).base

  t.match((await root.get('/api/config/editable')).body, { writable: true, why_not: null })
  const proposed = await propose(price('0.05'))
  t.match(proposed.body, { ok: true, writable: true, changes: [/alpha-image-2.*0\.05/] })
  t.notMatch(proposed.text, /sk-literal-secret/)
  t.match((proposed.body as Proposal).patch, /\n-.*2K: "0\.04".*\n\+.*2K: "0\.05"/)
  t.equal(await text(), original, 'nothing is written yet')

  const { base } = proposed.body as Proposal
  const write = (body: object = {}) => root.post('/api/config/write', { edits: [price('0.05')], base, ...body })
  await writeFile(file, `${original}# meanwhile\n`)
  t.match([(await write()).status, (await write()).code], [409, 'config_changed'])
  t.equal(await text(), `${original}# meanwhile\n`)
  await writeFile(file, original)

  const { ok, base: wrongBase } = (await propose(price('free of charge'))).body as Proposal
  t.equal(ok, false)
  t.match((await write({ edits: [price('free of charge')], base: wrongBase })).body, {
    ok: false,
    findings: [{ severity: 'error' }],
  })
  t.equal(await text(), original, 'a refused change is not written')

  await chmod(file, 0o444)
  t.match((await write()).code, 'config_read_only')
  await chmod(file, 0o640)

  t.match((await write({ password: passwordOfTests })).body, { ok: true, changes: [/0\.05/] })
  t.match(await text(), /2K: "0\.05"/)
  t.equal((await stat(file)).mode & 0o777, 0o640, 'the file mode is unchanged')
  t.equal(await readFile(join(started.folder, '.gateway.yaml.previous'), 'utf8'), original)
  t.match((await root.get('/api/models')).text, /"0\.05"/, 'it is in use')
  t.match((await root.get('/api/audit')).body, { rows: [{ action: 'config.write', actor: 'root' }] })

  await mkdir(join(started.folder, 'real'))
  await rename(file, join(started.folder, 'real/gateway.yaml'))
  await symlink('real/gateway.yaml', file)
  t.match((await write({ edits: [price('0.06')], base: await baseNow() })).body, { ok: true })
  t.match(
    await readFile(join(started.folder, 'real/gateway.yaml'), 'utf8'),
    /2K: "0\.06"/,
    'what a link leads to is written',
  )
  t.notOk(
    (await readdir(join(started.folder, 'real'))).some(name => name.endsWith('.new')),
    'nothing is left over',
  )
  t.match((await write({ password: 'not this one at all' })).body, { error: { code: 'sign_in_again' } })

  for (const path of [
    ['upstreams', 'alpha', 'url'],
    ['models', 'nobody', 'enabled'],
    ['server', 'console_edits'],
  ])
    t.equal((await propose({ path, value: 'x' })).status, 400, path.join('.'))
  t.match((await propose()).body, { error: { message: "'edits' needs at least 1 items.", reason: 'too_few' } })
  const viewer = await enterAsUser(started, root, 'vic', 'viewer')
  t.equal((await viewer.get('/api/config/editable')).status, 403)
})

t.test('a file that is not UTF-8 is not written, because its other bytes would be lost', async t => {
  const started = await start(t, { simulated: true, onDisk: true, edit: [{ 'server/console_edits': 'on' }] })
  const root = await enterAsAdmin(started)
  const file = join(started.folder, 'gateway.yaml')
  const bytes = Buffer.concat([await readFile(file), Buffer.from('# caf\u00e9\n', 'latin1')])
  await writeFile(file, bytes)
  const { base } = (await root.get('/api/config/editable')).body as { base: string }
  const refused = await root.post('/api/config/write', { edits: [price('0.05')], base })
  t.match([refused.status, refused.code], [409, 'config_read_only'])
  t.match(refused.text, /not UTF-8/)
  t.same(await readFile(file), bytes)
})

t.test('without permission a change is a patch, and nothing is written', async t => {
  const started = await start(t, { simulated: true, onDisk: true })
  const root = await enterAsAdmin(started)
  const proposed = await root.post('/api/config/propose', { edits: [price('0.05')] })
  t.match(proposed.body, { ok: true, writable: false, why_not: 'off', patch: /^--- a\/gateway\.yaml\n/ })
  const { base } = proposed.body as { base: string }
  t.match((await root.post('/api/config/write', { edits: [price('0.05')], base })).code, 'edits_off')
  t.notMatch(await readFile(join(started.folder, 'gateway.yaml'), 'utf8'), /2K: "0\.05"/)
})

t.test('a change that a reload refuses is reverted, or reported if someone saved meanwhile', async t => {
  let wanted: 'fine' | 'refused' | 'saved' = 'fine'
  let file = ''
  const plugin = definePlugin({
    name: 'odd',
    create() {
      if (wanted === 'saved') appendFileSync(file, '# meanwhile\n')
      if (wanted !== 'fine') throw new Error('not today')
      return {}
    },
  })
  const started = await start(t, {
    simulated: true,
    onDisk: true,
    plugins: [plugin],
    edit: [{ 'server/console_edits': 'on' }, ['pipeline: [auth,', 'pipeline: [odd, auth,']],
  })
  file = join(started.folder, 'gateway.yaml')
  const root = await enterAsAdmin(started)
  const original = await readFile(file, 'utf8')
  const { base } = (await root.get('/api/config/editable')).body as { base: string }
  const write = async () => (await root.post('/api/config/write', { edits: [price('0.05')], base })).body
  const trail = async () => ((await root.get('/api/audit?action=config.write')).body as { rows: object[] }).rows
  wanted = 'refused'
  t.match(await write(), { ok: false, findings: [{ code: 'plugin_failed' }], files: [] })
  t.equal(await readFile(file, 'utf8'), original)
  t.equal(await readFile(join(started.folder, '.gateway.yaml.previous'), 'utf8'), original, 'not the refused one')
  t.same(await trail(), [])
  wanted = 'saved'
  t.match(await write(), { ok: false, findings: [{ code: 'plugin_failed' }], files: [file], changes: [/0\.05/] })
  t.match(await readFile(file, 'utf8'), /# meanwhile/)
  t.match(await trail(), [{ actor: 'root', after: { revision: null, files: [file] } }])
})
