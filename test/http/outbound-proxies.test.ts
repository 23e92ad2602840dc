import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { environmentProxy, parseProxy } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeCertificate, opensslMissing } from '../harness/certificates.ts'
import { startConnectProxy, startSocksProxy } from '../harness/proxies.ts'
import { start, type Started } from '../harness/start.ts'
import { makeFolder, root } from '../harness/folder.ts'
import { openReceiver } from '../harness/receiver.ts'
import { openTalk, Refused, startVendor } from '../harness/web-socket.ts'
import { chatAnswer, chatRequest } from '../harness/vendor-keys.ts'

const login = { user: 'ada', password: 'p@ss-of-the-proxy' }
const credential = 'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }'

/** A gateway whose upstream for text has more settings. */
function open(t: Parameters<typeof start>[0], more: string, env: Record<string, string> = {}, log?: string[]) {
  const note = (fields: object, text?: string): void => void log?.push(`${text} ${JSON.stringify(fields)}`)
  return start(t, {
    upstreams: ['text'],
    env,
    edit: [[credential, `${credential}\n    ${more}`]],
    ...(log && { log: { info: note, warn: note, error: note, hide: () => undefined } as never }),
  })
}

async function ask({ post }: Started): Promise<readonly [number, string]> {
  const answer = await post('/v1/chat/completions', chatRequest)
  return [answer.status, await answer.text()]
}

t.test('an upstream is called through its own proxy, CONNECT or SOCKS5, with and without credentials', async t => {
  for (const [kind, startProxy] of [
    ['http', startConnectProxy],
    ['socks5', startSocksProxy],
  ] as const)
    for (const isOpen of [true, false]) {
      const name = caseName({ kind, isOpen })
      const proxy = await startProxy(t, isOpen ? undefined : login)
      const by = isOpen ? '' : `ada:${encodeURIComponent(login.password)}@`
      const started = await open(t, `proxy: "${kind}://${by}127.0.0.1:${proxy.port}"`)
      started.upstream.answer(chatAnswer)
      t.equal((await ask(started))[0], 200, name)
      t.equal((await ask(started))[0], 200, name)
      t.strictSame(proxy.asked, [new URL(started.upstream.url).host], `${name}: one tunnel serves several requests`)
      t.equal(
        started.upstream.received[0]?.headers['proxy-authorization'],
        undefined,
        `${name}: it keeps the credentials`,
      )
    }
})

t.test(
  'a refusal of the proxy is an error whose log line names it without its password, and nothing was sent',
  async t => {
    const connect = await startConnectProxy(t, login)
    const socks = await startSocksProxy(t, login)
    for (const [url, refuse, expected] of [
      [`http://ada:wrong-secret@127.0.0.1:${connect.port}`, undefined, /its proxy: refused with status 407/],
      [
        `http://ada:${encodeURIComponent(login.password)}@127.0.0.1:${connect.port}`,
        403,
        /its proxy: refused with status 403/,
      ],
      [
        `http://ada:${encodeURIComponent(login.password)}@127.0.0.1:${connect.port}`,
        502,
        /its proxy: refused with status 502/,
      ],
      [
        `socks5://ada:wrong-secret@127.0.0.1:${socks.port}`,
        undefined,
        /its proxy: refused: it requires valid credentials/,
      ],
      ['http://127.0.0.1:1', undefined, /its proxy: unreachable \(ECONNREFUSED\)/],
    ] as const) {
      const log: string[] = []
      if (refuse !== undefined) connect.refuse = refuse
      const started = await open(t, `proxy: "${url}"`, {}, log)
      const [status, text] = await ask(started)
      t.equal(status, 502, url)
      t.match(text, expected, url)
      t.match(text, /upstream_unreachable/, url)
      const shown = `${new URL(url).protocol}//${new URL(url).host}`
      t.ok(
        log.some(line => line.includes(shown)),
        `the log names ${shown}`,
      )
      t.notMatch(log.join('\n') + text, /wrong-secret|p@ss-of|p%40ss-of/, url)
      t.equal(started.upstream.received.length, 0, url)
    }
  },
)

t.test(
  'TLS is verified through the tunnel, against the authority of the upstream',
  { skip: opensslMissing() },
  async t => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-proxy-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const [own, other] = [await makeCertificate(folder, 'own'), await makeCertificate(folder, 'other')]
    const server = createServer({ cert: await readFile(own.cert), key: await readFile(own.key) }, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const TEXT_URL = `https://localhost:${(server.address() as AddressInfo).port}`
    const connect = await startConnectProxy(t)
    const socks = await startSocksProxy(t)
    for (const [way, ca, status] of [
      [`proxy: "http://127.0.0.1:${connect.port}"`, own.cert, 200],
      [`proxy: "http://127.0.0.1:${connect.port}"`, other.cert, 502],
      [`proxy: "socks5://127.0.0.1:${socks.port}"`, own.cert, 200],
      [`proxy: "socks5://127.0.0.1:${socks.port}"`, undefined, 502],
      ['proxy: none', own.cert, 200],
      ['proxy: none', other.cert, 502],
    ] as const) {
      const more = ca === undefined ? way : `${way}\n    ca: "\${file:${ca}}"`
      const [got, text] = await ask(await open(t, more, { TEXT_URL }))
      t.equal(got, status, more)
      if (status !== 200) t.match(text, /SELF_SIGNED|UNABLE_TO_VERIFY|DEPTH_ZERO/, more)
    }
    t.ok(connect.asked.length > 0 && socks.asked.length > 0)
  },
)

t.test('HTTPS_PROXY, HTTP_PROXY and NO_PROXY are read as curl reads them', async t => {
  const proxied = 'http://proxy.example:3128'
  for (const [env, host, expected] of [
    [{ HTTPS_PROXY: proxied }, 'api.example.com', proxied],
    [{ https_proxy: proxied, HTTPS_PROXY: 'http://other:1' }, 'api.example.com', proxied],
    [{ HTTPS_PROXY: 'proxy.example:3128' }, 'api.example.com', proxied],
    [{ HTTPS_PROXY: 'http://u:p@proxy.example:3128' }, 'api.example.com', proxied],
    [{ HTTPS_PROXY: 'socks5://proxy.example' }, 'api.example.com', 'socks5://proxy.example:1080'],
    [{ HTTP_PROXY: proxied }, 'api.example.com', undefined],
    [{ HTTPS_PROXY: ' ' }, 'api.example.com', undefined],
    [{ HTTPS_PROXY: proxied }, '127.0.0.1', undefined],
    [{ HTTPS_PROXY: proxied }, 'localhost', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '*' }, 'api.example.com', undefined],
    [{ HTTPS_PROXY: proxied, no_proxy: 'a, example.com' }, 'api.example.com', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '.example.com' }, 'API.example.com', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '*.example.com' }, 'api.example.com', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: 'ample.com' }, 'api.example.com', proxied],
    [{ HTTPS_PROXY: proxied, NO_PROXY: 'api.example.com:443' }, 'api.example.com', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: 'api.example.com:8443' }, 'api.example.com', proxied],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '10.0.0.0/8' }, '10.1.2.3', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '10.0.0.0/8' }, '11.1.2.3', proxied],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '2001:db8::/32' }, '2001:db8::1', undefined],
    [{ HTTPS_PROXY: proxied, NO_PROXY: '10.0.0.0/x,10.0.0.0/99' }, '10.1.2.3', proxied],
  ] as const) {
    const found = environmentProxy(env, { isEncrypted: true, host, port: 443 })
    t.equal(found?.shown, expected, caseName({ env, host }))
  }
  t.equal(environmentProxy({ HTTP_PROXY: proxied }, { isEncrypted: false, host: 'h', port: 80 })?.shown, proxied)
  t.match(parseProxy('http://a%40b:c%3Ad@h:1'), {
    user: 'a@b',
    password: 'c:d',
    host: 'h',
    port: 1,
    shown: 'http://h:1',
  })

  const proxy = await startConnectProxy(t)
  const HTTP_PROXY = `http://127.0.0.1:${proxy.port}`
  const TEXT_URL = 'http://vendor.invalid:8000'
  proxy.refuse = 403
  t.match((await ask(await open(t, 'reuse: true', { HTTP_PROXY, TEXT_URL })))[1], /status 403/)
  t.strictSame(proxy.asked, ['vendor.invalid:8000'], 'the proxy resolves the name')
  t.match((await ask(await open(t, 'proxy: none', { HTTP_PROXY, TEXT_URL })))[1], /ENOTFOUND|EAI_AGAIN/)
  t.match(
    (await ask(await open(t, 'reuse: true', { HTTP_PROXY, TEXT_URL, NO_PROXY: '.invalid' })))[1],
    /ENOTFOUND|EAI_AGAIN/,
  )
  t.equal(proxy.asked.length, 1)
})

t.test('a WebSocket to an upstream opens through its proxy, whose refusal the client gets as an error', async t => {
  const path = '/v1/realtime?model=sim-realtime'
  for (const [kind, startProxy] of [
    ['http', startConnectProxy],
    ['socks5', startSocksProxy],
  ] as const) {
    const vendor = await startVendor(t)
    const proxy = await startProxy(t, login)
    const by = `ada:${encodeURIComponent(login.password)}@`
    const env = { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' }
    const on = await open(t, `proxy: "${kind}://${by}127.0.0.1:${proxy.port}"`, env)
    const caller = await openTalk(t, on.url + path, on.key)
    const model = await vendor.session()
    caller.send({ type: 'session.update', session: {} })
    t.match(await model.next('session.update'), { session: {} }, kind)
    model.send({ type: 'session.updated' })
    t.match(await caller.next('session.updated'), {}, kind)
    t.strictSame(proxy.asked, [new URL(vendor.url).host], `${kind}: one tunnel`)
    const [request] = vendor.requests
    t.match(request?.headers, { authorization: 'Bearer upstream-secret', upgrade: 'websocket' }, kind)
    t.equal(request?.headers['proxy-authorization'], undefined, kind)
    caller.socket.close()
    await model.closed

    proxy.refuse = kind === 'http' ? 403 : 2
    const refused = await openTalk(t, on.url + path, on.key).catch((error: unknown) => error)
    t.ok(refused instanceof Refused, kind)
    t.match(refused, { status: 502, body: /upstream_unreachable.*|its proxy: refused/ }, kind)
    t.equal(vendor.requests.length, 1, `${kind}: nothing was sent`)
  }
})

t.test('webhooks and doctor use the proxy of the environment, which resolves the names', async t => {
  const proxy = await startConnectProxy(t)
  const receiver = await openReceiver()
  t.teardown(() => receiver.close())
  const { port } = new URL(receiver.url)
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const hook = `{ url: "http://hooks.invalid:${port}/told", secret: ${secret}, kinds: ["config.*"], allow_private: true }`
  const retention = 'retention: { log: 90d }'
  const HTTP_PROXY = `http://127.0.0.1:${proxy.port}`
  // Webhook receivers do not use an embedded gateway's environment, but that of the process.
  process.env['HTTP_PROXY'] = HTTP_PROXY
  t.teardown(() => delete process.env['HTTP_PROXY'])
  const started = await start(t, {
    upstreams: ['text'],
    edit: [[retention, `${retention}\nevents: { webhooks: { finance: ${hook} } }\n#`]],
  })
  // The receiver gets only events that come after its registration.
  while ((await started.gateway.storage.events.webhooks.list()).length === 0)
    await new Promise(resolve => setTimeout(resolve, 20))
  t.match(await started.reload([['retention: { log: 90d }', 'retention: { log: 80d }']]), { ok: true })
  await receiver.has(1)
  t.match(JSON.parse(receiver.received[0]?.body ?? ''), { type: 'config.applied' })
  t.strictSame([...new Set(proxy.asked)], [`hooks.invalid:${port}`])

  const place = await makeFolder(t)
  await copyFile(join(root, 'gateway.yaml'), place.path('gateway.yaml'))
  const env = { HTTP_PROXY, TEXT_URL: `http://vendor.invalid:${port}`, TEXT_API_KEY: 'k' }
  const through = `through the proxy http://127.0.0.1:${proxy.port}`
  const good = await place.runWith(env, 'doctor')
  t.match(good.stdout, new RegExp(`^ok .*text.*${through}`, 'm'), good.stdout + good.stderr)
  t.equal(proxy.asked.at(-1), `vendor.invalid:${port}`)
  proxy.refuse = 407
  const bad = await place.runWith(env, 'doctor')
  t.match(bad.stdout, /^fail .*text.*refused with status 407/m, bad.stdout + bad.stderr)
})
