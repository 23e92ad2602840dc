import { randomBytes } from 'node:crypto'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type BareEngine, modelName, startEngine } from '../harness/engine.ts'
import { form } from '../harness/forms.ts'
import { picture, png } from '../harness/pictures.ts'
import { start, type Started } from '../harness/start.ts'
import { openWire, requestHead } from '../harness/wire.ts'

const json = 'application/json'
const chat = '/v1/chat/completions'
const edits = '/v1/images/edits'
/** 32 MiB (`docs/rules.md#request-body-size`). */
const bodyMax = 33_554_432
const mebibyte = 2 ** 20

type Packed = readonly [coding: string, pack: (bytes: Buffer) => Buffer]
const packers: readonly Packed[] = [
  ['gzip', bytes => gzipSync(bytes)],
  ['X-GZIP', bytes => gzipSync(bytes)],
  ['deflate', bytes => deflateSync(bytes)],
  ['deflate', bytes => deflateRawSync(bytes)],
  ['br', quickBrotli],
  ['zstd', bytes => zstdCompressSync(bytes)],
  ['deflate, gzip', bytes => gzipSync(deflateSync(bytes))],
  ['zstd, br, identity', bytes => quickBrotli(zstdCompressSync(bytes))],
  ['gzip, deflate, br, zstd', bytes => zstdCompressSync(quickBrotli(deflateSync(gzipSync(bytes))))],
]

/** A chat of this many bytes: half noise, half repetition. */
function chatOf(bytes: number, model = 'sim-chat'): Buffer {
  const noise = randomBytes(Math.ceil((bytes * 3) / 8)).toString('base64')
  return Buffer.from(
    JSON.stringify({ model, messages: [{ role: 'user', content: noise + 'boat '.repeat(Math.ceil(bytes / 10)) }] }),
  )
}

function ask(
  { url, key }: Pick<Started, 'url' | 'key'>,
  path: string,
  coding: string | undefined,
  body: Buffer,
  contentType = json,
): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': contentType,
      ...(coding !== undefined && { 'content-encoding': coding }),
    },
    body: new Uint8Array(body),
  })
}

async function startChat(t: Test): Promise<Started> {
  const started = await start(t, { edit: [['rpm: 60,', 'rpm: 100000,']] })
  started.upstreams['text']?.answer({
    id: 'x',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'a boat' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
  })
  return started
}

t.test('a compressed chat reaches its upstream decoded, and is charged', async t => {
  const started = await startChat(t)
  const upstream = started.upstreams['text']
  for (const body of [chatOf(100), chatOf(300_000)]) {
    for (const [coding, pack] of [...packers, ['identity', (bytes: Buffer) => bytes] satisfies Packed]) {
      const answer = await ask(started, chat, coding, pack(body))
      const name = `${coding}, ${body.length} bytes`
      t.equal(answer.status, 200, name)
      await answer.arrayBuffer()
      const got = upstream?.received.at(-1)
      t.strictSame(JSON.parse(String(got?.body)), JSON.parse(body.toString()), name)
      t.equal(got?.headers['content-encoding'], undefined, name)
      t.equal(got?.headers['content-length'], String(got?.body.length), name)
      t.match(await started.charges(1), [{ state: 'settled', amount: '0.000025' }], name)
    }
  }
})

t.test('a compressed form is an edit like any other, as an upload and byte by byte', async t => {
  const started = await start(t, { edit: [['rpm: 60,', 'rpm: 100000,']] })
  const { upstream } = started
  upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  const file = Buffer.concat([png(8, 8), randomBytes(200_000), Buffer.alloc(200_000)])
  const { body, contentType } = form({ model: 'alpha-image-2', prompt: 'make it blue', image: file })
  for (const [coding, pack] of packers) {
    const answer = await ask(started, edits, coding, pack(body), contentType)
    t.equal(answer.status, 200, coding)
    await answer.arrayBuffer()
    const got = upstream.received.at(-1)
    t.ok(got?.body.includes(file), `${coding}: the picture arrives whole`)
    t.equal(got?.headers['content-encoding'], undefined, coding)
    t.equal(got?.headers['content-length'], String(got?.body.length), coding)
    t.match(await started.charges(1), [{ state: 'settled', amount: '0.04' }], coding)
  }
  const small = form({ model: 'alpha-image-2', prompt: 'make it blue', image: png(8, 8) })
  for (const [path, sent, type] of [
    [edits, small.body, small.contentType],
    ['/v1/images/generations', Buffer.from('{"model":"alpha-image-2","prompt":"a boat"}'), json],
  ] as const) {
    const wire = await openWire(started.url)
    await wire.write(
      requestHead('POST', path, [
        `Authorization: Bearer ${started.key}`,
        `Content-Type: ${type}`,
        'Content-Encoding: gzip, br',
        'Transfer-Encoding: chunked',
      ]),
    )
    const packed = quickBrotli(gzipSync(sent))
    const chunks = Array.from(packed, byte => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]))
    await wire.write(Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]))
    t.equal((await wire.read()).status, 200, `${path}, a chunk for each byte`)
    wire.socket.destroy()
  }
})

t.test("an undecodable body is refused in the client's format, and nothing is bought", async t => {
  const started = await startChat(t)
  const body = chatOf(200_000)
  const { body: upload, contentType } = form({
    model: 'alpha-image-2',
    prompt: 'make it blue',
    image: Buffer.concat([png(8, 8), randomBytes(100_000)]),
  })
  for (const [path, whole, type] of [
    [chat, body, json],
    [edits, upload, contentType],
  ] as const)
    for (const [coding, pack] of packers) {
      const packed = pack(whole)
      const spoilt: readonly (readonly [name: string, bytes: Buffer])[] = [
        ['half', packed.subarray(0, packed.length >> 1)],
        ['without its last byte', packed.subarray(0, packed.length - 1)],
        ['something else', Buffer.from('{"plain":"json"}')],
        ['bytes behind its end', Buffer.concat([packed, Buffer.from('garbage garbage')])],
        ['zeros behind its end', Buffer.concat([packed, Buffer.alloc(2)])],
      ]
      for (const [name, bytes] of spoilt) {
        const answer = await ask(started, path, coding, bytes, type)
        t.equal(answer.status, 400, `${path}, ${coding}, ${name}`)
        t.match(
          await answer.json(),
          { error: { type: 'invalid_request_error', code: 'body_undecodable', message: /content-encoding/ } },
          `${path}, ${coding}, ${name}`,
        )
      }
    }
  const inner = gzipSync(Buffer.concat([gzipSync(body), Buffer.from('x')]))
  t.equal((await ask(started, chat, 'gzip, gzip', inner)).status, 400, 'bytes after the end of the inner one')
  t.equal((await ask(started, chat, 'gzip', gzipSync('no JSON'))).status, 400, 'invalid JSON stays invalid')
  t.equal((await ask(started, chat, 'gzip', gzipSync(''))).status, 400, 'nothing at all')
  for (const coding of ['compress', 'gzip, cow', '__proto__', 'gzip, gzip, gzip, gzip, gzip'])
    for (const [path, type] of [
      [chat, json],
      [edits, contentType],
    ] as const) {
      const answer = await ask(started, path, coding, body, type)
      t.equal(answer.status, 415, coding)
      t.equal(answer.headers.get('accept-encoding'), 'gzip, deflate, br, zstd', coding)
      t.match(
        await answer.json(),
        { error: { code: 'unsupported_content_encoding', message: /gzip, deflate, br, zstd/ } },
        coding,
      )
    }
  const messages = await fetch(`${started.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': started.key, 'content-type': json, 'content-encoding': 'gzip' },
    body: 'x',
  })
  t.equal(messages.status, 400)
  t.match(await messages.json(), { type: 'error', error: { type: 'invalid_request_error' } })
  t.strictSame(await started.charges(), [])
  for (const [name, { received }] of Object.entries(started.upstreams)) t.equal(received.length, 0, name)
})

t.test('a body that expands beyond the limits is 413, and little of it was ever in memory', async t => {
  const started = await startChat(t)
  const { body: head, contentType } = form({ model: 'alpha-image-2', prompt: 'blue', image: png(8, 8) })
  const [quick, zeros, nothing] = [quickBrotli, Buffer.alloc(200 * mebibyte), gzipSync('')]
  const bombs: readonly (readonly [coding: string, bytes: Buffer, code: string])[] = [
    ['gzip', gzipSync(zeros), 'body_too_dense'],
    ['gzip, gzip', gzipSync(gzipSync(zeros)), 'body_too_dense'],
    ['br', quick(zeros.subarray(0, 64 * mebibyte)), 'body_too_dense'],
    ['zstd', zstdCompressSync(zeros), 'body_too_dense'],
    ['gzip', gzipSync(Buffer.concat([randomBytes(mebibyte), zeros.subarray(0, bodyMax)])), 'body_too_large'],
    // No layer alone exceeds the limit, and the result is small.
    ['gzip, br', quick(Buffer.concat(Array.from({ length: 2_000_000 }, () => nothing))), 'body_too_dense'],
  ]
  for (const [coding, bytes, code] of bombs)
    for (const [path, type] of [
      [chat, json],
      [edits, contentType],
    ] as const) {
      const before = process.memoryUsage().arrayBuffers
      const answer = await ask(started, path, coding, bytes, type)
      // A form must not begin with zeros, and that error may be detected first.
      t.ok([413, path === edits ? 400 : 413].includes(answer.status), `${coding} on ${path}: ${answer.status}`)
      const body = (await answer.json()) as { error: { code: string } }
      if (path === chat) t.equal(body.error.code, code, `${coding} on ${path}`)
      t.ok(process.memoryUsage().arrayBuffers - before < 80 * mebibyte, `${coding} on ${path}`)
    }
  const swelling = gzipSync(Buffer.concat([head.subarray(0, head.indexOf('\x89PNG') + 100), zeros]))
  const answer = await ask(started, edits, 'gzip', swelling, contentType)
  t.equal(answer.status, 413)
  t.match(await answer.json(), { error: { code: 'body_too_dense', message: /250 times/ } })
  t.strictSame(await started.charges(), [])
  for (const [name, { received }] of Object.entries(started.upstreams)) t.equal(received.length, 0, name)
  await started.settled()
  t.equal(started.gateway.open, 0)
})

t.test('the limit counts decoded bytes: exactly that many pass, one byte more is 413', async t => {
  const started = await startChat(t)
  started.upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  const [begin, noise, end] = [
    '{"model":"alpha-image-2","prompt":"',
    randomBytes(3 * mebibyte).toString('base64'),
    '"}',
  ]
  const room = bodyMax - begin.length - noise.length - end.length
  const sized = (more: number): Buffer =>
    gzipSync(Buffer.from(begin + noise + 'boat '.repeat(bodyMax / 4).slice(0, room + more) + end), { level: 1 })
  const path = '/v1/images/generations'
  t.equal((await ask(started, path, 'gzip', sized(0))).status, 200)
  t.equal(started.upstream.received.at(-1)?.body.length, bodyMax)
  const more = await ask(started, path, 'gzip', sized(1))
  t.equal(more.status, 413)
  t.match(await more.json(), { error: { code: 'body_too_large', message: /32 MiB.*\(after decompression\)/ } })
})

t.test('decoded bytes count in the memory of all bodies', async t => {
  const engine = await startEngine(t, { server: { memoryBytesMax: 1_000_000 } })
  t.equal((await post(engine, 'gzip', gzipSync(chatOf(500_000, modelName)))).status, 200)
  const large = await post(engine, 'gzip', gzipSync(chatOf(2_000_000, modelName)))
  t.equal(large.status, 503)
  t.match(await large.json(), { error: { code: 'over_capacity' } })
  await engine.settled()
  t.equal(engine.engine.heldBytes, 0)
})

t.test('a client that leaves during a compressed body leaves nothing behind', async t => {
  const engine = await startEngine(t)
  const packed = gzipSync(chatOf(300_000, modelName))
  const wire = await openWire(engine.url)
  await wire.write(
    requestHead('POST', chat, [`Content-Type: ${json}`, 'Content-Encoding: gzip', `Content-Length: ${packed.length}`]),
  )
  await wire.write(packed.subarray(0, packed.length >> 1))
  wire.socket.destroy()
  while (engine.rows.length === 0) await new Promise(resolve => setImmediate(resolve))
  await engine.settled()
  t.match(engine.rows, [{ outcome: 'caller_gone' }])
  t.equal(engine.engine.heldBytes, 0)
  t.strictSame(engine.faults, [])
  t.equal(engine.upstreams[0]?.received.length, 0)
})

t.test('the same request, compressed or not, is one request under its idempotency key', async t => {
  const started = await start(t)
  started.upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  const body = Buffer.from('{"model":"alpha-image-2","prompt":"a boat"}')
  const send = (coding: string, bytes: Buffer): Promise<Response> =>
    fetch(`${started.url}/v1/images/generations`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${started.key}`,
        'content-type': json,
        'content-encoding': coding,
        'idempotency-key': 'one-boat-please',
      },
      body: new Uint8Array(bytes),
    })
  const first = await send('identity', body)
  t.equal(first.status, 200)
  await first.arrayBuffer()
  await started.settled()
  for (const [coding, pack] of packers) {
    const again = await send(coding, pack(body))
    t.not(again.status, 422, `${coding}: it is not another request`)
    await again.arrayBuffer()
  }
  t.equal(started.upstream.received.length, 1)
  t.equal((await started.charges()).length, 1)
})

function post({ url }: BareEngine, coding: string, bytes: Buffer): Promise<Response> {
  return ask({ url, key: 'any' }, chat, coding, bytes)
}

/** At its best quality Brotli takes seconds. */
function quickBrotli(bytes: Buffer): Buffer {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
}
