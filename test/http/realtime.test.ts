import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import httpProxy from 'http-proxy-3'
import t from 'tap'
import type { Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { writeFrame } from '../../src/engine/sessions/frames.ts'
import { type FakeVendor, openTalk, Refused, startVendor, type Talk } from '../harness/web-socket.ts'
import { type Edits, start, type Started } from '../harness/start.ts'

const path = '/v1/realtime?model=sim-realtime'
const opening = [
  `GET ${path} HTTP/1.1`,
  'Host: gateway',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

async function open(t: Test, edit: Edits = []): Promise<{ readonly on: Started; readonly vendor: FakeVendor }> {
  const vendor = await startVendor(t)
  const on = await start(t, {
    upstreams: ['alpha'],
    env: { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' },
    edit,
  })
  return { on, vendor }
}

async function talk(t: Test, edit: Edits = []) {
  const { on, vendor } = await open(t, edit)
  const caller = await openTalk(t, on.url + path, on.key)
  return { on, vendor, caller, model: await vendor.session() }
}

const usage = (input: number, output: number, more: object = {}): object => ({
  total_tokens: input + output,
  input_tokens: input,
  output_tokens: output,
  ...more,
})

/** The vendor sends one response. */
function answer(model: Talk, id: string, used: object | undefined, status = 'completed'): void {
  model.send({ type: 'response.created', response: { id, status: 'in_progress' } })
  model.send({ type: 'response.output_text.delta', response_id: id, delta: 'words' })
  model.send({ type: 'response.done', response: { id, status, ...(used && { usage: used }) } })
}

async function refusal(opening: Promise<unknown>): Promise<Refused> {
  try {
    await opening
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
  throw new Error('it was opened')
}

const code = ({ body }: Refused): string => (JSON.parse(body) as { error: { code: string } }).error.code
const turnsOf = async (on: Started) => (await on.logs()).filter(row => row.status === 200)

t.test('accepts a key in a header, a subprotocol or the query, and never forwards it to the upstream', async t => {
  const { on, vendor } = await open(t)
  const { key, url } = on
  for (const [header, protocols, query] of [
    [{ authorization: `Bearer ${key}` }, [], ''],
    [{ 'api-key': key }, [], ''],
    [{}, ['realtime', `openai-insecure-api-key.${key}`, 'openai-organization.theirs'], ''],
    [{}, [], `&key=${key}`],
  ] as const) {
    const caller = await openTalk(t, url + path + query, undefined, { headers: header, protocols: [...protocols] })
    const { headers, url: requested } = vendor.requests.at(-1) ?? { headers: {}, url: '' }
    const which = caseName({ header, protocols, query })
    t.equal(requested, path, which)
    t.match(headers, { authorization: 'Bearer upstream-secret', upgrade: 'websocket', connection: 'Upgrade' }, which)
    t.notOk(JSON.stringify([headers, requested]).includes(key), which)
    t.equal(headers['sec-websocket-protocol'], protocols.length > 0 ? 'realtime' : undefined, which)
    t.equal(headers['sec-websocket-extensions'], undefined, 'frames stay readable')
    t.equal(caller.socket.extensions, '', which)
    caller.socket.close()
    t.equal((await caller.closed)[0], 1000, which)
  }
})

t.test('refuses an invalid handshake with an HTTP response before the 101', async t => {
  const { on, vendor } = await open(t)
  const { url, key } = on
  const none = await refusal(openTalk(t, url + path, undefined))
  t.strictSame([none.status, code(none)], [401, 'invalid_api_key'])
  t.equal((await refusal(openTalk(t, url + path, 'sk-wrong'))).status, 401)
  const unknown = await refusal(openTalk(t, `${url}/v1/realtime?model=other`, key))
  t.strictSame([unknown.status, code(unknown)], [404, 'model_not_found'])
  for (const [query, status, reason] of [
    ['intent=other', 400, 'session_query'],
    ['intent=transcription&model=sim-realtime', 400, 'session_query'],
    ['call_id=rtc_theirs', 404, 'session_call'],
    ['call_id=rtc_theirs&model=sim-realtime', 404, 'session_call'],
    ['', 400, 'missing_required_parameter'],
  ] as const) {
    const refused = await refusal(openTalk(t, `${url}/v1/realtime?${query}`, key))
    t.strictSame([refused.status, code(refused)], [status, reason], query)
  }
  t.equal((await refusal(openTalk(t, `${url}/v1/realtime?model=sim-chat`, key))).status, 400)
  const plain = await on.get(path)
  t.strictSame([plain.status, plain.headers.get('upgrade')], [426, 'websocket'])
  t.ok(none.headers['x-request-id'])
  t.equal(vendor.requests.length, 0)
  await on.settled()
  t.equal(on.gateway.open, 0)
})

t.test('serves a request for another protocol as an ordinary request', async t => {
  const { on } = await open(t)
  const socket = connect(Number(new URL(on.url).port), '127.0.0.1')
  const body = JSON.stringify({ model: 'none', messages: [] })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${on.key}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const [first] = (await once(socket, 'data')) as [Buffer]
  t.match(first.toString(), /^HTTP\/1\.1 404 .*/)
  socket.destroy()
})

t.test("maps an upstream's refusal to a gateway error, and ends a handshake without a response in time", async t => {
  const { on, vendor } = await open(t, [{ 'upstreams/text/timeouts': { first_byte: '300ms' } }])
  const refuseWith = (status: string, more = ''): void => {
    vendor.answer = socket =>
      void socket.end(
        `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\nset-cookie: a=b\r\n${more}content-length: 2\r\nconnection: close\r\n\r\n{}`,
      )
  }
  refuseWith('401 Unauthorized')
  const bad = await refusal(openTalk(t, on.url + path, on.key))
  t.strictSame([bad.status, code(bad)], [502, 'upstream_credentials'])
  t.equal(bad.headers['set-cookie'], undefined)
  vendor.answer = () => undefined
  const silent = await refusal(openTalk(t, on.url + path, on.key))
  t.ok([502, 504].includes(silent.status))
  vendor.answer = socket =>
    void socket.write(
      'HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: x\r\n\r\n',
    )
  t.equal((await refusal(openTalk(t, on.url + path, on.key))).status, 502)
  await on.settled()
  t.same(await turnsOf(on), [])
})

t.test('charges each turn for its text, audio and cached tokens', async t => {
  const { on, caller, model } = await talk(t)
  const details = {
    input_token_details: {
      text_tokens: 600,
      audio_tokens: 400,
      cached_tokens: 500,
      cached_tokens_details: { text_tokens: 300, audio_tokens: 200 },
    },
    output_token_details: { text_tokens: 100, audio_tokens: 200 },
  }
  caller.send({ type: 'response.create' })
  await model.next('response.create')
  answer(model, 'resp_1', usage(1000, 300, details))
  await caller.next('response.done')
  // Voice detection begins a turn, without a message of the client.
  answer(model, 'resp_2', usage(10, 5))
  t.match(await caller.next('response.done'), { response: { id: 'resp_2' } })
  caller.socket.close()
  await caller.closed
  const turns = await turnsOf(on)
  // 300 text tokens at 4, 200 audio at 32, 500 cached at 0.4, 100 words at 16, 200 audio at 64: per million.
  const amounts = turns.map(row => row.billing?.amount)
  t.strictSame(new Set(amounts), new Set(['0.00012', '0.0222']))
  t.strictSame(new Set(turns.map(row => row.usage.input_tokens)), new Set([10, 1000]))
})

t.test('charges a turn once if the upstream repeats its report, and a new turn with its id again', async t => {
  const { on, caller, model } = await talk(t)
  answer(model, 'resp_1', usage(10, 5))
  model.send({ type: 'response.done', response: { id: 'resp_1', status: 'completed', usage: usage(10, 5) } })
  answer(model, 'resp_1', usage(20, 5))
  for (const _ of 'abc') await caller.next('response.done')
  caller.socket.close()
  await caller.closed
  const inputs = (await turnsOf(on)).map(row => row.usage.input_tokens)
  t.strictSame(new Set(inputs), new Set([10, 20]))
  t.equal(inputs.length, 2)
})

t.test('charges a transcription once if the upstream repeats its report, and each part of an item', async t => {
  const { on, caller, model } = await talk(t)
  const session = { audio: { input: { transcription: { model: 'sim-transcription' } } } }
  model.send({ type: 'session.updated', session })
  await caller.next('session.updated')
  const heard = { type: 'conversation.item.input_audio_transcription.completed', item_id: 'i', transcript: 'words' }
  for (const content_index of [0, 0, 1]) {
    caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
    await model.next('input_audio_buffer.append')
    model.send({ ...heard, content_index, usage: { type: 'duration', seconds: 900 } })
    await caller.next(heard.type)
  }
  caller.socket.close()
  await caller.closed
  t.strictSame(
    (await turnsOf(on)).map(row => row.billing?.amount),
    ['0.006', '0.006'],
  )
})

t.test(
  'charges a transcription at the price of its own model, and ends the session if that model is not allowed',
  async t => {
    const { on, caller, model } = await talk(t)
    const settings = (name: string) => ({
      type: 'session.updated',
      session: { audio: { input: { transcription: { model: name } } } },
    })
    const heard = { type: 'conversation.item.input_audio_transcription.completed', item_id: 'i', transcript: 'words' }
    model.send(settings('sim-transcription'))
    await caller.next('session.updated')
    caller.send({ type: 'input_audio_buffer.append', audio: 'A'.repeat(2_000) })
    await model.next('input_audio_buffer.append')
    model.send({ ...heard, usage: { type: 'duration', seconds: 900 } })
    await caller.next(heard.type)
    model.send(settings('not-here'))
    t.match(await caller.next('error'), { error: { code: 'model_not_found' } })
    t.equal((await caller.closed)[0], 1008)
    t.equal((await model.closed)[0], 1000)
    const turns = await turnsOf(on)
    t.match(turns, [{ model: 'sim-transcription', billing: { amount: '0.006', state: 'settled' } }])
  },
)

t.test('a session that only transcribes names its model in its settings, and is charged by that model', async t => {
  const { on, vendor } = await open(t)
  const url = `${on.url}/v1/realtime?intent=transcription`
  const caller = await openTalk(t, url, on.key)
  const model = await vendor.session()
  t.equal(vendor.requests.at(-1)?.url, '/v1/realtime?intent=transcription')
  const settings = (name: string | null, type = 'session.updated') => ({
    type,
    session: { type: 'transcription', audio: { input: { transcription: name === null ? null : { model: name } } } },
  })
  const heard = { type: 'conversation.item.input_audio_transcription.completed', item_id: 'i', transcript: 'words' }
  model.send(settings(null, 'session.created'))
  model.send(settings('sim-transcription', 'transcription_session.updated'))
  await caller.next('transcription_session.updated')
  for (let i = 0; i < 2; i++) {
    caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' })
    await model.next('input_audio_buffer.append')
    model.send({ ...heard, item_id: `i${i}`, usage: { type: 'duration', seconds: 3 } })
    await caller.next(heard.type)
  }
  caller.socket.close()
  await caller.closed
  const turns = await turnsOf(on)
  t.strictSame(
    turns.map(row => [row.model, row.operation, row.billing?.amount]),
    [1, 2].map(() => ['sim-transcription', 'realtime.transcribe', '0.006']),
  )
  const other = await openTalk(t, url, on.key)
  const next = await vendor.session()
  next.send(settings(null, 'session.created'))
  next.send({ ...heard, usage: { type: 'duration', seconds: 3 } })
  t.match(await other.next('error'), { error: { code: 'session_unmetered' } }, 'its model was never named')
  t.equal((await other.closed)[0], 1011)
  const { key } = await on.newKey({ models: ['sim-chat'] })
  t.equal((await refusal(openTalk(t, url, key))).status, 404)
})

t.test(
  'ends the session between two messages when the budget is spent, with a close code that stops SDKs from reconnecting',
  async t => {
    const { on, vendor } = await open(t)
    const { key } = await on.newKey({ budget: 100_000 })
    const caller = await openTalk(t, on.url + path, key)
    const model = await vendor.session()
    caller.send({ type: 'response.create' })
    await model.next('response.create')
    model.send({ type: 'response.created', response: { id: 'r' } })
    model.send({ type: 'response.done', response: { id: 'r', status: 'completed', usage: usage(10_000, 3_000) } })
    // The message in progress ends first.
    model.socket.send('{"type":"rate_limits', { fin: false })
    t.match(await caller.next('response.done'), { response: { id: 'r' } })
    model.socket.send('.updated"}', { fin: true })
    t.match(await caller.next('error'), { error: { code: 'insufficient_quota' } })
    t.equal((await caller.closed)[0], 1008)
    t.equal((await model.closed)[0], 1000)
    const [turn, ...others] = await turnsOf(on)
    t.match(turn?.billing, { state: 'settled', amount: '0.088' })
    t.same(others, [])
    const refused = await refusal(openTalk(t, on.url + path, key))
    t.equal(code(refused), 'insufficient_quota')
    t.equal(refused.headers['x-should-retry'], 'false')
  },
)

t.test('charges the reported usage when a client disconnects during a turn, and closes every socket', async t => {
  const { on, vendor, caller, model } = await talk(t)
  model.send({ type: 'response.created', response: { id: 'resp_9' } })
  await caller.next('response.created')
  ;(caller.socket as unknown as { readonly _socket: Socket })._socket.resetAndDestroy()
  t.match(await model.next('response.cancel'), { response_id: 'resp_9' })
  model.send({ type: 'response.done', response: { id: 'resp_9', status: 'cancelled', usage: usage(100, 50) } })
  t.equal((await model.closed)[0], 1000)
  const rows = await on.logs()
  t.match(
    rows.find(row => row.status === 101),
    { outcome: 'caller_gone' },
  )
  t.match(rows.find(row => row.status === 200)?.billing, { state: 'settled', amount: '0.0012' })
  t.equal(vendor.open, 0)
})

t.test('releases everything when a client disconnects before the 101', async t => {
  const { on, vendor } = await open(t)
  const held: { socket?: import('node:stream').Duplex } = {}
  const reached = new Promise<void>(resolve => {
    vendor.answer = socket => {
      held.socket = socket
      resolve()
    }
  })
  const socket = connect(Number(new URL(on.url).port), '127.0.0.1')
  socket.write([...opening, `Authorization: Bearer ${on.key}`, '', ''].join('\r\n'))
  await reached
  const closed = once(held.socket as object as NodeJS.EventEmitter, 'end')
  held.socket?.resume().on('end', () => held.socket?.end())
  socket.resetAndDestroy()
  await closed
  await on.settled()
  t.match(await on.logs(), [{ outcome: 'caller_gone' }])
  t.equal(vendor.open, 0)
})

t.test('charges usage reports in fragments, large messages and binary frames', async t => {
  const { on, caller, model } = await talk(t)
  const done = (id: string, more: object = {}) =>
    JSON.stringify({ type: 'response.done', response: { id, status: 'completed', usage: usage(10, 5), ...more } })
  const begin = (id: string): void => model.send({ type: 'response.created', response: { id } })
  begin('a')
  const text = done('a')
  model.socket.send(text.slice(0, 30), { fin: false })
  model.socket.ping()
  model.socket.send(text.slice(30), { fin: true })
  await caller.next('response.done')
  begin('b')
  model.socket.send(done('b', { output: 'x'.repeat(200_000) }))
  await caller.next('response.done')
  begin('c')
  model.socket.send(Buffer.from(done('c')), { binary: true })
  await caller.next('response.done')
  model.send({ type: 'response.output_audio.delta', delta: 'A'.repeat(3_000_000) })
  await caller.next('response.output_audio.delta')
  t.equal(caller.events.length, 7)
  caller.socket.close()
  await caller.closed
  t.strictSame(
    (await turnsOf(on)).map(row => row.billing?.amount),
    ['0.00012', '0.00012', '0.00012'],
  )
})

t.test('ends the session after an invalid client frame or an unreadable upstream frame', async t => {
  const { on, vendor } = await open(t, [{ 'routes/9/session/message_max': '64KiB' }])
  for (const [bytes, closes] of [
    [writeFrame(1, Buffer.from('{}'), false), 1002],
    [Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), 1002],
    [Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
  ] as const) {
    const caller = await openTalk(t, on.url + path, on.key)
    ;(caller.socket as unknown as { readonly _socket: Socket })._socket.write(bytes)
    t.match(await caller.next('error'), { error: { code: 'session_message' } }, bytes.toString('hex'))
    t.equal((await caller.closed)[0], closes, bytes.toString('hex'))
    t.equal((await (await vendor.session()).closed)[0], 1000, bytes.toString('hex'))
  }
  const long = await openTalk(t, on.url + path, on.key)
  long.socket.send('x'.repeat(70_000))
  t.equal((await long.closed)[0], 1009)
  await vendor.session()
  const caller = await openTalk(t, on.url + path, on.key)
  const model = await vendor.session()
  ;(model.socket as unknown as { readonly _socket: Socket })._socket.write(Buffer.from([0xc1, 1, 0]))
  t.match(await caller.next('error'), { error: { code: 'session_unmetered' } })
  t.equal((await caller.closed)[0], 1011)
  t.same(await turnsOf(on), [])
})

t.test('limits concurrent sessions of each key, and frees the slot when a session ends', async t => {
  const { on } = await open(t, [{ 'groups/default': { concurrency: 1 } }])
  const caller = await openTalk(t, on.url + path, on.key)
  const second = await refusal(openTalk(t, on.url + path, on.key))
  t.strictSame([second.status, code(second)], [429, 'rate_limit_exceeded'])
  caller.socket.close()
  await caller.closed
  await on.settled()
  const third = await openTalk(t, on.url + path, on.key)
  third.socket.close()
  await third.closed
})

t.test('ends a session that is idle or has reached its maximum duration', async t => {
  const idle = await talk(t, [['idle: 15m', 'idle: 200ms']])
  t.match(await idle.caller.next('error'), { error: { code: 'session_idle' } })
  t.equal((await idle.caller.closed)[0], 1000)
  const old = await talk(t, [['total: 60m', 'total: 200ms']])
  t.match(await old.caller.next('error'), { error: { code: 'session_expired' } })
  t.equal((await old.caller.closed)[0], 1001)
  t.match(await old.on.logs(), [{ status: 101, outcome: 'deadline', error_code: undefined }])
})

t.test('reports an upstream that disconnects, and charges nothing for its turn', async t => {
  const { on, caller, model } = await talk(t)
  model.send({ type: 'response.created', response: { id: 'r' } })
  await caller.next('response.created')
  model.socket.terminate()
  t.match(await caller.next('error'), { error: { code: 'session_upstream_gone' } })
  t.equal((await caller.closed)[0], 1011)
  t.match(
    (await on.logs()).map(row => row.billing?.amount ?? null),
    [null, null],
  )
})

t.test('lets a running turn end before it ends the session when the gateway stops', async t => {
  const { on, caller, model } = await talk(t)
  model.send({ type: 'response.created', response: { id: 'r' } })
  await caller.next('response.created')
  const closing = on.gateway.close()
  model.send({ type: 'response.done', response: { id: 'r', status: 'completed', usage: usage(10, 5) } })
  t.match(await caller.next('response.done'), { response: { id: 'r' } })
  t.equal((await caller.closed)[0], 1012)
  await closing
})

t.test('applies backpressure in both directions', async t => {
  const { on, caller, model } = await talk(t)
  const before = process.memoryUsage().rss
  caller.socket.pause()
  const chunk = JSON.stringify({ type: 'response.output_audio.delta', delta: 'A'.repeat(1_000_000) })
  for (let i = 0; i < 100; i++) model.socket.send(chunk)
  const raw = (model.socket as unknown as { readonly _socket: Socket })._socket
  await new Promise(resolve => setImmediate(resolve))
  t.ok(raw.writableLength > 50_000_000, 'the vendor holds what it could not send')
  t.ok(process.memoryUsage().rss - before < 400_000_000)
  caller.socket.resume()
  while (caller.events.length < 100) await once(caller.socket, 'message')
  caller.socket.close()
  await caller.closed
  await on.settled()
})

t.test('sends every WebSocket through proxy.ws of http-proxy-3, and no other request', async t => {
  const frame = httpProxy as { createProxyServer: typeof httpProxy.createProxyServer }
  const make = frame.createProxyServer
  const shut = (): never => {
    throw new Error('the proxy is shut')
  }
  frame.createProxyServer = ((...options: Parameters<typeof make>) =>
    Object.assign(make(...options), { web: shut, ws: shut })) as typeof make
  try {
    const { on, vendor } = await open(t)
    t.match(await refusal(openTalk(t, on.url + path, on.key)), { status: 500 })
    t.equal(vendor.requests.length, 0, 'nothing has left')
    const image = { model: 'alpha-image-2', prompt: 'a boat' }
    await (await on.post('/v1/images/generations', image)).arrayBuffer()
    t.equal(on.upstream.received.length, 1, 'a request of another kind does not go through the library')
  } finally {
    frame.createProxyServer = make
  }
})
