import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { quietLog } from '../harness/start.ts'
import { startSignIns } from '../harness/sign-in.ts'
import { enterAsUser, movableClock, newVisitor, passwordOfTests } from '../harness/visitor.ts'

const byGroup = { roles: { admins: 'admin', finance: 'billing', staff: 'user' }, allow_sign_up: true }
const ann = { email: 'Ann@example.com', email_verified: true, groups: ['staff'] }

t.test('a verified sign-in at an issuer gets the role of its groups, and a session like any other', async t => {
  const { started, issuer, admin, signIn } = await startSignIns(t, { own: byGroup, signIn: { passwords: true } })
  t.same((await newVisitor(started.url).get('/api/sign-in')).body, {
    passwords: true,
    issuers: [{ name: 'company', label: 'Company account' }],
    at: started.url,
  })
  issuer.people.set('1', ann)
  const first = await signIn('1', { body: { next: '/console/logs?model=x' } })
  t.match(first.body, {
    session: { user: { name: 'ann@example.com', role: 'user', has_password: false } },
    next: '/console/logs?model=x',
  })
  const [session = '', trip = ''] = first.headers.getSetCookie()
  t.match(session, /^tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  t.equal(trip, 'tollgate-trip=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0')
  t.equal((await first.visitor.get('/api/keys')).status, 200)

  issuer.people.set('1', { ...ann, groups: ['staff', 'finance', 'unknown'] })
  const second = await signIn('1')
  t.match(second.body, { session: { user: { name: 'ann@example.com', role: 'billing' } }, next: null })
  t.equal((await first.visitor.get('/api/session')).status, 401, 'another role is another session')

  issuer.people.set('1', { ...ann, groups: ['unknown'] })
  const third = await signIn('1')
  t.match([third.status, third.code], [403, 'no_role'])
  t.match(third.text, /Company account/)
  t.equal((await second.visitor.get('/api/session')).status, 401, 'a user without a role is signed out')

  const { rows } = (await admin.get('/api/audit?subject=ann@example.com')).body as { rows: object[] }
  t.match(rows.toReversed(), [
    { actor: 'issuer company', action: 'user.create', after: { role: 'user', group: 'default' } },
    { actor: 'issuer company', action: 'user.link' },
    { actor: 'ann@example.com', action: 'session.begin', after: { issuer: 'company' } },
    { actor: 'issuer company', action: 'user.change', before: { role: 'user' }, after: { role: 'billing' } },
    { actor: 'ann@example.com', action: 'session.begin' },
  ])
  const { text, origins } = (await admin.get('/api/config')).body as {
    text: string
    origins: { path: string; value: string }[]
  }
  t.notMatch(text, issuer.secret)
  const shown = new Map(origins.map(({ path, value }) => [path, value]))
  t.equal(shown.get('sign_in.issuers.company.client_secret'), '***')
  t.equal(shown.get('sign_in.passwords'), 'true', 'whether passwords are enabled is public')
})

t.test("an issuer's groups set the gateway's group at each sign-in: the first match counts", async t => {
  const own = { ...byGroup, groups: { engineers: 'partner', staff: 'default', admins: 'partner' }, group: 'default' }
  const { started, issuer, admin, signIn } = await startSignIns(t, { own, issuer: { tellsAll: false } })
  const groupIn = async (...groups: string[]) => {
    issuer.people.set('1', { ...ann, groups: ['staff', ...groups] })
    t.equal((await signIn('1')).status, 200, caseName({ groups }))
    return (await started.gateway.storage.users.find('ann@example.com'))?.group
  }
  t.equal(await groupIn('engineers'), 'partner')
  t.equal(await groupIn('admins'), 'default', 'what is written first')
  t.equal(await groupIn('engineers', 'admins'), 'partner', 'moved')
  t.equal(await groupIn(), 'default', 'signing out there signs out here')
  const { rows } = (await admin.get('/api/audit?subject=ann@example.com&action=user.change')).body as { rows: object[] }
  t.match(rows[0], { actor: 'issuer company', before: { group: 'partner' }, after: { group: 'default' } })
})

t.test("without groups from the issuer, the gateway's own group stays", async t => {
  const { started, issuer, admin, signIn } = await startSignIns(t, { own: { ...byGroup, group: 'partner' } })
  issuer.people.set('1', ann)
  await signIn('1')
  t.match(await admin.ask('PATCH', '/api/users/ann@example.com', { group: 'default' }), { status: 200 })
  await signIn('1')
  t.match(await started.gateway.storage.users.find('ann@example.com'), { group: 'default' })
})

t.test("calls an issuer's userinfo for missing claims; groups may be nested", async t => {
  const own = { ...byGroup, groups_claim: 'realm_access.roles', client_auth: 'basic' }
  const { issuer, signIn } = await startSignIns(t, { own, issuer: { tellsAll: false, saysIss: true } })
  issuer.people.set('1', { ...ann, groups: ['admins'], realm_access: { roles: ['staff', 'finance'] } })
  t.match((await signIn('1')).body, { session: { user: { name: 'ann@example.com', role: 'billing' } } })
})

t.test("an issuer's answer works once, in the same browser, for ten minutes", async t => {
  let now = Date.now()
  const clock = { now: () => now, tick: () => performance.now() }
  const { started, issuer, leave, comeBack } = await startSignIns(t, { own: byGroup, clock })
  issuer.people.set('1', ann)
  issuer.as = '1'
  const visitor = newVisitor(started.url)
  const address = await issuer.visit(await leave(visitor))
  const state = address.searchParams.get('state') ?? ''

  const stranger = newVisitor(started.url)
  await leave(stranger)
  const stale: { readonly [what: string]: readonly [typeof visitor, (query: URLSearchParams) => void] } = {
    'a browser that never left': [newVisitor(started.url), () => undefined],
    'another browser': [stranger, () => undefined],
    'no state': [visitor, query => query.delete('state')],
    'another state': [visitor, query => query.set('state', 'x'.repeat(43))],
    'an empty state': [visitor, query => query.set('state', '')],
  }
  for (const [what, [browser, change]] of Object.entries(stale)) {
    const changed = new URL(address)
    change(changed.searchParams)
    const refused = await comeBack(browser, changed)
    t.match([refused.status, refused.code], [400, 'sign_in_stale'], what)
  }
  t.equal((await comeBack(visitor, address)).status, 200, 'none of them has disturbed the one who left')
  t.match((await comeBack(visitor, address)).code, 'sign_in_stale', 'a second time')

  const late = newVisitor(started.url)
  const lateAddress = await issuer.visit(await leave(late))
  now += 10 * 60_000
  t.match((await comeBack(late, lateAddress)).code, 'sign_in_stale', 'ten minutes later')

  const twice = newVisitor(started.url)
  const twiceAddress = await issuer.visit(await leave(twice))
  twiceAddress.searchParams.append('state', state)
  t.match((await comeBack(twice, twiceAddress)).code, /^sign_in_/, 'two states')

  const both = newVisitor(started.url)
  const bothAddress = await issuer.visit(await leave(both))
  const answers = await Promise.all([comeBack(both, bothAddress), comeBack(both, bothAddress)])
  t.same(
    answers.map(one => one.status).toSorted((a, b) => a - b),
    [200, 400],
    'of two at once one',
  )

  const away = await visitor.post('/api/sign-in', { issuer: 'company', next: '//evil.example' })
  t.match([away.status, away.code], [400, 'invalid'], 'there is no redirect to another address')
  for (const next of ['https://evil.example', '/console.evil.example', '/\\evil.example', '/api/x'])
    t.equal((await visitor.post('/api/sign-in', { issuer: 'company', next })).code, 'invalid', next)
  t.equal((await visitor.post('/api/sign-in', { issuer: 'nobody' })).code, 'not_found')
  const crossSite = await visitor.post('/api/sign-in', { issuer: 'company' }, { 'sec-fetch-site': 'cross-site' })
  t.equal(crossSite.code, 'cross_site', 'another page cannot cause a redirect')
})

t.test('a mismatched nonce, code, issuer, audience, signature or time is refused', async t => {
  let now = Date.now()
  const clock = { now: () => now, tick: () => performance.now() }
  const { started, issuer, leave, comeBack } = await startSignIns(t, {
    own: byGroup,
    clock,
    issuer: { tokenS: 120 },
    more: ({ url, secret }) => ({
      other: {
        issuer: url,
        allow_http: true,
        client_id: 'another-client',
        client_secret: secret,
        default_role: 'user',
      },
    }),
  })
  issuer.people.set('1', ann)
  issuer.as = '1'
  const visitor = newVisitor(started.url)
  const changed = async (change: (address: URL) => void) => {
    const address = await issuer.visit(await leave(visitor))
    change(address)
    return comeBack(visitor, address)
  }
  /** Signs in, and modifies the token endpoint's answer on the way. */
  const meddled = async (change: (tokens: { id_token: string }) => void) => {
    issuer.meddleTokens = change
    const answer = await changed(() => undefined)
    issuer.meddleTokens = undefined
    return answer
  }
  const location = new URL(await leave(visitor))
  location.searchParams.set('nonce', 'of-somebody-else')
  const swapped = await comeBack(visitor, await issuer.visit(location.href))
  t.match([swapped.status, swapped.code], [403, 'sign_in_failed'], 'another nonce')

  const stolen = (await issuer.visit(await leave(newVisitor(started.url)))).searchParams.get('code') ?? ''
  t.match(
    await changed(address => address.searchParams.set('code', stolen)),
    { code: 'sign_in_failed' },
    'the code of another',
  )
  t.match(
    await changed(address => address.searchParams.set('iss', 'https://evil.example')),
    { code: 'sign_in_failed' },
    'from another issuer',
  )
  t.match(await changed(address => address.searchParams.delete('iss')), { code: 'sign_in_failed' }, 'from nobody')

  const toOther = await issuer.visit(await leave(visitor))
  const mixed = await comeBack(visitor, toOther, 'other')
  t.match([mixed.status, mixed.code], [400, 'sign_in_stale'], 'brought to another issuer')

  const part = (token: string, i: number) => token.split('.')[i] ?? ''
  const claimsOf = (token: string) => JSON.parse(Buffer.from(part(token, 1), 'base64url').toString()) as object
  const withClaims = (token: string, claims: object) =>
    `${part(token, 0)}.${Buffer.from(JSON.stringify({ ...claimsOf(token), ...claims })).toString('base64url')}.${part(token, 2)}`
  const forged: { readonly [what: string]: (token: string) => string } = {
    'claims that nobody signed': token => withClaims(token, { groups: ['admins'] }),
    'another audience': token => withClaims(token, { aud: 'another-client' }),
    'another issuer in the token': token => withClaims(token, { iss: 'https://evil.example' }),
    'no signature': token => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${part(token, 1)}.`,
  }
  for (const [what, forge] of Object.entries(forged)) {
    const refused = await meddled(tokens => {
      tokens.id_token = forge(tokens.id_token)
    })
    t.match([refused.status, refused.code], [403, 'sign_in_failed'], what)
  }
  t.match(await meddled(tokens => Reflect.deleteProperty(tokens, 'id_token')), { code: 'sign_in_failed' }, 'no token')
  const real = await issuer.tokenFor('a-client-of-their-own', location.searchParams.get('nonce') ?? '')
  t.match(claimsOf(real), { aud: 'a-client-of-their-own', sub: '1' })
  const foreign = newVisitor(started.url)
  const foreignLocation = new URL(await leave(foreign))
  const signed = await issuer.tokenFor('a-client-of-their-own', foreignLocation.searchParams.get('nonce') ?? '')
  issuer.meddleTokens = tokens => void (tokens.id_token = signed)
  const misled = await comeBack(foreign, await issuer.visit(foreignLocation.href))
  issuer.meddleTokens = undefined
  t.match(
    [misled.status, misled.code],
    [403, 'sign_in_failed'],
    'a token that the issuer has signed for another client',
  )

  now += 140_000
  t.equal((await changed(() => undefined)).status, 200, 'a clock that goes 20 seconds too far ahead')
  now += 20_000
  t.match(await changed(() => undefined), { code: 'sign_in_failed' }, 'a token that has ended')

  issuer.as = null
  const denied = await changed(() => undefined)
  t.match([denied.status, denied.code], [403, 'sign_in_denied'])
  const users = (await started.gateway.storage.users.list()).map(user => user.name)
  t.same(users, ['ann@example.com', 'local', 'root'], 'no other user signed in')
})

t.test('an unavailable issuer is reported in plain words, and passwords still work', async t => {
  const lines: object[] = []
  const log = { ...quietLog(), warn: (fields: object) => void lines.push(fields) }
  const { started, issuer, leave, comeBack } = await startSignIns(t, { own: byGroup, log })
  issuer.people.set('1', ann)
  issuer.as = '1'
  const visitor = newVisitor(started.url)
  const address = await issuer.visit(await leave(visitor))
  issuer.meddle = (_req, res) => {
    res.writeHead(502).end('Bad gateway')
    return true
  }
  const half = await comeBack(visitor, address)
  t.match([half.status, half.code], [503, 'issuer_unavailable'])
  await started.reload([['Company account', 'Staff']])
  const ill = await visitor.post('/api/sign-in', { issuer: 'company' })
  t.match([ill.status, ill.code], [503, 'issuer_unavailable'])
  await issuer.close()
  const down = await visitor.post('/api/sign-in', { issuer: 'company' })
  t.match([down.status, down.code], [503, 'issuer_unavailable'])
  t.match(down.text, /Staff cannot be reached/)
  t.match(lines, [
    { issuer: 'company' },
    { issuer: 'company' },
    { issuer: 'company', reason: /ECONNREFUSED|fetch failed/ },
  ])
  t.notMatch(JSON.stringify(lines), issuer.secret)
  t.equal((await visitor.post('/api/session', { name: 'root', password: passwordOfTests })).status, 200)
})

t.test('people are known by the subject, and by a verified e-mail if the operator allows it', async t => {
  const { issuer, admin, signIn, started } = await startSignIns(t, { own: { match: 'email' } })
  await enterAsUser(started, admin, 'ann@example.com', 'viewer')
  issuer.people.set('unverified', { ...ann, email_verified: false })
  issuer.people.set('words', { ...ann, email_verified: 'true' })
  for (const who of ['unverified', 'words']) {
    const refused = await signIn(who)
    t.match([refused.status, refused.code], [403, 'no_account'], who)
  }
  issuer.people.set('1', ann)
  t.match((await signIn('1')).body, { session: { user: { name: 'ann@example.com', role: 'viewer' } } })
  issuer.people.set('heir', ann)
  const heir = await signIn('heir')
  t.match([heir.status, heir.code], [409, 'identity_taken'], 'the address was given to another person')
  issuer.people.set('1', { email: 'ann.smith@example.com', email_verified: true })
  t.match(
    (await signIn('1')).body,
    { session: { user: { name: 'ann@example.com' } } },
    'another address, the same person',
  )
  await admin.ask('PATCH', '/api/users/ann@example.com', { status: 'disabled' })
  t.match(await signIn('1'), { status: 403, code: 'account_disabled' })
})

t.test('a sign-up never takes an existing name', async t => {
  const own = { allow_sign_up: true, default_role: 'user', email_domains: ['example.com'] }
  const { issuer, admin, signIn, started } = await startSignIns(t, { own })
  await enterAsUser(started, admin, 'boss@example.com')
  issuer.people.set('1', { email: 'boss@example.com', email_verified: true })
  const merged = await signIn('1')
  t.match([merged.status, merged.code], [409, 'conflict'], 'a user of that name is not taken over')
  issuer.people.set('2', { preferred_username: 'cat', email: 'cat@elsewhere.example', email_verified: true })
  t.match(await signIn('2'), { code: 'no_role' }, 'of another domain')
  issuer.people.set('3', { preferred_username: 'cat', email: 'cat@example.com', email_verified: false })
  t.match(await signIn('3'), { code: 'no_role' }, 'of an unverified domain')
  issuer.people.set('4', { email: 'cat@example.com', email_verified: true })
  t.match((await signIn('4')).body, { session: { user: { name: 'cat@example.com', role: 'user' } } })

  const open = await startSignIns(t, { own: { allow_sign_up: true, default_role: 'user' } })
  open.issuer.people.set('1', { preferred_username: 'boss@example.com' })
  t.match(await open.signIn('1'), { code: 'no_account' }, 'a name that looks like an address which nobody has verified')
  open.issuer.people.set('1', { preferred_username: 'dora' })
  t.match((await open.signIn('1')).body, { session: { user: { name: 'dora' } } })
  open.issuer.people.set('2', { preferred_username: 'root' })
  t.match(await open.signIn('2'), { code: 'conflict' })
  open.issuer.people.set('3', { preferred_username: 'eve' })
  t.match(
    (await open.signIn('3', { body: { name: 'admin' } })).body,
    { session: { user: { name: 'eve' } } },
    'who was not invited does not choose',
  )
})

t.test('a signed-in user links and unlinks their own account', async t => {
  const { issuer, admin, signIn, started, leave, comeBack } = await startSignIns(t)
  issuer.people.set('1', ann)
  t.match(await signIn('1'), { code: 'no_account' }, 'no user is known yet')
  t.match(await newVisitor(started.url).post('/api/sign-in', { issuer: 'company', link: true }), {
    code: 'not_logged_in',
  })
  const ben = await enterAsUser(started, admin, 'ben')
  const cookie = ben.cookie
  const tied = await signIn('1', { visitor: ben, body: { link: true, next: '/console/account' } })
  t.match(tied.body, { session: { user: { name: 'ben' } }, next: '/console/account' })
  t.match(ben.cookie, cookie, 'in the same session')
  t.match((await signIn('1')).body, { session: { user: { name: 'ben' } } })

  const cat = await enterAsUser(started, admin, 'cat')
  t.match(await signIn('1', { visitor: cat, body: { link: true } }), { status: 409, code: 'identity_taken' })
  issuer.people.set('2', {})
  issuer.as = '2'
  const address = await issuer.visit(await leave(cat, { link: true }))
  await cat.post('/api/session', { name: 'ben', password: passwordOfTests })
  t.match(await comeBack(cat, address), { code: 'sign_in_stale' }, 'another user is signed in by now')

  const { links } = (await ben.get('/api/account/links')).body as { links: { id: string; issuer: string }[] }
  t.match(links, [{ issuer: `${issuer.url}/` }])
  const path = `/api/account/links/${links[0]?.id}`
  t.equal((await cat.ask('DELETE', '/api/account/links/0000000000000000')).status, 404)
  t.equal((await ben.ask('DELETE', path)).status, 204)
  t.equal((await ben.ask('DELETE', path)).status, 404)
  t.match(await signIn('1'), { code: 'no_account' })
})

t.test('a session that was left open cannot link an account', async t => {
  const clock = movableClock()
  const { issuer, admin, signIn, started } = await startSignIns(t, { clock })
  issuer.people.set('1', ann)
  const ben = await enterAsUser(started, admin, 'ben')
  clock.forward(11 * 60_000)
  const start = (more: object) => ben.post('/api/sign-in', { issuer: 'company', link: true, ...more })
  t.match(await start({}), { status: 403, code: 'sign_in_again' })
  t.match(await start({ password: 'not this one' }), { status: 403, code: 'sign_in_again' })
  clock.forward(2_000)
  const linked = await signIn('1', { visitor: ben, body: { link: true, password: passwordOfTests } })
  t.match(linked.body, { session: { user: { name: 'ben' } } })
})

t.test("the only way to sign in cannot be removed, nor the last administrator's", async t => {
  const { issuer, admin, signIn, started } = await startSignIns(t, { own: byGroup })
  issuer.people.set('1', ann)
  const { visitor } = await signIn('1')
  const { links } = (await visitor.get('/api/account/links')).body as { links: { id: string }[] }
  t.match(await visitor.ask('DELETE', `/api/account/links/${links[0]?.id}`), { status: 409, code: 'conflict' })
  t.equal((await admin.ask('DELETE', '/api/users/ann@example.com/links')).status, 204, 'an administrator may')
  t.equal((await visitor.get('/api/session')).status, 401, 'and their sessions end')

  issuer.people.set('2', { preferred_username: 'chief', groups: ['admins'] })
  const chief = await signIn('2')
  t.match(chief.body, { session: { user: { name: 'chief', role: 'admin' } } })
  t.equal((await chief.visitor.ask('PATCH', '/api/users/root', { role: 'user' })).status, 200)
  t.match(await chief.visitor.ask('DELETE', '/api/users/chief/links'), { status: 409, code: 'conflict' })
  issuer.people.set('2', { preferred_username: 'chief', groups: ['staff'] })
  t.match(await signIn('2'), { status: 409, code: 'conflict' }, 'nor do claims take the last one away')
  t.equal(await started.gateway.storage.users.hasAdmin(), false)
  t.equal(await started.gateway.storage.users.hasAdmin({ passwords: true, issuers: [`${issuer.url}/`] }), true)
})

t.test(
  'without passwords people sign in by an issuer; until it knows an administrator the setup link works',
  async t => {
    const { issuer, signIn, started } = await startSignIns(t, { signIn: { passwords: false }, own: byGroup })
    const visitor = newVisitor(started.url)
    t.match((await visitor.get('/api/sign-in')).body, { passwords: false })
    const refused = await visitor.post('/api/session', { name: 'root', password: passwordOfTests })
    t.match([refused.status, refused.code], [403, 'passwords_off'])
    t.match(
      (await visitor.get('/api/session')).body,
      { error: { setup_needed: true } },
      'root has nothing but a password',
    )
    const { offerSetup, waysIn } = await import('../../src/index.ts')
    const ways = waysIn(started.gateway.plan)
    const token = await offerSetup(started.gateway.storage, undefined, undefined, ways)
    const entered = await visitor.post('/api/setup', { token, name: 'root', password: passwordOfTests })
    t.equal(entered.status, 200)
    issuer.people.set('1', { groups: ['admins'] })
    await signIn('1', { visitor, body: { link: true } })
    t.match((await newVisitor(started.url).get('/api/session')).body, { error: { setup_needed: false } })
    t.equal(await offerSetup(started.gateway.storage, undefined, undefined, ways), undefined)
    t.match((await signIn('1')).body, { session: { user: { name: 'root', role: 'admin' } } })
    const { links } = (await visitor.get('/api/account/links')).body as { links: { id: string }[] }
    const untied = await visitor.ask('DELETE', `/api/account/links/${links[0]?.id}`)
    t.match(untied, { status: 409, code: 'conflict' }, 'a password that cannot be used does not count')
    await started.gateway.storage.users.create({ name: 'spare', group: 'default', role: 'admin', passwordHash: 'x' })
    const demoted = await visitor.ask('PATCH', '/api/users/root', { role: 'user' })
    t.match(demoted, { status: 409, code: 'conflict' }, 'nor does an administrator count who cannot sign in')
    const last = 'root'
    const unlinked = await visitor.ask('DELETE', `/api/users/${last}/links`)
    t.match(unlinked, { status: 409, code: 'conflict' }, 'nor does an administrator unlink the last one')
    t.match((await newVisitor(started.url).get('/api/session')).body, { error: { setup_needed: false } })
  },
)

t.test('a setup may reuse a name, without anything of its former user', async t => {
  const own = { allow_sign_up: true, default_role: 'user' }
  const { issuer, signIn, started } = await startSignIns(t, { signIn: { passwords: false }, own })
  issuer.people.set('1', { preferred_username: 'admin' })
  const early = await signIn('1')
  t.match(early.body, { session: { user: { name: 'admin', role: 'user' } } })
  const { offerSetup, waysIn } = await import('../../src/index.ts')
  const token = await offerSetup(started.gateway.storage, undefined, undefined, waysIn(started.gateway.plan))
  const operator = newVisitor(started.url)
  t.equal((await operator.post('/api/setup', { token, name: 'admin', password: passwordOfTests })).status, 200)
  t.equal((await early.visitor.get('/api/session')).status, 401)
  t.match(await signIn('1'), { code: 'conflict' }, 'the first user does not become administrator')
})

t.test('a console opened at another address shows the right one; and too many sign-ins are refused', async t => {
  const { started } = await startSignIns(t, { publicUrl: 'https://ai.example.com' })
  const visitor = newVisitor(started.url)
  const elsewhere = await visitor.post('/api/sign-in', { issuer: 'company' })
  t.match([elsewhere.status, elsewhere.code], [409, 'sign_in_elsewhere'])
  t.match(elsewhere.text, /https:\/\/ai\.example\.com\/console/)
  const behind = { 'x-forwarded-proto': 'https', origin: 'https://ai.example.com' }
  const spoofed = await visitor.post('/api/sign-in', { issuer: 'company' }, behind)
  t.equal(spoofed.code, 'cross_site')

  const near = await startSignIns(t)
  const answers = await Promise.all(
    Array.from({ length: 70 }, () => visitor.ask('POST', '/api/sign-in', { issuer: 'company' })),
  )
  t.ok(answers.every(one => one.code === 'sign_in_elsewhere'))
  const many = newVisitor(near.started.url)
  const codes: (string | undefined)[] = []
  for (let i = 0; i < 62; i++) codes.push((await many.post('/api/sign-in', { issuer: 'company' })).code)
  t.same(codes, [...Array<undefined>(60).fill(undefined), 'slow_down', 'slow_down'])
})
