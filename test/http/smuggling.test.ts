import t from 'tap'
import { carried, smugglePath, smuggling } from '../cases/smuggling.ts'
import { startEngine } from '../harness/engine.ts'
import { start } from '../harness/start.ts'
import { exchangeRaw, openWire, requestHead, type Wire } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'

/** An incomplete request gets no answer, so the test waits this long to conclude that none will come. */
const silentMs = 150

/** The next answer's status; `closed` if the connection ends instead, `silent` if nothing arrives. */
async function nextStatus(wire: Wire): Promise<number | 'closed' | 'silent'> {
  const { promise: silence, resolve } = Promise.withResolvers<'silent'>()
  const timer = setTimeout(() => resolve('silent'), silentMs)
  try {
    return await Promise.race([
      wire.read().then(
        ({ status }) => status,
        () => 'closed' as const,
      ),
      silence,
    ])
  } finally {
    clearTimeout(timer)
  }
}

t.test('two parsers never see two requests in one: 83 cases [H1, H3, H4, H7, H8, H9, H11]', async t => {
  const { url, upstreams, faults, settled } = await startEngine(t)
  const [upstream] = upstreams
  let desync = 0
  const counts = { refused: 0, taken: 0 }
  for (const { name, bytes, fate } of smuggling) {
    const before = upstream?.received.length ?? 0
    const wire = await openWire(url)
    await wire.write(Buffer.from(bytes, 'latin1'))
    const status = await nextStatus(wire)
    // The next client, on a connection of its own, gets its own answer: nothing was left on the upstream's connection.
    const control = JSON.stringify({ model: 'anything', control: name })
    upstream?.answerOnce((res, received) => void res.end(received.body))
    if ((upstream?.received.length ?? 0) === before && status === 200) t.fail(`${name}: 200 without an upstream`)
    const next = await exchangeRaw(
      url,
      requestHead('POST', smugglePath, ['Content-Type: application/json', `Content-Length: ${control.length}`]) +
        control,
    )
    wire.socket.destroy()
    await settled()
    const seen = upstream?.received.slice(before) ?? []
    const mine = seen.filter(one => one.body.toString() !== control)
    const sound =
      seen.length - mine.length === 1 &&
      next.status === 200 &&
      next.body.toString() === control &&
      mine.length <= 1 &&
      mine.every(one => one.method === 'POST' && one.url === smugglePath && one.body.toString() === carried)
    if (!sound) desync++
    t.ok(sound, `${name}: ${status}, the upstream read ${JSON.stringify(mine.map(one => `${one.method} ${one.url}`))}`)
    if (mine.length > 0) counts.taken++
    else counts.refused++
    if (fate !== 'either') t.equal(mine.length > 0 ? 'one' : 'refused', fate, `${name} (${status})`)
    if (fate === 'refused') t.ok(typeof status !== 'number' || status >= 400, `${name}: not answered as a success`)
  }
  t.comment(
    `desync = ${desync}/${smuggling.length}; refused ${counts.refused}, taken for the one request ${counts.taken}`,
  )
  t.equal(smuggling.length, 83)
  t.equal(desync, 0)
  t.strictSame(faults, [], 'and none of it was a fault of the engine')
})

t.test('invalid data gets a JSON error with an id, and the connection ends', async t => {
  const { url } = await startEngine(t)
  for (const [bytes, status, code] of [
    ['nonsense\r\n\r\n', 400, 'request_malformed'],
    [`POST ${smugglePath} HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n`, 400, 'request_malformed'],
    [`GET / HTTP/1.1\r\nHost: x\r\nX-A: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    [
      `POST ${smugglePath} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\n`,
      413,
      'chunk_extensions_too_large',
    ],
  ] as const) {
    const wire = await openWire(url)
    await wire.write(bytes)
    const answer = await wire.read()
    t.equal(answer.status, status, caseName({ bytes, status, code }))
    t.match(answer.headers['x-request-id'], /^req_/, caseName({ bytes, status, code }))
    t.equal(answer.headers['request-id'], answer.headers['x-request-id'], caseName({ bytes, status, code }))
    t.equal(answer.headers['connection'], 'close', caseName({ bytes, status, code }))
    t.match(JSON.parse(answer.body.toString()), { error: { code, message: /\S/ } }, caseName({ bytes, status, code }))
    await wire.ended
    wire.socket.destroy()
  }
})

t.test(
  'of three requests sent at once, the second invalid, the first is answered and the third never run [H15]',
  async t => {
    const { url, upstreams, settled } = await startEngine(t)
    const good = `${requestHead('POST', smugglePath, ['Content-Type: application/json', `Content-Length: ${carried.length}`])}${carried}`
    const bad = `POST ${smugglePath} HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\nx`
    for (const slow of [false, true]) {
      const before = upstreams[0]?.received.length ?? 0
      upstreams[0]?.answerOnce(res => void setTimeout(() => res.end('{"first":true}'), slow ? 100 : 0))
      const wire = await openWire(url)
      await wire.write(good + bad + good)
      const first = await wire.read()
      t.match([first.status, first.body.toString()], [200, '{"first":true}'], 'the first gets its own answer')
      const second = await wire.read()
      t.equal(second.status, 400, caseName({ slow }))
      t.match(JSON.parse(second.body.toString()), { error: { code: 'request_malformed' } }, caseName({ slow }))
      t.equal(await wire.ended, 'end', caseName({ slow }))
      wire.socket.destroy()
      await settled()
      t.equal((upstreams[0]?.received.length ?? 0) - before, 1, 'upstream = 1')
    }
  },
)

t.test('a body broken in transit is 400, never reaches an upstream, and is billed nothing [H8]', async t => {
  const { url, key, upstreams, charges, logs } = await start(t)
  const lines = ['Content-Type: application/json', `x-api-key: ${key}`, 'Transfer-Encoding: chunked']
  for (const rest of ['5\r\n{"mod\r\nzz\r\n', '5\r\n{"modXX', '5;\r\r\n{"mod\r\n']) {
    const answer = await exchangeRaw(url, requestHead('POST', '/v1/images/generations', lines) + rest)
    t.equal(answer.status, 400, JSON.stringify(rest))
  }
  t.match(await logs(), [{ outcome: 'caller_gone' }, { outcome: 'caller_gone' }, { outcome: 'caller_gone' }])
  t.strictSame(await charges(), [])
  t.equal(upstreams['alpha']?.received.length, 0)
})

t.test('an upstream gets our key and the allowed headers, whatever the client sends [H2, H10]', async t => {
  const { url, key, upstream } = await start(t)
  const body = JSON.stringify({ model: 'alpha-image-2', prompt: 'a boat' })
  const lines = [
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    'Connection: close, x-api-key, x-hop',
    'Keep-Alive: timeout=5',
    'Proxy-Authorization: Basic x',
    'Proxy-Connection: keep-alive',
    'TE: trailers',
    'Trailer: X-A',
    'X-Hop: 1',
    'Range: bytes=0-1',
    'If-None-Match: "x"',
    'If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT',
    'Accept-Encoding: gzip, br',
    'Accept: application/json',
    'Cookie: session=1',
    'OpenAI-Organization: org',
    'OpenAI-Project: proj',
    'X-Forwarded-For: 10.0.0.1',
    'X-Forwarded-Host: inner',
    'X-Real-IP: 10.0.0.1',
    'Forwarded: for=10.0.0.1',
    'Via: 1.1 x',
    'Origin: https://app.example',
    'Referer: https://app.example/?key=1',
    'X-HTTP-Method-Override: DELETE',
    'User-Agent: somebody/1.0',
    '__proto__: x',
    'constructor: x',
  ]
  const allowed = new Set([
    'host',
    'connection',
    'user-agent',
    'accept',
    'accept-encoding',
    'authorization',
    'content-type',
    'content-length',
  ])
  let leaked = 0
  for (const expect of [[], ['Expect: 100-continue']]) {
    const sent = [...lines, ...expect]
    const answer = await exchangeRaw(url, requestHead('POST', '/v1/images/generations', sent) + body)
    t.equal(answer.status, 200, caseName({ expect }))
    const headers = upstream.received.at(-1)?.headers ?? {}
    leaked += Object.keys(headers).filter(name => !allowed.has(name)).length
    t.strictSame(
      Object.keys(headers).filter(name => !allowed.has(name)),
      [],
      'nothing that is not on the list',
    )
    t.equal(headers['authorization'], 'Bearer upstream-secret-of-alpha', caseName({ expect }))
    t.equal(headers['accept-encoding'], 'identity', caseName({ expect }))
    t.equal(headers['user-agent'], 'tollgate', caseName({ expect }))
    t.equal(headers['content-type'], 'application/json', caseName({ expect }))
    t.equal(headers.host, new URL(upstream.url).host, caseName({ expect }))
    t.notOk(JSON.stringify(upstream.received.at(-1)).includes(key), 'the caller’s key is nowhere')
  }
  t.comment(`leaked headers = ${leaked}`)
})

t.test('dangerous header names are refused or dropped, and the process survives [H13]', async t => {
  const { url, upstreams, post } = await startEngine(t)
  const fixed = ['Content-Type: application/json', `Content-Length: ${carried.length}`]
  for (const [line, status] of [
    ['__proto__: x', 200],
    ['transfer_encoding: chunked', 200],
    ['content_length: 5', 200],
    ['constructor: x', 200],
    ['toString: x', 200],
    ['hasOwnProperty: x', 200],
  ] as const) {
    const answer = await exchangeRaw(url, requestHead('POST', smugglePath, [...fixed, line]) + carried)
    t.equal(answer.status, status, line)
  }
  for (const { headers } of upstreams[0]?.received ?? [])
    for (const name of ['constructor', 'tostring', 'hasownproperty', '__proto__', '--proto--', 'content_length'])
      t.notOk(Object.hasOwn(headers, name), name)
  t.equal((await post()).status, 200)
})

t.test('100 header lines are accepted and 101 are 431; so are more than 16 KiB of them [H14]', async t => {
  const { url } = await startEngine(t)
  const fixed = ['Content-Type: application/json', `Content-Length: ${carried.length}`]
  const many = (count: number): string[] => Array.from({ length: count - 3 }, (_, i) => `X-${i}: y`)
  for (const [count, status] of [
    [100, 200],
    [101, 431],
    [250, 431],
  ] as const) {
    const answer = await exchangeRaw(url, requestHead('POST', smugglePath, [...fixed, ...many(count)]) + carried)
    t.equal(answer.status, status, `${count} lines`)
    if (status !== 200)
      t.match(
        JSON.parse(answer.body.toString()),
        {
          error: { code: count === 101 ? 'too_many_headers' : 'headers_too_large' },
        },
        caseName({ count, status }),
      )
  }
  for (const [bytes, status] of [
    [15_000, 200],
    [17_000, 431],
  ] as const) {
    const answer = await exchangeRaw(
      url,
      requestHead('POST', smugglePath, [...fixed, `X: ${'x'.repeat(bytes)}`]) + carried,
    )
    t.equal(answer.status, status, `${bytes} bytes`)
  }
})

t.test('a query that clients and servers may read differently is 400', async t => {
  const { url, upstreams } = await startEngine(t)
  const fixed = ['Content-Type: application/json', `Content-Length: ${carried.length}`]
  for (const [query, status] of [
    ['?a=b&c=%20d', 200],
    ['?a#b', 400],
    ['?a=\xe4', 400],
    ['?a=b\x7f', 400],
  ] as const) {
    const bytes = Buffer.from(requestHead('POST', `${smugglePath}${query}`, fixed) + carried, 'latin1')
    const answer = await exchangeRaw(url, bytes)
    t.equal(answer.status, status, JSON.stringify(query))
  }
  t.strictSame(
    upstreams[0]?.received.map(one => one.url),
    [`${smugglePath}?a=b&c=%20d`],
  )
})

t.test('an Expect other than 100-continue is 417; one with it is refused before the upload', async t => {
  const { url, key, upstream } = await start(t)
  const line = `x-api-key: ${key}`
  const odd = await exchangeRaw(url, requestHead('POST', '/v1/images/generations', [line, 'Expect: the-moon']))
  t.equal(odd.status, 417)
  t.match(odd.headers['x-request-id'], /^req_/)
  t.match(JSON.parse(odd.body.toString()), { error: { code: 'expectation_unsupported' } })
  const wire = await openWire(url)
  const head = ['Content-Type: application/json', 'Content-Length: 1000000', 'Expect: 100-continue']
  await wire.write(requestHead('POST', '/v1/images/generations', ['x-api-key: sk-nobody', ...head]))
  t.equal((await wire.readAny()).status, 401, 'without a 100 before it')
  wire.socket.destroy()
  t.equal(upstream.received.length, 0)
})

t.test('nothing is upgraded, and CONNECT is refused [H17]', async t => {
  const { url, upstreams } = await startEngine(t)
  for (const protocol of ['websocket', 'h2c', 'TLS/1.2']) {
    const lines = [
      'Connection: Upgrade',
      `Upgrade: ${protocol}`,
      'Content-Type: application/json',
      `Content-Length: ${carried.length}`,
    ]
    const answer = await exchangeRaw(url, requestHead('POST', smugglePath, lines) + carried)
    t.equal(answer.status, 200, protocol)
    t.equal(upstreams[0]?.received.at(-1)?.headers.upgrade, undefined, caseName({ protocol }))
  }
  const wire = await openWire(url)
  await wire.write('CONNECT inner:80 HTTP/1.1\r\nHost: inner:80\r\n\r\n')
  t.equal((await wire.read()).status, 501)
  t.equal(await wire.ended, 'end')
  wire.socket.destroy()
})
