import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import httpProxy from 'http-proxy-3'
import t, { type Test } from 'tap'
import { opcodes, unmask, writeFrame } from '../../src/engine/sessions/frames.ts'
import { openTalk, startVendor } from '../harness/web-socket.ts'
import { type Edits, start } from '../harness/start.ts'

// Faults around WebSockets that other files do not test, and pitfalls in reading frames.

const path = '/v1/realtime?model=sim-realtime'
const oneMiB = 1024 * 1024

async function open(t: Test, edit: Edits = []) {
  const vendor = await startVendor(t)
  const env = { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' }
  return { vendor, on: await start(t, { upstreams: ['alpha'], env, edit }) }
}

/** A client that reads and writes bytes. */
function dial(t: Test, { url, key }: { readonly url: string; readonly key: string }) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  const chunks: Buffer[] = []
  socket.on('error', () => undefined).on('data', chunk => void chunks.push(chunk))
  socket.write(
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
    ].join('\r\n'),
  )
  const received = (): Buffer => Buffer.concat(chunks)
  return {
    socket,
    received,
    async until(word: string): Promise<Buffer> {
      while (!received().includes(word)) await once(socket, 'data')
      return received()
    },
  }
}

/** A vendor's 101 answer, with headers of its own and the first frames. */
function accept(socket: Duplex, { headers }: IncomingMessage, more: readonly string[], frames = Buffer.alloc(0)): void {
  const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}`,
    ...more,
    '',
    '',
  ].join('\r\n')
  socket.write(Buffer.concat([Buffer.from(head), frames]))
}

const event = (message: object): Buffer => writeFrame(opcodes.text, Buffer.from(JSON.stringify(message)), false)

/** A masked frame, as clients send. */
function masked(message: object, mask: Buffer): Buffer {
  const frame = writeFrame(opcodes.text, Buffer.from(JSON.stringify(message)), true)
  const at = frame.length - JSON.stringify(message).length
  mask.copy(frame, at - 4)
  unmask(frame.subarray(at), mask, 0).copy(frame, at)
  return frame
}

t.test('frames that arrive with the 101 reach the client, and are charged', async t => {
  const { on, vendor } = await open(t)
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  vendor.answer = (socket, request) =>
    accept(
      socket,
      request,
      [],
      Buffer.concat([
        event({ type: 'response.created', response: { id: 'r' } }),
        event({ type: 'response.done', response: { id: 'r', status: 'completed', usage } }),
      ]),
    )
  const client = dial(t, on)
  const received = await client.until('response.done')
  t.ok(received.includes('response.created'))
  client.socket.destroy()
  const turns = (await on.logs()).filter(row => row.status === 200)
  t.match(turns, [{ billing: { state: 'settled', amount: '0.00012' } }])
})

t.test("the client's bytes reach the upstream unchanged, including special ones", async t => {
  const { on, vendor } = await open(t)
  const got: Buffer[] = []
  const held: { socket?: Duplex } = {}
  vendor.answer = (socket, request) => {
    held.socket = socket
    socket.on('data', (chunk: Buffer) => void got.push(chunk))
    accept(socket, request, [])
  }
  const client = dial(t, on)
  await client.until('\r\n\r\n')
  const mask = Buffer.from([0x12, 0xfe, 0x56, 0x78])
  const sent = Buffer.concat([
    masked({ type: 'input_audio_buffer.append', audio: 'A'.repeat(70_000) }, mask),
    masked({ type: 'response.create' }, Buffer.from([1, 2, 3, 4])),
  ])
  const copy = Buffer.from(sent)
  for (const [from, to] of [
    [0, 1],
    [1, 69_000],
    [69_000, sent.length],
  ] as const)
    await new Promise<void>(resolve => client.socket.write(sent.subarray(from, to), () => resolve()))
  while (Buffer.concat(got).length < copy.length) await once(held.socket as Duplex, 'data')
  t.ok(Buffer.concat(got).equals(copy))
  client.socket.destroy()
  await on.settled()
})

t.test('the 101 has only headers of the gateway', async t => {
  const { on, vendor } = await open(t)
  vendor.answer = (socket, request) =>
    accept(socket, request, ['Set-Cookie: a=b', 'OpenAI-Organization: org-secret', 'X-Request-Id: theirs', 'Server: v'])
  const client = dial(t, on)
  const head = (await client.until('\r\n\r\n')).toString('latin1')
  const names = head
    .split('\r\n')
    .slice(1)
    .flatMap(line => /^([^:]+):/.exec(line)?.[1]?.toLowerCase() ?? [])
  t.notMatch(head, /theirs|org-secret|a=b/)
  t.same(
    names.filter(name => !name.startsWith('sec-websocket-') && !name.startsWith('x-ratelimit-')).toSorted(),
    ['connection', 'request-id', 'upgrade', 'x-request-id'].filter(name => names.includes(name)),
  )
  t.ok(names.includes('x-request-id'))
  client.socket.destroy()
})

t.test('a refusal that breaks off ends the request of the client', async t => {
  const { on, vendor } = await open(t)
  vendor.answer = socket => {
    socket.write('HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"error"')
    setImmediate(() => socket.destroy())
  }
  const client = dial(t, on)
  await once(client.socket, 'close')
  t.notMatch(client.received().toString('latin1'), /^HTTP\/1\.1 101/)
  await on.settled()
  t.equal(on.gateway.open, 0)
})

t.test('a refusal without an end is not held in memory', async t => {
  const { on, vendor } = await open(t)
  const held: { socket?: Duplex } = {}
  const chunk = Buffer.alloc(oneMiB, 'x')
  vendor.answer = socket => {
    held.socket = socket
    socket.write('HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n\r\n')
    for (let i = 0; i < 100; i++) socket.write(chunk)
  }
  const client = dial(t, on)
  client.socket.pause()
  while (!held.socket) await new Promise(resolve => setTimeout(resolve, 5))
  const vendorSide = held.socket
  for (let before = -1; before !== vendorSide.writableLength && !vendorSide.destroyed; ) {
    before = vendorSide.writableLength
    await new Promise(resolve => setTimeout(resolve, 300))
  }
  t.ok(vendorSide.destroyed || vendorSide.writableLength > 50 * oneMiB, 'the vendor holds it, or was refused')
  client.socket.destroy()
  await on.settled()
})

t.test('the connection to the upstream has a TCP keep-alive below a minute', async t => {
  const table = '/proc/net/tcp'
  if (!existsSync(table)) {
    t.comment('only Linux shows the timers of sockets')
    return
  }
  const { on, vendor } = await open(t)
  const caller = await openTalk(t, on.url + path, on.key)
  await vendor.session()
  const port = Number(new URL(vendor.url).port).toString(16).toUpperCase().padStart(4, '0')
  // Columns: the remote address, and the timer: its kind (2: keep-alive), and the hundredths of a second until it
  // expires.
  const timers = (await readFile(table, 'utf8')).split('\n').flatMap(line => {
    const [, , remote = '', state, , timer = ''] = line.trim().split(/\s+/)
    return remote.endsWith(`:${port}`) && state === '01' ? [timer] : []
  })
  t.equal(timers.length, 1)
  const [kind, ticks = ''] = timers[0]?.split(':') ?? []
  t.equal(kind, '02')
  t.ok(Number.parseInt(ticks, 16) <= 6_000, `in ${Number.parseInt(ticks, 16) / 100} s`)
  caller.socket.close()
  await caller.closed
})

t.test('the library gets no TLS options that it could change', async t => {
  const frame = httpProxy as { createProxyServer: typeof httpProxy.createProxyServer }
  const make = frame.createProxyServer
  const given: unknown[] = []
  frame.createProxyServer = ((...options: Parameters<typeof make>) => {
    const proxy = make(...options)
    const { ws } = proxy
    given.push(...options)
    return Object.assign(proxy, {
      ws: (...args: Parameters<typeof ws>) => {
        given.push(args[3])
        return ws.apply(proxy, args)
      },
    })
  }) as typeof make
  try {
    const { on, vendor } = await open(t)
    for (let i = 0; i < 2; i++) {
      const caller = await openTalk(t, on.url + path, on.key)
      await vendor.session()
      caller.socket.close()
      t.equal((await caller.closed)[0], 1000, `session ${i}`)
    }
    t.ok(given.length >= 2, 'the sessions went through the library')
    for (const [i, options] of given.entries()) t.notOk(Object.hasOwn(Object(options) as object, 'ssl'), `call ${i}`)
  } finally {
    frame.createProxyServer = make
  }
})

t.test('a client that floods a non-reading upstream gets backpressure', async t => {
  const { on, vendor } = await open(t, [['session: { idle: 15m', 'session: { message_max: 2MiB, idle: 15m']])
  const caller = await openTalk(t, on.url + path, on.key)
  const model = await vendor.session()
  model.socket.pause()
  const message = JSON.stringify({ type: 'input_audio_buffer.append', audio: 'A'.repeat(1_000_000) })
  for (let i = 0; i < 40; i++) caller.socket.send(message)
  for (let last = -1; last !== caller.socket.bufferedAmount; ) {
    last = caller.socket.bufferedAmount
    await new Promise(resolve => setTimeout(resolve, 300))
  }
  t.ok(caller.socket.bufferedAmount > 20_000_000, 'the client holds what it could not send')
  model.socket.resume()
  while (model.events.length < 40) await once(model.socket, 'message')
  caller.socket.close()
  t.equal((await caller.closed)[0], 1000, 'nothing is lost')
})
