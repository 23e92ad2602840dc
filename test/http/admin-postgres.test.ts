import { hostname } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { apiRoutes } from '../../src/admin/index.ts'
import { definePlugin } from '../../src/index.ts'
import { until } from '../harness/edits.ts'
import { listen } from '../harness/listen.ts'
import { png } from '../harness/pictures.ts'
import { startPostgres } from '../harness/postgres.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, newVisitor } from '../harness/visitor.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())

t.test('two gateways on one PostgreSQL are one console', async t => {
  const env = { TOLLGATE_STORAGE: await postgres.createDatabase() }
  const one = await start(t, { upstreams: ['alpha'], env })
  const other = await start(t, { upstreams: ['alpha'], env })
  const admin = await enterAsAdmin(one)
  const there = newVisitor(other.url)
  there.cookie = admin.cookie
  t.match((await there.get('/api/session')).body, { user: { name: 'root', role: 'admin' } }, 'a session holds at both')

  const tail = await listen(one.url, admin)
  other.upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(1254, 1254).toString('base64') }] })
  const { key, secret } = (await admin.post('/api/keys', { name: 'mine' })).body as {
    key: { id: string }
    secret: string
  }
  const sent = await other.post(
    '/v1/images/generations',
    { model: 'alpha-image-2', prompt: 'a boat' },
    { authorization: `Bearer ${secret}` },
  )
  t.equal(sent.status, 200)
  await sent.arrayBuffer()
  await other.settled()
  const id = sent.headers.get('x-request-id') ?? ''
  await until(() => tail.events.length > 0)
  t.match(tail.events, [{ id, billing: { amount: '0.04' } }], "the tail of one gateway shows the other's requests")
  tail.stop()
  await tail.done

  t.match((await admin.get(`/api/logs?key=${key.id}&tier=2K`)).body, { records: [{ id }] })
  t.match((await admin.get('/api/logs/histogram')).body, { steps: [{ requests: 1, errors: 0 }] })
  t.match((await admin.get('/api/overview')).body, {
    requests: 1,
    spent: [{ amount: '0.04' }],
    images: [{ tier: '2K', count: 1 }],
  })
  t.match((await admin.get('/api/usage')).body, { rows: [{ key_id: key.id, images: 1, amount: '0.04' }] })
  t.match((await admin.post(`/api/logs/${id}/refund`, { reason: 'blurred' })).body, { billing: { refunded: '0.04' } })
  t.match((await there.get('/api/audit?action=charge')).body, { rows: [{ actor: 'root', subject: id }] })
  t.match((await admin.get('/api/system')).body, { storage: { kind: 'postgres', healthy: true }, disk_free: null })

  await there.ask('DELETE', '/api/session')
  t.equal((await admin.get('/api/session')).status, 401, 'logged out at one is logged out at both')
})

t.test('a written change names the gateways on the same file that did not load it, and why', async t => {
  let isOdd = false
  const odd = definePlugin({
    name: 'odd',
    create() {
      if (isOdd) throw new Error('not today')
      return {}
    },
  })
  const env = { TOLLGATE_STORAGE: await postgres.createDatabase() }
  const edit = [{ 'server/console_edits': 'on' }, ['pipeline: [auth,', 'pipeline: [odd, auth,']] as const
  const one = await start(t, { upstreams: [], onDisk: true, edit, env, plugins: [odd] })
  const file = join(one.folder, 'gateway.yaml')
  const { gateway: other } = await start(t, { upstreams: [], onDisk: true, file, edit, env, plugins: [odd] })
  const admin = await enterAsAdmin(one)
  const write = async (value: string) => {
    const edits = [{ path: ['models', 'alpha-image-2', 'prices', '2K'], value }]
    const { base } = (await admin.get('/api/config/editable')).body as { base: string }
    return admin.post('/api/config/write', { edits, base })
  }
  const both = write('0.05')
  await until(() => one.gateway.plan.revision !== other.plan.revision)
  await other.reload({ how: 'file', by: null })
  t.match((await both).body, { ok: true, outdated: [], refusals: [] })
  t.equal(other.plan.revision, one.gateway.plan.revision)

  const { revision } = other.plan
  const first = write('0.06')
  await until(() => one.gateway.plan.revision !== revision)
  isOdd = true
  await other.reload({ how: 'file', by: null })
  const { body } = await first
  t.match(body, { ok: true, outdated: [{ host: hostname(), revision }], refusals: [/not today/] })
  const { refusals, outdated } = body as { refusals: readonly string[]; outdated: readonly { host: string }[] }
  t.ok(refusals[0]?.startsWith(`${outdated[0]?.host}: `), 'with the host that reported it')
  t.match(body, { revision: one.gateway.plan.revision, outdated: { length: 1 } }, 'the others use it')
})

t.test('of several requests that declare a user at once, at several gateways, one creates it', async t => {
  const env = { TOLLGATE_STORAGE: await postgres.createDatabase() }
  const one = await start(t, { upstreams: [], env })
  const other = await start(t, { upstreams: [], env })
  const admin = await enterAsAdmin(one)
  const there = newVisitor(other.url)
  there.cookie = admin.cookie
  for (const name of ['ada', 'ben', 'cy']) {
    const put = Array.from({ length: 12 }, (_, i) =>
      (i % 2 === 0 ? admin : there).ask('PUT', `/api/users/${name}`, { group: 'partner', budget: '5' }),
    )
    const statuses = (await Promise.all(put)).map(({ status }) => status)
    t.same(
      statuses.toSorted((a, b) => a - b),
      [...Array<number>(11).fill(200), 201],
      name,
    )
  }
})

t.test('a search for the character 0, which PostgreSQL does not store, finds nothing', async t => {
  const started = await start(t, { upstreams: [], env: { TOLLGATE_STORAGE: await postgres.createDatabase() } })
  const admin = await enterAsAdmin(started)
  let tried = 0
  for (const { method, url, query, contentType } of apiRoutes) {
    if (method !== 'GET' || contentType === 'text/event-stream') continue
    for (const name of Object.keys((query as { properties?: object } | undefined)?.properties ?? {})) {
      const { status, text } = await admin.get(`${url.replaceAll(/:\w+/g, 'root')}?${name}=a%00`)
      t.ok(status < 500, `${url}?${name}: ${text.slice(0, 200)}`)
      tried++
    }
  }
  t.ok(tried > 50)
})

t.test('while PostgreSQL is away the API reports it, and pages without data work', async t => {
  const started = await start(t, { upstreams: [], env: { TOLLGATE_STORAGE: await postgres.createDatabase() } })
  const admin = await enterAsAdmin(started)
  await postgres.stop('immediate')
  for (const path of ['/api/session', '/api/keys', '/api/logs', '/api/audit']) {
    const down = await admin.get(path)
    t.match([down.status, down.code], [503, 'storage_unavailable'], path)
    t.notMatch(down.text, /postgres|ECONN|127\.0\.0\.1/i, path)
  }
  t.equal((await admin.get('/pricing')).status, 200)
  await postgres.start()
  await until(async () => (await admin.get('/api/session')).status === 200)
  t.equal((await admin.get('/api/logs')).status, 200, 'the session is there again')
})
