import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import t from 'tap'
import { Poster } from '../../src/events/post.ts'
import { useEnvironmentProxy } from '../../src/gateway/use-environment-proxy.ts'
import { reach } from '../../src/tools/doctor/reach.ts'
import { systemClock } from '../../src/util/clock.ts'
import { environmentProxy, parseProxy } from '../../src/util/index.ts'
import { startFailover } from '../harness/failover.ts'
import { makeCertificate, opensslMissing } from '../harness/certificates.ts'
import { startConnectProxy, startRawProxy, startSocksProxy } from '../harness/proxies.ts'
import { start, type Started } from '../harness/start.ts'
import { chatAnswer, chatRequest } from '../harness/vendor-keys.ts'

const credential = 'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }'
const calm = 'cooldown: { failures: 100000 }'

function open(t: Parameters<typeof start>[0], more: string, env: Record<string, string> = {}, log?: string[]) {
  const note = (fields: object, text?: string): void => void log?.push(`${text} ${JSON.stringify(fields)}`)
  return start(t, {
    upstreams: ['text'],
    env,
    edit: [[credential, `${credential}\n    ${calm}\n    ${more}`]],
    ...(log && { log: { info: note, warn: note, error: note, hide: () => undefined } as never }),
  })
}

async function ask({ post }: Started): Promise<readonly [number, string]> {
  const answer = await post('/v1/chat/completions', chatRequest)
  return [answer.status, await answer.text()]
}

type Script = (socket: Socket, bytes: Buffer, read: number) => void

/** Polls a condition that has no event. */
async function until(isMet: () => boolean): Promise<void> {
  while (!isMet()) await new Promise(resolve => setTimeout(resolve, 5))
}

const granted = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
const bytesOf = (...bytes: number[]) => Buffer.from(bytes)

t.test('a misbehaving proxy causes no charge and no upstream request, and leaves no connection', async t => {
  const raw = await startRawProxy(t)
  const login = 'ada:hidden-word'
  const connects: Record<string, readonly [Script, RegExp]> = {
    silent: [() => undefined, /upstream_connect_timeout/],
    'half a head': [s => s.write('HTTP/1.1 200 Conn'), /upstream_connect_timeout/],
    'half a head, closed': [s => s.end('HTTP/1.1 200 Conn'), /its proxy: unreachable/],
    'closed at once': [s => s.end(), /its proxy: unreachable/],
    reset: [s => s.resetAndDestroy(), /its proxy: unreachable \(ECONNRESET\)/],
    'interim answers for ever': [s => s.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)), /status 100/],
    'a huge head': [
      s => s.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
      /its proxy: unreachable \(HPE_HEADER_OVERFLOW\)/,
    ],
    'a head without an end': [
      s => s.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(9_000)}`),
      /its proxy: unreachable \(HPE_HEADER_OVERFLOW\)/,
    ],
    'no HTTP': [s => s.write('SSH-2.0-OpenSSH_9.9\r\n'), /its proxy: unreachable \(HPE_/],
    '407 with a body': [
      s =>
        s.write(
          `HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="hidden-word"\r\nContent-Length: 11\r\n\r\nhidden-word`,
        ),
      /status 407/,
    ],
    '502, kept open': [s => s.write('HTTP/1.1 502 Bad\r\nContent-Length: 5\r\n\r\n'), /status 502/],
    '302 elsewhere': [
      s => s.write('HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n'),
      /status 302/,
    ],
    '101': [
      s => s.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
      /its proxy: /,
    ],
  }
  const socks: Record<string, readonly [Script, RegExp]> = {
    silent: [() => undefined, /upstream_connect_timeout/],
    'another version': [s => s.write(bytesOf(4, 0)), /its proxy: failed/],
    'no method': [s => s.write(bytesOf(5, 0xff)), /its proxy: refused: it requires valid credentials/],
    'a method that was not offered': [s => s.write(bytesOf(5, 1)), /its proxy: /],
    'half a method': [s => s.write(bytesOf(5)), /upstream_connect_timeout/],
    'half a reply': [
      (s, _, read) => s.write(read === 0 ? bytesOf(5, 0) : bytesOf(...granted.slice(0, 7))),
      /upstream_connect_timeout/,
    ],
    'half a reply, closed': [
      (s, _, read) => (read === 0 ? s.write(bytesOf(5, 0)) : s.end(bytesOf(...granted.slice(0, 4)))),
      /its proxy: /,
    ],
    'a code that no standard has': [
      (s, _, read) => s.write(read === 0 ? bytesOf(5, 0) : bytesOf(5, 99, 0, 1, 0, 0, 0, 0, 0, 0)),
      /its proxy: refused/,
    ],
    HTTP: [s => s.write('HTTP/1.1 400 Bad Request\r\n\r\n'), /its proxy: failed/],
    reset: [s => s.resetAndDestroy(), /its proxy: unreachable \(ECONNRESET\)/],
  }
  for (const [kind, cases] of Object.entries({ http: connects, socks5: socks })) {
    const log: string[] = []
    const started = await open(
      t,
      `timeouts: { connect: 60ms }\n    proxy: "${kind}://${login}@127.0.0.1:${raw.port}"`,
      {},
      log,
    )
    started.upstream.answer(chatAnswer)
    for (const [title, [script, expected]] of Object.entries(cases)) {
      const name = `${kind}: ${title}`
      raw.onBytes = script
      log.length = 0
      const [status, text] = await ask(started)
      t.equal(status, expected.source.includes('timeout') ? 504 : 502, name)
      t.match(text, expected, name)
      await started.settled()
      const [charge] = await started.charges(1)
      t.ok(charge === undefined || (charge.state === 'voided' && Number(charge.amount) === 0), `${name}: free`)
      t.notMatch(text + log.join('\n'), /hidden-word/, name)
      t.match(log.join('\n'), new RegExp(`proxy ${kind}://127.0.0.1:${raw.port}`), `${name}: the log names the proxy`)
      await until(() => raw.closed === raw.opened)
    }
    t.equal(started.upstream.received.length, 0, kind)
  }
})

t.test('bytes that a proxy sends before the request are never taken for the response', async t => {
  const raw = await startRawProxy(t)
  const fake = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
  for (const kind of ['http', 'socks5']) {
    const started = await open(t, `proxy: "${kind}://127.0.0.1:${raw.port}"`)
    for (const [title, early] of [
      ['an answer', fake],
      ['a body', 'hello'],
      ['a byte of TLS', '\x16'],
      ['much', 'x'.repeat(70_000)],
    ] as const) {
      const name = `${kind}: ${title}`
      raw.onBytes = (socket, _bytes, read) => {
        const whole = `HTTP/1.1 200 OK\r\nContent-Length: ${early.length}\r\n\r\n${early}`
        if (kind === 'http' && read === 0) socket.write(whole)
        if (kind !== 'http' && read === 0) socket.write(bytesOf(5, 0))
        if (kind !== 'http' && read === 1) socket.write(Buffer.concat([bytesOf(...granted), Buffer.from(early)]))
      }
      const [status, text] = await ask(started)
      t.equal(status, 502, name)
      t.match(text, /its proxy: it sent something before the request/, name)
      await started.settled()
      await until(() => raw.closed === raw.opened)
      const [charge] = await started.charges(1)
      t.ok(charge === undefined || charge.state === 'voided', `${name}: ${charge?.state}`)
    }
  }
  for (const [title, head] of [
    ['any 2xx', 'HTTP/1.1 204 Fine\r\n\r\n'],
    ['HTTP/1.0, with headers of a body', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ] as const) {
    raw.onBytes = (socket, bytes, read) => {
      const body = JSON.stringify(chatAnswer)
      const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      if (read === 0) socket.write(head)
      else if (bytes.includes('chat/completions')) socket.write(answer)
    }
    const [status, text] = await ask(await open(t, `proxy: "http://127.0.0.1:${raw.port}"`))
    t.equal(status, 200, `${title}: ${text}`)
  }
})

t.test('NO_PROXY exempts a host in any spelling of its name or address', async t => {
  const HTTPS_PROXY = 'http://proxy.example:3128'
  for (const [NO_PROXY, host, isDirect] of [
    ['example.com.', 'api.example.com', true],
    ['example.com', 'api.example.com.', true],
    ['EXAMPLE.Com', 'api.example.com', true],
    ['.', 'api.example.com.', false],
    ['*.', 'api.example.com', false],
    [',, ;', 'api.example.com', false],
    ['a,\t*\n', 'api.example.com', true],
    ['bücher.example', 'xn--bcher-kva.example', true],
    ['xn--bcher-kva.example', 'shop.bücher.example', true],
    ['[2001:DB8::1]', '2001:db8::1', true],
    ['2001:0db8:0:0::1', '2001:db8::1', true],
    ['[2001:db8::1]:443', '2001:db8::1', true],
    ['[2001:db8::1]:8443', '2001:db8::1', false],
    ['[2001:db8::]/32', '2001:db8::1', true],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['10.0.0.0/8', '10.example.com', false],
    ['10.0.0.1', '110.0.0.1', false],
    ['0.0.0.1', '10.0.0.1', false],
    ['', '127.example.com', false],
    ['', '127.1.2.3', true],
    ['', '::ffff:127.0.0.1', true],
    ['', 'localhost.', true],
    ['', 'notlocalhost', false],
  ] as const) {
    const found = environmentProxy({ HTTPS_PROXY, NO_PROXY }, { isEncrypted: true, host, port: 443 })
    t.equal(found === undefined, isDirect, `${JSON.stringify(NO_PROXY)} ${host}`)
  }
})

t.test('an invalid proxy address prevents the start: no request is sent directly instead', async t => {
  const long = 'a'.repeat(256)
  for (const [text, isRight] of [
    ['http://a:b%2Fc%40d%25@h:1', true],
    ['http://a:b:c@h:1', true],
    ['http://a%3Ab:c@h:1', false],
    ['socks5://a%3Ab:c@h:1', true],
    [`socks5://${long}:c@h`, false],
    [`socks5://a:${long}@h`, false],
    [`http://a:${long}@h`, true],
    ['http://a:%zz@h', false],
    ['http://a:%ff@h', false],
    ['http://h/path', false],
    ['http://h?x', false],
    ['http://h:99999', false],
    ['http://', false],
    ['ftp://h', false],
    ['socks4://h', false],
    ['http://[::1]:3128', true],
  ] as const) {
    t.equal(parseProxy(text) !== undefined, isRight, text.slice(0, 40))
    // Refused at the start, because without a proxy requests would leave directly.
    for (const name of ['HTTPS_PROXY', 'http_proxy'] as const) {
      if (isRight || text.length > 100) continue
      const error = await open(t, 'reuse: true', { [name]: text }).catch((cause: unknown) => cause)
      t.match(error, { message: new RegExp(`^${name} is not the address of a proxy`) }, `${name}=${text}`)
      t.notMatch(String(error), /%zz|%ff|path/, `${name}=${text}`)
    }
  }
})

t.test(
  "the upstream's certificate is verified, also without a name, through every kind of proxy and client",
  { skip: opensslMissing() },
  async t => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-proxy-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const known = getCACertificates('default')
    t.teardown(() => setDefaultCACertificates(known))
    const listen = async (name: string, altNames: string) => {
      const { cert, key } = await makeCertificate(folder, name, altNames)
      const tls = { cert: await readFile(cert), key: await readFile(key) }
      const server = createServer(tls, (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      t.teardown(() => {
        server.closeAllConnections()
        server.close()
      })
      return { tls, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }
    }
    const right = await listen('right', 'IP:127.0.0.1,IP:192.0.2.1')
    // Valid for the proxy, and for the name that Node assumes if none is given.
    const stranger = await listen('stranger', 'DNS:localhost')
    setDefaultCACertificates([...known, right.tls.cert.toString(), stranger.tls.cert.toString()])
    const plain = await startConnectProxy(t)
    const secure = await startConnectProxy(t, undefined, stranger.tls)
    const socks = await startSocksProxy(t)
    for (const address of [
      `http://localhost:${plain.port}`,
      `https://localhost:${secure.port}`,
      `socks5://localhost:${socks.port}`,
    ])
      for (const [server, isRight] of [
        [right, true],
        [stranger, false],
      ] as const) {
        const name = `${address} ${isRight}`
        const [status, text] = await ask(await open(t, `proxy: "${address}"`, { TEXT_URL: server.url }))
        t.equal(status, isRight ? 200 : 502, `${name}: ${text}`)
        if (!isRight) t.match(text, /ERR_TLS_CERT_ALTNAME_INVALID/, name)
        const proxy = parseProxy(address)
        const doctor = await reach(server.url, proxy).catch((error: unknown) => error)
        t.equal(doctor === undefined, isRight, `${name}: doctor, ${String(doctor)}`)
        // Webhooks follow the environment, which sets no proxy for this machine.
        process.env['HTTPS_PROXY'] = address
        const poster = new Poster(systemClock)
        const url = server.url.replace('127.0.0.1', '192.0.2.1')
        const sent = await poster.post({ url, allowPrivate: true }, '{}', {}, new AbortController().signal)
        delete process.env['HTTPS_PROXY']
        poster.close()
        t.match(sent, { kind: isRight ? 'arrived' : 'failed' }, `${name}: webhook`)
        if (proxy?.kind === 'socks5') continue
        const restore = await useEnvironmentProxy({ HTTPS_PROXY: address })
        const fetched = await fetch(url, { method: 'POST', body: '{}' }).catch((error: unknown) => error)
        restore()
        t.equal(fetched instanceof Response && fetched.status === 200, isRight, `${name}: fetch, ${String(fetched)}`)
      }
    t.ok(secure.asked.length > 0)
  },
)

t.test('requests by fetch follow NO_PROXY like requests to upstreams', async t => {
  const proxy = await startConnectProxy(t)
  const reachesProxy = async (env: Record<string, string>, url: string): Promise<boolean> => {
    const restore = await useEnvironmentProxy(env)
    const before = proxy.asked.length
    proxy.refuse = 403
    await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
    restore()
    return proxy.asked.length > before
  }
  const HTTP_PROXY = `http://127.0.0.1:${proxy.port}`
  for (const [env, url, isProxied] of [
    [{ HTTP_PROXY }, 'http://issuer.invalid', true],
    [{ HTTP_PROXY: HTTP_PROXY.slice('http://'.length) }, 'http://issuer.invalid', true],
    [{ HTTPS_PROXY: HTTP_PROXY }, 'https://issuer.invalid', true],
    [{ HTTP_PROXY, NO_PROXY: '*' }, 'http://issuer.invalid', false],
    [{ HTTP_PROXY, NO_PROXY: 'a,*' }, 'http://issuer.invalid', false],
    [{ HTTP_PROXY, NO_PROXY: 'INVALID.' }, 'http://issuer.invalid', false],
    [{ HTTP_PROXY, NO_PROXY: '192.0.2.0/24' }, 'http://192.0.2.7:1', false],
    [{ HTTP_PROXY }, 'http://127.0.0.2:1', false],
    [{ HTTP_PROXY }, 'http://[::1]:1', false],
    [{ HTTP_PROXY }, 'https://issuer.invalid', false],
    [{ HTTP_PROXY, HTTPS_PROXY: 'socks5://127.0.0.1:1' }, 'https://issuer.invalid', false],
    [{ HTTP_PROXY: 'socks5://127.0.0.1:1', HTTPS_PROXY: HTTP_PROXY }, 'http://issuer.invalid', false],
  ] as const)
    t.equal(await reachesProxy(env, url), isProxied, `${JSON.stringify(env)} ${url}`)
})

t.test(
  "after a proxy's refusal the next upstream is called; after a broken tunnel none, as it may be paid",
  async t => {
    const raw = await startRawProxy(t)
    const policy = 'retry_on: [connect, reset, timeout], retry: { backoff: 1ms }'
    const upstreams = ['gone', 'second']
    const { second, post, charges, logs } = await startFailover(
      t,
      [
        { name: 'chat-policy', family: 'chat', upstreams, more: policy },
        { name: 'image-policy', family: 'image', upstreams, more: policy },
        { name: 'image-twice', family: 'image', upstreams, more: `${policy}, may_pay_twice: true` },
      ],
      { edit: [['url: "${GONE_URL}"', `url: "\${GONE_URL}", proxy: "http://127.0.0.1:${raw.port}"`]] },
    )
    const tunnel = 'HTTP/1.1 200 OK\r\n\r\n'
    const behaviours: Record<string, readonly [Script, isUnsent: boolean]> = {
      'refused with 407': [s => s.write('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n'), true],
      'closed before the tunnel': [s => s.end(), true],
      'closed with the request': [(s, _, read) => (read === 0 ? s.write(tunnel) : s.destroy()), false],
      'half an answer': [
        (s, _, read) => (read === 0 ? s.write(tunnel) : s.end('HTTP/1.1 200 OK\r\nContent-Le')),
        false,
      ],
    }
    for (const [title, [script, isUnsent]] of Object.entries(behaviours))
      for (const [model, path, body, isAsked] of [
        ['chat-policy', '/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }, true],
        ['image-policy', '/v1/images/generations', { prompt: 'a boat' }, isUnsent],
        ['image-twice', '/v1/images/generations', { prompt: 'a boat' }, true],
      ] as const) {
        const name = `${title}: ${model}`
        raw.onBytes = script
        const before = second.received.length
        const answer = await post(path, { model, ...body })
        await answer.text()
        t.equal(answer.status, isAsked ? 200 : 502, name)
        t.equal(second.received.length - before, isAsked ? 1 : 0, `${name}: purchases`)
        await logs(1)
        const [charge] = await charges(1)
        t.equal(charge?.state, isAsked ? 'settled' : 'needs_review', name)
        t.equal(Number(charge?.amount) > 0, isAsked, name)
      }
  },
)

t.test('a reload changes the proxy for new requests; a stream continues through the old one', async t => {
  const [one, two] = [await startConnectProxy(t), await startConnectProxy(t)]
  const started = await open(t, `proxy: "http://ada:b@127.0.0.1:${one.port}"`)
  const { upstream, post, charges } = started
  let finish = (): void => undefined
  upstream.answerOnce(res => {
    const send = (event: object): void =>
      void res.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...event })}\n\n`)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    send({ choices: [{ index: 0, delta: { content: 'Hel' } }] })
    finish = () => {
      send({ choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: 'stop' }] })
      send({ choices: [], usage: chatAnswer.usage })
      res.end('data: [DONE]\n\n')
    }
  })
  upstream.answer(chatAnswer)
  const stream = await post('/v1/chat/completions', { ...chatRequest, stream: true })
  t.equal(stream.status, 200)
  for (const [from, to] of [
    [`http://ada:b@127.0.0.1:${one.port}`, `http://127.0.0.1:${two.port}`],
    [`http://127.0.0.1:${two.port}`, 'none'],
    // The same proxy, with credentials that an unescaped pool name would confuse with the first.
    ['proxy: "none"', `proxy: "http://ada%20b:@127.0.0.1:${one.port}"`],
  ] as const) {
    t.match(await started.reload([[from, to]]), { ok: true }, to)
    t.equal((await ask(started))[0], 200, to)
  }
  t.equal(two.asked.length, 1, 'one tunnel by the second proxy')
  t.equal(one.asked.length, 2, 'other credentials have a tunnel of their own')
  finish()
  t.match(await stream.text(), /Hel.*lo.*\[DONE\]/s)
  t.equal((await charges()).filter(({ state }) => state === 'settled').length, 4)
})

t.test('proxy credentials are never shown with the configuration, in any spelling', async t => {
  for (const [title, address] of [
    ['percent', 'http://ada:s%2fecret%41word@h:1'],
    ['colons', 'http://ada:secretAword:more@h:1'],
    ['no user', 'http://:secretAword@h:1'],
    ['a token for a user', 'http://secretAword@h:1'],
    ['an at sign', 'http://ada:p@secretAword@h:1'],
    ['socks', 'socks5://ada:secretAword@h'],
  ] as const) {
    const { opsUrl } = await open(t, `proxy: "${address}"`)
    const shown = await (await fetch(`${opsUrl}/config`)).text()
    const [line = ''] = /"[^"]*text\.proxy":"[^"]*"/.exec(shown) ?? []
    t.match(line, /@h/, title)
    t.notOk(
      /secretAword|s.ecretAword/.test(decodeURIComponent(shown.replaceAll('%', '%25')) + line.replaceAll('%41', 'A')),
      `${title}: ${line}`,
    )
  }
})
