import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import { bareProxies, composeNginx, haproxy, type Proxy } from '../harness/fronts.ts'
import { isRight, lineOf, walk } from '../harness/proxy-matrix.ts'
import { start } from '../harness/start.ts'
import { newVisitor } from '../harness/visitor.ts'
import { startSignIns } from '../harness/sign-in.ts'

// `npm run test:proxies` runs all proxies, and prints their table.
for (const proxy of [composeNginx, haproxy, ...bareProxies])
  t.test(
    `through ${proxy.name} each purchase is delivered once and charged once`,
    { skip: proxy.missing() },
    async t => {
      for await (const cell of walk(t, proxy, true)) t.ok(isRight(cell), lineOf(cell))
    },
  )

t.test('a direct client gets its purchase', async t => {
  for await (const cell of walk(t, undefined, true)) t.ok(isRight(cell), lineOf(cell))
})

const signInThrough = async (t: Test, proxy: Proxy) => {
  const started = await start(t, {
    upstreams: [],
    edit: [{ 'server/trusted_proxies': ['127.0.0.1'] }],
  })
  const front = await proxy.start(t, started.url)
  const redirects = [`${front.url}/console/sign-in/company`]
  const signIns = await startSignIns(t, {
    started,
    publicUrl: front.url,
    own: { roles: { staff: 'user' }, allow_sign_up: true },
    issuer: { redirects, signedOut: [`${front.url}/console`] },
  })
  signIns.issuer.people.set('1', { email: 'ann@example.com', email_verified: true, groups: ['staff'] })
  return { front, ...signIns }
}

t.test('users sign in through an issuer at a public address with a port', { skip: composeNginx.missing() }, async t => {
  const { front, signIn } = await signInThrough(t, composeNginx)
  t.match(new URL(front.url).port, /^\d+$/)
  const visitor = newVisitor(front.url)
  t.match((await signIn('1', { visitor })).body, { session: { user: { name: 'ann@example.com' } } })
  t.equal((await visitor.get('/api/session')).status, 200)
})

t.test('a trusted proxy that omits the port, or sends its own name, is corrected', async t => {
  const edit = (trusted: string) =>
    [
      ['\nserver:\n', `\nserver:\n  public_url: https://ai.example.com:8443\n  trusted_proxies: [${trusted}]\n`],
    ] as const
  const tries = async (trusted: string, headers: Record<string, string>) => {
    const { url } = await start(t, { upstreams: [], edit: edit(trusted) })
    const { hostname, port } = new URL(url)
    const origin = 'https://ai.example.com:8443'
    const headersSent = {
      'x-forwarded-proto': 'https',
      origin,
      'x-tollgate': '1',
      'content-type': 'application/json',
      ...headers,
    }
    const { status, text } = await ask(hostname, Number(port), headersSent)
    return [status, /"reason":"(\w+)"/.exec(text)?.[1] ?? /"code":"(\w+)"/.exec(text)?.[1]]
  }
  const fine = [401, 'wrong_password']
  const refused = [403, 'other_host']
  t.same(await tries('127.0.0.1', { host: 'ai.example.com' }), fine, 'nginx with Host $host')
  t.same(
    await tries('127.0.0.1', { host: 'gateways', 'x-forwarded-host': 'ai.example.com:8443' }),
    fine,
    'another Host',
  )
  t.same(
    await tries('127.0.0.1', { host: 'gateways', 'x-forwarded-host': 'x.example, ai.example.com:8443' }),
    fine,
    'the last',
  )
  t.same(
    await tries('127.0.0.1', { host: 'ai.example.com:8443', 'x-forwarded-host': 'ai.example.com' }),
    fine,
    'without its port',
  )
  t.same(await tries('127.0.0.1', { host: 'gateways' }), refused, 'nothing forwarded')
  t.same(await tries('10.0.0.1', { host: 'ai.example.com' }), refused, 'not trusted')
  t.same(
    await tries('10.0.0.1', { host: 'gateways', 'x-forwarded-host': 'ai.example.com:8443' }),
    refused,
    'not trusted',
  )
})

/** Signs in with a wrong password. */
async function ask(host: string, port: number, headers: Record<string, string>) {
  const req = request({ host, port, path: '/api/session', method: 'POST', agent: false, headers })
  req.end(JSON.stringify({ name: 'nobody', password: 'wrong password' }))
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of res) text += String(chunk)
  return { status: res.statusCode, text }
}
