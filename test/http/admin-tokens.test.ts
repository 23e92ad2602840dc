import t from 'tap'
import { type AnyRoute, apiRoutes } from '../../src/admin/index.ts'
import { type Duty, may } from '../../src/admin/duties.ts'
import { scopeOf } from '../../src/admin/scopes.ts'
import { adminScopes, adminTokenRoles } from '../../src/domain/index.ts'
import { createAdminSecret, hashSecret, systemRandom } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { start, type Started } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, movableClock, newVisitor, type Visitor } from '../harness/visitor.ts'

/** A program with an admin token: it sends no cookie, no header of the console, and no origin. */
function program(url: string, token: string) {
  return async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const read = (text === '' ? undefined : JSON.parse(text)) as Record<string, never> | undefined
    const code = (read as { error?: { code: string } } | undefined)?.error?.code
    return { status: response.status, body: read, code, headers: response.headers }
  }
}

async function make(admin: Visitor, body: object) {
  const made = await admin.post('/api/admin-tokens', { role: 'admin', ...body })
  if (made.status !== 201) throw new Error(`${made.status} ${made.text}`)
  return made.body as { admin_token: { id: string; hint: string; scopes: string[] }; token: string }
}

const endpointOf = ({ method, url }: Pick<AnyRoute, 'method' | 'url'>): string => `${method} ${url}`

t.test('a token administers without a cookie, in its own name, and only at /api', async t => {
  const started = await start(t, { upstreams: [] })
  const { url, gateway } = started
  const admin = await enterAsAdmin(started)
  const { token, admin_token: shown } = await make(admin, { name: 'terraform' })
  t.match(token, /^tga-[0-9A-Za-z]{49}$/)
  t.match(shown, { role: 'admin', scopes: ['read', 'keys', 'people', 'money', 'config'], by: 'root', expires: null })
  const ask = program(url, token)
  t.equal((await ask('POST', '/api/users', { name: 'ann' })).status, 201)
  t.match(await ask('POST', '/api/keys', { name: 'x' }), { status: 400, code: 'invalid' }, 'a token cannot own keys')
  const made = await ask('POST', '/api/keys', { name: 'x', user: 'ann' })
  t.match(made, { status: 201, body: { key: { user: 'ann' } } })
  const { secret } = made.body as unknown as { secret: string }
  t.equal(
    (await ask('POST', `/api/keys/${made.body?.['key']?.['id']}/rotate`)).status,
    200,
    'a body of defaults may be absent',
  )
  t.match((await ask('GET', '/api/admin-tokens/current')).body, { name: 'terraform', hint: shown.hint })
  t.match((await admin.get('/api/audit?actor=token%20terraform')).body, {
    rows: [{ action: 'key.rotate' }, { action: 'key.create' }, { action: 'user.create', subject: 'ann' }],
  })
  t.equal((await program(url, token)('GET', '/v1/models')).status, 401, 'a token is not a key')
  const refused = await program(url, secret)('GET', '/api/keys')
  t.match(refused, { status: 401, code: 'token_invalid' }, 'a key is not a token')
  t.match(refused.headers.get('www-authenticate'), 'Bearer')
  const kept = await gateway.storage.adminTokens.list()
  t.notMatch(JSON.stringify([kept, (await admin.get('/api/admin-tokens')).body]), token, 'the secret is kept nowhere')
  t.ok(kept[0]?.lastUsedAt)
  t.equal((await admin.ask('DELETE', `/api/admin-tokens/${shown.id}`)).status, 204)
  t.match(await ask('GET', '/api/keys'), { status: 401, code: 'token_invalid' })
  t.match((await admin.get(`/api/audit?subject=${shown.id}`)).body, {
    rows: [{ action: 'admin_token.revoke' }, { action: 'admin_token.create', after: { name: 'terraform' } }],
  })
})

t.test('a token is bound to its role, scopes, addresses and expiry', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const admin = await enterAsAdmin(started, clock)
  await enterAsUser(started, admin, 'ann')
  await enterAsUser(started, admin, 'boss', 'admin')
  const of = async (body: object) => program(started.url, (await make(admin, body)).token)
  const viewer = await of({ name: 'viewer', role: 'viewer' })
  t.equal((await viewer('GET', '/api/users')).status, 200)
  t.match(await viewer('POST', '/api/users', { name: 'eve' }), { status: 403, code: 'forbidden' })
  const keys = await of({ name: 'keys', scopes: ['read', 'keys'] })
  t.equal((await keys('POST', '/api/keys', { name: 'x', user: 'ann' })).status, 201)
  t.match(await keys('POST', '/api/users', { name: 'eve' }), { status: 403, code: 'token_scope' })
  const people = await of({ name: 'people', scopes: ['people'] })
  t.match(await people('GET', '/api/users'), { status: 403, code: 'token_scope' })
  t.equal((await people('POST', '/api/users', { name: 'bob' })).status, 201)
  const climbs: readonly (readonly [string, string, object])[] = [
    ['POST', '/api/users', { name: 'eve', role: 'admin' }],
    ['PUT', '/api/users/eve', { role: 'billing' }],
    ['PATCH', '/api/users/ann', { role: 'admin' }],
    ['PATCH', '/api/users/boss', { group: 'partner' }],
    ['POST', '/api/users/boss/password', { password: 'a passphrase for tests' }],
    ['POST', '/api/invitations', { role: 'admin' }],
    ['DELETE', '/api/users/boss', {}],
    ['DELETE', '/api/users/boss/links', {}],
  ]
  const ofBoss = (await admin.post('/api/invitations', { role: 'admin' })).body as { invitation: { id: string } }
  const ofUser = (await admin.post('/api/invitations', {})).body as { invitation: { id: string } }
  t.equal((await people('DELETE', `/api/invitations/${ofUser.invitation.id}`)).status, 204)
  for (const [method, path, body] of [...climbs, ['DELETE', `/api/invitations/${ofBoss.invitation.id}`, {}] as const])
    t.match(await people(method, path, body), { status: 403, code: 'token_roles' }, caseName({ method, path }))
  t.match(await people('POST', '/api/admin-tokens', { name: 'more', role: 'admin' }), { code: 'token_barred' })
  const away = await of({ name: 'away', ips: ['203.0.113.0/24'] })
  t.match(await away('GET', '/api/users'), { status: 403, code: 'token_address' })
  const near = await of({ name: 'near', ips: ['127.0.0.1', '::1'] })
  t.equal((await near('GET', '/api/users')).status, 200)
  const short = await of({ name: 'short', expires: new Date(clock.now() + 60_000).toISOString() })
  t.equal((await short('GET', '/api/users')).status, 200)
  clock.forward(60_001)
  t.match(await short('GET', '/api/users'), { status: 401, code: 'token_invalid' })
  const second = await make(admin, { name: 'short' })
  t.ok(second.token, 'the name of an expired one is free')
  t.match(await admin.post('/api/admin-tokens', { role: 'admin', name: 'short' }), { status: 409, code: 'conflict' })
  clock.forward(11 * 60_000)
  t.match(await admin.post('/api/admin-tokens', { role: 'admin', name: 'late' }), { code: 'sign_in_again' })
})

t.test('a token ends when its creator is no longer an administrator, and invalid ones are rate limited', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const root = await enterAsAdmin(started, clock)
  const second = await enterAsUser(started, root, 'second', 'admin')
  const ask = program(started.url, (await make(second, { name: 'theirs' })).token)
  const own = program(started.url, (await make(root, { name: 'own' })).token)
  t.equal((await ask('GET', '/api/users')).status, 200)
  await root.ask('PATCH', '/api/users/second', { role: 'viewer' })
  t.match(await ask('GET', '/api/users'), { status: 401 })
  t.match(await ask('GET', '/api/users'), { status: 429, code: 'slow_down' }, 'the same wrong one at once')
  t.equal((await own('GET', '/api/users')).status, 200, 'others go on')
  const codes: (string | undefined)[] = []
  for (let i = 0; i < 25; i++) codes.push((await program(started.url, `guess-${i}`)('GET', '/api/users')).code)
  t.equal(codes.at(-1), 'slow_down', 'many different ones from one address')
  t.equal(codes[0], 'token_invalid')
  clock.forward(61_000)
  t.equal((await own('GET', '/api/users')).status, 200)
})

t.test('a token makes changes although a thousand newer ones exist', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const ask = program(started.url, (await make(admin, { name: 'first' })).token)
  const { adminTokens } = started.gateway.storage
  const others = { role: 'viewer', scopes: ['read'], ips: null, expiresAt: null, hint: '' } as const
  await Promise.all(
    Array.from({ length: 1_000 }, async (_, i) =>
      adminTokens.create({ ...others, name: `ci-${i}`, hash: `of ${i}` }, 'root'),
    ),
  )
  t.equal((await ask('POST', '/api/users', { name: 'ann' })).status, 201)
})

t.test("a session needs no token, and a proxy's bearer header does not hide it", async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const bearer = { authorization: 'Bearer eyJhbGciOi.of.a.proxy' }
  t.equal((await admin.get('/api/users', bearer)).status, 200)
  t.equal((await admin.post('/api/users', { name: 'ann' }, bearer)).status, 201)
  const { token } = await make(admin, { name: 'one' })
  const visitor = newVisitor(started.url)
  const sent = await visitor.post(
    '/api/session',
    { name: 'root', password: 'x' },
    { authorization: `Bearer ${token}`, origin: 'https://evil.example' },
  )
  t.match(sent, { status: 403, code: 'cross_site' }, 'a sign-in stays bound to its page')
})

t.test('every endpoint has a scope, or is only for people', async t => {
  const open = apiRoutes.filter(route => route.access !== 'anyone')
  const barred = open.filter(route => scopeOf(route) === undefined).map(endpointOf)
  t.strictSame(barred.toSorted(), [
    'DELETE /api/account/links/:id',
    'DELETE /api/account/sessions/:id',
    'DELETE /api/account/views/:id',
    'DELETE /api/admin-tokens/:id',
    'GET /api/account/links',
    'GET /api/account/sessions',
    'GET /api/account/views',
    'GET /api/playground/picture',
    'POST /api/account/password',
    'POST /api/account/views',
    'POST /api/admin-tokens',
    'POST /api/playground/key',
  ])
  const started = await start(t, { upstreams: [] })
  const { paths, components } = (await (await fetch(`${started.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { security: object[]; 'x-scope'?: string }>>
    components: { securitySchemes: Record<string, object> }
  }
  t.match(components.securitySchemes['adminToken'], { type: 'http', scheme: 'bearer' })
  t.match(paths['/api/keys']?.['post'], { security: [{ session: [] }, { adminToken: [] }], 'x-scope': 'keys' })
  t.strictSame(paths['/api/account/password']?.['post']?.security, [{ session: [] }])
})

/** A valid request of an endpoint that changes nothing: its object is missing, or its body has an unknown field. */
function harmless({ method, url, body }: AnyRoute): readonly [path: string, body: object | undefined] {
  const path = url.replaceAll(/:(?:id|name|upstream|key|issuer)/g, 'missing')
  if (method === 'GET' || (method === 'DELETE' && !body)) return [path, undefined]
  return [path, { unknown: 1 }]
}

t.test('every endpoint by every role and scope of a token: nothing outside of both', async t => {
  const started = await start(t, { upstreams: [] })
  const { gateway, url } = started
  // Endpoints with another content never end, or return files.
  const asked = apiRoutes.filter(route => route.access !== 'anyone' && route.contentType === undefined)
  let tried = 0
  for (const role of adminTokenRoles)
    for (const scope of adminScopes) {
      const secret = createAdminSecret(systemRandom)
      const token = { name: `${role} ${scope}`, role, scopes: [scope], ips: null, expiresAt: null, hint: '' } as const
      await gateway.storage.adminTokens.create({ ...token, hash: hashSecret(secret) }, 'command line')
      const ask = program(url, secret)
      for (const route of asked) {
        const needed = scopeOf(route)
        const wanted =
          needed === undefined
            ? 'token_barred'
            : needed !== scope
              ? 'token_scope'
              : may({ role }, route.access as Duty)
                ? undefined
                : 'forbidden'
        const { status, code } = await ask(route.method, ...harmless(route))
        tried++
        const what = `${endpointOf(route)} by ${role} with ${scope}: ${status} ${code}`
        if (wanted !== undefined) t.match({ status, code }, { status: 403, code: wanted }, what)
        else t.notOk(status >= 500 || (code !== 'edits_off' && [401, 403].includes(status)), what)
      }
    }
  t.comment(`${tried} tried`)
})

t.test('PUT of a key by its name creates it once, and then only changes it', async t => {
  const started: Started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const ask = program(started.url, (await make(admin, { name: 'terraform' })).token)
  t.match(await ask('PUT', '/api/keys/by-name/app', { user: 'ann' }), { status: 400 }, 'no such user yet')
  t.equal((await ask('PUT', '/api/users/ann', { group: 'partner', budget: '5' })).status, 201)
  t.match(await ask('PUT', '/api/users/ann', { group: 'partner' }), { status: 200, body: { budget: '5.00' } })
  const body = { user: 'ann', budget: '10', models: ['alpha-*'] }
  const many = await Promise.all(Array.from({ length: 8 }, () => ask('PUT', '/api/keys/by-name/app', body)))
  t.equal(many.filter(one => one.status === 201).length, 1, 'of eight at once one')
  t.equal(many.filter(one => one.status === 200).length, 7)
  const made = many.find(one => one.status === 201)?.body as unknown as { secret: string; key: { id: string } }
  t.match(made.secret, /^sk-/)
  t.match(
    many.filter(one => one.status === 200).map(one => one.body),
    Array.from({ length: 7 }, () => ({ created: false, secret: null, key: { id: made.key.id } })),
  )
  const before = ((await ask('GET', '/api/audit?limit=200')).body as unknown as { rows: object[] }).rows.length
  await ask('PUT', '/api/keys/by-name/app', body)
  const after = ((await ask('GET', '/api/audit?limit=200')).body as unknown as { rows: object[] }).rows.length
  t.equal(after, before, 'the same again changes nothing')
  t.match(await ask('PUT', '/api/keys/by-name/app', { user: 'ann', status: 'disabled' }), {
    status: 200,
    body: { key: { id: made.key.id, budget: null, models: null, status: 'disabled' } },
  })
  t.match(await ask('PUT', '/api/keys/by-name/app', { user: 'ann' }), { body: { key: { status: 'disabled' } } })
  t.match(await ask('GET', '/api/keys/by-name/app?user=ann'), { status: 200, body: { id: made.key.id } })
  await ask('POST', '/api/keys', { user: 'ann', name: 'app' })
  t.match(await ask('PUT', '/api/keys/by-name/app', { user: 'ann' }), { status: 409, code: 'conflict' })
  const other = await ask('PUT', '/api/keys/by-name/other', { user: 'ann' })
  t.equal(other.status, 201)
  t.equal((await ask('DELETE', '/api/keys/by-name/other?user=ann')).status, 204)
  t.equal((await ask('DELETE', '/api/keys/by-name/other?user=ann')).status, 204, 'again')
  t.equal((await ask('GET', '/api/keys/by-name/other?user=ann')).status, 404)
  t.equal((await ask('PUT', '/api/keys/by-name/other', { user: 'ann' })).status, 201, 'the name is free again')
})
