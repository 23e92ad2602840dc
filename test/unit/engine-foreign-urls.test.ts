import t, { type Test } from 'tap'
import type { Credential } from '../../src/domain/index.ts'
import type { Hooks, UpstreamRequest, PluginResponse } from '../../src/plugin-api/index.ts'
import { caseName } from '../harness/case-name.ts'
import { type BareOptions, startEngine } from '../harness/engine.ts'
import { startUpstream } from '../harness/upstream.ts'

const none = { kind: 'none' } as const
const credential: readonly Credential[] = [
  { kind: 'header', header: 'x-key', value: 'our-key' },
  { kind: 'query', name: 'key', value: 'our-parameter' },
]

/** A gateway whose plugin sends one request and reports the response, and a server that is not one of its upstreams. */
async function startForeign(t: Test, question: (url: string) => UpstreamRequest, more: BareOptions = {}) {
  const other = await startUpstream()
  t.teardown(() => other.close())
  const hooks: Hooks = {
    onAsk:
      () =>
      async (asker): Promise<PluginResponse> => {
        const heard = await asker.ask(question(other.url))
        return { status: 200, headers: { 'content-type': 'text/plain' }, body: heard.body }
      },
  }
  const bare = await startEngine(t, {
    upstreams: [{ credential, headers: { 'x-fixed': 'ours' }, query: { v: '1' } }],
    hooks,
    ...more,
  })
  return { ...bare, other, upstream: bare.upstreams[0] as (typeof bare.upstreams)[number] }
}

const errorOf = async (answer: Response) =>
  ((await answer.json()) as { readonly error: { readonly code: string; readonly message: string } }).error

t.test('a host that the file names gets none of our secrets, on its own connection', async t => {
  const { post, other } = await startForeign(t, url => ({ url: `${url}/picture?sig=1#part`, hosts: [url], body: none }))
  other.answer(res => void res.end('a picture'))
  for (const i of [0, 1]) t.equal(await (await post()).text(), 'a picture', caseName({ i }))
  const [received] = other.received
  t.equal(received?.method, 'GET')
  t.equal(received?.url, '/picture?sig=1')
  t.strictSame(Object.keys(received?.headers ?? {}).sort(), ['accept-encoding', 'connection', 'host', 'user-agent'])
  t.equal(received?.headers.connection, 'close')
})

t.test('the credential is sent there if the file says so, and then all of it', async t => {
  const { post, other } = await startForeign(t, url => ({
    url: `${url}/job?id=1`,
    hosts: [url],
    withCredential: true,
    headers: { 'x-more': 'm' },
    body: none,
  }))
  other.answer(res => void res.end('done'))
  await post()
  const [received] = other.received
  t.match(received?.headers, { 'x-key': 'our-key', 'x-fixed': 'ours', 'x-more': 'm' })
  t.equal(received?.url, '/job?id=1&v=1&key=our-parameter')
})

t.test("the upstream's own address gets its credential, absolute or relative", async t => {
  const { post, upstream } = await startForeign(t, () => ({ url: '/jobs/1?x=1', body: none }))
  upstream.answer(res => void res.end('done'))
  t.equal(await (await post()).text(), 'done')
  t.equal(upstream.received[0]?.url, '/jobs/1?x=1&v=1&key=our-parameter')
  t.match(upstream.received[0]?.headers, { 'x-key': 'our-key' })
})

t.test('an unnamed address is not called, and the client sees only its origin', async t => {
  for (const [i, hosts] of [[], ['*.vendor.example'], ['https://127.0.0.1'], ['no pattern ']].entries()) {
    const { post, other, upstream } = await startForeign(t, url => ({ url: `${url}/?secret=s`, hosts, body: none }))
    const answer = await post()
    t.equal(answer.status, 502, caseName({ i }))
    const { code, message } = await errorOf(answer)
    t.equal(code, 'upstream_address_refused', caseName({ i }))
    t.notMatch(message, /secret/, caseName({ i }))
    t.equal(other.received.length + upstream.received.length, 0, caseName({ i }))
  }
})

t.test('a named host that resolves to this machine is not dialled', async t => {
  const { post, other } = await startForeign(t, url => {
    const named = url.replace('127.0.0.1', 'localhost')
    return { url: `${named}/picture`, hosts: [named], body: none }
  })
  const answer = await post()
  t.match(await errorOf(answer), { code: 'upstream_address_refused', message: /localhost, which leads into a private/ })
  t.equal(other.received.length, 0)
  t.equal(other.sockets, 0)
})

t.test('redirects are not followed, and large or silent answers are abandoned', async t => {
  const redirected = await startForeign(t, url => ({ url: `${url}/a`, hosts: [url], body: none }))
  redirected.other.answer(res => void res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end())
  t.match(await errorOf(await redirected.post()), { code: 'upstream_invalid', message: /a redirect \(302\)/ })
  t.equal(redirected.other.received.length, 1)

  const large = await startForeign(t, url => ({ url: `${url}/a`, hosts: [url], body: none, bytesMax: 1_000 }))
  large.other.answer(res => void res.end('x'.repeat(2_000)))
  const received = await (await large.post()).text().catch(() => 'cut')
  t.match(received, /upstream_answer_too_large|cut/)

  const timeouts = { connectMs: 1_000, firstByteMs: 30, idleMs: 1_000, totalMs: 1_000, afterLeaveMs: 1 }
  const silent = await startForeign(t, url => ({ url: `${url}/a`, hosts: [url], body: none }), {
    upstreams: [{ timeouts }],
  })
  silent.other.answer(() => undefined)
  t.match(await errorOf(await silent.post()), { code: 'upstream_timeout' })
})

t.test('an injected connector receives whether an address is foreign', async t => {
  const dialled: unknown[] = []
  const refuse = Object.assign(new Error('not here'), { code: 'ECONNREFUSED' })
  const { post } = await startForeign(
    t,
    () => ({ url: 'https://files.vendor.example/a', hosts: ['*.vendor.example'], body: none }),
    {
      connect: to => {
        dialled.push(to)
        return Promise.reject(refuse)
      },
    },
  )
  await post()
  t.strictSame(dialled, [{ host: 'files.vendor.example', port: 443, isEncrypted: true, isForeign: true }])
})

t.test("a credential sent encrypted is not sent unencrypted on an answer's demand", async t => {
  const { post, other } = await startForeign(t, url => ({ url, hosts: [url], withCredential: true, body: none }), {
    upstreams: [{ credential, url: 'https://api.vendor.example' }],
  })
  other.answer(res => void res.end('done'))
  t.equal(await (await post()).text(), 'done')
  t.equal(other.received[0]?.headers['x-key'], undefined)
  t.equal(other.received[0]?.url, '/')
})
