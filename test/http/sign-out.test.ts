import t from 'tap'
import { startSignIns } from '../harness/sign-in.ts'
import { newVisitor, passwordOfTests } from '../harness/visitor.ts'

const byGroup = { roles: { staff: 'user' }, allow_sign_up: true }
const ann = { preferred_username: 'ann', email: 'ann@example.com', email_verified: true, groups: ['staff'] }
const kept = /^tollgate-issuer=company\.[\w-]+; Path=\/; HttpOnly; SameSite=Strict$/
const gone = 'tollgate-issuer=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'

t.test('signing out also signs out at the issuer if configured', async t => {
  const { started, issuer, leave, comeBack } = await startSignIns(t, { own: { ...byGroup, sign_out: 'issuer' } })
  issuer.people.set('1', ann)
  issuer.as = '1'
  const [visitor, jar] = [newVisitor(started.url), new Map<string, string>()]
  const back = await comeBack(visitor, await issuer.visit(await leave(visitor), jar))
  t.match(back.headers.getSetCookie().at(-1), kept)
  issuer.as = null
  t.equal((await comeBack(visitor, await issuer.visit(await leave(visitor), jar))).status, 200, 'still known there')

  const out = await visitor.ask('DELETE', '/api/session')
  t.match([out.status, out.headers.get('content-type')], [200, /^application\/json/])
  const location = new URL((out.body as { location: string }).location)
  t.equal(location.origin, issuer.url)
  t.same(Object.fromEntries(location.searchParams), {
    client_id: 'tollgate',
    post_logout_redirect_uri: `${started.url}/console`,
    logout_hint: 'ann',
  })
  t.same(out.headers.getSetCookie().slice(1), [gone])
  t.equal((await visitor.get('/api/session')).status, 401)
  t.equal((await issuer.signOut(location.href, jar)).href, `${started.url}/console`, 'and is back at the console')
  const again = await comeBack(visitor, await issuer.visit(await leave(visitor), jar))
  t.match(again.code, 'sign_in_denied', 'the issuer asks for a new sign-in')
  t.equal((await visitor.ask('DELETE', '/api/session')).status, 204, 'there is only one redirect')
})

t.test("signing out of a password session ends it here, also after an issuer's in the same browser", async t => {
  const { started, signIn, issuer } = await startSignIns(t, {
    own: { ...byGroup, sign_out: 'issuer' },
    signIn: { passwords: true },
  })
  issuer.people.set('1', ann)
  const { visitor } = await signIn('1')
  const entered = await visitor.post('/api/session', { name: 'root', password: passwordOfTests })
  t.equal(entered.status, 200, entered.text)
  t.equal(entered.headers.getSetCookie().at(-1), gone)
  t.equal((await visitor.ask('DELETE', '/api/session')).status, 204)
  const stranger = newVisitor(started.url)
  stranger.cookie = 'tollgate-issuer=company.'
  t.equal((await stranger.ask('DELETE', '/api/session')).status, 204, 'without a session there is no redirect')
})

t.test('by default, and without an end-session address or answer, signing out ends the session here', async t => {
  const plain = await startSignIns(t, { own: byGroup })
  plain.issuer.people.set('1', ann)
  const first = await plain.signIn('1')
  t.equal(first.headers.getSetCookie().length, 2, 'nothing is kept of the issuer')
  t.equal((await first.visitor.ask('DELETE', '/api/session')).status, 204)

  const { issuer, signIn } = await startSignIns(t, { own: { ...byGroup, sign_out: 'issuer' } })
  issuer.people.set('1', ann)
  issuer.meddle = (req, res) => {
    if (req.url !== '/.well-known/openid-configuration') return false
    const named = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const
    const paths = ['/auth', '/token', '/jwks']
    const ends = Object.fromEntries(named.map((name, i) => [name, `${issuer.url}${paths[i]}`]))
    const all = { id_token_signing_alg_values_supported: ['RS256'], response_types_supported: ['code'] }
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ issuer: issuer.url, subject_types_supported: ['public'], ...all, ...ends }))
    return true
  }
  const second = await signIn('1')
  t.equal(second.status, 200, second.text)
  t.equal((await second.visitor.ask('DELETE', '/api/session')).status, 204, 'no address')
  t.equal((await second.visitor.get('/api/session')).status, 401)
})

t.test('an unavailable issuer prevents no sign-out', async t => {
  let now = 0
  const clock = { now: () => Date.now(), tick: () => performance.now() + now }
  const { issuer, signIn } = await startSignIns(t, { own: { ...byGroup, sign_out: 'issuer' }, clock })
  issuer.people.set('1', ann)
  const { visitor } = await signIn('1')
  await issuer.close()
  now += 3_600_001
  t.equal((await visitor.ask('DELETE', '/api/session')).status, 204)
  t.equal((await visitor.get('/api/session')).status, 401)
})
