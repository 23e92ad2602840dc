import { request } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { start } from '../harness/start.ts'
import {
  enterAsAdmin,
  enterAsUser,
  movableClock,
  newVisitor,
  passwordOfTests,
  type Visitor,
} from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const minuteMs = 60_000
const right = (name: string) => ({ name, password: passwordOfTests })

t.test('C3 scripts, other sites and other hosts cannot use the cookie; each login has a new one', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const cookie = async (headers: Record<string, string>) => {
    const visitor = newVisitor(started.url)
    const answer = await visitor.post('/api/session', right('root'), headers)
    return { visitor, set: answer.headers.getSetCookie()[0] ?? '' }
  }
  const plain = await cookie({})
  t.match(plain.set, /^tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  const secure = await cookie({ 'x-forwarded-proto': 'https', origin: started.url.replace('http:', 'https:') })
  t.match(secure.set, /^__Host-tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
  t.notOk(secure.set.includes('Domain'))

  const planted = newVisitor(started.url)
  planted.cookie = plain.visitor.cookie
  t.equal((await planted.get('/api/session', { 'x-forwarded-proto': 'https' })).status, 401, 'no plain cookie over TLS')

  const old = admin.cookie
  await admin.post('/api/session', right('root'))
  t.not(admin.cookie, old)
  const stale = newVisitor(started.url)
  stale.cookie = old
  t.equal((await stale.get('/api/session')).status, 401, 'the old one is dead')

  const chosen = newVisitor(started.url)
  chosen.cookie = `tollgate=${'a'.repeat(43)}`
  await chosen.post('/api/session', right('root'))
  t.not(
    chosen.cookie,
    `tollgate=${'a'.repeat(43)}`,
    'a session that was planted before the login is not the one after it',
  )
  const db = new DatabaseSync(`${started.folder}/tollgate.db`)
  const rows = JSON.stringify(db.prepare('SELECT * FROM session').all())
  db.close()
  t.notOk(rows.includes(chosen.cookie.split('=')[1] ?? '?'), 'the storage has hashes alone')
})

t.test('C4 a change from another site, or in a form, is refused', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const host = new URL(started.url).host
  const body = JSON.stringify({ name: 'planted' })
  const ask = (headers: Record<string, string>) =>
    fetch(`${started.url}/api/keys`, { method: 'POST', headers: { cookie: admin.cookie, ...headers }, body })
  const json = { 'content-type': 'application/json', 'x-tollgate': '1' }
  const refused: Record<string, Record<string, string>> = {
    'cross-site': { ...json, 'sec-fetch-site': 'cross-site', origin: started.url },
    'same-site': { ...json, 'sec-fetch-site': 'same-site' },
    'typed by hand': { ...json, 'sec-fetch-site': 'none' },
    'a foreign origin': { ...json, origin: 'https://evil.example' },
    'an origin of another port': { ...json, origin: 'http://127.0.0.1:1' },
    'a null origin': { ...json, origin: 'null' },
    'nothing that says where from': json,
    'no header of ours': { 'content-type': 'application/json', origin: started.url },
    'a form': { ...json, 'content-type': 'application/x-www-form-urlencoded', origin: started.url },
    'a form with files': { ...json, 'content-type': 'multipart/form-data; boundary=x', origin: started.url },
    'plain text': { ...json, 'content-type': 'text/plain', origin: started.url },
    'JSON in a foreign coat': { ...json, 'content-type': 'text/plain; application/json', origin: started.url },
  }
  for (const [name, headers] of Object.entries(refused)) {
    const answer = await ask(headers)
    t.equal(answer.status, 403, name)
    t.match(await answer.json(), { error: { code: 'cross_site' } }, name)
  }
  t.equal((await started.gateway.storage.keys.list({ limit: 1_000 })).length, 1, 'nothing was made')
  for (const headers of [
    { ...json, 'sec-fetch-site': 'same-origin' },
    { ...json, origin: `http://${host}` },
    {
      ...json,
      'sec-fetch-site': 'same-origin',
      origin: `http://${host}`,
      'content-type': 'application/json; charset=utf-8',
    },
  ])
    t.equal((await ask(headers)).status, 201, caseName({ headers }))
  const logout = await fetch(`${started.url}/api/session`, { method: 'DELETE', headers: { cookie: admin.cookie } })
  t.equal(logout.status, 403, 'logging out is a change too')
})

t.test('C5 a session is not accepted at /v1, nor a key at /api', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  t.equal((await fetch(`${started.url}/v1/models`, { headers: { cookie: admin.cookie } })).status, 401)
  for (const headers of [{ authorization: `Bearer ${started.key}` }, { 'x-api-key': started.key }])
    t.equal((await fetch(`${started.url}/api/keys`, { headers })).status, 401, caseName({ headers }))
  const token = admin.cookie.split('=')[1] ?? ''
  t.equal((await started.get('/v1/models', { authorization: `Bearer ${token}` })).status, 401)
})

t.test('C7 every answer has security headers', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  for (const path of [
    '/api/session',
    '/api/keys',
    '/api/nothing',
    '/console',
    '/console/logs',
    '/console/none.js',
    '/pricing',
    '/docs',
    '/openapi.json',
  ]) {
    const { headers, status } = await admin.get(path)
    const policy = headers.get('content-security-policy') ?? ''
    // Pages without scripts have a stricter policy than the console.
    t.match(policy, /default-src 'self'; object-src 'none'|default-src 'none'/, `${path} ${status}`)
    for (const rule of ["base-uri 'none'", "frame-ancestors 'none'"])
      t.ok(policy.includes(rule), `${path} ${status}: ${rule}`)
    t.notMatch(policy, /unsafe|https?:|\*/, path)
    t.match(policy, /img-src 'self'(?: data: blob:)?;/, path)
    t.equal(headers.get('x-content-type-options'), 'nosniff', path)
    t.equal(headers.get('referrer-policy'), 'no-referrer', path)
    t.equal(headers.get('cross-origin-opener-policy'), 'same-origin', path)
    t.match(headers.get('x-request-id'), /^web_/, path)
    t.equal(headers.get('access-control-allow-origin'), null, path)
    if (path.startsWith('/api')) t.equal(headers.get('cache-control'), 'no-store', path)
  }
})

t.test('C10 a session ends: idle, old, logged out, password changed, user disabled', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const admin = await enterAsAdmin(started, clock)
  const open = async (visitor: Visitor) => (await visitor.get('/api/session')).status === 200
  const again = async (name: string) => {
    const visitor = newVisitor(started.url)
    await visitor.post('/api/session', right(name))
    return visitor
  }

  const logged = await again('root')
  await logged.ask('DELETE', '/api/session')
  const cookie = logged.cookie
  t.equal(cookie, 'tollgate=')
  const kept = await again('root')
  const held = kept.cookie
  await kept.ask('DELETE', '/api/session')
  kept.cookie = held
  t.equal(await open(kept), false, 'logged out, whatever the browser kept')

  const ann = await enterAsUser(started, admin, 'ann')
  const elsewhere = await again('ann')
  const newPassword = 'another fine passphrase'
  t.equal((await ann.post('/api/account/password', { current: 'wrong', password: newPassword })).status, 400)
  clock.forward(2_000)
  t.equal((await ann.post('/api/account/password', { current: passwordOfTests, password: newPassword })).status, 204)
  t.equal(await open(ann), true, 'the one that changed it stays')
  t.equal(await open(elsewhere), false, 'the others end')
  t.equal((await newVisitor(started.url).post('/api/session', right('ann'))).status, 401)

  const ben = await enterAsUser(started, admin, 'ben')
  await admin.ask('PATCH', '/api/users/ben', { status: 'disabled' })
  t.equal(await open(ben), false, 'disabled')
  await admin.ask('PATCH', '/api/users/ben', { status: 'active' })
  t.equal(await open(ben), false, 'and no way back without a login')

  const cat = await enterAsUser(started, admin, 'cat')
  await admin.post('/api/users/cat/password', { password: newPassword })
  t.equal(await open(cat), false, 'an administrator set the password')

  const self = 'root'
  const ownPassword = await admin.post(`/api/users/${self}/password`, { password: newPassword })
  t.match([ownPassword.status, ownPassword.text], [409, /account\/password/], 'a session does not come by the password')
  const two = await again('root')
  const { sessions } = (await admin.get('/api/account/sessions')).body as {
    sessions: { id: string; current: boolean }[]
  }
  t.equal(sessions.filter(one => one.current).length, 1)
  for (const one of sessions) if (!one.current) await admin.ask('DELETE', `/api/account/sessions/${one.id}`)
  t.equal(await open(two), false, 'ended from another session')

  const polling = await again('root')
  clock.forward(29 * minuteMs)
  t.equal((await polling.get('/api/alerts', { 'x-tollgate-poll': '1' })).status, 200, 'a polling page')
  t.equal(await open(admin), true, 'used within half an hour')
  const erase = (body?: object) => admin.ask('DELETE', '/api/users/cat', body)
  t.match(await erase(), { status: 403, code: 'sign_in_again' }, 'a session that was left open cannot erase anyone')
  t.match(await erase({ password: 'not this one at all' }), { status: 403, code: 'sign_in_again' })
  clock.forward(2_000)
  t.equal((await erase({ password: passwordOfTests })).status, 204)
  clock.forward(30 * minuteMs)
  t.equal(await open(admin), false, 'idle for half an hour')
  t.equal(await open(polling), false, 'whatever a page has polled meanwhile')

  const long = await again('root')
  for (let i = 0; i < 12 * 3 - 1; i++) {
    clock.forward(20 * minuteMs)
    t.equal(await open(long), true, caseName({ i }))
  }
  clock.forward(20 * minuteMs)
  t.equal(await open(long), false, 'twelve hours, however much it was used')
})

t.test('a demoted administrator loses rights at the next request', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const second = await enterAsUser(started, admin, 'second', 'admin')
  t.equal((await second.get('/api/users')).status, 200)
  await admin.ask('PATCH', '/api/users/second', { role: 'user' })
  t.equal((await second.get('/api/users')).status, 401, 'permissions are decided at the sign-in')
  for (const change of [{ role: 'user' }, { status: 'disabled' }])
    t.equal((await admin.ask('PATCH', '/api/users/root', change)).status, 409, 'users cannot remove their own role')
})

/** A request whose head is sent at once, and its body on `finish`. */
async function hold(
  url: string,
  headers: Record<string, string>,
  [method, path, body]: readonly [string, string, object],
) {
  const text = JSON.stringify(body)
  const length = { 'content-type': 'application/json', 'content-length': String(text.length) }
  const sent = request(url + path, { method, headers: { ...headers, ...length } })
  const status = new Promise<number | undefined>((resolve, reject) => {
    sent.once('response', response => resolve(response.resume().statusCode)).once('error', reject)
  })
  sent.flushHeaders()
  // Another request on the same gateway takes longer than the reading of the head.
  for (let i = 0; i < 5; i++) await (await fetch(`${url}/api/session`)).arrayBuffer()
  return async () => {
    sent.end(text)
    return status
  }
}

t.test('a body that arrives after the rights have ended changes nothing', async t => {
  const started = await start(t, { upstreams: [] })
  const root = await enterAsAdmin(started)
  const second = await enterAsUser(started, root, 'second', 'admin')
  const third = await enterAsUser(started, root, 'third', 'admin')
  const { token } = (await third.post('/api/admin-tokens', { name: 'theirs', role: 'admin' })).body as { token: string }
  const revoked = (await root.post('/api/admin-tokens', { name: 'ours', role: 'admin' })).body as {
    token: string
    admin_token: { id: string }
  }
  const own = { cookie: second.cookie, 'x-tollgate': '1', origin: started.url }
  const asked = [
    ['POST', '/api/users', { name: 'eve', role: 'admin', password: passwordOfTests }],
    ['PATCH', '/api/users/second', { role: 'admin' }],
    ['POST', '/api/invitations', { role: 'admin' }],
  ] as const
  const held: (readonly [string, () => Promise<number | undefined>])[] = []
  for (const one of asked) {
    held.push([`${one[1]} with a session`, await hold(started.url, own, one)])
    for (const sent of [token, revoked.token])
      held.push([`${one[1]} with a token`, await hold(started.url, { authorization: `Bearer ${sent}` }, one)])
  }
  for (const name of ['second', 'third'])
    t.equal((await root.ask('PATCH', `/api/users/${name}`, { role: 'user' })).status, 200, name)
  t.equal((await root.ask('DELETE', `/api/admin-tokens/${revoked.admin_token.id}`)).status, 204)
  for (const [what, finish] of held) t.equal(await finish(), 401, what)
  const { users } = (await root.get('/api/users')).body as { users: { name: string; role: string }[] }
  t.strictSame(
    users.filter(({ role }) => role === 'admin').map(({ name }) => name),
    ['root'],
  )
})

t.test('C14 the console is only at its paths; an unknown Host or address gets nothing', async t => {
  const started = await start(t, { upstreams: [] })
  const admin = await enterAsAdmin(started)
  const { hostname, port } = new URL(started.url)
  const raw = (path: string, headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      request({ hostname, port, path, headers: { cookie: admin.cookie, ...headers }, setHost: false }, answer => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  const host = `${hostname}:${port}`
  t.equal(await raw('/api/session', { host }), 200)
  for (const strange of ['evil.example/path', 'a b', 'user@host', 'host:port', '"><script>', 'a'.repeat(300)])
    t.equal(await raw('/api/session', { host: strange }), 400, strange)
  t.equal(await raw('/api/session', { host, 'x-forwarded-host': 'evil.example' }), 200)
  const { gateway } = (await admin.get('/api/session', { 'x-forwarded-host': 'evil.example' })).body as {
    gateway: { base_url: string }
  }
  t.equal(gateway.base_url, started.url)
  for (const path of ['/v1/../api/session', '//api/session', '/API/session', '/v1/api/session', '/consoles', '/api'])
    t.ok([400, 401, 404].includes(await raw(path, { host })), path)
  t.equal(
    await raw(`http://${host}/api/session`, { host }),
    200,
    'an absolute target is the same place (RFC 9112 3.2.2)',
  )
  t.equal(await raw('http://user@evil.example/api/session', { host }), 400, 'unless it names a strange one')
  t.equal((await fetch(`${started.opsUrl}/api/session`)).status, 404, 'not at the listener for operators')
})

t.test('server.console: off removes the console', async t => {
  const started = await start(t, { upstreams: [], edit: [{ 'server/console': 'off' }] })
  for (const path of ['/console', '/api/session', '/pricing', '/docs', '/openapi.json'])
    t.equal((await fetch(started.url + path)).status, 404, path)
  t.equal((await started.get('/v1/models')).status, 200)
})
