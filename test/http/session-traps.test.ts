import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Test } from 'tap'
import { FrameWalker, MaskedSearch, opcodes, unmask, writeFrame } from '../../src/engine/sessions/frames.ts'
import { caseName } from '../harness/case-name.ts'
import { openTalk, startVendor, type Talk } from '../harness/web-socket.ts'
import { type Edits, start } from '../harness/start.ts'

const path = '/v1/realtime?model=sim-realtime'
const handshake = (key: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    'Host: gateway',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Authorization: Bearer ${key}`,
    '',
    '',
  ].join('\r\n')

/** A clock that a test advances; long sleeps end only by that, short timers run as usual. */
class AheadTime {
  #aheadMs = 0
  #sleeps: { readonly until: number; wake(): void }[] = []
  readonly now = (): number => Date.now() + this.#aheadMs
  readonly tick = (): number => performance.now() + this.#aheadMs

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise(resolve => {
      signal?.addEventListener('abort', () => resolve())
      if (ms < 5_000) setTimeout(resolve, ms)
      else this.#sleeps.push({ until: this.tick() + ms, wake: resolve })
    })

  pass(ms: number): void {
    this.#aheadMs += ms
    for (const one of this.#sleeps) if (one.until <= this.tick()) one.wake()
  }
}

async function open(t: Test, edit: Edits = []) {
  const vendor = await startVendor(t)
  const time = new AheadTime()
  const env = { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' }
  const on = await start(t, { upstreams: ['alpha'], env, edit, clock: time })
  return { vendor, time, on }
}

async function talk(t: Test, edit: Edits = [], options: object = {}) {
  const opened = await open(t, edit)
  const caller = await openTalk(t, opened.on.url + path, opened.on.key, options)
  return { ...opened, caller, model: await opened.vendor.session() }
}

function answer(model: Talk, id: string): void {
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  model.send({ type: 'response.created', response: { id } })
  model.send({ type: 'response.done', response: { id, status: 'completed', usage } })
}

const rawOf = ({ socket }: Talk): Socket => (socket as unknown as { readonly _socket: Socket })._socket

/** From now on it neither reads nor answers pings, like a peer whose machine is gone. */
function fallSilent({ socket }: Talk): void {
  Object.assign(socket, { _autoPong: false })
}

t.test('pings both sides after silence, and keeps a session whose sides answer', async t => {
  const { time, caller, model } = await talk(t)
  for (let i = 0; i < 5; i++) {
    const pings = [once(caller.socket, 'ping'), once(model.socket, 'ping')]
    time.pass(31_000)
    await Promise.all(pings)
    // Messages sent after each side's pong arrive behind it.
    caller.send({ type: 'input_audio_buffer.clear' })
    await model.next('input_audio_buffer.clear')
    model.send({ type: 'input_audio_buffer.cleared' })
    await caller.next('input_audio_buffer.cleared')
  }
  caller.socket.close()
  t.equal((await caller.closed)[0], 1000)
})

t.test('ends a session whose upstream no longer answers pings with 1011', async t => {
  const { time, caller, model } = await talk(t)
  fallSilent(model)
  for (let i = 0; i < 3; i++) {
    const ping = once(caller.socket, 'ping')
    time.pass(31_000)
    if (i < 2) await ping
    else ping.catch(() => undefined)
  }
  t.match(await caller.next('error'), { error: { code: 'session_upstream_gone' } })
  t.equal((await caller.closed)[0], 1011)
})

t.test('keeps a session whose client needs minutes to send a message', async t => {
  const { time, caller, model } = await talk(t)
  const message = { type: 'input_audio_buffer.append', audio: 'AAAA' }
  const frame = writeFrame(opcodes.text, Buffer.from(JSON.stringify(message)), true)
  // A pong within the message would be a part of it.
  fallSilent(caller)
  for (let at = 0; at < 8; at++) {
    const sent = once(rawOf(model), 'data')
    rawOf(caller).write(frame.subarray(at, at + 1))
    await sent
    const ping = once(caller.socket, 'ping')
    time.pass(31_000)
    await ping
  }
  rawOf(caller).write(frame.subarray(8))
  t.match(await model.next(message.type), message)
  caller.socket.close()
  t.equal((await caller.closed)[0], 1000)
})

t.test('ends a session whose client no longer answers pings, and closes the upstream', async t => {
  const { on, time, caller, model } = await talk(t)
  fallSilent(caller)
  for (let i = 0; i < 3; i++) {
    const ping = once(model.socket, 'ping')
    time.pass(31_000)
    if (i < 2) await ping
    else ping.catch(() => undefined)
  }
  t.equal((await model.closed)[0], 1000)
  t.match(await on.logs(), [{ status: 101, outcome: 'caller_gone' }])
})

t.test(
  'a revoked key ends its session at the next turn, with a close code that stops SDKs from reconnecting',
  async t => {
    const { on, vendor } = await open(t)
    const { key, id } = await on.newKey()
    const caller = await openTalk(t, on.url + path, key)
    const model = await vendor.session()
    await on.gateway.storage.keys.revoke(id, 'test')
    answer(model, 'r')
    await caller.next('response.done')
    t.match(await caller.next('error'), { error: { code: 'invalid_api_key' } })
    t.equal((await caller.closed)[0], 1008)
    t.equal((await model.closed)[0], 1000)
    const turns = (await on.logs()).filter(row => row.status === 200)
    t.match(turns, [{ billing: { state: 'settled', amount: '0.00012' } }], 'the turn that ran is charged')
  },
)

t.test('a key that is revoked after the admission of a turn is detected when that turn begins', async t => {
  const { on, vendor } = await open(t)
  const { key, id } = await on.newKey()
  const caller = await openTalk(t, on.url + path, key)
  const model = await vendor.session()
  await on.gateway.storage.keys.revoke(id, 'test')
  caller.send({ type: 'response.create' })
  await model.next('response.create')
  model.send({ type: 'response.created', response: { id: 'r' } })
  t.match(await caller.next('error'), { error: { code: 'invalid_api_key' } })
  t.equal((await caller.closed)[0], 1008)
  await model.next('response.cancel')
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  model.send({ type: 'response.done', response: { id: 'r', status: 'cancelled', usage } })
  await model.closed
  const turns = (await on.logs()).filter(row => row.status === 200)
  t.match(turns, [{ billing: { state: 'settled', amount: '0.00012' } }], 'what the turn used is charged')
})

t.test('a session whose client only answers pings is idle', async t => {
  const { on, vendor } = await open(t, [{ 'routes/9/session/idle': '1s', 'routes/9/session/ping': '200ms' }])
  const caller = await openTalk(t, on.url + path, on.key)
  await vendor.session()
  await Promise.all([once(caller.socket, 'ping'), caller.next('error')])
  t.equal((await caller.closed)[0], 1000)
  t.match(await on.logs(), [{ status: 101, outcome: 'deadline' }])
})

t.test('charges the report of a turn whose client disconnects within a message', async t => {
  const { on, caller, model } = await talk(t)
  model.send({ type: 'response.created', response: { id: 'r' } })
  await caller.next('response.created')
  rawOf(caller).write(Buffer.from([0x81]))
  caller.socket.terminate()
  while (on.gateway.open > 0 && model.socket.readyState === model.socket.OPEN) {
    // The gateway cannot cancel the turn, so the upstream completes it.
    answer(model, 'r')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  await on.settled()
  const turns = (await on.logs()).filter(row => row.status === 200)
  t.match(turns, [{ billing: { state: 'settled', amount: '0.00012' } }])
})

t.test('a message that starts a turn is one turn also under a mask of zeros', async t => {
  const { on, caller, model } = await talk(t, [
    ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: { rpm: 4 }'],
  ])
  for (const id of ['a', 'b']) {
    const message = JSON.stringify({ type: 'response.create' }).padEnd(2_000)
    rawOf(caller).write(writeFrame(opcodes.text, Buffer.from(message), true))
    await model.next('response.create')
    answer(model, id)
    t.match(await caller.next('response.done'), { response: { id } }, id)
  }
  caller.socket.close()
  await caller.closed
  t.notOk(caller.events.some(({ type }) => type === 'error'))
  t.equal((await on.logs()).filter(row => row.status === 200).length, 2)
})

t.test('ends a session whose upstream sends a report that is too long to be read', async t => {
  const { caller, model } = await talk(t)
  const long = 'x'.repeat(1_100_000)
  model.send({ type: 'response.output_audio.delta', delta: long })
  await caller.next('response.output_audio.delta')
  model.send({ type: 'session.updated', session: { instructions: long } })
  t.match(await caller.next('error'), { error: { code: 'session_unmetered' } })
  t.equal((await caller.closed)[0], 1011)
})

t.test('a turn beyond the request limit waits, with an error event, until the limit allows it', async t => {
  const { on, time, caller, model } = await talk(t, [
    ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: { rpm: 3 }'],
  ])
  caller.send({ type: 'response.create' })
  await model.next('response.create')
  answer(model, 'a')
  await caller.next('response.done')
  // The session, the first turn and the spare turn after it are three requests.
  caller.send({ type: 'response.create' })
  await model.next('response.create')
  answer(model, 'b')
  t.match(await caller.next('error'), { error: { code: 'rate_limit_exceeded' } })
  caller.send({ type: 'response.create' })
  await caller.next('response.done')
  t.equal(model.events.filter(({ type }) => type === 'response.create').length, 2, 'it is not forwarded yet')
  // In one step, neither side could answer a ping before its timeout.
  const pings = [once(caller.socket, 'ping'), once(model.socket, 'ping')]
  time.pass(31_000)
  await Promise.all(pings)
  for (let i = 0; i < 100; i++) await new Promise(resolve => setImmediate(resolve))
  time.pass(30_000)
  await model.next('response.create')
  answer(model, 'c')
  await caller.next('response.done')
  caller.socket.close()
  t.equal((await caller.closed)[0], 1000)
  t.equal((await on.logs()).filter(row => row.status === 200).length, 3)
})

t.test('a client that resets during its key look-up leaves nothing behind', async t => {
  const { on, vendor } = await open(t)
  const sockets = Array.from({ length: 20 }, () => connect(Number(new URL(on.url).port), '127.0.0.1'))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  for (const socket of sockets)
    socket.on('error', () => undefined).write(handshake(on.key), () => socket.resetAndDestroy())
  await on.settled()
  const after = await openTalk(t, on.url + path, on.key)
  after.socket.close()
  t.equal((await after.closed)[0], 1000, 'the gateway is alive')
  await on.settled()
  t.equal(on.gateway.open, 0)
  for (let i = 0; i < 100 && vendor.open > 0; i++) await new Promise(resolve => setImmediate(resolve))
  t.ok(vendor.open <= 1)
})

t.test('writes nothing but frames once a WebSocket is open, also when the upstream breaks off', async t => {
  const { on, vendor } = await open(t)
  const socket: Socket = connect(Number(new URL(on.url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', chunk => void chunks.push(chunk))
  socket.write(handshake(on.key))
  const model = await vendor.session()
  model.send({ type: 'response.created', response: { id: 'r' } })
  while (!Buffer.concat(chunks).includes('response.created')) await once(socket, 'data')
  ;(model.socket as unknown as { readonly _socket: Socket })._socket.resetAndDestroy()
  await once(socket, 'end')
  socket.destroy()
  const received = Buffer.concat(chunks)
  const body = received.subarray(received.indexOf('\r\n\r\n') + 4)
  t.match(received.toString('latin1'), /^HTTP\/1\.1 101 /)
  t.notMatch(body.toString('latin1'), /HTTP\/1\.1/)
  const kinds: number[] = []
  for (let at = 0; at < body.length; ) {
    kinds.push((body[at] as number) & 0x0f)
    const short = body[at + 1] as number
    at += short === 126 ? 4 + body.readUInt16BE(at + 2) : 2 + short
  }
  t.strictSame(kinds, [1, 1, 8], 'an event, the error, and the close')
})

t.test('a message in fragments of one byte takes memory for its bytes only', async t => {
  const received: (Buffer | undefined)[] = []
  const walker = new FrameWalker(
    { onMessage: payload => void received.push(payload), onClose: () => undefined },
    { isMasked: false, messageBytesMax: Infinity, keptBytesMax: 1024 * 1024 },
  )
  const more = writeFrame(opcodes.more, Buffer.from('x'), false)
  more[0] = opcodes.more
  const chunk = Buffer.concat(Array<Buffer>(10_000).fill(more))
  const begin = Buffer.from(more)
  begin[0] = opcodes.text
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  walker.read(begin)
  for (let i = 0; i < 50; i++) walker.read(chunk)
  collect()
  const perFragment = (process.memoryUsage().heapUsed - before) / 500_000
  t.ok(perFragment < 50, `${Math.round(perFragment)} bytes of the heap for each fragment`)
  walker.read(writeFrame(opcodes.more, Buffer.alloc(0), false))
  t.strictSame(received, [Buffer.alloc(500_001, 'x')])
})

t.test('finds a word in masked bytes at every mask offset and across every cut', async t => {
  const word = '"fileUri"'
  const text = Buffer.from(`{"a":1,${word}:"x"}`)
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78])
  // Long pieces are searched without unmasking them. Some clients use a mask of zeros.
  const masks = [mask, Buffer.from([0, 0, 0, 0]), Buffer.from([0x12, 0x34, 0x12, 0x34])]
  const spaces = [0, 2_000].map(count => Buffer.alloc(count, ' '))
  for (const blank of spaces)
    for (const own of masks)
      for (let at = 0; at <= text.length; at++)
        for (let phase = 0; phase < 4; phase++) {
          const search = new MaskedSearch([word])
          const cut = blank.length + at
          const masked = unmask(Buffer.concat([blank, text, blank]), own, phase)
          const found =
            search.count(masked.subarray(0, cut), own, phase) + search.count(masked.subarray(cut), own, phase + cut)
          t.equal(found, 1, caseName({ mask: own.toString('hex'), blanks: blank.length, cut, phase }))
        }
  const bytewise = new MaskedSearch([word])
  const found = [...text].reduce(
    (sum, _byte, i) => sum + bytewise.count(unmask(text.subarray(i, i + 1), mask, 0), mask, 0),
    0,
  )
  t.equal(found, 1, 'byte by byte')
})
