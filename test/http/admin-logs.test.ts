import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { AdminRequest } from '../../src/admin/api.ts'
import { exportLines } from '../../src/admin/export.ts'
import type { LogRow } from '../../src/domain/index.ts'
import { Ids, unknownOfLogRow } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { listen, type Row } from '../harness/listen.ts'
import { png } from '../harness/pictures.ts'
import { runCli } from '../harness/cli.ts'
import { until } from '../harness/edits.ts'
import { type Edits, start, type Started, type StartOptions } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, newVisitor, type Visitor } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

type Page = { readonly records: readonly Row[]; readonly next: string | null }

const ids = new Ids()
const noLimits: Edits = [{ 'groups/default': { rpm: 1000000, tpm: 500000 } }]

type Desk = {
  readonly started: Started
  readonly admin: Visitor
  readonly draw: (size?: string) => Promise<string>
  readonly fail: () => Promise<string>
}

/** An administrator at the console of a gateway whose upstream draws the requested picture. */
async function openDesk(t: Test, options: StartOptions = {}): Promise<Desk> {
  const started = await start(t, { upstreams: ['alpha'], edit: noLimits, ...options })
  const admin = await enterAsAdmin(started)
  const send = async (fields: object): Promise<string> => {
    const answer = await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat', ...fields })
    await answer.arrayBuffer()
    await started.settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  return {
    started,
    admin,
    draw(size) {
      started.upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(1672, 941).toString('base64') }] })
      return send(size === undefined ? {} : { size })
    },
    fail: () => send({ model: 'no-such-model' }),
  }
}

const recordsOf = async (visitor: Visitor, query: string) =>
  ((await visitor.get(`/api/logs?${query}`)).body as Page).records

t.test('the log is paged newest first, each row once; filters select rows', async t => {
  const { admin, draw, fail } = await openDesk(t)
  const ids: string[] = []
  for (let i = 0; i < 3; i++) ids.unshift(await draw('3840x2160'), await fail())
  const seen: string[] = []
  let before = ''
  for (let pages = 0; pages < 9; pages++) {
    const { records, next } = (await admin.get(`/api/logs?limit=2${before}`)).body as Page
    seen.push(...records.map(row => row.id))
    if (next === null) break
    before = `&before=${next}`
  }
  t.same(seen.toSorted(), ids.toSorted())
  t.same(seen, seen.toSorted().toReversed())
  for (const [query, count] of [
    ['model=alpha-image-2', 3],
    ['model=no-such-model', 0],
    ['status=404', 3],
    ['status=4xx', 3],
    ['status=2xx', 3],
    ['outcome=refused', 3],
    ['outcome=answered', 3],
    ['result=refused', 3],
    ['result=succeeded', 3],
    ['result=unsuccessful', 3],
    ['result=failed', 0],
    ['tier=2K', 3],
    ['tier=4K', 0],
    ['source=output', 3],
    ['other_size=true', 3],
    ['unit=input', 0],
    ['refunded=true', 0],
    ['refunded=false', 6],
    ['charge=settled', 3],
    ['charge=needs_review', 0],
    ['operation=image.generate&status=200', 3],
    ['upstream=alpha', 3],
    ['user=local', 6],
    ['user=root', 0],
    ['since=2099-01-01T00:00:00Z', 0],
    ['until=2099-01-01T00:00:00Z', 6],
    [`id=${ids[0]}`, 1],
  ] as const)
    t.equal((await recordsOf(admin, query)).length, count, query)
  const { steps } = (await admin.get('/api/logs/histogram?status=404')).body as {
    steps: { requests: number; errors: number }[]
  }
  t.equal(
    steps.reduce((sum, step) => sum + step.errors, 0),
    3,
  )
  t.match((await admin.get('/api/overview')).body, {
    requests: 6,
    errors: 3,
    ever: true,
    images: [{ tier: '2K', count: 3 }],
  })
})

t.test('2.5 the details, the client and the command line show the same charge', async t => {
  const { started, admin, draw } = await openDesk(t)
  const id = await draw('3840x2160')
  const detail = (await admin.get(`/api/logs/${id}`)).body as { explanation: object; billing: object }
  const explanation = detail.explanation as { text: string; at: string }
  t.equal(explanation.text, '大小 3840x2160, 请求品质 -, 生成数量 1, 图片档位 2K, 来源 输出尺寸, 实际尺寸 1672x941')
  t.match(explanation, {
    sum: '0.04 = 0.04 USD',
    rule: {
      kind: 'tiers',
      rows: [
        { tier: '1K', long_edge_max: 1024 },
        { tier: '2K', long_edge_max: 2048 },
        { tier: '4K', long_edge_max: null },
      ],
      multiplier: /group multiplier not applied/,
    },
    lines: [{ why: 'long edge 1672 ≤ 2048 → 2K', at: /gateway\.yaml:\d+$/ }],
  })
  t.same(detail.billing, explanation)
  const charge = await (await started.get(`/v1/charges/${id}`)).json()
  t.same(charge, explanation, 'GET /v1/charges')
  const shown = await runCli(started, 'logs', 'show', id, '--format', 'json')
  t.same((JSON.parse(shown.stdout) as { billing: object }).billing, explanation, 'tollgate logs show')
})

t.test('refunds and decisions need a reason, happen once, and are visible at once', async t => {
  const { started, admin, draw } = await openDesk(t)
  const id = await draw()
  t.match((await admin.post(`/api/logs/${id}/refund`)).body, { error: { field: 'reason' } })
  t.match((await admin.post(`/api/logs/${id}/refund`, { reason: 'blurred' })).body, {
    billing: { refunded: '0.04', amount: '0.04' },
  })
  t.equal((await admin.post(`/api/logs/${id}/refund`, { reason: 'blurred' })).status, 409)
  t.equal((await admin.post(`/api/logs/${id}/resolve`, { as: 'void', reason: 'not needed' })).status, 409)
  t.equal((await admin.post('/api/logs/req_0000000000000000000x/refund', { reason: 'nothing' })).status, 404)
  t.equal((await started.gateway.storage.books.verify()).problems.length, 0)

  started.upstreams['alpha']?.answer(res => void res.socket?.resetAndDestroy())
  const sent = await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'x' })
  await sent.arrayBuffer()
  await started.settled()
  const open = await recordsOf(admin, 'charge=needs_review')
  t.equal(open.length, 1, 'whether anything was made is not known')
  t.match((await admin.get('/api/system')).body, {
    needs_review: 1,
    review_held: [{ currency: 'USD', amount: '0.00' }],
  })
  t.match((await admin.get('/api/overview')).body, { review: { count: 1, held: [{ amount: '0.00' }] } }, '[6.2]')
  for (const row of open)
    t.match(
      (await admin.post(`/api/logs/${row.id}/resolve`, { as: 'void', reason: 'nothing came' })).body,
      {
        billing: { state: 'voided', amount: '0.00' },
      },
      caseName({ row }),
    )
  t.match((await admin.get('/api/system')).body, { needs_review: 0 })
})

t.test('a charge is refunded in parts; a repeated request names what was refunded and refunds nothing', async t => {
  const { started, admin, draw } = await openDesk(t)
  const id = await draw()
  const refund = (body: object) => admin.post(`/api/logs/${id}/refund`, { reason: 'one of four', ...body })
  t.match(await refund({ amount: '0' }), { status: 400, body: { error: { field: 'amount', reason: 'amount' } } })
  t.match(await refund({ amount: '-1' }), { status: 400, body: { error: { field: 'amount' } } })
  t.match(await refund({ amount: '0.041' }), {
    status: 409,
    body: { error: { reason: 'refund_left', values: { left: '0.04' } } },
  })
  const first = { amount: '0.01', refunded: '0.00' }
  t.match((await refund(first)).body, {
    billing: { amount: '0.04', refunded: '0.01' },
    refund: { amount: '0.01', by: 'root' },
    refunds: [{ amount: '0.01', by: 'root', reason: 'one of four' }],
  })
  t.match(await refund(first), {
    status: 409,
    body: { error: { reason: 'refund_since', values: { refunded: '0.01' } } },
  })
  t.match((await refund({ amount: '0.0125' })).body, { billing: { refunded: '0.0225' } })
  t.match((await refund({})).body, {
    billing: { refunded: '0.04' },
    refund: { amount: '0.0175' },
    refunds: [{ amount: '0.01' }, { amount: '0.0125' }, { amount: '0.0175' }],
  })
  t.match(await refund({ amount: '0.01' }), { status: 409, body: { error: { reason: 'refunded' } } })
  t.same((await started.gateway.storage.books.verify()).problems, [])
})

t.test('a tail sends each request as it ends, to those who may see it, and ends with its listener', async t => {
  const { started, admin, draw, fail } = await openDesk(t)
  const ann = await enterAsUser(started, admin, 'ann')
  const old = await draw()
  const all = await listen(started.url, admin)
  const errors = await listen(started.url, admin, '?status=4xx')
  const anns = await listen(started.url, ann)
  t.match(all.response.headers.get('content-type'), /^text\/event-stream/)
  t.equal(all.response.headers.get('cache-control'), 'no-store')
  const ids = [await draw(), await fail(), await draw()]
  await until(() => all.events.length >= 3 && errors.events.length >= 1)
  t.same(
    all.events
      .map(row => row.id)
      .filter(id => id !== old)
      .toSorted(),
    ids.toSorted(),
    'each once',
  )
  t.same(
    errors.events.map(row => row.id),
    [ids[1]],
  )
  t.same(anns.events, [], 'no data of others')
  for (const one of [errors, anns]) one.stop()
  await Promise.all([errors.done, anns.done])
  t.equal(all.isEnded(), false)
  const began = performance.now()
  await started.gateway.close()
  await all.done
  t.comment(`closed with an open tail in ${Math.round(performance.now() - began)} ms`)
})

t.test('a tail that is opened again sends the rows that ended in between', async t => {
  const { started, admin, draw } = await openDesk(t)
  const first = await listen(started.url, admin)
  await until(() => first.ids.length === 1)
  first.stop()
  const missed = [await draw(), await draw()]
  const second = await listen(started.url, admin, '', first.ids[0])
  await until(() => second.events.length >= 2)
  second.stop()
  t.same(second.ids, missed, 'also before its first row')
  const more = await draw()
  const third = await listen(started.url, admin, '', missed[1])
  await until(() => third.ids.includes(more))
  third.stop()
  const strange = await listen(started.url, admin, '', 'req_')
  await until(() => strange.ids.length > 0)
  t.same(strange.events, [], 'an unknown id is a first connection')
  strange.stop()
})

t.test('a tail sends rows that another process wrote', async t => {
  const { started, admin } = await openDesk(t)
  const tail = await listen(started.url, admin)

  const other = await openDatabase({ url: `sqlite:${started.folder}/tollgate.db`, role: 'tool' })
  const [row] = await started.gateway.storage.journal.list({ limit: 1 })
  t.equal(row, undefined)

  const id = ids.next('req_', Date.now() - 120_000)
  // The request began two minutes ago and has ended now.
  other.journal.append({
    id,
    time: Date.now() - 120_000,
    keyId: null,
    user: 'local',
    group: 'default',
    model: 'alpha-image-2',
    operation: 'image.generate',
    status: 200,
    outcome: 'answered',
    errorCode: null,
    durationMs: 120_000,
    upstream: 'alpha',
    configRevision: '',
    forwarded: [],
    dropped: [],
    clientRequestId: null,
    inputTokens: null,
    outputTokens: null,
    ...unknownOfLogRow,
  })
  await other.flush()
  await until(() => tail.events.length > 0)
  t.equal(tail.events[0]?.id, id)
  tail.stop()
  await tail.done
  await other.close()
})

/** A refused request of `local`. */
function rowOfExport(time: number): LogRow {
  return {
    id: ids.next('req_', time),
    time,
    keyId: null,
    user: 'local',
    group: 'default',
    model: 'm',
    operation: 'image.generate',
    status: 404,
    outcome: 'refused',
    errorCode: 'model_not_found',
    durationMs: 1,
    upstream: null,
    configRevision: 'r',
    forwarded: [],
    dropped: [],
    clientRequestId: null,
    inputTokens: null,
    outputTokens: null,
    ...unknownOfLogRow,
  }
}

t.test('C12 cells that begin like a formula are escaped; exports are complete, page after page', async t => {
  const { started, admin } = await openDesk(t)
  const evil = [
    '=cmd|calc',
    '+1+1',
    '-2',
    '@SUM(A1)',
    '\tx',
    'a,"b"\nc',
    '<script>alert(1)</script>',
    'javascript:alert(1)',
    '\u202Egnp.exe',
    '\u001b[31mred',
  ]
  const { journal } = started.gateway.storage

  const now = Date.now()
  for (let i = 0; i < 1_203; i++) {
    const model = evil[i % evil.length] ?? ''
    journal.append({ ...rowOfExport(now), model, clientRequestId: '=HYPERLINK("http://evil.example")' })
  }
  await started.gateway.storage.flush()
  const csv = await admin.get('/api/logs/export?format=csv')
  t.match(csv.headers.get('content-disposition'), /attachment; filename="tollgate-logs\.csv"/)
  t.match(csv.headers.get('content-type'), /^text\/csv/)
  const cells = readCsv(csv.text.replace(/^\uFEFF/, ''))
  t.equal(cells.length, 1_204)
  t.equal(new Set(cells.map(row => row[0])).size, 1_204)
  const bad = cells.flat().filter(cell => /^[=+\-@\t\r\n]/.test(cell))
  t.same(bad, [], 'no cell begins like a formula')
  t.ok(cells.flat().includes("'=cmd|calc"))
  const jsonl = await admin.get('/api/logs/export?format=jsonl&status=404')
  const lines = jsonl.text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { id: string; model: string })
  t.equal(new Set(lines.map(line => line.id)).size, 1_203)
  t.match(lines.at(-1), { model: '=cmd|calc' }, 'JSON contains all data')
  for (const path of ['/api/logs?limit=20', '/api/logs/export?format=csv'])
    t.notMatch((await admin.get(path)).headers.get('content-type'), /html/, 'never as a page')
})

t.test('an export ends before its next page when the rights of its user end', async t => {
  const { started, admin } = await openDesk(t)
  const { storage } = started.gateway
  const now = Date.now()
  for (let i = 0; i < 1_100; i++) storage.journal.append(rowOfExport(now))
  await storage.flush()
  const enter = async (name: string) => {
    await enterAsUser(started, admin, name, 'viewer')
    const user = await storage.users.find(name)
    const [session] = await storage.sessions.list(name)
    if (!user || !session) throw new Error(`no session of ${name}`)
    return { user, session }
  }
  const made = await storage.adminTokens.create(
    { name: 'report', role: 'viewer', scopes: ['read'], ips: null, expiresAt: null, hash: 'report', hint: '' },
    'command line',
  )
  const [demoted, idle] = [await enter('dora'), await enter('ida')]
  const token = { user: { ...demoted.user, name: 'token report' }, token: made, hash: 'report' }
  const follow = async (sessionUser: AdminRequest['sessionUser'], onPage: () => Promise<unknown>, laterMs = 0) => {
    let clock = now
    const parts = { storage, plan: () => started.gateway.plan, clock: { now: () => clock } }
    const request = { parts, sessionUser, left: new AbortController().signal } as unknown as AdminRequest
    let lines = 0
    for await (const _ of exportLines(request, {})) {
      if (++lines !== 1) continue
      clock += laterMs
      await onPage()
    }
    return lines
  }
  await t.rejects(
    follow(demoted, () => admin.ask('PATCH', '/api/users/dora', { role: 'user' })),
    { code: 'not_logged_in' },
  )
  await t.rejects(
    follow(token, () => storage.adminTokens.revoke('report', 'root') as Promise<unknown>),
    { code: 'token_invalid' },
  )
  t.equal(await follow(idle, async () => undefined, 3_600_000), 1_100, 'a download is a use of the session')
})

/** Cells of a table by RFC 4180. */
function readCsv(text: string): string[][] {
  return [...text.matchAll(/(?:(?:"(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r\n))+?(?<=\r\n)/g)].map(([line]) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(?:,|\r\n)/g)].map(([, cell = '']) =>
      cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
    ),
  )
}

t.test('C13 an error shows only its request id; an unavailable storage is reported as such', async t => {
  const logged: object[] = []
  const nothing = (): void => undefined
  const log = {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (facts: object) => void logged.push(facts),
    request: nothing,
    hide: nothing,
    flush: () => Promise.resolve(),
  }
  const { started, admin } = await openDesk(t, { log })
  const db = new DatabaseSync(`${started.folder}/tollgate.db`)
  db.exec('ALTER TABLE log_page RENAME TO hidden_away')
  const broken = await admin.get('/api/logs')
  t.match([broken.status, broken.code], [500, 'internal'])
  t.notMatch(broken.text, /sql|hidden|table|\.ts|\n/i)
  const { error } = broken.body as { error: { request_id: string } }
  t.equal(error.request_id, broken.headers.get('x-request-id'))
  t.ok(
    logged.some(facts => JSON.stringify(facts).includes(error.request_id)),
    'the log has it',
  )
  db.exec('ALTER TABLE hidden_away RENAME TO log_page')
  db.close()
  t.equal((await admin.get('/api/logs')).status, 200)

  await started.gateway.storage.close()
  for (const path of ['/api/session', '/api/keys', '/api/logs']) {
    const down = await admin.get(path)
    t.match([down.status, down.code], [503, 'storage_unavailable'], path)
    t.ok(Number(down.headers.get('retry-after')) > 0, caseName({ path }))
  }
  t.equal((await admin.get('/pricing')).status, 200, 'pages without data are available')
  const login = await newVisitor(started.url).post('/api/session', { name: 'root', password: 'whatever it may be' })
  t.equal(login.status, 503)
})

t.test('the system page shows used limit slots, and the connections to upstreams', async t => {
  const started = await start(t, {
    edit: [
      { 'groups/default': { rpm: 60, tpm: 500000, limits_in_all: { concurrency: 5 } } },
      { 'upstreams/text/concurrency': 3 },
    ],
  })
  const admin = await enterAsAdmin(started)
  const places = async () =>
    (await admin.get('/api/system')).body as { places: object[]; upstream_connections: object[] }
  const limit = { of: 'upstream', name: 'text', limit: 3 }
  t.match(await places(), {
    places: [
      { ...limit, taken: 0 },
      { of: 'group', name: 'default', taken: 0, limit: 5 },
    ],
    upstream_connections: [],
  })
  const held = Promise.withResolvers<() => void>()
  started.upstreams['text']?.answer(res => held.resolve(() => void res.end('{"choices":[]}')))
  const pending = started.post('/v1/chat/completions', {
    model: 'sim-chat',
    messages: [{ role: 'user', content: 'x' }],
  })
  const answer = await held.promise
  t.match(await places(), {
    places: [
      { ...limit, taken: 1 },
      { of: 'group', name: 'default', taken: 1, limit: 5 },
    ],
    upstream_connections: [{ upstream: 'text', shared_with: [], busy: 1, most: 256, waiting: 0, waited: 1 }],
  })
  answer()
  await (await pending).arrayBuffer()
  await started.settled()
  t.match(await places(), { places: [{ taken: 0 }, { taken: 0 }] })
})
