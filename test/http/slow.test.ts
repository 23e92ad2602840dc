import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { countSockets, modelName, startEngine } from '../harness/engine.ts'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { exchangeRaw, openWire, requestHead } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'

const chat = '/v1/chat/completions'
const body = JSON.stringify({ model: modelName, stream: true })
const json = 'Content-Type: application/json'
const whole = requestHead('POST', chat, [json, `Content-Length: ${body.length}`]) + body

/** A connection that reads nothing until the test resumes it. */
async function connectDeaf(t: Test, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.pause()
  await once(socket, 'connect')
  t.teardown(() => socket.destroy())
  return socket
}

/**
 * Writes as fast as the connection accepts data, until `total` bytes are written or it closes; resolves with the number
 * written.
 */
async function pour(res: ServerResponse, bytes: number): Promise<number> {
  const block = Buffer.alloc(65_536, 'x')
  let written = 0
  const gone = once(res, 'close')
  while (written < bytes && !res.destroyed) {
    written += block.length
    if (!res.write(block)) await Promise.race([once(res, 'drain'), gone])
  }
  if (!res.destroyed) res.end()
  return written
}

/** The maximum growth of resident memory during `work`. */
async function watchMemory<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly grown: number }> {
  const from = process.memoryUsage().rss
  let most = from
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 20)
  try {
    return { result: await work(), grown: most - from }
  } finally {
    clearInterval(timer)
  }
}

t.test('a client that sends no request, or its head too slowly, gets 408 after ten seconds [S1]', async t => {
  const { url } = await startEngine(t)
  const silent = await openWire(url)
  const dripping = await openWire(url)
  const from = performance.now()
  const lines = requestHead('GET', '/v1/models', ['X-A: 1']).slice(0, -2)
  let at = 0
  const drip = setInterval(() => {
    if (!dripping.socket.destroyed) dripping.socket.write(at < lines.length ? (lines[at++] as string) : 'X')
  }, 100)
  t.teardown(() => clearInterval(drip))
  for (const [what, wire] of Object.entries({ dripping, silent })) {
    const answer = await wire.read()
    const seconds = (performance.now() - from) / 1000
    t.comment(`${what}: closed after ${seconds.toFixed(1)} s`)
    t.equal(answer.status, 408, what)
    t.match(answer.headers['x-request-id'], /^req_/, caseName({ what, wire }))
    t.match(JSON.parse(answer.body.toString()), { error: { code: 'request_too_slow' } }, caseName({ what, wire }))
    t.ok(seconds > 9 && seconds < 20, String(seconds))
    await wire.ended
    wire.socket.destroy()
  }
})

t.test('a body that arrives too slowly is abandoned, and one at the minimum rate is not [S2]', async t => {
  const { url, rows, settled, upstreams } = await startEngine(t, { callers: { bodyPace: { bytes: 1_000, ms: 400 } } })
  for (const [framing, piece] of [
    ['Content-Length: 100000', ' '],
    ['Transfer-Encoding: chunked', '1\r\n \r\n'],
    ['Content-Length: 100000', ''],
  ] as const) {
    const wire = await openWire(url)
    await wire.write(requestHead('POST', chat, [json, framing]))
    const drip = setInterval(() => {
      if (!wire.socket.destroyed) wire.socket.write(piece)
    }, 20)
    const answer = await wire.read()
    clearInterval(drip)
    wire.socket.destroy()
    t.equal(answer.status, 408, `${framing} ${JSON.stringify(piece)}`)
    t.match(JSON.parse(answer.body.toString()), { error: { code: 'body_too_slow' } }, caseName({ framing, piece }))
    t.equal(answer.headers['x-should-retry'], 'false', caseName({ framing, piece }))
  }
  await settled()
  t.equal(rows.length, 3)
  t.equal(upstreams[0]?.received.length, 0)
  const steady = await openWire(url)
  const padded = JSON.stringify({ model: modelName, pad: 'x'.repeat(20_000) })
  await steady.write(requestHead('POST', chat, [json, `Content-Length: ${padded.length}`]))
  for (let at = 0; at < padded.length; at += 1_000) {
    await steady.write(padded.slice(at, at + 1_000))
    await new Promise(resolve => setTimeout(resolve, 40))
  }
  t.equal((await steady.read()).status, 200, 'twice as long as the limit, but steady')
  steady.socket.destroy()
})

t.test('500 clients with unfinished heads do not block others [S3]', async t => {
  const { url, post } = await startEngine(t)
  const measure = async (): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < 60; i++) {
      const from = performance.now()
      const answer = await post()
      await answer.text()
      t.equal(answer.status, 200, caseName({ i }))
      times.push(performance.now() - from)
    }
    return times.sort((a, b) => a - b)[30] as number
  }
  await measure()
  const before = await measure()
  const slow = await Promise.all(Array.from({ length: 500 }, () => connectDeaf(t, url)))
  for (const socket of slow) socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-A:')
  const during = await measure()
  t.comment(`honest p50 ${before.toFixed(2)} ms alone, ${during.toFixed(2)} ms beside 500 slow heads; errors 0`)
  t.ok(during < before * 5 + 20)
  for (const socket of slow) socket.destroy()
})

t.test('200 MB for a client that does not read stay with the upstream, and it is disconnected [S4, STR-9]', async t => {
  const total = 200 * 1024 * 1024
  const { url, upstreams, rows, settled } = await startEngine(t, { callers: { writeIdleMs: 1_500 } })
  const { promise: poured, resolve: end } = Promise.withResolvers<number>()
  upstreams[0]?.answer(async res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    end(await pour(res, total))
  })
  const socket = await connectDeaf(t, url)
  const from = performance.now()
  const { result: written, grown } = await watchMemory(async () => {
    socket.write(whole)
    const written = await poured
    await settled()
    return written
  })
  t.comment(
    `the upstream could write ${(written / 1048576).toFixed(1)} of 200 MB; RSS grew ${(grown / 1048576).toFixed(1)} MB (with the upstream in the same process); given up after ${((performance.now() - from) / 1000).toFixed(1)} s of 1.5`,
  )
  t.ok(grown < 20 * 1024 * 1024, `${grown} bytes`)
  t.ok(written < total)
  t.match(rows, [{ outcome: 'caller_gone', status: 200 }])
  t.equal(await countSockets(upstreams[0] as Upstream), 0, 'and the upstream is let go')
})

t.test('a slow client gets everything, however long it takes [S5]', async t => {
  const total = 12 * 1024 * 1024
  const { url, upstreams, rows, settled } = await startEngine(t, { callers: { writeIdleMs: 1_000 } })
  upstreams[0]?.answer(async res => {
    res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': String(total) })
    await pour(res, total)
  })
  const socket = await connectDeaf(t, url)
  socket.write(whole)
  const from = performance.now()
  let read = 0
  // In steps with pauses: longer in total than the limit, which counts from one read to the next.
  while (read < total) {
    const chunk = socket.read() as Buffer | null
    if (chunk === null) {
      if (socket.readableEnded || socket.destroyed) break
      await Promise.race([once(socket, 'readable'), once(socket, 'close')])
      continue
    }
    read += chunk.length
    await new Promise(resolve => setTimeout(resolve, 12))
  }
  const seconds = (performance.now() - from) / 1000
  t.comment(`${(read / 1048576).toFixed(1)} MB in ${seconds.toFixed(1)} s`)
  t.ok(read >= total)
  t.ok(seconds > 1.2, 'longer than the limit')
  await settled()
  t.match(rows, [{ outcome: 'answered' }])
})

t.test('an answer waiting for another on its connection is not abandoned for it [S5]', async t => {
  const total = 2 * 1024 * 1024
  const { url, upstreams, rows, settled } = await startEngine(t, { callers: { writeIdleMs: 150 } })
  const waiting: ServerResponse[] = []
  const { promise: bothAsked, resolve: noteBoth } = Promise.withResolvers<void>()
  upstreams[0]?.answer(res => {
    waiting.push(res)
    if (waiting.length === 3) noteBoth()
  })
  const wire = await openWire(url)
  t.teardown(() => wire.socket.destroy())
  await wire.write(whole + whole + whole)
  await bothAsked
  const [first, second, third] = waiting as [ServerResponse, ServerResponse, ServerResponse]
  // The second answer exceeds the buffer for a client, so it waits for its turn; the third ends long before its turn.
  second.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': String(total) })
  const poured = pour(second, total)
  third.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  await new Promise(resolve => setTimeout(resolve, 600))
  first.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  t.match(await wire.read(), { status: 200, complete: true })
  const behind = await wire.read()
  t.match(behind, { status: 200, complete: true })
  t.equal(behind.body.length, total)
  t.match(await wire.read(), { status: 200, complete: true })
  await poured
  await settled()
  t.match(rows, [{ outcome: 'answered' }, { outcome: 'answered' }, { outcome: 'answered' }])
})

t.test('a client that never reads its last bytes does not keep its request open [S4]', async t => {
  // A stage writes this at the end of the upstream; it exceeds the buffers between the gateway and a client that does
  // not read.
  const last = Buffer.alloc(16 * 1024 * 1024, 'x')
  const { url, upstreams, rows, settled } = await startEngine(t, {
    callers: { writeIdleMs: 500 },
    hooks: {
      onReply: (_context, reply) => ({
        ...reply,
        stages: [...reply.stages, { write: chunk => chunk, end: () => last }],
      }),
    },
  })
  upstreams[0]?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n'))
  const socket = await connectDeaf(t, url)
  socket.write(whole)
  await once(upstreams[0]?.server ?? t, 'request')
  await settled()
  t.match(rows, [{ outcome: 'caller_gone' }])
})

t.test('pictures for a client that does not read are read to their end and paid for [S4]', async t => {
  const { url, key, upstream, charges, settled } = await start(t)
  const data = [picture(1254, 1254)]
  upstream.answer(async res => {
    const text = JSON.stringify({ data })
    res.writeHead(200, { 'content-type': 'application/json' })
    res.write(text.slice(0, -1))
    await new Promise(resolve => setTimeout(resolve, 50))
    res.end(`${' '.repeat(12 * 1024 * 1024)}}`)
  })
  const socket = await connectDeaf(t, url)
  const ask = JSON.stringify({ model: 'alpha-image-2', prompt: 'a boat' })
  socket.write(
    requestHead('POST', '/v1/images/generations', [json, `x-api-key: ${key}`, `Content-Length: ${ask.length}`]) + ask,
  )
  await once(upstream.server, 'request')
  // The write limit has the same effect as a disconnect by the client: it destroys the connection.
  await new Promise(resolve => setTimeout(resolve, 300))
  socket.destroy()
  await settled()
  t.match(await charges(), [{ state: 'settled', count: 1, amount: '0.04' }])
})

t.test('a request with a declared end of its body may arrive in single bytes', async t => {
  const { url, upstreams } = await startEngine(t)
  const wire = await openWire(url)
  for (const byte of whole) await wire.write(byte)
  t.equal((await wire.read()).status, 200)
  wire.socket.destroy()
  t.equal(upstreams[0]?.received[0]?.body.toString(), body)
  t.equal((await exchangeRaw(url, whole)).status, 200)
})
