import t from 'tap'
import { startEngine } from '../harness/engine.ts'
import { start } from '../harness/start.ts'
import { exchangeRaw, openWire } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'

const body = '{"model":"anything"}'
const post = (target: string, ...lines: readonly string[]): string =>
  [
    `POST ${target} HTTP/1.1`,
    ...lines,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')
const chat = '/v1/chat/completions'

t.test('a target in absolute form counts as its path, and its host as the Host [6.9]', async t => {
  const { url, upstreams, settled } = await startEngine(t)
  for (const [target, ...lines] of [
    [`http://gateway.example${chat}`, 'Host: gateway.example'],
    [`HTTP://Gateway.Example:8080${chat}`, 'Host: Gateway.Example:8080'],
    [`https://gateway.example${chat}`, 'Host: gateway.example'],
    [`http://[::1]:8080${chat}`, 'Host: [::1]:8080'],
    // RFC 9112 3.2.2: the absolute target overrides the Host header.
    [`http://gateway.example${chat}`, 'Host: another.example'],
  ] as const) {
    const answer = await exchangeRaw(url, post(target, ...lines))
    t.equal(answer.status, 200, target)
    t.equal(upstreams[0]?.received.at(-1)?.url, chat, target)
  }
  const response = await exchangeRaw(url, post(`http://gateway.example${chat}?a=b`, 'Host: gateway.example'))
  t.equal(response.status, 200)
  t.equal(upstreams[0]?.received.at(-1)?.url, `${chat}?a=b`)
  const count = upstreams[0]?.received.length
  for (const target of [
    `http://user@gateway.example${chat}`,
    `http://${chat}`,
    `http:${chat}`,
    `ftp://gateway.example${chat}`,
    `http://gateway.example/..${chat}`,
    `http://gateway.example${chat}#a`,
    `http://gate way${chat}`,
    `//gateway.example${chat}`,
    'gateway.example',
    '*',
  ]) {
    const answer = await exchangeRaw(url, post(target, 'Host: gateway.example'))
    t.equal(answer.status, 400, target)
    t.match(JSON.parse(answer.body.toString()), { error: { code: /\S/ } }, target)
  }
  await settled()
  t.equal(upstreams[0]?.received.length, count, 'none of these was accepted')
})

t.test('the console accepts a target in absolute form [6.9]', async t => {
  const { url, key } = await start(t, { upstreams: [] })
  const ask = (target: string, ...lines: readonly string[]) =>
    exchangeRaw(url, [`GET ${target} HTTP/1.1`, 'Host: gateway.example', ...lines, '', ''].join('\r\n'))
  t.match((await ask('http://gateway.example/pricing')).headers['content-type'], /^text\/html/)
  t.match((await ask('http://gateway.example/v1/models', `Authorization: Bearer ${key}`)).status, 200)
  t.equal((await ask('http://gateway.example')).status, 404)
})

t.test("an invalid or repeated Host is 400 in the client's format, whatever the path [6.9]", async t => {
  const { url, upstreams } = await start(t, { upstreams: ['text'] })
  for (const path of [chat, '/console', '/openapi.json', '/nowhere'])
    for (const lines of [
      ['Host: a@b'],
      ['Host: a/b'],
      ['Host: a, b'],
      ['Host: a,b'],
      ['Host:'],
      ['Host: a b'],
      ['Host: a:b'],
      ['Host: a:123456'],
      ['Host: [a'],
      ['Host: a?b'],
      ['Host: é'],
      ['Host: a', 'Host: a'],
      ['Host: a', 'Host: b'],
      [],
    ]) {
      const method = path === chat ? post(path, ...lines) : `GET ${path} HTTP/1.1\r\n${[...lines, '', ''].join('\r\n')}`
      const answer = await exchangeRaw(url, Buffer.from(method, 'latin1'))
      t.equal(answer.status, 400, `${path} ${lines.join(' and ')}`)
      t.match(
        JSON.parse(answer.body.toString()),
        { error: { code: /^header_(?:invalid|duplicate)$/ } },
        caseName({ path, lines }),
      )
      t.match(answer.headers['x-request-id'], /^req_/, caseName({ path, lines }))
    }
  for (const host of ['a', 'a:1', 'my_service:8080', '127.0.0.1', '[::1]', '[::1]:80', 'a.b.', 'xn--bcher-kva.example'])
    t.equal((await exchangeRaw(url, `GET /nowhere HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).status, 404, host)
  t.equal((await exchangeRaw(url, 'GET /nowhere HTTP/1.0\r\n\r\n')).status, 404, 'HTTP/1.0 has none')
  const styled = await exchangeRaw(url, 'GET /v1/models HTTP/1.1\r\nanthropic-version: 2023-06-01\r\n\r\n')
  t.match(JSON.parse(styled.body.toString()), { type: 'error', error: { type: 'invalid_request_error' } })
  t.equal(upstreams['text']?.received.length, 0)
})

t.test('CONNECT, TRACE, OPTIONS * and an upgrade are answered, and nothing hangs [6.9]', async t => {
  const { url, upstreams } = await startEngine(t)
  for (const target of ['gateway.example:443', 'a', '/v1/chat/completions', 'a@b:1']) {
    const wire = await openWire(url)
    await wire.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\nGET / HTTP/1.1\r\n\r\n`)
    const answer = await wire.read()
    t.ok(answer.status === 501 || answer.status === 400, `CONNECT ${target}: ${answer.status}`)
    t.ok(answer.complete, caseName({ target }))
    t.equal(answer.headers['connection'], 'close', caseName({ target }))
    t.match(answer.headers['x-request-id'], /^req_/, caseName({ target }))
    t.match(JSON.parse(answer.body.toString()), { error: { code: /\S/, message: /\S/ } }, caseName({ target }))
    t.equal(await wire.ended, 'end', 'and the connection closes')
    wire.socket.destroy()
  }
  const connect = await exchangeRaw(url, 'CONNECT gateway.example:443 HTTP/1.1\r\nHost: gateway.example:443\r\n\r\n')
  t.match(JSON.parse(connect.body.toString()), { error: { code: 'connect_unsupported' } })

  const trace = await exchangeRaw(url, `TRACE ${chat} HTTP/1.1\r\nHost: a\r\n\r\n`)
  t.equal(trace.status, 405)
  t.match(trace.headers['allow'], 'POST')
  const server = await exchangeRaw(url, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  t.equal(server.status, 204)
  t.match(server.headers['allow'], /POST.*OPTIONS/)
  for (const lines of [
    ['Connection: Upgrade', 'Upgrade: websocket'],
    ['Connection: Upgrade', 'Upgrade: h2c'],
  ]) {
    const answer = await exchangeRaw(url, post(chat, 'Host: a', ...lines))
    t.equal(answer.status, 200, lines.join())
  }
  t.equal(upstreams[0]?.received.length, 2)
})

t.test("a CONNECT after a request waits for that request's answer [6.9]", async t => {
  const { url, upstreams } = await startEngine(t)
  const go = Promise.withResolvers<void>()
  upstreams[0]?.answerOnce(async res => {
    await go.promise
    res.end('{"first":true}')
  })
  const wire = await openWire(url)
  await wire.write(`${post(chat, 'Host: a')}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`)
  setImmediate(go.resolve)
  const first = await wire.read()
  t.match([first.status, first.body.toString()], [200, '{"first":true}'])
  t.equal((await wire.read()).status, 501)
  t.equal(await wire.ended, 'end')
  wire.socket.destroy()
})

t.test('HEAD is answered wherever GET is, without a body [6.9]', async t => {
  const { url, key } = await start(t, { upstreams: [] })
  const lines = `Host: a\r\nAuthorization: Bearer ${key}\r\n`
  for (const path of [
    '/console',
    '/pricing',
    '/docs',
    '/openapi.json',
    '/v1/models',
    '/v1/models/sim-chat',
    '/v1beta/models',
  ]) {
    const get = await exchangeRaw(url, `GET ${path} HTTP/1.1\r\n${lines}\r\n`)
    const wire = await openWire(url)
    // A body would be read as the next answer.
    await wire.write(`HEAD ${path} HTTP/1.1\r\n${lines}\r\nGET /v1/nowhere HTTP/1.1\r\n${lines}\r\n`)
    let raw = ''
    wire.socket.on('data', (chunk: Buffer) => {
      raw += chunk.toString('latin1')
    })
    while (!/nowhere/.test(raw)) await new Promise(resolve => wire.socket.once('data', resolve))
    wire.socket.destroy()
    const [head = '', next = ''] = raw.split(/\r\n\r\n(?=HTTP)/)
    t.match(head, new RegExp(`^HTTP/1.1 ${get.status} `), path)
    t.equal(/^content-type: (.*)$/im.exec(head)?.[1], get.headers['content-type'], path)
    t.equal(/^content-length: (.*)$/im.exec(head)?.[1], get.headers['content-length'], path)
    t.match(next, /^HTTP\/1.1 404 /, path)
  }
  const refused = await exchangeRaw(url, `DELETE /v1/models HTTP/1.1\r\n${lines}\r\n`)
  t.equal(refused.headers['allow'], 'GET, HEAD')
})
