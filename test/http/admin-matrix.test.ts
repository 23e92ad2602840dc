import { Ajv } from 'ajv'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { type AnyRoute, apiRoutes } from '../../src/admin/index.ts'
import { compileRequestSchema } from '../../src/admin/request-validators.ts'
import { png } from '../harness/pictures.ts'
import { start, type Started } from '../harness/start.ts'
import { keyedEdit } from '../harness/vendor-keys.ts'
import {
  type Answered,
  enterAsAdmin,
  enterAsUser,
  newVisitor,
  passwordOfTests,
  type Visitor,
} from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

type Cast = {
  readonly started: Started
  readonly admin: Visitor
  readonly ann: Visitor
  readonly ben: Visitor
  /**
   * Data of ben: a key, its secret, a request made with it, a session, a link to an issuer, a view; and an open
   * invitation.
   */
  readonly key: string
  readonly secret: string
  readonly request: string
  readonly session: string
  readonly link: string
  readonly view: string
  readonly invitation: string
  readonly alert: string
  readonly token: string
}

/** An administrator and two users, one of whom has a key and a charge. */
async function startCast(t: Test): Promise<Cast> {
  const started = await start(t, { upstreams: ['alpha'], edit: [keyedEdit()] })
  const admin = await enterAsAdmin(started)
  const ann = await enterAsUser(started, admin, 'ann')
  const ben = await enterAsUser(started, admin, 'ben')
  const made = (await ben.post('/api/keys', { name: "ben's" })).body as { key: { id: string }; secret: string }
  started.upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(1254, 1254).toString('base64') }] })
  const sent = await started.post(
    '/v1/images/generations',
    { model: 'alpha-image-2', prompt: 'a boat' },
    { authorization: `Bearer ${made.secret}` },
  )
  await sent.arrayBuffer()
  await started.settled()
  const { sessions } = (await ben.get('/api/account/sessions')).body as { sessions: { id: string }[] }
  const { signIn } = started.gateway.storage
  for (const issuer of ['https://i.example/', 'https://j.example/'])
    await signIn.link({ issuer, subject: '1' }, 'ben', 'ben')
  const open = {
    name: null,
    role: 'user',
    group: 'default',
    hash: 'of nobody',
    expiresAt: Date.now() + 3_600_000,
  } as const
  const invitation = await signIn.invite(open, 'root')
  const token = { name: 'program', role: 'viewer', scopes: ['read'], ips: null, expiresAt: null } as const
  const { id } = await started.gateway.storage.adminTokens.create({ ...token, hash: 'of none', hint: '' }, 'root')
  const live = { id: 'req_live', keyId: made.key.id, operation: 'realtime', model: null, upstream: null, openedAt: 0 }
  await started.gateway.storage.liveSessions.opened(live)
  const place = {
    upstream: 'gone',
    vendorKey: null,
    model: 'm',
    parent: null,
    requestId: 'req_1',
    bytes: 0,
    shown: null,
  }
  const times = { createdAt: 0, expiresAt: null, deletedAt: null }
  await started.gateway.storage.objects.put([{ id: 'file_live', kind: 'file', keyId: made.key.id, ...place, ...times }])
  await started.gateway.storage.events.add({ kind: 'ledger.differs', data: { count: 1, first: '' } })
  const { alerts } = (await admin.get('/api/alerts')).body as { alerts: { id: string }[] }
  const kept = await ben.post('/api/account/views', { page: '/console/logs', name: 'mine', query: '?model=x' })
  const { views } = kept.body as { views: { id: string }[] }
  const { links } = (await ben.get('/api/account/links')).body as { links: { id: string }[] }
  return {
    started,
    admin,
    ann,
    ben,
    key: made.key.id,
    secret: made.secret,
    alert: alerts[0]?.id ?? '',
    request: sent.headers.get('x-request-id') ?? '',
    session: sessions[0]?.id ?? '',
    link: links[0]?.id ?? '',
    view: views[0]?.id ?? '',
    invitation: invitation.id,
    token: id,
  }
}

/**
 * The fields that a valid request needs, by endpoint; an endpoint with required fields that is missing here fails the
 * test.
 */
const bodies: { readonly [endpoint: string]: object } = {
  'POST /api/setup': { token: 'x', name: 'eve', password: passwordOfTests },
  'POST /api/session': { name: 'eve', password: 'x' },
  'POST /api/account/password': { current: 'not this one', password: passwordOfTests },
  'POST /api/account/views': { page: '/console', name: 'made', query: '?by=user' },
  'POST /api/keys': { name: 'made' },
  'PATCH /api/keys/:id': { name: 'changed' },
  'POST /api/keys/:id/rotate': { overlap_seconds: 0 },
  'POST /api/logs/:id/refund': { reason: 'a test' },
  'POST /api/logs/:id/resolve': { as: 'void', reason: 'a test' },
  'POST /api/explain': { model: 'alpha-image-2', operation: 'image.generate' },
  'POST /api/users': { name: 'made' },
  'POST /api/invitations': {},
  'POST /api/admin-tokens': { name: 'made', role: 'viewer' },
  'PUT /api/keys/by-name/:name': { user: 'ben' },
  'PUT /api/users/:name': { group: 'partner' },
  'PUT /api/groups/:name': { rpm: 7 },
  'PATCH /api/users/:name': { group: 'partner' },
  'POST /api/users/:name/password': { password: 'a passphrase for tests' },
  'POST /api/users/:name/topups': { amount: '1.50', note: 'invoice 7' },
  'POST /api/config/check': { text: 'version: 1' },
  'POST /api/config/cost': { text: 'version: 1' },
  'POST /api/config/history/:id/cost': {},
  'POST /api/config/propose': { edits: [{ path: ['models', 'alpha-image-2', 'enabled'], value: false }] },
  'POST /api/config/write': { edits: [{ path: ['models', 'alpha-image-2', 'enabled'], value: false }], base: 'x' },
  'POST /api/upstreams/:upstream/keys/:key/suspend': { reason: 'a test' },
  'POST /api/cache/purge': { reason: 'a test' },
  'POST /api/sessions/:id/end': { reason: 'a test' },
}

const endpointOf = ({ method, url }: AnyRoute): string => `${method} ${url}`

/** Calls an endpoint for data of ben. */
function ask(visitor: Visitor, route: AnyRoute, cast: Cast) {
  const ids: { readonly [prefix: string]: string } = {
    '/api/admin-tokens': cast.token,
    '/api/keys': cast.key,
    '/api/logs': cast.request,
    '/api/account/sessions': cast.session,
    '/api/account/links': cast.link,
    '/api/account/views': cast.view,
    '/api/invitations': cast.invitation,
    '/api/config/history': '1',
    '/api/sessions': 'req_live',
  }
  const prefix = Object.keys(ids).find(start => route.url.startsWith(start)) ?? ''
  const named = route.url.replace(':id', ids[prefix] ?? '').replace(':name', 'ben')
  const path = named.replace(':upstream', 'text').replace(':key', 'first')
  const takesBody = ['POST', 'PUT', 'PATCH'].includes(route.method)
  const own: { readonly [url: string]: object } = {
    '/api/alerts/dealt': { id: cast.alert, dealt: true },
    '/api/objects/end': { key: cast.key, kind: 'file', id: 'file_live', reason: 'a test' },
  }
  const body = own[route.url] ?? bodies[endpointOf(route)]
  if (takesBody && route.body && !body) throw new Error(`no body for ${endpointOf(route)}`)
  const query = route.url.includes('/by-name/') && !takesBody ? '?user=ben' : ''
  return visitor.ask(route.method, path + query, takesBody ? (body ?? {}) : undefined)
}

/** A tail never ends; another test covers it. */
const isEndless = (route: AnyRoute): boolean => route.contentType === 'text/event-stream'

/**
 * The roles that may call an endpoint; all roles if it is not listed. Each new endpoint with fewer roles must be added
 * here.
 */
const fewer: { readonly [endpoint: string]: readonly string[] } = {
  'POST /api/keys': ['user', 'admin'],
  'PATCH /api/keys/:id': ['user', 'admin'],
  'DELETE /api/keys/:id': ['user', 'admin'],
  'POST /api/keys/:id/rotate': ['user', 'admin'],
  'POST /api/playground/key': ['user', 'admin'],
  'GET /api/playground/picture': ['user', 'admin'],
  'GET /api/keys/by-name/:name': ['viewer', 'billing', 'admin'],
  'PUT /api/keys/by-name/:name': ['admin'],
  'DELETE /api/keys/by-name/:name': ['admin'],
  'PUT /api/users/:name': ['admin'],
  'PUT /api/groups/:name': ['admin'],
  'GET /api/admin-tokens': ['admin'],
  'GET /api/admin-tokens/current': ['viewer', 'billing', 'admin'],
  'POST /api/admin-tokens': ['admin'],
  'DELETE /api/admin-tokens/:id': ['admin'],
  'GET /api/users': ['viewer', 'billing', 'admin'],
  'GET /api/users/:name': ['viewer', 'billing', 'admin'],
  'GET /api/groups': ['viewer', 'billing', 'admin'],
  'GET /api/audit': ['viewer', 'billing', 'admin'],
  'GET /api/audit/totals': ['viewer', 'billing', 'admin'],
  'GET /api/audit/sign-ins': ['viewer', 'admin'],
  'GET /api/alerts': ['viewer', 'billing', 'admin'],
  'POST /api/alerts/dealt': ['admin'],
  'GET /api/config': ['viewer', 'admin'],
  'GET /api/system': ['viewer', 'admin'],
  'GET /api/upstreams': ['viewer', 'admin'],
  'POST /api/upstreams/:upstream/keys/:key/suspend': ['admin'],
  'POST /api/upstreams/:upstream/keys/:key/resume': ['admin'],
  'POST /api/upstreams/:upstream/keys/:key/test': ['admin'],
  'POST /api/logs/:id/refund': ['billing', 'admin'],
  'POST /api/logs/:id/resolve': ['billing', 'admin'],
  'POST /api/users': ['admin'],
  'PATCH /api/users/:name': ['admin'],
  'DELETE /api/users/:name': ['admin'],
  'POST /api/users/:name/password': ['admin'],
  'POST /api/users/:name/topups': ['admin'],
  'DELETE /api/users/:name/links': ['admin'],
  'GET /api/invitations': ['admin'],
  'POST /api/invitations': ['admin'],
  'DELETE /api/invitations/:id': ['admin'],
  'GET /api/sessions': ['viewer', 'admin'],
  'POST /api/cache/purge': ['admin'],
  'POST /api/sessions/:id/end': ['admin'],
  'GET /api/objects': ['viewer', 'admin'],
  'POST /api/objects/end': ['admin'],
  'GET /api/config/history': ['viewer', 'admin'],
  'GET /api/config/history/:id': ['viewer', 'admin'],
  'GET /api/config/history/:id/edits': ['admin'],
  'POST /api/config/history/:id/cost': ['admin'],
  'POST /api/config/check': ['admin'],
  'POST /api/config/cost': ['admin'],
  'GET /api/config/editable': ['admin'],
  'POST /api/config/propose': ['admin'],
  'POST /api/config/write': ['admin'],
  'POST /api/config/reload': ['admin'],
}

/** All data that a refused request could have changed. */
async function dump({ started }: Cast): Promise<string> {
  await started.gateway.storage.flush()
  const db = new DatabaseSync(`${started.folder}/tollgate.db`)
  const tables = [
    'key',
    '"user"',
    'trail',
    'entry',
    'reversal',
    'invitation',
    'sign_in_link',
    'saved_view',
    'admin_token',
  ]
  const rows = tables.map(name => db.prepare(`SELECT * FROM ${name}`).all())
  db.close()
  return JSON.stringify(rows)
}

t.test('C8 every endpoint by every role: without permission nothing changes', async t => {
  const cast = await startCast(t)
  const open = apiRoutes.filter(route => route.access === 'anyone').map(endpointOf)
  t.same(open.toSorted(), [
    'DELETE /api/session',
    'GET /api/session',
    'GET /api/sign-in',
    'POST /api/invitation',
    'POST /api/invitation/accept',
    'POST /api/session',
    'POST /api/setup',
    'POST /api/sign-in',
    'POST /api/sign-in/:issuer',
  ])
  const roles: { readonly [role: string]: Visitor } = {
    user: cast.ann,
    viewer: await enterAsUser(cast.started, cast.admin, 'vic', 'viewer'),
    billing: await enterAsUser(cast.started, cast.admin, 'bill', 'billing'),
    admin: cast.admin,
  }
  const closed = apiRoutes.filter(route => route.access !== 'anyone')
  const known = new Set(closed.map(endpointOf))
  t.ok(Object.keys(fewer).every(endpoint => known.has(endpoint)))
  const mayAsk = (route: AnyRoute, role: string) => (fewer[endpointOf(route)] ?? Object.keys(roles)).includes(role)
  const before = await dump(cast)
  const nobody = newVisitor(cast.started.url)
  let tried = 0
  for (const route of closed) {
    const answer = await ask(nobody, route, cast)
    t.match([answer.status, answer.code], [401, 'not_logged_in'], `${endpointOf(route)} by nobody`)
    tried++
    for (const [role, visitor] of Object.entries(roles)) {
      if (mayAsk(route, role)) continue
      const answer = await ask(visitor, route, cast)
      t.match([answer.status, answer.code], [403, 'forbidden'], `${endpointOf(route)} by ${role}`)
      tried++
    }
  }
  const own = closed.filter(route => ['user', 'keys'].includes(route.access) && route.url.includes(':'))
  t.ok(own.length >= 6)
  for (const route of own) {
    const answer = await ask(cast.ann, route, cast)
    t.match([answer.status, answer.code], [404, 'not_found'], `${endpointOf(route)} by another user`)
    tried++
  }
  t.equal(await dump(cast), before, 'nothing has changed')
  t.equal((await cast.ben.get('/api/session')).status, 200)
  let done = 0
  for (const route of closed) {
    if (isEndless(route)) continue
    for (const [role, visitor] of Object.entries(roles)) {
      if (!mayAsk(route, role)) continue
      const answer = await ask(visitor, route, cast)
      t.notOk(
        ['forbidden', 'not_logged_in'].includes(answer.code ?? ''),
        `${endpointOf(route)} by ${role}: ${answer.text}`,
      )
      t.ok(answer.status < 500, caseName({ role, visitor }))
      done++
    }
  }
  t.comment(`${tried} refused, ${done} done`)
  for (const [role, visitor] of Object.entries(roles)) {
    const { may } = (await visitor.get('/api/session')).body as { may: string[] }
    for (const route of closed)
      t.equal(may.includes(route.access), mayAsk(route, role), `${role} is told of ${endpointOf(route)}`)
  }
})

t.test('billing users cannot refund themselves', async t => {
  const cast = await startCast(t)
  const { admin, ben, request } = cast
  await admin.ask('PATCH', '/api/users/ben', { role: 'billing' })
  t.equal((await ben.get('/api/session')).status, 401, 'another role is another session')
  await ben.post('/api/session', { name: 'ben', password: passwordOfTests })
  const before = await dump(cast)
  for (const [path, body] of [
    ['refund', { reason: 'a gift' }],
    ['resolve', { as: 'void', reason: 'a gift' }],
  ] as const) {
    const answer = await ben.post(`/api/logs/${request}/${path}`, body)
    t.match([answer.status, answer.code], [403, 'own_charge'], path)
  }
  t.equal(await dump(cast), before)
  const other = await enterAsUser(cast.started, admin, 'olga', 'billing')
  t.match((await other.post(`/api/logs/${request}/refund`, { reason: 'a blurred picture' })).body, {
    billing: { refunded: '0.04' },
  })
})

t.test('the last administrator cannot be demoted by anyone', async t => {
  const started = await start(t, { upstreams: [] })
  const root = await enterAsAdmin(started)
  const { users } = started.gateway.storage
  for (const change of [{ role: 'viewer' }, { status: 'disabled' }] as const) {
    t.equal((await root.ask('PATCH', '/api/users/root', change)).status, 409, caseName({ change }))
    await t.rejects(
      Promise.resolve(users.change('root', change, 'command line')),
      { code: 'last_admin' },
      caseName({ change }),
    )
  }
  const second = await enterAsUser(started, root, 'second', 'admin')
  const both = await Promise.all([
    root.ask('PATCH', '/api/users/second', { role: 'user' }),
    second.ask('PATCH', '/api/users/root', { role: 'user' }),
  ])
  t.ok(
    both.some(answer => answer.status !== 200),
    'nor do two who demote each other at once',
  )
  t.equal(await users.hasAdmin(), true)
})

t.test("C8 lists, sums and files contain only one's own rows", async t => {
  const cast = await startCast(t)
  const { ann, ben, admin } = cast
  const lists = [
    '/api/keys',
    '/api/logs',
    '/api/logs/export?format=csv',
    '/api/logs/export?format=jsonl',
    '/api/usage',
    '/api/usage?format=csv',
  ]
  for (const path of lists) {
    const filtered = `${path}${path.includes('?') ? '&' : '?'}${path === '/api/keys' ? 'limit=200' : `key=${cast.key}`}`
    for (const one of [path, filtered]) {
      t.notMatch((await ann.get(one)).text, new RegExp(`${cast.key}|${cast.request}|ben`), `${one} by another user`)
      t.match((await ben.get(one)).text, new RegExp(`${cast.key}|${cast.request}`), `${one} by its owner`)
      t.match((await admin.get(one)).text, new RegExp(`${cast.key}|${cast.request}`), `${one} by an administrator`)
    }
  }
  const others = [
    '/api/logs',
    '/api/logs/histogram',
    '/api/logs/tail',
    '/api/logs/export',
    '/api/usage',
    '/api/statements',
  ]
  for (const path of others) t.equal((await ann.get(`${path}?user=ben`)).status, 403, path)
  t.match((await ann.get('/api/statements')).body, { reconciled: true, accounts: [] })
  for (const one of [ben, admin])
    t.match(
      (await one.get('/api/statements')).body,
      { reconciled: true, accounts: [{ user: 'ben', charges: 1 }] },
      caseName({ one }),
    )
  t.match((await ben.get('/api/statements?format=csv&zone=Asia/Tokyo')).text, /^\uFEFF?month,user,.*\r\n.*,ben,/)
  t.equal((await ben.get('/api/statements?zone=Mars')).status, 400)
  t.equal((await ann.get('/api/keys?user=ben')).status, 403)
  t.match((await ann.get('/api/overview?range=7d')).body, {
    requests: 0,
    spent: [],
    images: [],
    steps: [],
    ever: false,
  })
  t.match((await ben.get('/api/overview?range=7d')).body, {
    requests: 1,
    images: [{ tier: '2K', count: 1 }],
    ever: true,
  })
  t.match((await ann.get('/api/logs/histogram')).body, { steps: [] })

  t.equal((await admin.post('/api/users/ben/topups', { amount: '2.00', paid_in: '0.00' })).status, 201)
  t.match(
    await admin.post('/api/users/ben/topups', { amount: '2.00', paid_in: '0.00' }),
    { status: 409, body: { error: { reason: 'topup_since', values: { paid_in: '2.00' } } } },
    'a repeated top-up adds nothing',
  )
  t.equal((await admin.post('/api/users/nobody/topups', { amount: '2.00', paid_in: '0.00' })).status, 404)
  for (const one of [ben, admin])
    t.match(
      (await one.get('/api/statements')).body,
      { reconciled: true, balances: [{ user: 'ben', topups: 1, topped_up: '2.00', closing: '2.00' }] },
      caseName({ one }),
    )
  t.match((await ann.get('/api/statements')).body, { balances: [] })
  const sheet = '/api/statements?format=csv&of=balances'
  t.match((await ann.get(sheet)).text, /^\uFEFF?month,user,[^\n]*,closing\r\n$/)
  t.match((await ben.get(sheet)).text, /closing\r\n[\d-]+,ben,\w+,USD,0\.00,1,2\.00,0\.00,0\.00,2\.00\r\n$/)
})

t.test('a balance that could not be counted exactly any more is not topped up', async t => {
  const { admin } = await startCast(t)
  const most = { amount: '999999999.999999' }
  for (let i = 0; i < 9; i++) t.equal((await admin.post('/api/users/ben/topups', most)).status, 201, `top-up ${i}`)
  const refused = await admin.post('/api/users/ben/topups', most)
  t.match(
    [refused.status, refused.body],
    [400, { error: { field: 'amount', message: "'amount' must be 7199254.741 or less." } }],
  )
  t.equal((await admin.post('/api/users/ben/topups', { amount: '7199254' })).status, 201)
  t.match((await admin.get('/api/users/ben/balance')).body, { balance: { amount: '9007199253.999991' } })
})

t.test("C8 another user's object is answered as a missing one is, and no query finds it", async t => {
  const cast = await startCast(t)
  const { ann, admin, key, request, session, link, view } = cast
  await admin.ask('PATCH', '/api/users/ben', { budget: '987.65', budget_period: 'month' })
  await admin.post('/api/users/ben/topups', { amount: '123.45', note: 'invoice of ben' })
  const missing = { ...cast, key: 'key_0', request: 'req_0', session: '0000', link: '0000', view: 'view_0' }
  const seen = ({ status, text }: Answered) => [status, text.replace(/web_\w+/, '')]
  for (const route of apiRoutes) {
    if (!['user', 'keys'].includes(route.access) || !route.url.includes(':')) continue
    const nobody = { ...route, url: route.url.replace('/users/:name', '/users/nobody') }
    t.strictSame(seen(await ask(ann, route, cast)), seen(await ask(ann, nobody, missing)), endpointOf(route))
  }
  const values = ['ben', 'ann,ben', "ben's", key, request, session, link, view, '%', '__proto__', 'x'.repeat(5_000)]
  const names = ['__proto__', 'constructor', 'toString']
  let tried = 0
  for (const { method, url, access, query, contentType } of apiRoutes) {
    if (method !== 'GET' || access !== 'user' || contentType === 'text/event-stream') continue
    const path = url.replace(':name', 'ann').replace(':id', 'key_0')
    const fields = Object.keys((query as { properties?: object } | undefined)?.properties ?? {})
    for (const name of names) t.ok((await ann.get(`${path}?${name}=x`)).status >= 400, `${path}?${name}`)
    for (const field of fields)
      for (const value of values) {
        const { status, text } = await ann.get(`${path}?${field}=${encodeURIComponent(value)}`)
        t.ok(status < 500, `${path}?${field}=${value}: ${status}`)
        const others = text.replaceAll(value, '').match(/\bben\b|ben's|123\.45|987\.65/)
        t.notOk(status < 400 && others, `${path}?${field}=${value}: ${others?.[0]}`)
        tried++
      }
  }
  t.comment(`${tried} queries`)
})

t.test("the schema of every endpoint's query and body is valid", t => {
  for (const route of apiRoutes)
    for (const schema of [route.query, route.body])
      if (schema) t.doesNotThrow(() => compileRequestSchema(schema), endpointOf(route))
  t.end()
})

t.test("every endpoint's answer matches its schema, field for field", async t => {
  const cast = await startCast(t)
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
  // These come last, because they remove what the others need.
  const last = [
    'PUT /api/keys/by-name/:name',
    'GET /api/keys/by-name/:name',
    'DELETE /api/keys/by-name/:name',
    'DELETE /api/account/sessions/:id',
    'DELETE /api/users/:name/links',
    'POST /api/users/:name/password',
    'DELETE /api/users/:name',
    'DELETE /api/keys/:id',
    'DELETE /api/users/:name',
    'DELETE /api/session',
  ]
  const ordered = apiRoutes.toSorted((a, b) => last.indexOf(endpointOf(a)) - last.indexOf(endpointOf(b)))
  let checked = 0
  for (const route of ordered) {
    // These need an issuer, or the token of an invitation: sign-in.test.ts and invitations.test.ts call them.
    if (route.access === 'anyone' && /^\/api\/(?:sign-in|invitation)/.test(route.url)) continue
    if (isEndless(route) || route.url === '/api/setup' || endpointOf(route) === 'POST /api/session') continue
    const own = route.url.startsWith('/api/account')
    const answer = await ask(own ? cast.ben : cast.admin, route, cast)
    if (endpointOf(route) === 'POST /api/logs/:id/resolve') {
      t.equal(answer.status, 409, 'it needs no review')
      continue
    }
    if (route.url === '/api/playground/picture') {
      t.equal(answer.status, 400, 'it needs a link')
      continue
    }
    if (route.url === '/api/admin-tokens/current') {
      t.equal(answer.status, 404, 'a session is not a token')
      continue
    }
    if (['POST /api/config/write', 'PUT /api/groups/:name'].includes(endpointOf(route))) {
      t.match([answer.status, answer.code], [403, 'edits_off'], 'nothing is written where that is off')
      continue
    }
    if (endpointOf(route) === 'POST /api/account/password') {
      t.equal(answer.status, 400, 'a wrong current password')
      continue
    }
    const isNew = route.method === 'PUT' && answer.status === 201
    t.equal(answer.status, isNew ? 201 : (route.status ?? 200), `${endpointOf(route)}: ${answer.text.slice(0, 200)}`)
    if (!route.answer) continue
    const fits = ajv.validate(route.answer as object, answer.body)
    t.ok(fits, `${endpointOf(route)}: ${ajv.errorsText()}`)
    checked++
  }
  t.ok(checked > 20, `${checked} answers`)
})

t.test('C9 an unknown field is refused', async t => {
  const { ann, ben, admin, key, started } = await startCast(t)
  const refused: [Visitor, string, string, object, number][] = [
    [ann, 'POST', '/api/keys', { name: 'x', role: 'admin' }, 400],
    [ann, 'POST', '/api/keys', { name: 'x', spent: '0.00' }, 400],
    [ann, 'POST', '/api/keys', { name: 'x', kind: 'session' }, 400],
    [ann, 'POST', '/api/keys', { name: 'x', hash: 'x' }, 400],
    [ann, 'POST', '/api/keys', { name: 'x', limits: { shadow: ['rpm'] } }, 400],
    [ann, 'POST', '/api/keys', { name: 'x', user: 'ben' }, 403],
    [ann, 'POST', '/api/keys', { name: 'x', group: 'partner' }, 403],
    [ben, 'PATCH', `/api/keys/${key}`, { group: 'partner' }, 403],
    [ben, 'PATCH', `/api/keys/${key}`, { user: 'ann' }, 400],
    [ben, 'PATCH', `/api/keys/${key}`, { held: '0' }, 400],
    [ben, 'PATCH', `/api/keys/${key}`, { status: 'revoked' }, 400],
    [ann, 'PATCH', '/api/users/ann', { role: 'admin' }, 403],
    [admin, 'PATCH', '/api/users/ann', { name: 'eve' }, 400],
    [admin, 'PATCH', '/api/users/ann', { password_hash: 'x' }, 400],
    [ann, 'POST', '/api/session', { name: 'ann', password: passwordOfTests, role: 'admin' }, 400],
    [ann, 'POST', '/api/keys', JSON.parse('{"name":"x","__proto__":{"role":"admin"}}') as object, 400],
  ]
  for (const [visitor, method, path, body, status] of refused) {
    const answer = await visitor.ask(method, path, body)
    t.equal(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`)
  }
  t.equal((await ann.post('/api/keys', '{"name":"x","__proto__":{"role":"admin"}}')).status, 400)
  t.match(await started.gateway.storage.users.find('ann'), { role: 'user', group: 'default' })
})

t.test('invalid input is reported with its field', async t => {
  const { admin, key } = await startCast(t)
  const cases: [object, string][] = [
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 'a\u202Eb' }, 'name'],
    [{ name: 'a\u001b[31m' }, 'name'],
    [{ name: 'x', budget: '-1' }, 'budget'],
    [{ name: 'x', budget: '1e9' }, 'budget'],
    [{ name: 'x', budget: 5 }, 'budget'],
    [{ name: 'x', expires: 'tomorrow' }, 'expires'],
    [{ name: 'x', expires: '2001-01-01T00:00:00Z' }, 'expires'],
    [{ name: 'x', models: ['no-such-model'] }, 'models'],
    [{ name: 'x', models: [] }, 'models'],
    [{ name: 'x', ips: ['10.0.0.0/99'] }, 'ips'],
    [{ name: 'x', ips: ['localhost'] }, 'ips'],
    [{ name: 'x', group: 'nobodys' }, 'group'],
    [{ name: 'x', user: 'nobody' }, 'user'],
    [{ name: 'x', limits: { rpm: 0 } }, 'limits.rpm'],
    [{ name: 'x', budget_period: 'fortnight' }, 'budget_period'],
  ]
  for (const [body, field] of cases) {
    const answer = await admin.post('/api/keys', body)
    t.match(answer.body, { error: { code: 'invalid', field } }, JSON.stringify(body))
    t.equal(answer.status, 400, caseName({ body, field }))
  }
  for (const [path, field] of [
    ['/api/logs?limit=x', 'limit'],
    ['/api/logs?limit=5000', 'limit'],
    ['/api/logs?since=yesterday', 'since'],
    ['/api/logs?status=9xx', 'status'],
    ['/api/logs?colour=red', 'colour'],
    ['/api/logs?before=1%27%20OR%201=1', 'before'],
    ['/api/overview?range=year', 'range'],
  ] as const)
    t.match((await admin.get(path)).body, { error: { code: 'invalid', field } }, path)
  for (const text of ['{', '[]', '"x"', 'null', '']) t.equal((await admin.post('/api/keys', text)).status, 400, text)
  t.equal((await admin.post('/api/keys', { name: 'x'.repeat(70_000) })).status, 413)
  t.equal((await admin.get(`/api/keys/${key}%00`)).status, 404)
  t.equal((await admin.get("/api/keys/x'%20OR%20'1'='1")).status, 404)
  t.equal((await admin.get('/api/keys/%zz')).status, 400)
})

t.test('a body is JSON in UTF-8, and its texts are stored as they are sent', async t => {
  const { admin, key, request, started } = await startCast(t)
  const made = await admin.post('/api/admin-tokens', { name: 'p', role: 'admin' })
  const authorization = `Bearer ${(made.body as { token: string }).token}`
  const json = 'application/json'
  for (const [name, type, body, why] of [
    ['of a form', 'application/x-www-form-urlencoded', 'name=x&user=ben', { reason: 'not_json' }],
    ['of text', 'text/plain', '{"name":"x","user":"ben"}', { reason: 'not_json', message: /application\/json/ }],
    ['of an invalid type', 'json', '{"name":"x","user":"ben"}', { reason: 'not_json' }],
    ['in another encoding', json, Buffer.from('{"name":"\u00e4","user":"ben"}', 'latin1'), { field: 'body' }],
    ['with a member twice', json, String.raw`{"name":"x","user":"ben","n\u0061me":"y"}`, { field: 'name' }],
    ['with a member twice, deeper', json, '{"name":"x","limits":{"rpm":1, "rpm" :2}}', { reason: 'field_twice' }],
    [
      'with half of a pair',
      json,
      String.raw`{"name":"a\ud800","user":"ben"}`,
      { field: 'name', reason: 'not_unicode' },
    ],
    [
      'with half of a pair in a list',
      json,
      String.raw`{"name":"x","user":"ben","tags":["a","\udc00"]}`,
      { field: 'tags.1' },
    ],
  ] as const) {
    const answer = await fetch(`${started.url}/api/keys`, {
      method: 'POST',
      headers: { authorization, 'content-type': type },
      body,
    })
    t.match([answer.status, await answer.json()], [400, { error: { code: 'invalid', ...why } }], name)
  }
  for (const [method, path, status] of [
    ['DELETE', '/api/keys/by-name/none?user=ben', 204],
    ['DELETE', '/api/users/nobody', 404],
    ['POST', '/api/config/reload', 200],
  ] as const)
    for (const type of [json, 'text/plain', 'application/x-www-form-urlencoded']) {
      const answer = await fetch(started.url + path, { method, headers: { authorization, 'content-type': type } })
      t.equal(answer.status, status, `${method} ${path} with ${type}, the type of a body that is absent`)
    }
  for (const [path, body, field] of [
    ['/api/users/ben/topups', { amount: '1', note: 'a\ud800b' }, 'note'],
    ['/api/users/ben/topups', { amount: '1', note: 'a\u0000b' }, 'note'],
    [`/api/logs/${request}/refund`, { reason: 'blurred \udfff' }, 'reason'],
    ['/api/groups/\u00e4', { rpm: { deep: ['\ud800'] } }, 'rpm.deep.0'],
  ] as const)
    t.match(
      await admin.ask(path.includes('groups') ? 'PUT' : 'POST', path, body),
      { status: 400, body: { error: { field } } },
      `${path} ${field}`,
    )
  t.match((await admin.ask('PATCH', `/api/keys/${key}`, { name: '\u{1F600} \u00e4' })).body, {
    name: '\u{1F600} \u00e4',
  })
  const name = String.raw`a"b\: "name": {"name":`
  t.match((await admin.ask('PATCH', `/api/keys/${key}`, { name })).body, { name }, 'text that looks like members')
  t.match((await admin.get('/api/keys?search=%00')).body, { keys: [] }, 'no name has this character')
})

t.test('a method that a path does not have is refused, and the others are named', async t => {
  const { admin } = await startCast(t)
  const methods = new Map<string, string[]>()
  for (const { method, url } of apiRoutes) methods.set(url, [...(methods.get(url) ?? []), method])
  for (const [url, known] of methods)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const path = url.replaceAll(/:\w+/g, 'x')
      // Another path has this method: `/api/keys/totals` matches `/api/keys/:id`.
      if (known.includes(method) || [...methods].some(([other, own]) => own.includes(method) && fits(other, path)))
        continue
      const { status, code, headers } = await admin.ask(method, path, method === 'GET' ? undefined : {})
      t.match([status, code], [405, 'method_not_allowed'], `${method} ${url}`)
      const named = headers.get('allow')?.split(', ') ?? []
      for (const one of known) t.ok(named.includes(one), `${method} ${url}: ${one} is named`)
      t.equal(new Set(named).size, named.length, `${method} ${url}: each is named once`)
    }
  t.equal((await admin.get('/api/nothing')).status, 404)
  t.equal((await admin.post('/api/pricing', {})).status, 405, 'the data of the price page is an endpoint too')
  t.equal((await admin.ask('DELETE', '/console/nothing', {})).status, 404, 'a page is none')
})

function fits(url: string, path: string): boolean {
  return new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`).test(path)
}

t.test('positions of other lists, and days that no charge has, are refused with their field', async t => {
  const { admin, key, request } = await startCast(t)
  const [entry] = ((await admin.get('/api/audit')).body as { rows: readonly { id: string }[] }).rows
  const ids = { keys: key, logs: request, 'logs/totals': request, audit: entry?.id ?? '' }
  for (const list of Object.keys(ids))
    for (const [other, id] of Object.entries(ids)) {
      const { status, body } = await admin.get(`/api/${list}?before=${id}`)
      const isOwn = list.split('/', 1)[0] === other.split('/', 1)[0]
      t.equal(status, isOwn ? 200 : 400, `${list} before an id of ${other}`)
      if (!isOwn) t.match(body, { error: { field: 'before', reason: 'not_position' } }, `${list} of ${other}`)
    }
  t.match((await admin.get('/api/objects?before=x')).body, { error: { field: 'before', reason: 'not_position' } })
  t.match(
    (await admin.get('/api/costs?user=,')).body,
    { error: { field: 'user', reason: 'missing' } },
    'no user is not every user',
  )
  const [early, late] = ['2026-11-01T00:00:00Z', '2026-11-02T00:00:00Z']
  for (const { method, url, query, contentType } of apiRoutes) {
    const { since, until }: { since?: object; until?: object } = query?.properties ?? {}
    if (method !== 'GET' || !since || !until || contentType === 'text/event-stream') continue
    t.match(
      (await admin.get(`${url}?since=${late}&until=${early}`)).body,
      { error: { field: 'since', reason: 'since_late' } },
      `${url} backwards`,
    )
    for (const span of [`since=${early}&until=${late}`, `since=${early}&until=${early}`, `until=${early}`])
      t.equal((await admin.get(`${url}?${span}`)).status, 200, `${url}?${span}`)
  }
  for (const [path, field, values, good] of [
    ['/api/statements', 'month', ['0000-01', '1969-12', '9999-12', '2026-13', '2026-1', 'x'], 'month=1970-01'],
    ['/api/costs', 'to', ['0000-01-01', '1969-12-31', '9999-01-01', '2026-02-30', 'x'], 'to=9998-12-31'],
    [
      '/api/costs/avoidable',
      'from',
      ['0000-01-01', '1969-12-31', '2026-02-30', '2026-01-01T00:00:00Z'],
      'from=2026-11-01&to=2026-11-20',
    ],
  ] as const) {
    for (const value of values) {
      const { status, body } = await admin.get(`${path}?${field}=${value}`)
      t.equal(status, 400, `${path} ${field}=${value}`)
      t.match(body, { error: { field, message: /such as 2026-11/ } }, `${path} ${field}=${value} names the form`)
    }
    t.equal((await admin.get(`${path}?${good}`)).status, 200, `${path}?${good}`)
  }
})

/** Values as JSON, of which each is wrong for most members. */
const hostile = [
  'null',
  '[]',
  '{}',
  '"NaN"',
  '-0',
  '1e400',
  '9007199254740993',
  '"\\ud800"',
  '"\\u0000"',
  '"__proto__"',
]
hostile.push(JSON.stringify('x'.repeat(6_000)), '"+010000-01-01T00:00:00Z"', '"0000-01-01"')

/** The paths of all members of a schema. */
function membersOf(schema: object | undefined, before: readonly string[] = []): (readonly string[])[] {
  const { properties = {} } = (schema ?? {}) as { properties?: { readonly [name: string]: object } }
  return Object.entries(properties).flatMap(([name, own]) => [[...before, name], ...membersOf(own, [...before, name])])
}

function withMember(body: object, [name = '', ...rest]: readonly string[], json: string): string {
  const inner = (body as { readonly [name: string]: object })[name] ?? {}
  const others = Object.entries(body).filter(([other]) => other !== name)
  const value = rest.length === 0 ? json : withMember(inner, rest, json)
  return `{${[...others.map(([other, own]) => `${JSON.stringify(other)}:${JSON.stringify(own)}`), `${JSON.stringify(name)}:${value}`].join()}}`
}

t.test('hostile values of every member get an answer that names the place', { timeout: 240_000 }, async t => {
  const cast = await startCast(t)
  const { admin } = cast
  let tried = 0
  const check = ({ status, text, body }: Answered, title: string): void => {
    tried++
    if (status < 400) return
    const { error } = body as { error?: { message?: string; field?: string | null } }
    if (status >= 500 || !error?.message || (status === 400 && !error.field)) t.fail(`${title}: ${status} ${text}`)
  }
  for (const route of apiRoutes) {
    const { method, url, query, body } = route
    // These end the session, or check passwords, which takes long.
    if (isEndless(route) || /^\/api\/(?:session|setup|invitation|account)\b/.test(url)) continue
    const path = url.replace(/:id\b/, 'x').replaceAll(/:\w+/g, 'ben')
    for (const json of hostile) {
      for (const [name = ''] of membersOf(query)) {
        const text = json.startsWith('"') ? (JSON.parse(json) as string).toWellFormed() : json
        const takesBody = method !== 'GET' && method !== 'DELETE'
        const sent = takesBody ? (bodies[endpointOf(route)] ?? {}) : undefined
        const asked = `${path}?${name}=${encodeURIComponent(text)}`
        check(await admin.ask(method, asked, sent), `${method} ${asked.slice(0, 80)}`)
      }
      for (const member of membersOf(body)) {
        const sent = withMember(bodies[endpointOf(route)] ?? {}, member, json)
        check(await admin.ask(method, path, sent), `${method} ${path} ${member.join('.')} ${json.slice(0, 40)}`)
      }
    }
  }
  t.ok(tried > 3_000, `${tried} requests`)
})

t.test('A3, A7 a secret is shown once and stored nowhere', async t => {
  const { ben, admin, secret, key, started } = await startCast(t)
  const rotated = (await ben.post(`/api/keys/${key}/rotate`, { overlap_seconds: 60 })).body as { secret: string }
  const play = (await ben.post('/api/playground/key')).body as { key: string }
  const secrets = [secret, rotated.secret, play.key]
  t.equal(new Set(secrets).size, 3)
  for (const visitor of [ben, admin])
    for (const path of [
      '/api/keys',
      `/api/keys/${key}`,
      '/api/logs',
      '/api/users',
      '/api/audit',
      '/api/config',
      '/api/session',
    ]) {
      const { text } = await visitor.get(path)
      t.notOk(
        secrets.some(one => text.includes(one)),
        path,
      )
      t.notMatch(text, /argon2|password_hash|"hash"/i, path)
    }
  await started.gateway.storage.flush()
  const db = new DatabaseSync(`${started.folder}/tollgate.db`)
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]
  const dump = tables.map(({ name }) => JSON.stringify(db.prepare(`SELECT * FROM "${name}"`).all())).join('\n')
  db.close()
  t.ok(dump.includes(key))
  t.notOk(
    secrets.some(one => dump.includes(one)),
    'nor in the database',
  )
  t.notOk(dump.includes(passwordOfTests))
})

t.test('A5, A10 a key changed in the console applies at its next request', async t => {
  const { ben, admin, secret, key, started } = await startCast(t)
  const use = async (path = '/v1/models', method = 'GET') => {
    const answer = await fetch(started.url + path, { method, headers: { authorization: `Bearer ${secret}` } })
    await answer.arrayBuffer()
    return answer.status
  }
  const change = (body: object) => ben.ask('PATCH', `/api/keys/${key}`, body)
  t.equal(await use(), 200)
  t.equal((await change({ status: 'disabled' })).status, 200)
  t.equal(await use(), 401, 'disabled')
  await change({ status: 'active' })
  t.equal(await use(), 200)
  await change({ ips: ['203.0.113.0/24'] })
  t.equal(await use(), 403, 'from another address')
  await change({ ips: null, models: ['beta-imagine-image'] })
  const list = await started.get('/v1/models', { authorization: `Bearer ${secret}` })
  t.match(await list.json(), { data: [{ id: 'beta-imagine-image' }] })
  const other = await started.post(
    '/v1/images/generations',
    { model: 'alpha-image-2', prompt: 'x' },
    { authorization: `Bearer ${secret}` },
  )
  t.equal(other.status, 403)
  await admin.ask('PATCH', '/api/users/ben', { status: 'disabled' })
  t.equal(await use(), 401, 'its user is disabled')
  await admin.ask('PATCH', '/api/users/ben', { status: 'active' })
  t.equal(await use(), 200)
  t.equal((await admin.ask('DELETE', `/api/keys/${key}`)).status, 204)
  t.equal(await use(), 401, 'revoked')
  t.equal((await admin.ask('PATCH', `/api/keys/${key}`, { status: 'active' })).status, 409, 'for ever')
})

t.test("the playground's key lasts an hour, belongs to its user, and ends with the session", async t => {
  const { ben, started } = await startCast(t)
  const mint = async () => (await ben.post('/api/playground/key')).body as { key: string; expires: string }
  const use = async (key: string) => (await started.get('/v1/models', { authorization: `Bearer ${key}` })).status
  const first = await mint()
  t.equal(await use(first.key), 200)
  t.ok(Date.parse(first.expires) <= Date.now() + 3_600_000)
  const second = await mint()
  t.equal(await use(first.key), 401, 'one at a time')
  t.equal(await use(second.key), 200)
  t.equal(((await ben.get('/api/keys')).body as { keys: object[] }).keys.length, 1, 'it is not among the keys')
  await ben.ask('DELETE', '/api/session')
  t.equal(await use(second.key), 401, 'logged out')
})

t.test('C15 every change of key, user, group, role or money is in the audit log with its author', async t => {
  const { admin, ben, key, request } = await startCast(t)
  await ben.ask('PATCH', `/api/keys/${key}`, { budget: '5', expires: '2099-01-01T00:00:00Z' })
  await ben.post(`/api/keys/${key}/rotate`)
  await admin.ask('PATCH', '/api/users/ben', { group: 'partner', role: 'admin' })
  await admin.post('/api/users/ben/password', { password: 'a passphrase for tests' })
  await admin.post(`/api/logs/${request}/refund`, { reason: 'a blurred picture' })
  await admin.post('/api/config/reload')
  await admin.ask('DELETE', `/api/keys/${key}`)
  const { rows } = (await admin.get('/api/audit?limit=200')).body as { rows: object[] }
  const expected = [
    { actor: 'root', action: 'key.revoke', subject: key },
    { actor: 'root', action: 'config.reload' },
    {
      actor: 'root',
      action: 'charge.refund',
      subject: request,
      after: { refunded: '0.04' },
      reason: 'a blurred picture',
    },
    { actor: 'root', action: 'user.password', subject: 'ben' },
    {
      actor: 'root',
      action: 'user.change',
      subject: 'ben',
      before: { group: 'default', role: 'user' },
      after: { group: 'partner', role: 'admin' },
    },
    { actor: 'ben', action: 'key.rotate', subject: key },
    {
      actor: 'ben',
      action: 'key.change',
      subject: key,
      before: { budget: null },
      after: { budget: '5.00', expires: '2099-01-01T00:00:00.000Z' },
    },
    { actor: 'ben', action: 'key.create', subject: key },
    { actor: 'ben', action: 'session.begin', subject: 'ben' },
    { actor: 'root', action: 'user.create', subject: 'ben', after: { role: 'user', group: 'default' } },
    { actor: 'root', action: 'user.setup', subject: 'root' },
  ]
  for (const row of expected)
    t.ok(
      rows.some(one => matches(one, row)),
      `${row.action} by ${row.actor}`,
    )
  const page = (await admin.get('/api/audit?limit=2&action=key')).body as { rows: { action: string }[]; next: string }
  t.match(
    page.rows.map(row => row.action),
    ['key.revoke', 'key.rotate'],
  )
  t.match((await admin.get(`/api/audit?limit=2&action=key&before=${page.next}`)).body, {
    rows: [{ action: 'key.change' }, { action: 'key.create' }],
  })
})

/** Whether an object has all fields of another, with the same values. */
function matches(found: object, wanted: object): boolean {
  return Object.entries(wanted).every(([name, value]) => {
    const own = (found as { readonly [field: string]: unknown })[name]
    return typeof value === 'object' && value !== null
      ? typeof own === 'object' && own !== null && matches(own, value as object)
      : own === value
  })
}
