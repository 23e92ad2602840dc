import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, request } from 'node:http'
import OpenAI, { APIError } from 'openai'
import t from 'tap'
import { type BareEngine, countSockets, modelName, patient, startEngine } from '../harness/engine.ts'
import type { Reaction, Upstream } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const chat = '/v1/chat/completions'
const events = { 'content-type': 'text/event-stream' }
const beat = ': \n\n'

/** A stream's answer, read as raw bytes. */
async function openStream(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ readonly res: IncomingMessage; readonly leave: () => void; readonly interim: readonly number[] }> {
  const interim: number[] = []
  const req = request(url + chat, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  })
  req.on('error', () => undefined)
  req.on('information', info => interim.push(info.statusCode))
  req.end(JSON.stringify({ model: modelName, stream: true }))
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  res.on('error', () => undefined)
  return { res, leave: () => void req.destroy(), interim }
}

/** All bytes of an answer, and whether its framing marks them as complete. */
async function readAll(res: IncomingMessage): Promise<{ readonly bytes: Buffer; readonly whole: boolean }> {
  const chunks: Buffer[] = []
  res.on('data', (chunk: Buffer) => void chunks.push(chunk))
  await once(res, 'close')
  return { bytes: Buffer.concat(chunks), whole: res.complete }
}

/** Resolves when the upstream's connection has closed, with the milliseconds since the call of `from`. */
function watchClose(): { readonly reaction: (then: Reaction) => Reaction; from(): void; readonly ms: Promise<number> } {
  let at = Number.NaN
  const { promise, resolve } = Promise.withResolvers<number>()
  return {
    reaction: then => (res, received, req) => {
      req.socket.once('close', () => resolve(performance.now() - at))
      return then(res, received, req)
    },
    from() {
      at = performance.now()
    },
    ms: promise,
  }
}

/** Writes piece by piece, each in a packet of its own as far as the system allows. */
async function writeSlowly(res: ServerResponse, pieces: Iterable<Buffer>): Promise<void> {
  for (const piece of pieces) {
    res.write(piece)
    await new Promise(resolve => setImmediate(resolve))
  }
  res.end()
}

function* slice(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const odd: { readonly [what: string]: Buffer } = {
  LF: Buffer.from('data: {"a":1}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n'),
  CRLF: Buffer.from('event: x\r\ndata: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n'),
  CR: Buffer.from('event: x\rdata: {"a":1}\r\rdata: [DONE]\r\r'),
  'a mix of all three': Buffer.from('data: 1\n\r\ndata: 2\r\n\ndata: 3\r\rid: 4\r\ndata: 4\r\r\n: c\n\n\n\ndata:5\n\n'),
  'a byte order mark': Buffer.from('\uFEFFdata: 1\n\n'),
  'invalid UTF-8': Buffer.concat([
    Buffer.from('data: '),
    Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80, 0xf0, 0x9f, 0x00]),
    Buffer.from('\n\n'),
  ]),
  'characters of four bytes': Buffer.from('data: {"t":"图🛥️𝄞"}\n\n'),
  'comments, retry and unknown fields': Buffer.from(': hi\nretry: 10\nfoo: bar\ndata\n\n:\n\n'),
  'no end of the last event': Buffer.from('data: {"a":1}\n\ndata: {"a"'),
  'nothing at all': Buffer.alloc(0),
}

for (const heartbeatMs of [undefined, 60_000]) {
  t.test(
    `a stream's bytes are those of the upstream, however they are split${heartbeatMs ? ', with heartbeats on' : ''} [S9]`,
    async t => {
      const { url, upstreams } = await startEngine(t, { server: { heartbeatMs } })
      let differences = 0
      for (const [what, bytes] of Object.entries(odd)) {
        for (const size of [1, 2, 3, 7, 1_000]) {
          upstreams[0]?.answerOnce(res => writeSlowly(res.writeHead(200, events), slice(bytes, size)))
          const { res } = await openStream(url)
          const answer = await readAll(res)
          t.ok(answer.whole, `${what}, ${size} at a time: ends well`)
          if (!answer.bytes.equals(bytes)) differences++
        }
      }
      const long = Buffer.concat([Buffer.from('data: '), Buffer.alloc(1_048_576, 'x'), Buffer.from('\n\ndata: 2\n\n')])
      upstreams[0]?.answerOnce(res => void res.writeHead(200, events).end(long))
      const answer = await readAll((await openStream(url)).res)
      if (!answer.bytes.equals(long)) differences++
      t.comment(`diff = ${differences} of ${Object.keys(odd).length * 5 + 1}`)
      t.equal(differences, 0)
    },
  )
}

t.test('the head of a stream and each of its events are passed on at once [STR-8]', async t => {
  const { url, upstreams } = await startEngine(t)
  const { promise: opened, resolve: open } = Promise.withResolvers<ServerResponse>()
  upstreams[0]?.answer(res => {
    res.writeHead(200, events).flushHeaders()
    open(res)
  })
  const stream = openStream(url)
  const upstream = await opened
  const { res } = await stream
  t.equal(res.statusCode, 200, 'the head is there before any event')
  t.equal(res.headers['cache-control'], 'no-cache, no-transform')
  t.equal(res.headers['x-accel-buffering'], 'no')
  t.equal(res.headers['content-encoding'], undefined)
  const waits: number[] = []
  for (let i = 0; i < 100; i++) {
    const from = performance.now()
    upstream.write(`data: ${i}\n\n`)
    const [chunk] = (await once(res, 'data')) as [Buffer]
    waits.push(performance.now() - from)
    t.equal(chunk.toString(), `data: ${i}\n\n`, caseName({ i }))
  }
  upstream.end()
  await readAll(res)
  waits.sort((a, b) => a - b)
  t.comment(`from upstream to client: p50 ${waits[50]?.toFixed(2)} ms, p99 ${waits[98]?.toFixed(2)} ms`)
  t.ok((waits[50] as number) < 50, 'p50 below 50 ms')
})

t.test('a silent stream gets heartbeats, never inside an event [S8]', async t => {
  const everyMs = 40
  const { url, upstreams } = await startEngine(t, { server: { heartbeatMs: everyMs } })
  const parts = ['data: {"a":', '1}\n', '\n', 'event: x\r\ndata: 2\r\n', '\r\n', 'data: 3\n\n']
  const { promise: opened, resolve: open } = Promise.withResolvers<ServerResponse>()
  upstreams[0]?.answer(res => {
    res.writeHead(200, events).flushHeaders()
    open(res)
  })
  const stream = openStream(url)
  const upstream = await opened
  const { res } = await stream
  let text = ''
  let wake = (): void => undefined
  res.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    wake()
  })
  const until = async (is: () => boolean): Promise<void> => {
    while (!is())
      await new Promise<void>(resolve => {
        wake = resolve
      })
  }
  const beats = (): number => text.split(beat).length - 1
  await until(() => beats() >= 2)
  t.equal(text.replaceAll(beat, ''), '', 'before the first event')
  let sent = ''
  for (const part of parts) {
    const before = beats()
    upstream.write(part)
    sent += part
    await until(() => text.replaceAll(beat, '') === sent)
    if (/\n\n$|\r\n\r\n$/.test(sent)) await until(() => beats() > before)
    else {
      // Three heartbeat intervals; nothing must arrive, so there is no event to wait for.
      await new Promise(resolve => setTimeout(resolve, everyMs * 3 + 100))
      t.equal(beats(), before, `none inside ${JSON.stringify(part)}`)
    }
  }
  upstream.end()
  await once(res, 'close')
  t.equal(text.replaceAll(beat, ''), parts.join(''), 'and apart from them nothing is changed')
})

t.test('a stream whose upstream sends its length arrives complete, with heartbeats or an error event', async t => {
  const { url, upstreams } = await startEngine(t, { server: { heartbeatMs: 40 } })
  const body = 'data: {"a":1}\n\ndata: [DONE]\n\n'
  const respond = (more: (res: ServerResponse) => void): void =>
    upstreams[0]?.answerOnce(res => {
      res.writeHead(200, { ...events, 'content-length': body.length })
      res.write(body.slice(0, 15))
      more(res)
    })
  respond(res => void setTimeout(() => res.end(body.slice(15)), 200))
  const { res } = await openStream(url)
  const { bytes, whole } = await readAll(res)
  t.ok(whole)
  t.ok(bytes.includes(beat))
  t.equal(bytes.toString().replaceAll(beat, ''), body)
  respond(res => void setTimeout(() => res.destroy(), 20))
  const cut = await readAll((await openStream(url)).res)
  t.ok(cut.whole, 'the error ends the stream')
  t.match(cut.bytes.toString(), 'upstream_cut')
})

t.test('only silent streams get heartbeats', async t => {
  const { url, upstreams, post } = await startEngine(t, { server: { heartbeatMs: 300 } })
  upstreams[0]?.answerOnce(async res => {
    res.writeHead(200, events)
    for (let i = 0; i < 20; i++) {
      res.write(`data: ${i}\n\n`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    res.end()
  })
  const { bytes } = await readAll((await openStream(url)).res)
  t.notOk(bytes.includes(beat))
  upstreams[0]?.answerOnce(res => {
    res.writeHead(200, { 'content-type': 'application/json' }).write('{"a":')
    setTimeout(() => res.end('1}'), 700)
  })
  t.equal(await (await post()).text(), '{"a":1}')
})

t.test('during the wait for the head, only clients that understand a 102 get one', async t => {
  const { url, upstreams } = await startEngine(t, { server: { heartbeatMs: 40, agentsAccepting102: ['Patient/'] } })
  upstreams[0]?.answer(res => void setTimeout(() => res.end('{}'), 400))
  for (const [agent, count] of [
    ['Patient/1.2 (node)', 1],
    ['Impatient/1.0', 0],
    ['', 0],
  ] as const) {
    const { res, interim } = await openStream(url, { ...direct, ...(agent !== '' && { 'user-agent': agent }) })
    t.equal(res.statusCode, 200, caseName({ agent, count }))
    t.ok(count === 0 ? interim.length === 0 : interim.length >= count, `${agent}: ${interim.length}`)
    t.ok(
      interim.every(status => status === 102),
      caseName({ agent, count }),
    )
    await readAll(res)
  }
})

const direct = { connection: 'keep-alive' }

t.test('possible proxies get no 102: by address, version, or the headers that they add and remove', async t => {
  const server = { heartbeatMs: 40, agentsAccepting102: ['Patient/'] }
  const agent = { 'user-agent': 'Patient/1.2' }
  const { url, upstreams } = await startEngine(t, { server })
  upstreams[0]?.answer(res => void setTimeout(() => res.end('{}'), 400))
  for (const name of [
    'forwarded',
    'via',
    'x-forwarded-for',
    'x-forwarded-proto',
    'X-Forwarded-Host',
    'x-forwarded-anything',
    'x-real-ip',
    'cdn-loop',
    'x-envoy-attempt-count',
  ]) {
    const { interim } = await openStream(url, { ...direct, ...agent, [name]: 'x' })
    t.strictSame(interim, [], name)
  }
  for (const connection of ['close', 'x-forwarded-for'])
    t.strictSame((await openStream(url, { ...agent, connection })).interim, [], `Connection: ${connection}`)
  t.not((await openStream(url, { ...direct, ...agent })).interim.length, 0, 'who is none gets it')
  const behind = await startEngine(t, { server: { ...server, trustedProxies: ['127.0.0.1'] } })
  behind.upstreams[0]?.answer(res => void setTimeout(() => res.end('{}'), 400))
  t.strictSame((await openStream(behind.url, { ...direct, ...agent })).interim, [], 'a trusted proxy')
})

t.test('an error in the middle of a stream is one event of the API format, then the end [STR-4]', async t => {
  const ways: { readonly [what: string]: (res: ServerResponse) => void } = {
    'the upstream ends inside its framing': res => void res.socket?.end(),
    'the upstream resets': res => void res.socket?.resetAndDestroy(),
    'a bad chunk': res => void res.socket?.end('zz\r\n'),
    'the idle limit': () => undefined,
  }
  for (const [what, fail] of Object.entries(ways)) {
    for (const sent of [
      '',
      'data: {"choices":[]}\n\n',
      'data: {"choices":[]}\r\n\r\n',
      'data: {"choices":[]}\n\ndata: {"cho',
    ]) {
      const { url, upstreams, rows, settled } = await startEngine(t, {
        upstreams: [{ timeouts: { ...patient, idleMs: 500 } }],
        server: { heartbeatMs: 15_000 },
      })
      upstreams[0]?.answer(res => {
        res.writeHead(200, { ...events, 'transfer-encoding': 'chunked' }).flushHeaders()
        if (sent !== '') res.write(sent)
        setTimeout(() => fail(res), 30)
      })
      const { bytes } = await readAll((await openStream(url)).res)
      const text = bytes.toString()
      const title = `${what} after ${JSON.stringify(sent)}`
      const marks = text.split('"error"').length - 1
      t.equal(marks, 1, `${title}: one error event`)
      const last = /(?:^|\n\n|\r\n\r\n)data: (\{"error":.*\})\n\n$/.exec(text)
      t.ok(last, `${title}: an event of its own, at the end: ${JSON.stringify(text)}`)
      t.match(
        JSON.parse(last?.[1] ?? '{}'),
        { error: { type: 'server_error', code: /^(upstream_|deadline_)/ } },
        caseName({ what, fail, sent }),
      )
      t.ok(text.startsWith(sent), 'what had come is kept')
      t.notOk(text.includes('[DONE]'), caseName({ what, fail, sent }))
      await settled()
      t.match(
        rows,
        [{ outcome: what === 'the idle limit' ? 'deadline' : 'upstream_cut' }],
        caseName({ what, fail, sent }),
      )
    }
  }
})

t.test("the SDK raises the error at a stream's end", async t => {
  const { url, upstreams } = await startEngine(t)
  upstreams[0]?.answer(res => {
    res.writeHead(200, events).write('data: {"choices":[{"index":0,"delta":{"content":"hel"}}]}\n\n')
    setTimeout(() => res.destroy(), 30)
  })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
  const stream = await openai.chat.completions.create({ model: modelName, messages: [], stream: true })
  let text = ''
  const error: unknown = await (async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    return undefined
  })().catch((cause: unknown) => cause)
  t.equal(text, 'hel')
  t.ok(error instanceof APIError, String(error))
  t.match(error, { code: 'upstream_cut', type: 'server_error' })
})

/** The four states in which a client may disconnect; each resolves when the upstream has reached it. */
const states: {
  readonly [state: string]: {
    readonly stream: boolean
    readonly react: (res: ServerResponse, arrive: () => void) => void
  }
} = {
  'while the answer is waited for': { stream: false, react: (_res, arrive) => arrive() },
  'in the middle of a stream': {
    stream: true,
    react: (res, arrive) => {
      res.writeHead(200, events).write('data: 1\n\n')
      arrive()
    },
  },
  'in the middle of an answer that is no stream': {
    stream: false,
    react: (res, arrive) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"a":')
      arrive()
    },
  },
}

for (const [state, { stream, react }] of Object.entries(states)) {
  t.test(`a client that leaves ${state} ends the upstream's work at once [S7, STR-1]`, async t => {
    const settledOnce: string[] = []
    const { url, upstreams, rows, settled } = await startEngine(t, {
      hooks: { onSettle: (_context, outcome) => void settledOnce.push(outcome.kind) },
    })
    const waits: number[] = []
    const runs = 20
    for (let i = 0; i < runs; i++) {
      const close = watchClose()
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      upstreams[0]?.answerOnce(close.reaction(res => react(res, arrive)))
      const req = request(url + chat, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } })
      req.on('error', () => undefined)
      req.end(JSON.stringify({ model: modelName, stream }))
      if (state.startsWith('in')) {
        const [res] = (await once(req, 'response')) as [IncomingMessage]
        res.on('error', () => undefined)
        await once(res, 'data')
      }
      await arrived
      close.from()
      req.destroy()
      waits.push(await close.ms)
    }
    await settled()
    waits.sort((a, b) => a - b)
    t.comment(`upstream closed after p50 ${waits[runs / 2]?.toFixed(1)} ms, max ${waits.at(-1)?.toFixed(1)} ms`)
    t.ok((waits.at(-1) as number) < 500)
    t.equal(settledOnce.length, runs, 'each is settled once')
    t.equal(rows.filter(row => row.outcome === 'caller_gone').length, runs)
    t.equal(await countSockets(upstreams[0] as Upstream), 0, 'no socket is left')
  })
}

t.test('a client that leaves during its upload never reached an upstream [STR-1]', async t => {
  const { url, upstreams, rows, settled, engine } = await startEngine(t)
  for (const lines of [{ 'content-length': '5000000' }, { 'transfer-encoding': 'chunked' }]) {
    const req = request(url + chat, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...lines },
    })
    req.on('error', () => undefined)
    req.write(Buffer.alloc(100_000, ' '))
    while (engine.open === 0) await new Promise(resolve => setTimeout(resolve, 1))
    req.destroy()
    await settled()
    t.equal(engine.heldBytes, 0, caseName({ lines }))
  }
  t.match(rows, [{ outcome: 'caller_gone' }, { outcome: 'caller_gone' }])
  t.equal(upstreams[0]?.received.length, 0)
})

t.test('a client that leaves a detached answer does not end it: it is read to its end, and settled once', async t => {
  const outcomes: object[] = []
  const { url, upstreams, settled } = await startEngine(t, {
    hooks: {
      onForward: (_context, out) => ({ ...out, detach: true }),
      onSettle: (_context, outcome) => void outcomes.push(outcome),
    },
  })
  for (const early of [true, false]) {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<ServerResponse>()
    const { promise: ended, resolve: end } = Promise.withResolvers<boolean>()
    upstreams[0]?.answerOnce((res, _received, req) => {
      req.socket.once('close', () => end(res.writableFinished))
      if (!early) res.writeHead(200, { 'content-type': 'application/json' }).write('{"a":')
      res.once('finish', () => end(true))
      arrive(res)
    })
    const req = request(url + chat, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } })
    req.on('error', () => undefined)
    req.end(JSON.stringify({ model: modelName }))
    if (!early)
      await once(
        ((await once(req, 'response')) as [IncomingMessage])[0].on('error', () => undefined),
        'data',
      )
    const res = await arrived
    req.destroy()
    await new Promise(resolve => setTimeout(resolve, 50))
    res.end(early ? '{}' : '1}')
    t.ok(await ended, 'the upstream could say all')
    await settled()
  }
  t.match(outcomes, [
    { kind: 'cut', by: 'caller', reach: 'complete' },
    { kind: 'cut', by: 'caller', reach: 'complete' },
  ])
})

t.test('after 300 abandoned streams the number of sockets is as before [S7]', async t => {
  const { url, upstreams, settled, engine }: BareEngine = await startEngine(t)
  upstreams[0]?.answer(res => void res.writeHead(200, events).write('data: 1\n\n'))
  for (let round = 0; round < 10; round++)
    await Promise.all(
      Array.from({ length: 30 }, async () => {
        const { res, leave } = await openStream(url)
        await once(res, 'data')
        leave()
      }),
    )
  await settled()
  t.equal(engine.open, 0)
  const left = await countSockets(upstreams[0] as Upstream)
  t.comment(`leak = ${left} of 300`)
  t.equal(left, 0)
})
