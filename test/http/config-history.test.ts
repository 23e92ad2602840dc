import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { ConfigTaken } from '../../src/index.ts'
import { start, type Started } from '../harness/start.ts'
import { runCli } from '../harness/cli.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'
import { picture } from '../harness/pictures.ts'

/** The kept configurations, oldest first, once there are this many. */
async function kept({ gateway }: Started, count: number): Promise<readonly ConfigTaken[]> {
  const end = performance.now() + 30_000
  for (;;) {
    const rows = await gateway.storage.configs.list({ limit: 100 })
    if (rows.length >= count || performance.now() > end) return rows.toReversed()
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

t.test('every applied configuration is stored once, without its secrets', async t => {
  const literal = 'sk-literal-0123456789'
  const started = await start(t, {
    upstreams: ['alpha'],
    edit: [
      ['Bearer ${BETA_API_KEY:-}', `Bearer ${literal}`],
      ['currency: USD', `currency: USD # once ${literal}`],
    ],
  })
  const admin = await enterAsAdmin(started)
  t.match(await kept(started, 1), [{ id: 1, how: 'start', by: null, revision: started.plan.revision, changes: [] }])
  const first = await started.gateway.storage.configs.find(1)
  t.match(first?.files, [{ file: 'gateway.yaml' }])
  t.equal(first?.files[0]?.text, ((await admin.get('/api/config')).body as { text: string }).text, 'as it is shown')
  t.notMatch(JSON.stringify(first), /sk-literal|upstream-secret/)
  t.match(first?.settings, { currency: 'USD' })

  await started.gateway.reload({ how: 'signal', by: null })
  await started.reload([['"0.04"', '"0.05"']])
  t.match((await kept(started, 2))[1], {
    id: 2,
    how: 'program',
    changeCount: 1,
    changes: [/2K: 0\.04 USD → 0\.05 USD/],
  })
  // The change shows the position of the secret, but neither its old nor its new value.
  await started.reload([[`Bearer ${literal}`, 'Bearer sk-literal-9876543210']])
  const secret = (await kept(started, 3))[2]
  t.match(secret, {
    revision: (await kept(started, 2))[1]?.revision,
    changes: ['upstreams.beta.credential.value: changed'],
  })
  t.notMatch(JSON.stringify(await started.gateway.storage.configs.find(3)), /sk-literal/)
  t.match((await admin.post('/api/config/reload')).body, { ok: true, changes: [] })
  await started.reload([['"0.05"', '"free"']])
  const response = await fetch(`${started.opsUrl}/reload`, { method: 'POST' })
  t.equal(response.status, 422)
  await started.reload([
    ['"free"', '"0.05"'],
    ['version: 1', '# a note\nversion: 1'],
  ])
  t.match((await kept(started, 4))[3], { id: 4, revision: secret?.revision, changes: [], changeCount: 0 })
  const again = await started.reopen()
  await again.gateway.reload()
  t.equal((await kept(again, 4)).length, 4, 'refused or unchanged configurations and restarts are not stored')
})

t.test('records who changed it in the console, or the other trigger', async t => {
  const started = await start(t, {
    simulated: true,
    onDisk: true,
    edit: [['server:\n', 'server:\n  console_edits: on\n']],
  })
  const file = join(started.folder, 'gateway.yaml')
  const original = await readFile(file, 'utf8')
  const root = await enterAsAdmin(started)
  const edits = [{ path: ['models', 'alpha-image-2', 'prices', '2K'], value: '0.05' }]
  const { base } = (await root.post('/api/config/propose', { edits })).body as { base: string }
  t.match((await root.post('/api/config/write', { edits, base })).body, { ok: true })
  t.match((await kept(started, 2))[1], { how: 'edit', by: 'root', changes: [/0\.05/] })
  const write = (price: string) => writeFile(file, original.replace('2K: "0.04"', `2K: "${price}"`))
  await write('0.06')
  t.match((await root.post('/api/config/reload')).body, { ok: true })
  t.match((await kept(started, 3))[2], { how: 'console', by: 'root' })
  await write('0.07')
  t.equal((await fetch(`${started.opsUrl}/reload`, { method: 'POST' })).status, 200)
  t.match((await kept(started, 4))[3], { how: 'command', by: null })
})

t.test('history is listed, compared, and rated again without secrets', async t => {
  const started = await start(t, {
    upstreams: ['alpha'],
    edit: [['Bearer ${BETA_API_KEY:-}', 'Bearer sk-literal-0123456789']],
  })
  const admin = await enterAsAdmin(started)
  started.upstream.answer({ created: 1, data: [picture(1000, 1000), picture(2000, 1000)] })
  await (await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a', n: 2 })).arrayBuffer()
  await started.settled()
  await kept(started, 1)
  await started.reload([['2K: "0.04"', '2K: "0.05"']])
  await kept(started, 2)
  await started.reload([['currency: USD', 'currency: USD # as it is']])
  await kept(started, 3)

  const list = async (query = '') => (await admin.get(`/api/config/history${query}`)).body
  t.match(await list(), {
    rows: [{ id: 3, changes: [], change_count: 0 }, { id: 2 }, { id: 1, how: 'start' }],
    next: null,
  })
  t.match(await list('?limit=1'), { rows: [{ id: 3 }], next: 3 })
  t.match(await list('?limit=1&before=3'), { rows: [{ id: 2, change_count: 1 }], next: 2 })
  const diff = async (path: string) => (await admin.get(`/api/config/history/${path}`)).body
  const lines = [
    { kind: 'gone', text: /2K: "0\.04"/ },
    { kind: 'new', text: /2K: "0\.05"/ },
  ]
  const second = (await diff('2')) as { files: { hunks: { lines: { kind: string }[] }[] }[] }
  t.match(second, {
    id: 2,
    against: 1,
    changes: [/0\.04 USD → 0\.05 USD/],
    files: [{ file: 'gateway.yaml', kept: true }],
  })
  t.match(
    second.files[0]?.hunks[0]?.lines.filter(({ kind }) => kind !== 'same'),
    lines,
  )
  t.match(await diff('3?against=1'), { id: 3, against: 1, changes: [/0\.05/], files: [{ hunks: [{}, {}] }] })
  t.match(await diff('1'), { against: null, changes: [], files: [{ hunks: [{ lines: [{ kind: 'new' }] }] }] })
  for (const path of ['9', '2?against=9', 'x'])
    t.equal((await admin.get(`/api/config/history/${path}`)).status, 404, path)

  const restoring = (await admin.get('/api/config/history/1/edits')).body as {
    readonly edits: readonly { readonly path: readonly string[]; readonly value?: unknown }[]
  }
  t.match(restoring, {
    edits: [{ path: ['models', 'alpha-image-2', 'prices', '2K'], value: '0.04', was: '0.05' }],
    left: [],
  })
  const edits = restoring.edits.map(({ path, value }) => ({ path, value }))
  t.match((await admin.post('/api/config/propose', { edits })).body, { ok: true, changes: [/0\.05 USD → 0\.04 USD/] })
  t.same((await admin.get('/api/config/history/3/edits')).body, { edits: [], left: [] }, 'as it is')
  t.equal((await admin.get('/api/config/history/9/edits')).status, 404)

  const [since, until] = [new Date(Date.now() - 3_600_000).toISOString(), new Date(Date.now() + 60_000).toISOString()]
  const cost = (id: number, body: object = { since, until }) => admin.post(`/api/config/history/${id}/cost`, body)
  t.match(
    (await cost(1)).body,
    { ok: true, charges: 1, before: '0.06', after: '0.06' },
    'by the prices that it was made by',
  )
  t.match((await cost(2)).body, { ok: true, charges: 1, before: '0.06', after: '0.07', difference: '0.01' })
  t.match((await cost(2, {})).body, { ok: true, charges: 0, since: /-01T/ }, 'last month by default')
  t.equal((await cost(9)).status, 404)
  const { configs } = started.gateway.storage
  const third = await configs.find(3)
  if (!third) throw new Error('the third is not kept')
  await configs.keep({ ...third, mark: 'of an old time', files: [{ file: 'gateway.yaml', text: 'version: 9' }] }, 3)
  t.match((await cost(4)).body, { ok: false, findings: [{ severity: 'error' }] })
  await configs.keep({ ...third, mark: 'too long', files: [...third.files, { file: 'book.csv', text: null }] }, 4)
  t.match([(await cost(5)).status, (await cost(5)).code], [409, 'conflict'])
  t.equal((await admin.get('/api/config/history/5/edits')).status, 409)
  t.match(await diff('5'), { files: [{ file: 'gateway.yaml' }, { file: 'book.csv', kept: false, hunks: [] }] })
  const viewer = await enterAsUser(started, admin, 'vera', 'viewer')
  t.equal((await viewer.get('/api/config/history')).status, 200)
  t.equal((await viewer.post('/api/config/history/1/cost', {})).status, 403)

  const place = { folder: started.folder, storage: `sqlite:${join(started.folder, 'tollgate.db')}` }
  const run = (...words: readonly string[]) => runCli(place, 'config', ...words)
  const listed = await run('history', '--limit', '4')
  t.match(
    listed.stdout,
    /^ID +TOOK EFFECT +REVISION +BY +CHANGES\n5 .*\n4 .*\n3 .*no effect: only the text changed\n2 .* a program +price of .*0\.05/,
  )
  const json = (text: string) =>
    text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as object)
  t.match(json((await run('history', '--format', 'json')).stdout).at(-1), { id: 1, how: 'start', by: null })
  const comparison = await run('diff', '2')
  t.match(
    comparison.stdout,
    /^price of alpha-image-2.*0\.05 USD\n\n--- gateway\.yaml of 1\n\+\+\+ gateway\.yaml of 2\n@@ -\d+,7 \+\d+,7 @@\n/,
  )
  t.match(comparison.stdout, /\n-.*2K: "0\.04".*\n\+.*2K: "0\.05"/)
  t.match(json((await run('diff', '3', '1', '--format', 'json')).stdout), [
    { id: 3, against: 1, changes: [/0\.05/], change_count: 1 },
  ])
  const whole = (await run('diff', '1')).stdout
  t.match(whole, /^--- gateway\.yaml\n\+\+\+ gateway\.yaml of 1\n@@ -0,0 \+1,\d+ @@\n\+/, 'the first is new, all of it')
  t.match(await run('diff', '77'), { code: 2, stderr: /there is no configuration 77/ })
})

const listed = `version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups:
  default: { rpm: 60 }
upstreams: { text: { url: "simulator:text" } }
pipeline: [auth, ratelimit, token-usage]
families:
  chat: { forward: { chat: { all: true } }, token-usage: {} }
model_lists:
  small: { family: chat, upstream: text, models: { one: { input: "1", output: "2" } } }
models:
  own: { family: chat, upstream: text, prices: { input: "1", output: "2" } }   # a comment
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`

t.test('a restore omits and lists what only the file can change', async t => {
  const started = await start(t, { simulated: true, yaml: listed })
  const admin = await enterAsAdmin(started)
  type Restoring = { readonly edits: readonly { readonly path: readonly string[]; readonly value?: unknown }[] }
  const restoring = async (id: number) => (await admin.get(`/api/config/history/${id}/edits`)).body as Restoring
  const propose = async ({ edits }: Restoring) =>
    (await admin.post('/api/config/propose', { edits: edits.map(({ path, value }) => ({ path, value })) })).body
  await kept(started, 1)
  await started.reload([
    { 'groups/default/rpm': 61 },
    ['groups:\n', 'groups:\n  later: { rpm: 5 }\n'],
    ['one: { input: "1"', 'one: { input: "3"'],
  ])
  await kept(started, 2)
  const second = await restoring(1)
  t.match(second, {
    edits: [{ path: ['groups', 'default', 'rpm'], value: 60, was: 61 }],
    left: [/^groups\.later\.rpm$/, /^groups\.later/, /^groups\.later/, /^groups\.later/, 'models.one.prices.input'],
  })
  t.equal(second.edits.length, 1, 'only the file can remove the group and change the list')
  t.match(await propose(second), { ok: true, changes: ['groups.default.rpm: 61 → 60'] })

  // A model that left its list, and one that joined it.
  await started.reload([
    ['one: { input: "3", output: "2" }', 'own: { input: "1", output: "2" }'],
    [
      '  own: { family: chat, upstream: text, prices: { input: "1"',
      '  one: { family: chat, upstream: text, prices: { input: "1"',
    ],
  ])
  await kept(started, 3)
  const third = await restoring(1)
  t.same(
    third.edits.map(({ path }) => path.join('.')),
    ['groups.default.rpm'],
  )
  t.match(await propose(third), { ok: true })
})

t.test('a restore of many prices fits into one proposal, and keeps comments', async t => {
  const lines = Array.from(
    { length: 12 },
    (_, i) => `  m${i}: { family: chat, upstream: text, prices: { input: "1", output: "2" } }   # comment ${i}\n`,
  )
  const started = await start(t, { simulated: true, yaml: listed.replace('models:\n', `models:\n${lines.join('')}`) })
  const admin = await enterAsAdmin(started)
  await kept(started, 1)
  await started.reload([[/prices: { input: "1", output: "2" }/g, 'prices: { input: "3", output: "4" }']])
  await kept(started, 2)
  const { edits } = (await admin.get('/api/config/history/1/edits')).body as {
    edits: { path: string[]; value: unknown; was: unknown }[]
  }
  t.match(edits, [{ path: ['models', 'm0'], value: { prices: { input: '1' } }, was: { prices: { input: '3' } } }])
  t.equal(edits.length, 13, 'one change for each model')
  const body = { edits: edits.map(({ path, value }) => ({ path, value })) }
  const proposed = await admin.post('/api/config/propose', body)
  t.match(proposed.body, { ok: true, patch: /\n\+  m11: .* input: "1", output: "2" } }   # comment 11\n/ })
})
