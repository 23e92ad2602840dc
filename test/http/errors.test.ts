import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import OpenAI, { APIError, BadRequestError, InternalServerError, NotFoundError } from 'openai'
import t, { type Test } from 'tap'
import { createLog } from '../../src/observe/index.ts'
import { jpeg, picture } from '../harness/pictures.ts'
import { askOnce } from '../harness/shop.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import { exchangeRaw, requestHead } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'

const generations = '/v1/images/generations'
const good = { model: 'alpha-image-2', prompt: 'a boat' }
/** Larger than the part of a picture that is held back, so that some of it is sent before the rest fails to arrive. */
const answerText = JSON.stringify({ created: 1, data: [picture(1254, 1254, jpeg)] })

async function startOpen(t: Test, options: StartOptions = {}): Promise<Started> {
  const started = await start(t, { ...options, edit: [['rpm: 60,', 'rpm: 100000,'], ...(options.edit ?? [])] })
  for (const upstream of Object.values(started.upstreams)) upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  return started
}

/** Shortens the shipped timeouts of the upstream alpha. */
function timeouts(text: string): StartOptions {
  return { edit: [['timeouts: { connect: 5s, first_byte: 600s, idle: 120s, total: 15m }', `timeouts: { ${text} }`]] }
}

/** Sends the bytes of an answer past Node's own writer; then the connection ends, or is reset. */
function sendRaw(res: ServerResponse, bytes: string | Buffer, how: 'end' | 'reset' | 'stay' = 'end'): void {
  const { socket } = res
  if (!socket) throw new Error('the connection is gone')
  socket.write(bytes, () => {
    if (how === 'end') socket.end()
    if (how === 'reset') socket.resetAndDestroy()
  })
}

/** How an answer marks its end, and the bytes sent before the upstream breaks off, `sent` bytes into the body. */
const framings: { readonly [name: string]: (body: string, sent: number) => string } = {
  'Content-Length': (body, sent) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, sent)}`,
  chunks: (body, sent) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body.slice(0, sent)}${sent === body.length ? '\r\n' : ''}`,
  'the end of the connection': (body, sent) =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${body.slice(0, sent)}`,
}

/** The kinds of client that accept an answer as complete and successful. */
async function whoIsSatisfied({ url, key, openai }: Started): Promise<string[]> {
  const body = JSON.stringify(good)
  const lines = [`x-api-key: ${key}`, 'Content-Type: application/json', `Content-Length: ${body.length}`]
  const clients: { readonly [name: string]: () => Promise<boolean> } = {
    async fetch() {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await fetch(url + generations, { method: 'POST', headers, body })
      await answer.text()
      return answer.ok
    },
    async 'node:http'() {
      const { whole, status } = await askOnce(url, good, { key })
      return whole && status === 200
    },
    async 'the SDK'() {
      await openai.images.generate(good)
      return true
    },
    async 'a raw socket'() {
      const head = requestHead('POST', generations, [...lines, 'Connection: close'])
      const { complete, status } = await exchangeRaw(url, head + body)
      return complete && status === 200
    },
  }
  const verdicts = await Promise.all(
    Object.entries(clients).map(async ([name, isSatisfied]) =>
      (await isSatisfied().catch(() => false)) ? [name] : [],
    ),
  )
  return verdicts.flat()
}

t.test("an unknown model is 404 in the OpenAI SDK's error format", async t => {
  const { openai, upstreams, charges } = await startOpen(t)
  const error: unknown = await openai.images
    .generate({ ...good, model: 'gamma-image-9' })
    .catch((cause: unknown) => cause)
  t.ok(error instanceof NotFoundError)
  t.match(error, {
    status: 404,
    code: 'model_not_found',
    type: 'invalid_request_error',
    param: 'model',
    requestID: /^req_/,
    message: /'gamma-image-9'/,
  })
  for (const upstream of Object.values(upstreams)) t.equal(upstream.received.length, 0, caseName({ upstream }))
  t.strictSame(await charges(), [])
})

t.test("an invalid field is the SDK's BadRequestError with code, type and param", async t => {
  const { openai } = await startOpen(t)
  const error: unknown = await openai.images
    .generate({ ...good, model: 'beta-imagine-image', size: 'huge' })
    .catch((cause: unknown) => cause)
  t.ok(error instanceof BadRequestError)
  t.match(error, { status: 400, code: 'invalid_size', type: 'invalid_request_error', param: 'size' })
})

t.test('every answer has our request id in x-request-id and request-id', async t => {
  const { url, key, upstream, logs, opsUrl } = await startOpen(t)
  const auth = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-request-id': 'the-caller-s-own',
  }
  const seen: string[] = []
  const post = (body: unknown, headers: Record<string, string> = auth, path = generations) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const rows: readonly (readonly [status: number, answer: () => Promise<Response>])[] = [
    [200, () => post(good)],
    [200, () => fetch(`${url}/v1/models`, { headers: auth })],
    [400, () => post([])],
    [401, () => post(good, { 'content-type': 'application/json' })],
    [404, () => post({ ...good, model: 'x' })],
    [404, () => post(good, auth, '/nothing')],
    [405, () => fetch(url + generations, { headers: auth })],
    [415, () => post(good, auth, '/v1/images/edits')],
    [413, () => post({ ...good, prompt: 'x'.repeat(33_554_432) })],
    [
      418,
      () => {
        upstream.answerOnce(
          res => void res.writeHead(418, { 'x-request-id': 'upstream-s', 'request-id': 'upstream-s' }).end('{}'),
        )
        return post(good)
      },
    ],
    [
      502,
      () => {
        upstream.answerOnce((_res, _received, req) => void req.socket.destroy())
        return post(good)
      },
    ],
  ]
  for (const [status, ask] of rows) {
    const answer = await ask()
    await answer.arrayBuffer()
    t.equal(answer.status, status, caseName({ status, ask }))
    const id = answer.headers.get('x-request-id') ?? ''
    t.match(id, /^req_[0-9a-z]{20}$/, caseName({ status, ask }))
    t.equal(answer.headers.get('request-id'), id, caseName({ status, ask }))
    seen.push(id)
  }
  t.equal(new Set(seen).size, rows.length, 'no two alike')
  const logged = await logs()
  t.equal(logged[0]?.id, seen.at(-1), 'the log has the same id')
  t.equal(logged[0]?.client_request_id, 'the-caller-s-own', "and the client's own id next to it")
  t.equal((await fetch(`${opsUrl}/healthz`)).status, 200)
})

t.test('errors are JSON objects of message, type, param and code, and nothing more', async t => {
  const { url, key } = await startOpen(t)
  const auth = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (const [headers, body] of [
    [auth, '{'],
    [auth, '{"model":"x"}'],
    [auth, '{"model":"alpha-image-2","n":0}'],
    [{}, ''],
  ] as const) {
    const answer = await fetch(url + generations, { method: 'POST', headers, body })
    t.equal(answer.headers.get('content-type'), 'application/json', caseName({ headers, body }))
    const { error } = (await answer.json()) as { error: object }
    t.strictSame(Object.keys(error), ['message', 'type', 'param', 'code'], caseName({ headers, body }))
    t.match(error, { message: /\S/, type: 'invalid_request_error', code: /^[a-z_]+$/ }, caseName({ headers, body }))
  }
})

t.test('an unknown path is 404 in a body that the SDKs of both formats read', async t => {
  const { url, key } = await startOpen(t)
  for (const path of [
    '/',
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/images',
    '/v1/images/generations/',
    '/V1/images/generations',
    '/admin',
  ]) {
    for (const headers of [{ authorization: `Bearer ${key}` }, {}]) {
      const answer = await fetch(url + path, { headers })
      t.equal(answer.status, 404, path)
      const body = (await answer.json()) as { request_id: string }
      t.match(
        body,
        {
          type: 'error',
          error: { type: 'invalid_request_error', code: 'not_found', param: null, message: /GET/ },
        },
        caseName({ path, headers }),
      )
      t.equal(body.request_id, answer.headers.get('request-id'), caseName({ path, headers }))
    }
  }
  const openai = new OpenAI({ baseURL: `${url}/v1/nothing`, apiKey: key, maxRetries: 0 })
  const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
  t.match(error, { status: 404, code: 'not_found' })
})

t.test('a known path with another method is 405, and Allow lists the methods', async t => {
  const { url, key, upstream } = await startOpen(t)
  for (const [path, allow] of [
    [generations, 'POST'],
    ['/v1/images/edits', 'POST'],
    ['/v1/models', 'GET, HEAD'],
    ['/v1/models/alpha-image-2', 'GET, HEAD'],
  ] as const) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PURGE']) {
      if (allow.split(', ').includes(method)) continue
      const answer = await exchangeRaw(url, requestHead(method, path, [`x-api-key: ${key}`, 'Connection: close']))
      t.equal(answer.status, 405, `${method} ${path}`)
      t.equal(answer.headers['allow'], allow, caseName({ path, allow, method }))
      if (method !== 'HEAD')
        t.match(
          JSON.parse(answer.body.toString()),
          { error: { code: 'method_not_allowed' } },
          caseName({ path, allow, method }),
        )
    }
  }
  t.equal(upstream.received.length, 0)
})

t.test('an ambiguous path is refused and reaches no upstream [H11]', async t => {
  const { url, key, upstream } = await startOpen(t)
  const lines = [`x-api-key: ${key}`, 'Content-Type: application/json', 'Content-Length: 2', 'Connection: close']
  for (const path of [
    '/v1/../v1/images/generations',
    '/v1/./images/generations',
    '/v1/images/../images/generations',
    '/v1/%2e%2e/admin',
    '/v1/%2E./images/generations',
    '/v1/images%2fgenerations',
    '/v1/images%2Fgenerations',
    '/v1/images%5cgenerations',
    '/v1\\images\\generations',
    '//v1/images/generations',
    '/v1//images/generations',
    '/v1/images/generations//',
    '/v1/images/generations;x=1',
    '/v1/images/generations%00',
    '/v1/images/generations%0d%0aX:1',
    '/v1/images/generations%20',
    '/v1/images/generations%',
    '/v1/images/generations%zz',
    '/v1/images/generations#f',
    '/v1/images/g%65nerations',
    '/v1/%c0%ae%c0%ae/images/generations',
    'http://gateway.example/v1/images/generations',
    'v1/images/generations',
    '*',
    '/v1/models/../images/generations',
    `/${'x'.repeat(8_192)}`,
    `${generations}?${'x'.repeat(8_192)}`,
  ]) {
    const answer = await exchangeRaw(url, `${requestHead('POST', path, lines)}{}`)
    t.ok([400, 404, 405].includes(answer.status), `${path.slice(0, 60)} → ${answer.status}`)
  }
  t.equal(upstream.received.length, 0)
})

t.test('a repeated deciding header is 400 [H12]', async t => {
  const { url, key, upstream } = await startOpen(t)
  const body = JSON.stringify(good)
  const lines = [
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  for (const twice of [
    'Host: gateway.example',
    'Host: another.example',
    `Authorization: Bearer ${key}`,
    'Authorization: Bearer another',
    'Content-Type: application/json',
    'content-type: multipart/form-data',
    `Content-Length: ${body.length}`,
    'Content-Length: 1',
  ]) {
    const answer = await exchangeRaw(url, requestHead('POST', generations, [...lines, twice]) + body)
    t.equal(answer.status, 400, twice.replace(key, 'KEY'))
  }
  const keys = [`x-api-key: ${key}`, `x-api-key: ${key}`]
  const answer = await exchangeRaw(url, requestHead('POST', generations, [...lines.slice(1), ...keys]) + body)
  t.equal(answer.status, 400, 'x-api-key')
  t.match(JSON.parse(answer.body.toString()), { error: { code: 'header_duplicate', message: /x-api-key/ } })
  t.equal(upstream.received.length, 0)
})

t.test('a GET with a body and a POST without one are 400 [H16]', async t => {
  const { url, key } = await startOpen(t)
  const auth = `x-api-key: ${key}`
  const get = await exchangeRaw(url, `${requestHead('GET', '/v1/models', [auth, 'Content-Length: 2'])}{}`)
  t.match([get.status, JSON.parse(get.body.toString())], [400, { error: { code: 'body_unexpected' } }])
  for (const more of [[], ['Content-Length: 0']]) {
    const post = await exchangeRaw(
      url,
      requestHead('POST', generations, [auth, 'Content-Type: application/json', ...more]),
    )
    t.match(
      [post.status, JSON.parse(post.body.toString())],
      [400, { error: { code: 'body_missing' } }],
      caseName({ more }),
    )
  }
})

t.test('an upstream that is down is 502: nothing was sent, nothing is charged, and SDKs may retry', async t => {
  const { url, key, upstreams, charges, logs } = await startOpen(t)
  await upstreams['alpha']?.close()
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 1 })
  const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
  t.ok(error instanceof InternalServerError)
  t.match(error, { status: 502, code: 'upstream_unreachable', type: 'server_error', message: /ECONNREFUSED/ })
  t.equal((error as InternalServerError).headers?.get('x-should-retry'), null)
  t.equal((await logs()).length, 2, 'it has tried again')
  t.match(await charges(), [
    { state: 'voided', reason: 'not_sent', amount: '0.00' },
    { state: 'voided', amount: '0.00' },
  ])
})

t.test('an upstream that does not answer in time is 504, and forbids retries', async t => {
  const started = await startOpen(t, timeouts('connect: 5s, first_byte: 100ms, idle: 120s, total: 15m'))
  const { url, key, upstream, charges, logs } = started
  upstream.answer(() => undefined)
  // With the SDK's own retries: the picture may have been made, so a second request could buy another.
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
  const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
  t.match(error, { status: 504, code: 'upstream_timeout', type: 'server_error', message: /100 ms/ })
  t.equal((error as InternalServerError).headers?.get('x-should-retry'), 'false')
  t.equal((await logs()).length, 1, 'it has not tried again')
  t.equal(upstream.received.length, 1)
  t.match(await charges(), [{ state: 'needs_review', amount: '0.00' }], 'an unknown result is not charged')
})

t.test('an upstream that breaks off before it answers is 502, and forbids retries', async t => {
  const { url, key, upstream, charges, logs } = await startOpen(t)
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
  for (const how of ['end', 'reset'] as const) {
    const before = (await logs()).length
    upstream.answerOnce(res => sendRaw(res, '', how))
    const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
    t.match(error, { status: 502, code: 'upstream_cut', type: 'server_error' }, how)
    t.equal((error as InternalServerError).headers?.get('x-should-retry'), 'false', caseName({ how }))
    t.equal((await logs()).length, before + 1, 'it has not tried again')
    t.match(await charges(1), [{ state: 'needs_review', amount: '0.00' }], caseName({ how }))
  }
})

for (const [name, frame] of Object.entries(framings)) {
  t.test(`no client takes a cut answer with ${name} for complete [U1, U2]`, async t => {
    const started = await startOpen(t)
    const { upstream } = started
    const { length } = answerText
    for (const [sent, how] of [
      [0, 'end'],
      [1, 'end'],
      [1_000, 'end'],
      [7_000, 'end'],
      [7_000, 'reset'],
      [length - 3, 'end'],
      [length - 1, 'end'],
      [length - 1, 'reset'],
      ...(name === 'chunks'
        ? ([
            [length, 'end'],
            [length, 'reset'],
          ] as const)
        : []),
    ] as const) {
      upstream.answer(res => sendRaw(res, frame(answerText, sent), how))
      t.strictSame(await whoIsSatisfied(started), [], `${sent} of ${length} bytes, then ${how}`)
    }
    for (const charge of await started.charges(100)) t.notOk(charge.state === 'reserved', 'no charge is left open')
    if (name === 'chunks') return
    upstream.answer(res => sendRaw(res, frame(answerText, length)))
    t.equal((await whoIsSatisfied(started)).length, 4, 'whole it is complete to all of them')
  })
}

t.test('an answer of its declared length is whole, although its upstream closes unannounced [U1]', async t => {
  const { post, upstream, charges } = await startOpen(t)
  // Larger than one read of the event loop: the end of the connection arrives before the body is read.
  const text = JSON.stringify({ created: 1, data: [{ b64_json: jpeg(1254, 1254, 3_000_000).toString('base64') }] })
  const frame = framings['Content-Length'] as (typeof framings)[string]
  for (const response_format of ['b64_json', 'url']) {
    upstream.answer(res => sendRaw(res, frame(text, text.length)))
    const answer = await post(generations, { ...good, response_format })
    t.match(await answer.json(), { data: [{}] }, response_format)
    t.match(
      await charges(1),
      [{ state: 'settled', amount: '0.04', delivery: 'confirmed', reason: null }],
      caseName({ response_format }),
    )
  }
})

t.test('no client takes a 200 without JSON and without a marked end for complete [U2, U14]', async t => {
  const started = await startOpen(t)
  const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type:'
  for (const rest of ['text/html\r\n\r\n<html><body>5', 'application/json\r\n\r\n', 'text/plain\r\n\r\nok']) {
    started.upstream.answer(res => sendRaw(res, `${head} ${rest}`))
    t.strictSame(await whoIsSatisfied(started), [], JSON.stringify(rest))
  }
})

t.test('the SDK gets an error for a broken answer, not half of it', async t => {
  const { openai, upstream } = await startOpen(t)
  upstream.answer(res => sendRaw(res, (framings['Content-Length'] as (typeof framings)[string])(answerText, 7_000)))
  const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
  t.ok(error instanceof Error, String(error))
  t.notOk(error instanceof APIError && error.status === 200)
})

for (const [name, limits, code] of [
  ['stalls', 'connect: 5s, first_byte: 600s, idle: 150ms, total: 15m', 'deadline_exceeded'],
  ['drips for ever', 'connect: 5s, first_byte: 600s, idle: 120s, total: 300ms', 'deadline_exceeded'],
] as const) {
  t.test(`an answer that ${name} is cut at its limit, and no client takes it for complete [U3, U4]`, async t => {
    const started = await startOpen(t, timeouts(limits))
    const { upstream, logs, charges } = started
    upstream.answer(res => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.write(answerText.slice(0, 7_000))
      if (name === 'stalls') return
      let at = 7_000
      const drip = setInterval(() => res.write(answerText.charAt(at++)), 10)
      res.once('close', () => clearInterval(drip))
    })
    t.strictSame(await whoIsSatisfied(started), [])
    t.match(await logs(1), [{ outcome: 'deadline', error: code }])
    t.match(await charges(1), [{ state: 'needs_review', amount: '0.00' }])
    t.equal(upstream.sockets, 0, 'the upstream’s sockets are closed')
  })
}

t.test('only upstream headers that clients read are passed on [U9]', async t => {
  const { post, upstream } = await startOpen(t)
  const stripped = {
    'set-cookie': ['a=1', 'b=2'],
    'strict-transport-security': 'max-age=1',
    'content-security-policy': "default-src 'none'",
    location: 'https://internal.example/',
    'access-control-allow-origin': '*',
    'access-control-allow-credentials': 'true',
    'clear-site-data': '"*"',
    'www-authenticate': 'Basic',
    server: 'internal/1.0',
    via: '1.1 internal',
    'x-powered-by': 'internal',
    'x-internal': 'secret',
    'alt-svc': 'h3=":443"',
    link: '</x>; rel=preload',
    refresh: '0;url=https://evil.example/',
    'x-ratelimit-limit-requests': '7',
    'x-ratelimit-remaining-requests': '6',
    'anthropic-ratelimit-requests-limit': '7',
    'x-request-id': 'upstream-s',
    connection: 'x-internal, keep-alive',
  }
  for (const status of [200, 400, 500]) {
    upstream.answerOnce(res => {
      res.writeHead(status, { 'content-type': 'application/json', 'openai-processing-ms': '12', ...stripped })
      res.end(status === 200 ? answerText : '{"error":{"message":"no"}}')
    })
    const answer = await post(generations, good)
    await answer.arrayBuffer()
    t.equal(answer.status, status, caseName({ status }))
    const names = [...answer.headers.keys()]
    const ours = new Set(['x-request-id', 'connection', 'x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests'])
    t.strictSame(
      names.filter(name => name in stripped && !ours.has(name)),
      [],
      `${status}: none of them`,
    )
    t.equal(answer.headers.get('x-ratelimit-limit-requests'), '100000', 'limits are those of this gateway')
    t.match(answer.headers.get('x-request-id'), /^req_/, caseName({ status }))
    t.notMatch(answer.headers.get('connection') ?? '', /internal/, caseName({ status }))
    t.equal(answer.headers.get('openai-processing-ms'), '12', 'headers that clients of the format read are passed on')
  }
})

t.test('a header that cannot be written is dropped, and the paid picture is delivered', async t => {
  const { post, upstream, charges } = await startOpen(t)
  upstream.answer(res =>
    sendRaw(
      res,
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Disposition: attachment; filename="图.json"\r\nContent-Length: ${answerText.length}\r\n\r\n${answerText}`,
    ),
  )
  const answer = await post(generations, good)
  t.equal(answer.status, 200)
  t.equal(await answer.text(), answerText)
  t.match(await charges(1), [{ state: 'settled', delivery: 'confirmed' }])
})

t.test('an answer in an unknown coding is 502, and never counts as no pictures [U13]', async t => {
  const started = await startOpen(t)
  const { upstream, post, charges } = started
  for (const coding of ['compress', 'gzip, cow', 'aes128gcm']) {
    upstream.answerOnce(res => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
      res.end(gzipSync(answerText))
    })
    const answer = await post(generations, good)
    t.equal(answer.status, 502, coding)
    t.match(
      await answer.json(),
      {
        error: { type: 'server_error', code: 'upstream_invalid', message: /content-encoding/ },
      },
      caseName({ coding }),
    )
    t.equal(answer.headers.get('x-should-retry'), 'false', caseName({ coding }))
    t.match(await charges(1), [{ state: 'needs_review', amount: '0.00' }], 'a person has to look at it')
  }
  t.equal(upstream.received[0]?.headers['accept-encoding'], 'identity')
})

t.test('a bare picture is not delivered, because it could not be charged: its charge waits for a person', async t => {
  const { post, upstream, charges, logs } = await startOpen(t)
  for (const type of ['image/jpeg', 'application/octet-stream']) {
    upstream.answerOnce(res => void res.writeHead(200, { 'content-type': type }).end(jpeg(1254, 1254)))
    const answer = await post(generations, good)
    t.equal(answer.status, 502, caseName({ type }))
    t.equal(answer.headers.get('x-should-retry'), 'false', caseName({ type }))
    t.match(await answer.json(), { error: { code: 'upstream_answer_unrecognised' } }, caseName({ type }))
    t.match(await charges(1), [{ state: 'needs_review', amount: '0.00', count: 0 }], caseName({ type }))
    t.match(await logs(1), [{ status: 502, outcome: 'refused' }], caseName({ type }))
  }
})

t.test('a 200 without a picture costs nothing, whatever it contains [U14]', async t => {
  const { post, upstream, charges } = await startOpen(t)
  for (const [name, type, body, state] of [
    ['no data', 'application/json', '{"created":1}', 'voided'],
    ['empty data', 'application/json', '{"created":1,"data":[]}', 'voided'],
    ['null data', 'application/json', '{"created":1,"data":null}', 'voided'],
    ['an error', 'application/json', '{"error":{"message":"refused","type":"x","param":null,"code":"y"}}', 'voided'],
    ['empty pictures', 'application/json', '{"data":[{"b64_json":""},{"url":""},{"b64_json":null},{}]}', 'voided'],
    ['an error beside data', 'application/json', '{"error":{"message":"no"},"data":[]}', 'voided'],
    ['an error for each picture', 'application/json', '{"data":[{"error":{"code":"x","message":"no"}}]}', 'voided'],
  ] as const) {
    upstream.answerOnce(res => void res.writeHead(200, { 'content-type': type }).end(body))
    const answer = await post(generations, good)
    t.equal(await answer.text(), body, `${name}: passed on as it is`)
    t.match(await charges(1), [{ state, amount: '0.00', count: 0 }], name)
  }
})

t.test('[6.2] a 200 of an unknown shape is not delivered, and its charge waits with its hold', async t => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', pretty: false, destination: { write: line => void lines.push(line) } })
  const { post, upstream, charges, gateway, opsUrl } = await startOpen(t, { log })
  const wide = Buffer.from(`{"data":[{"b64_json":"${jpeg(64, 64).toString('base64')}"}]}`, 'utf16le')
  let held = 0
  for (const [name, type, body] of [
    ['a list', 'application/json', '[{"url":"https://img.example/1.png"}]'],
    ['a picture as text', 'text/plain', jpeg(64, 64)],
    ['UTF-16', 'application/json', wide],
    ['data that is an object', 'application/json', '{"data":{"b64_json":"aGVsbG8="}}'],
    ['another word for data', 'application/json', '{"images":[{"url":"https://img.example/1.png"}]}'],
    ['another word in data', 'application/json', `{"data":[{"image":"${'A'.repeat(20_000)}"}]}`],
    ['an empty list beside it', 'application/json', '{"data":[],"output":["https://img.example/1.png"]}'],
  ] as const) {
    upstream.answerOnce(res => void res.writeHead(200, { 'content-type': type }).end(body))
    const answer = await post(generations, good)
    t.equal(answer.status, 502, name)
    t.equal(answer.headers.get('x-should-retry'), 'false', caseName({ name, type, body }))
    t.match(await answer.json(), { error: { code: 'upstream_answer_unrecognised' } }, name)
    t.match(await charges(1), [{ state: 'needs_review', amount: '0.00', count: 0 }], name)
    held++
  }
  const { unrecognised } = gateway.status()
  t.equal(
    unrecognised.reduce((sum, one) => sum + one.count, 0),
    held,
  )
  t.match(
    unrecognised.find(one => one.shape.startsWith('images')),
    { model: good.model, upstream: 'alpha', operation: 'image.generate', shape: 'images[].url (a link)' },
  )
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  t.match(metrics, `tollgate_answers_unrecognised_total{model="${good.model}",upstream="alpha"} ${held}`)
  t.match(lines.join(''), /"upstream":"alpha".*"shape":"images\[\]\.url \(a link\)"/)
  t.equal((await gateway.storage.books.open()).find(one => one.state === 'needs_review')?.count, held)
})

t.test('a 200 without an answer and without an image costs nothing, and leaves no hold', async t => {
  const { post, upstream, charges } = await startOpen(t)
  for (const [type, body] of [
    ['text/html', '<html><body>502 Bad Gateway</body></html>'],
    ['application/json', '<html></html>'],
    ['text/plain', 'ok'],
    ['application/json', 'null'],
    ['application/json', '[]'],
  ] as const) {
    upstream.answerOnce(res => void res.writeHead(200, { 'content-type': type }).end(body))
    const answer = await post(generations, good)
    t.equal(answer.status, 502, body)
    t.match(await answer.json(), { error: { code: 'upstream_answer_malformed' } }, body)
    t.match(await charges(1), [{ state: 'voided', amount: '0.00' }], body)
  }
})

t.test('a redirect is not followed: 502, whatever its target [U15]', async t => {
  const { post, upstreams, charges } = await startOpen(t)
  for (const status of [301, 302, 303, 307, 308]) {
    upstreams['alpha']?.answerOnce(
      res => void res.writeHead(status, { location: `${upstreams['beta']?.url}/internal` }).end(),
    )
    const answer = await post(generations, good)
    t.equal(answer.status, 502, String(status))
    t.match(await answer.json(), { error: { code: 'upstream_invalid', message: /redirect/ } }, caseName({ status }))
    t.equal(answer.headers.get('location'), null, caseName({ status }))
    t.match(await charges(1), [{ amount: '0.00' }], caseName({ status }))
  }
  t.equal(upstreams['beta']?.received.length, 0)
})

t.test("an upstream's refusal reaches the client unchanged, and costs nothing", async t => {
  const { openai, upstream, charges } = await startOpen(t)
  // Statuses about the gateway's key become its own errors: see vendor-only-key.test.ts.
  for (const status of [400, 404, 409, 422, 429, 500, 503]) {
    upstream.answerOnce(res => {
      res.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' })
      res.end(
        '{"error":{"message":"not today","type":"image_generation_user_error","param":"prompt","code":"moderation_blocked"}}',
      )
    })
    const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
    t.match(
      error,
      { status, code: 'moderation_blocked', type: 'image_generation_user_error', param: 'prompt' },
      caseName({ status }),
    )
    t.equal((error as InternalServerError).headers?.get('retry-after'), '7', caseName({ status }))
    t.match(await charges(1), [{ state: 'voided', reason: 'upstream_refused', amount: '0.00' }], caseName({ status }))
  }
})

t.test('invalid HTTP is 502 [U5, U6, U7]', async t => {
  const { post, upstream, charges } = await startOpen(t)
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
  for (const bytes of [
    'nonsense\r\n\r\n',
    `HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\n{}`,
    `HTTP/1.1 1000 Odd\r\nContent-Length: 2\r\n\r\n{}`,
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `${head}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `${head}X-Bad: a\u0000b\r\nContent-Length: 2\r\n\r\n{}`,
    `${head}X-Long: ${'x'.repeat(20_000)}\r\nContent-Length: 2\r\n\r\n{}`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100),
  ]) {
    upstream.answerOnce(res => sendRaw(res, bytes))
    const answer = await post(generations, good)
    t.equal(answer.status, 502, JSON.stringify(bytes.slice(0, 90)))
    await answer.arrayBuffer()
    t.equal(answer.headers.get('x-should-retry'), 'false', caseName({ bytes }))
    t.match(await charges(1), [{ amount: '0.00' }], caseName({ bytes }))
  }
  t.equal((await post(generations, good)).status, 200, 'and the process lives')
})

t.test('a model that does not support a request lists what it supports', async t => {
  const { url, key } = await startOpen(t)
  const ask = async (model: string) => {
    const { status, text } = await askOnce(url, { model, prompt: 'a boat' }, { key, path: generations })
    return { status, error: (JSON.parse(text) as { error: object }).error }
  }
  t.match(await ask('sim-chat'), {
    status: 400,
    error: {
      code: 'operation_unsupported',
      param: 'model',
      message:
        /does not support POST \/v1\/images\/generations\. It supports POST \/v1\/chat\/completions, POST \/v1\/responses, /,
    },
  })
  t.match(await ask('sim-embedding'), {
    status: 400,
    error: { message: /It supports POST \/v1\/embeddings, POST \/v2\/embed\.$/ },
  })
})
