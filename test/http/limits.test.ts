import OpenAI, { APIError, toFile } from 'openai'
import t, { type Test } from 'tap'
import { form } from '../harness/forms.ts'
import { jpeg, picture, png } from '../harness/pictures.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import { createKey } from '../../src/index.ts'
import { sha256 } from '../harness/upstream.ts'
import { openWire, requestHead, type Wire } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'

const generations = '/v1/images/generations'
const edits = '/v1/images/edits'
/** 32 MiB (`docs/rules.md#request-body-size`). */
const bodyMax = 33_554_432
const json = 'application/json'

async function startOpen(t: Test, options: StartOptions = {}): Promise<Started> {
  const started = await start(t, { ...options, edit: [['rpm: 60,', 'rpm: 100000,'], ...(options.edit ?? [])] })
  for (const upstream of Object.values(started.upstreams)) upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  return started
}

type Sent = { readonly path: string; readonly body: Buffer; readonly contentType: string }

/** A request for a picture whose body has exactly this many bytes. */
function sizedJson(bytes: number): Sent {
  const body = Buffer.alloc(bytes, 'x')
  body.write('{"model":"alpha-image-2","prompt":"')
  body.write('"}', bytes - 2)
  return { path: generations, body, contentType: json }
}

/** An edit whose form has exactly this many bytes. */
function sizedForm(bytes: number): Sent {
  const fields = { model: 'alpha-image-2', prompt: 'make it blue' }
  const empty = form({ ...fields, image: Buffer.alloc(0) }).body.length
  return { path: edits, ...form({ ...fields, image: Buffer.concat([png(8, 8)], bytes - empty) }) }
}

function post({ url, key }: Started, { path, body, contentType }: Sent): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': contentType },
    body: new Uint8Array(body),
  })
}

function headOf({ key }: Started, { path, contentType }: Omit<Sent, 'body'>, ...lines: string[]): string {
  return requestHead('POST', path, [`Authorization: Bearer ${key}`, `Content-Type: ${contentType}`, ...lines])
}

/** Writes as chunks of 1 MiB. */
async function writeChunked(wire: Wire, body: Buffer): Promise<void> {
  for (let at = 0; at < body.length; at += 2 ** 20) {
    const piece = body.subarray(at, at + 2 ** 20)
    await wire.write(`${piece.length.toString(16)}\r\n`)
    await wire.write(piece)
    await wire.write('\r\n')
  }
}

const modelsHead = ({ key }: Started): string => requestHead('GET', '/v1/models', [`Authorization: Bearer ${key}`])

for (const [name, sized] of [
  ['an edit', sizedForm],
  ['a generation', sizedJson],
] as const) {
  t.test(`${name} of 33,554,432 bytes passes, with and without Content-Length [L1, L2, L3]`, async t => {
    const started = await startOpen(t)
    const sent = sized(bodyMax)
    t.equal(sent.body.length, bodyMax)
    t.equal((await post(started, sent)).status, 200, 'with Content-Length')
    const wire = await openWire(started.url)
    await wire.write(headOf(started, sent, 'Transfer-Encoding: chunked'))
    await writeChunked(wire, sent.body)
    await wire.write('0\r\n\r\n')
    t.equal((await wire.read()).status, 200, 'chunked')
    wire.socket.destroy()
    t.equal(started.upstream.received.length, 2)
    t.match(await started.charges(), [
      { count: 1, tier: '2K' },
      { count: 1, tier: '2K' },
    ])
    if (name === 'a generation')
      for (const { body } of started.upstream.received) t.ok(body.equals(sent.body), 'and reaches the upstream whole')
  })

  t.test(`${name} announced one byte larger is 413 before a byte of it is read [L1, L3]`, async t => {
    const started = await startOpen(t)
    const sent = sized(2_000)
    const wire = await openWire(started.url)
    await wire.write(headOf(started, sent, `Content-Length: ${bodyMax + 1}`))
    const answer = await wire.read()
    t.equal(answer.status, 413)
    t.match(JSON.parse(answer.body.toString()), {
      error: { type: 'invalid_request_error', code: 'body_too_large', param: null, message: /32 MiB.*33554433/ },
    })
    t.notOk(
      answer.headers['connection']?.includes('close'),
      'the connection stays: a client that is still sending reads it',
    )
    // The client continues to send the body, and then sends another request.
    await wire.write(Buffer.alloc(bodyMax + 1))
    await wire.write(modelsHead(started))
    t.equal((await wire.read()).status, 200, 'the rest is thrown away, and the connection serves on')
    wire.socket.destroy()
    t.equal(started.upstream.received.length, 0)
    t.strictSame(await started.charges(), [])
  })

  t.test(`${name} without Content-Length is 413 at the first byte beyond [L2, L3]`, async t => {
    const started = await startOpen(t)
    const sent = sized(bodyMax + 1)
    const wire = await openWire(started.url)
    await wire.write(headOf(started, sent, 'Transfer-Encoding: chunked'))
    await writeChunked(wire, sent.body.subarray(0, bodyMax))
    // The rest of the unfinished body is discarded until the answer is sent.
    await writeChunked(wire, sent.body.subarray(bodyMax))
    const answer = await wire.read()
    t.equal(answer.status, 413)
    t.match(JSON.parse(answer.body.toString()), { error: { code: 'body_too_large', message: /32 MiB/ } })
    await wire.write('0\r\n\r\n')
    await wire.write(modelsHead(started))
    t.equal((await wire.read()).status, 200, 'the connection serves on')
    wire.socket.destroy()
    t.equal(started.upstream.received.length, 0)
    t.strictSame(await started.charges(), [])
  })
}

t.test('the OpenAI SDK sees 413 once and at once, while it sends a body that is too large [L1, L3]', async t => {
  const started = await startOpen(t)
  const { url, key, logs, upstream } = started
  // With the SDK's own retries: a broken connection would be tried three times.
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
  const file = await toFile(Buffer.concat([png(8, 8)], 40 * 2 ** 20), 'big.png', { type: 'image/png' })
  for (const [name, ask] of [
    ['edit', () => openai.images.edit({ model: 'alpha-image-2', prompt: 'make it blue', image: file })],
    ['generate', () => openai.images.generate({ model: 'alpha-image-2', prompt: 'x'.repeat(40 * 2 ** 20) })],
  ] as const) {
    const before = (await logs()).length
    const error: unknown = await ask().catch((cause: unknown) => cause)
    t.ok(error instanceof APIError, `${name}: an error of the API, not of the connection`)
    t.match(error, { status: 413, code: 'body_too_large', type: 'invalid_request_error', requestID: /^req_/ }, name)
    t.equal((await logs()).length, before + 1, `${name}: one request was made`)
  }
  t.equal(upstream.received.length, 0)
})

t.test('a client that waits for 100 Continue is refused before it uploads [L1]', async t => {
  const started = await startOpen(t)
  for (const [lines, status] of [
    [[`Content-Length: ${bodyMax + 1}`], 413],
    [['Content-Length: 1000', 'Content-Encoding: compress'], 415],
  ] as const) {
    const wire = await openWire(started.url)
    await wire.write(
      headOf(
        started,
        { path: edits, contentType: 'multipart/form-data; boundary=x' },
        ...lines,
        'Expect: 100-continue',
      ),
    )
    t.equal((await wire.readAny()).status, status, 'and gets no 100 Continue')
    wire.socket.destroy()
  }
  const bad = await openWire(started.url)
  await bad.write(
    headOf(
      started,
      { path: edits, contentType: 'multipart/form-data' },
      'Content-Length: 1000',
      'Expect: 100-continue',
    ),
  )
  t.equal((await bad.readAny()).status, 400, 'nor is a client with an unreadable form')
  bad.socket.destroy()
  const sent = sizedForm(2_000)
  const wire = await openWire(started.url)
  await wire.write(headOf(started, sent, `Content-Length: ${sent.body.length}`, 'Expect: 100-continue'))
  t.equal((await wire.readAny()).status, 100, 'a body that may come is called for')
  await wire.write(sent.body)
  t.equal((await wire.read()).status, 200)
  wire.socket.destroy()
  t.notOk(started.upstream.received[0]?.headers.expect, 'the upstream gets no Expect header')
})

t.test('a form refused unread leaves nothing behind, and its timeout is not reported as a fault', async t => {
  const { url, key, get } = await start(t)
  const setReal = globalThis.setInterval
  const now = performance.now.bind(performance)
  const intervals: (() => void)[] = []
  let later = 0
  t.capture(globalThis, 'setInterval', (run: () => void, ms: number) => {
    intervals.push(run)
    return setReal(run, ms)
  })
  t.capture(performance, 'now', () => now() + later)
  const wire = await openWire(url)
  const lines = [`x-api-key: ${key}`, 'Content-Type: multipart/form-data', 'Content-Length: 1000']
  await wire.write(requestHead('POST', edits, lines))
  await wire.write('--')
  t.equal((await wire.read()).status, 400)
  // An earlier version ended the process here, half a minute after the answer.
  later = 60_000
  for (const run of intervals) run()
  t.equal((await get('/v1/models')).status, 200)
  wire.socket.destroy()
})

t.test('at most 64 MiB of a refused body are read', async t => {
  const started = await startOpen(t)
  const wire = await openWire(started.url)
  await wire.write(headOf(started, { path: generations, contentType: json }, `Content-Length: ${2 ** 40}`))
  t.equal((await wire.read()).status, 413)
  const piece = Buffer.alloc(2 ** 20)
  let pieces = 0
  while (!wire.socket.destroyed && pieces < 1_000) {
    await wire.write(piece)
    pieces++
  }
  await wire.ended
  t.comment(`${pieces} MiB were written before the connection ended`)
  t.ok(pieces >= 64 && pieces < 200, 'the connection ends soon after')
})

t.test('a route may have its own limit, exact to the byte', async t => {
  const started = await startOpen(t, {
    edit: [{ 'routes/0/body_max': '64KiB' }, { 'routes/1/body_max': '100000B' }],
  })
  for (const [sized, max] of [
    [sizedJson, 65_536],
    [sizedForm, 100_000],
  ] as const) {
    t.equal((await post(started, sized(max))).status, 200, `${max} bytes`)
    t.equal((await post(started, sized(max + 1))).status, 413, `${max + 1} bytes`)
  }
})

t.test('bodies beyond the memory for all of them get 503 with Retry-After, before a byte is read [L5]', async t => {
  const started = await startOpen(t, { edit: [['body_max: 32MiB', 'memory_max: 6MiB\n  body_max: 4MiB']] })
  const sent = sizedJson(4 * 2 ** 20)
  const first = await openWire(started.url)
  await first.write(headOf(started, sent, `Content-Length: ${sent.body.length}`, 'Expect: 100-continue'))
  t.equal((await first.readAny()).status, 100, 'the first has its place')
  const second = await openWire(started.url)
  await second.write(headOf(started, sent, `Content-Length: ${sent.body.length}`))
  const answer = await second.read()
  t.equal(answer.status, 503)
  t.match(JSON.parse(answer.body.toString()), { error: { type: 'server_error', code: 'over_capacity' } })
  t.match(answer.headers['retry-after'], /^[1-9]\d*$/)
  second.socket.destroy()
  t.equal((await post(started, sizedJson(1_000))).status, 200, 'a small one still fits')
  await first.write(sent.body)
  t.equal((await first.read()).status, 200, 'the first goes through')
  first.socket.destroy()
  await started.settled()
  t.equal((await post(started, sent)).status, 200, 'and its place is free again')
})

t.test('a key that announces bodies without sending them leaves room for other keys', async t => {
  const started = await startOpen(t, { edit: [['body_max: 32MiB', 'memory_max: 16MiB\n  body_max: 4MiB']] })
  const sent = sizedJson(4 * 2 ** 20)
  const other = await createKey(started.gateway.storage, { name: 'other', user: 'local' })
  const wires: Wire[] = []
  const announce = async (): Promise<number> => {
    const wire = await openWire(started.url)
    wires.push(wire)
    await wire.write(headOf(started, sent, `Content-Length: ${sent.body.length}`, 'Expect: 100-continue'))
    return (await wire.readAny()).status
  }
  t.same([await announce(), await announce(), await announce()], [100, 100, 100])
  t.equal(await announce(), 503, 'a fourth is more than three quarters')
  t.equal((await post({ ...started, key: other.secret }, sent)).status, 200, 'another key is served')
  for (const wire of wires) wire.socket.destroy()
  await started.settled()
  t.equal(await announce(), 100, 'and its own places are free again')
  wires.at(-1)?.socket.destroy()
})

t.test('65 large forms at a time exceed the space: the 65th gets 503 [L5]', async t => {
  const started = await startOpen(t, { edit: [{ 'server/spool_max': '2GiB' }] })
  const contentType = sizedForm(2_000).contentType
  const wires: Wire[] = []
  const memory = process.memoryUsage().rss
  const askFor = async (key = started.key): Promise<number> => {
    const wire = await openWire(started.url)
    wires.push(wire)
    await wire.write(
      headOf({ ...started, key }, { path: edits, contentType }, `Content-Length: ${bodyMax}`, 'Expect: 100-continue'),
    )
    const { status, headers } = await wire.readAny()
    if (status === 503) t.match(headers['retry-after'], /^[1-9]\d*$/)
    return status
  }
  // One key alone may use at most three quarters of the room, so that it never locks out the others.
  const other = await createKey(started.gateway.storage, { name: 'other', user: 'local' })
  for (let i = 1; i <= 48; i++) if ((await askFor()) !== 100) t.fail(`form ${i} was not called for`)
  t.equal(await askFor(), 503, 'form 49 of one key')
  for (let i = 49; i <= 64; i++)
    if ((await askFor(other.secret)) !== 100) t.fail(`form ${i}, of another key, was not called for`)
  t.equal(await askFor(other.secret), 503, 'form 65')
  t.comment(`memory ${Math.round((process.memoryUsage().rss - memory) / 2 ** 20)} MiB more`)
  // Closed connections make room.
  for (const wire of wires) wire.socket.destroy()
  await started.settled()
  t.equal(await askFor(), 100)
  wires.at(-1)?.socket.destroy()
  t.equal(started.upstream.received.length, 0)
})

t.test("four reference images are forwarded to family B, and its upstream's error is passed on [L7]", async t => {
  const started = await startOpen(t)
  const upstream = started.upstreams['beta']
  upstream?.answer(res => {
    res.writeHead(400, { 'content-type': json })
    res.end(
      '{"error":{"message":"at most 3 images","type":"invalid_request_error","param":"image","code":"too_many_images"}}',
    )
  })
  const image = await Promise.all(
    [1, 2, 3, 4].map(side => toFile(png(side, side), `${side}.png`, { type: 'image/png' })),
  )
  const error: unknown = await started.openai.images
    .edit({ model: 'beta-imagine-image', prompt: '', image })
    .catch((cause: unknown) => cause)
  t.match(error, { status: 400, code: 'too_many_images', param: 'image' })
  t.equal((await upstream?.received[0]?.form())?.getAll('image[]').length, 4, 'all four were forwarded')
  t.match(await started.charges(), [{ state: 'voided', amount: '0.00' }])
})

t.test('200 reference images reach family A, in the order sent, each byte for byte [L7]', async t => {
  const { openai, upstream } = await startOpen(t)
  const files = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? png(i + 1, 2) : jpeg(i + 1, 3)))
  await openai.images.edit({
    model: 'alpha-image-2',
    prompt: 'make it blue',
    image: await Promise.all(files.map((bytes, i) => toFile(bytes, `${i}`))),
  })
  const sent = (await upstream.received[0]?.form())?.getAll('image[]') as File[]
  t.equal(sent.length, 200)
  const hashes = await Promise.all(sent.map(async file => sha256(Buffer.from(await file.arrayBuffer()))))
  t.strictSame(hashes, files.map(sha256))
})

t.test('image, image[] and image[N] may be mixed: forwarded in the order sent, with one mask [L8]', async t => {
  const { url, key, upstream } = await startOpen(t)
  const data = new FormData()
  data.append('model', 'alpha-image-2')
  data.append('prompt', 'make it blue')
  const names = ['image[1]', 'image', 'mask', 'image[0]', 'image[]', 'mask', 'image', 'image[7]', 'image[]', 'mask[0]']
  const bytes = names.map((_, i) => png(i + 1, 1))
  for (const [i, name] of names.entries())
    data.append(name, new Blob([new Uint8Array(bytes[i] as Buffer)]), `../../${i}.gif`)
  const answer = await fetch(url + edits, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: data })
  t.equal(answer.status, 200)
  const form = (await upstream.received[0]?.form()) as FormData
  const images = form.getAll('image[]') as File[]
  const masks = form.getAll('mask') as File[]
  const wanted = [0, 1, 3, 4, 6, 7, 8].map(i => sha256(bytes[i] as Buffer))
  t.strictSame(await Promise.all(images.map(async file => sha256(Buffer.from(await file.arrayBuffer())))), wanted)
  t.strictSame(await Promise.all(masks.map(async file => sha256(Buffer.from(await file.arrayBuffer())))), [
    sha256(bytes[2] as Buffer),
  ])
  t.strictSame([...new Set(form.keys())].toSorted(), ['image[]', 'mask', 'model', 'prompt'])
  t.strictSame(
    images.map(file => file.name),
    images.map((_, i) => `image-${i}.png`),
    'no name of the caller’s making',
  )
})

t.test('one image is sent as image', async t => {
  const { url, key, upstream } = await startOpen(t)
  for (const name of ['image', 'image[]', 'image[3]']) {
    const data = new FormData()
    data.append('model', 'alpha-image-2')
    data.append('prompt', '')
    data.append(name, new Blob([new Uint8Array(png(1, 1))]), 'a.png')
    await fetch(url + edits, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: data })
    const form = await upstream.received.at(-1)?.form()
    t.strictSame([...(form?.keys() ?? [])], ['model', 'prompt', 'image'], name)
  }
})

t.test('JSON on edits and a form on generations are 415, with what to send instead [L9]', async t => {
  const started = await startOpen(t)
  const small = form({ model: 'alpha-image-2', prompt: '' })
  for (const [path, contentType, body, wanted] of [
    [edits, json, '{"model":"alpha-image-2","prompt":""}', /multipart\/form-data.*'application\/json'/],
    [edits, 'application/x-www-form-urlencoded', 'model=alpha-image-2', /multipart\/form-data/],
    [edits, 'text/plain', 'x', /multipart\/form-data/],
    [edits, 'multipart/mixed; boundary=x', 'x', /multipart\/form-data/],
    [generations, small.contentType, small.body, /application\/json.*'multipart\/form-data'/],
    [generations, 'application/x-www-form-urlencoded', 'model=alpha-image-2', /application\/json/],
    [generations, 'text/json', '{}', /application\/json/],
    [generations, 'application/jsonp', '{}', /application\/json/],
  ] as const) {
    const answer = await post(started, { path, contentType, body: Buffer.from(body) })
    t.equal(answer.status, 415, `${contentType} on ${path}`)
    t.match(
      await answer.json(),
      {
        error: { type: 'invalid_request_error', code: 'unsupported_content_type', message: wanted },
      },
      caseName({ path, contentType, body, wanted }),
    )
  }
  for (const path of [edits, generations]) {
    const wire = await openWire(started.url)
    await wire.write(requestHead('POST', path, [`Authorization: Bearer ${started.key}`, 'Content-Length: 2']))
    await wire.write('{}')
    const answer = await wire.read()
    t.equal(answer.status, 415, `no content type on ${path}`)
    t.match(answer.body.toString(), /missing/, caseName({ path }))
    wire.socket.destroy()
  }
  t.equal(started.upstream.received.length, 0)
  t.strictSame(await started.charges(), [])
})

t.test('a JSON content type may have parameters or a suffix', async t => {
  const started = await startOpen(t)
  for (const contentType of [
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/vnd.example+json',
    'application/json;',
  ])
    t.equal((await post(started, { ...sizedJson(200), contentType })).status, 200, contentType)
})

t.test(
  "a client that reads nothing is disconnected after the upstream's idle time; its memory is freed and its picture billed [S4]",
  async t => {
    const idleMs = 1_500
    const started = await startOpen(t, {
      edit: [['idle: 120s, total: 15m }   # one', `idle: ${idleMs}ms, total: 15m }   # one`]],
    })
    // Larger than the kernel's buffers for both ends of a connection.
    const large = { created: 1, data: [picture(1254, 1254, (width, height) => jpeg(width, height, 12_000_000))] }
    started.upstream.answer(large)
    const sent = sizedJson(2 ** 20)
    const still = await openWire(started.url)
    still.socket.pause()
    await still.write(headOf(started, sent, `Content-Length: ${sent.body.length}`))
    await still.write(sent.body)
    const slow = await openWire(started.url)
    await slow.write(headOf(started, sent, `Content-Length: ${sent.body.length}`))
    await slow.write(sent.body)
    // A client that reads a little at a time is waited for, whatever the total time.
    slow.socket.on('data', () => slow.socket.pause())
    const takes = setInterval(() => slow.socket.resume(), 10)
    const since = performance.now()
    const answer = await slow.read()
    clearInterval(takes)
    t.ok(performance.now() - since > idleMs, `it took ${Math.round(performance.now() - since)} ms`)
    t.ok(answer.complete)
    t.equal(answer.body.length, JSON.stringify(large).length)
    await started.settled()
    const metrics = await (await fetch(`${started.opsUrl}/metrics`)).text()
    t.match(metrics, /^tollgate_bodies_memory_bytes 0$/m)
    t.equal(started.upstream.sockets, 0, 'nor is a connection to the upstream kept')
    t.strictSame(
      (await started.charges()).map(({ state, amount, delivery }) => `${state} ${amount} ${delivery}`).sort(),
      ['settled 0.04 confirmed', 'settled 0.04 unconfirmed'],
    )
    slow.socket.destroy()
    still.socket.destroy()
  },
)

t.test('a form whose client resets the connection after sending all of it ends at once', async t => {
  const started = await startOpen(t)
  const sent = sizedForm(1_500_000)
  for (let i = 0; i < 40; i++) {
    const wire = await openWire(started.url)
    await wire.write(headOf(started, sent, `Content-Length: ${sent.body.length}`))
    await wire.write(sent.body)
    // At a varying moment of the body's reading.
    await new Promise(resolve => setTimeout(resolve, i % 10))
    wire.socket.resetAndDestroy()
  }
  // Ends before the timeout for a body that stops arriving.
  await started.settled()
  for (const { state } of await started.charges(100)) t.not(state, 'reserved', caseName({ state }))
})
