import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import {
  brotliCompressSync,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
  constants,
  zstdCompressSync,
} from 'node:zlib'
import t from 'tap'
import { modelName, patient, startEngine } from '../harness/engine.ts'
import { picture } from '../harness/pictures.ts'
import { askOnce } from '../harness/shop.ts'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const chat = '/v1/chat/completions'
const json = { 'content-type': 'application/json' }
const packers: { readonly [coding: string]: (bytes: Buffer) => Buffer } = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  GZIP: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  deflate: deflateSync,
  'deflate, raw': deflateRawSync,
}

function codingOf(name: string): string {
  return name === 'deflate, raw' ? 'deflate' : name
}

/** Half noise, half repetition, and larger than any one piece. */
const text = Buffer.from(
  JSON.stringify({ noise: randomBytes(150_000).toString('base64'), same: 'boat '.repeat(60_000) }),
)

t.test('an answer compressed unasked arrives decoded [6.5]', async t => {
  const { post, upstreams, rows, settled } = await startEngine(t)
  for (const [name, pack] of Object.entries(packers)) {
    for (const framing of ['a length', 'chunks', 'the end of the connection'])
      for (const content of [text, Buffer.from('{}'), Buffer.alloc(0)]) {
        upstreams[0]?.answerOnce(res => answerPacked(res, codingOf(name), pack(content), framing))
        const answer = await post()
        t.equal(answer.status, 200, `${name}, ${framing}`)
        t.ok(Buffer.from(await answer.arrayBuffer()).equals(content), `${name}, ${framing}, ${content.length} bytes`)
        for (const header of ['content-encoding', 'etag', 'digest', 'content-digest'])
          t.equal(answer.headers.get(header), null, header)
        t.not(
          answer.headers.get('content-length'),
          String(pack(content).length),
          caseName({ name, pack, framing, content }),
        )
      }
  }
  await settled()
  t.ok(rows.every(row => row.outcome === 'answered'))
})

t.test('several codings are decoded in order, each byte a packet [6.5]', async t => {
  const { post, upstreams } = await startEngine(t)
  const small = Buffer.from('{"a":"boat"}'.repeat(50))
  const lists: readonly (readonly [coding: string | string[], bytes: Buffer])[] = [
    ['gzip, br', brotliCompressSync(gzipSync(small))],
    ['deflate, gzip, zstd', zstdCompressSync(gzipSync(deflateRawSync(small)))],
    [['gzip', 'identity', 'deflate'], deflateSync(gzipSync(small))],
    ['identity', small],
    [' , gzip ,', gzipSync(small)],
  ]
  for (const [coding, bytes] of lists) {
    upstreams[0]?.answerOnce(async res => {
      res.setHeader('content-encoding', coding)
      res.writeHead(200, json)
      for (const byte of bytes) await new Promise<void>(resolve => res.write(Buffer.from([byte]), () => resolve()))
      res.end()
    })
    const answer = await post()
    t.ok(Buffer.from(await answer.arrayBuffer()).equals(small), String(coding))
  }
  upstreams[0]?.answerOnce(res => {
    res.writeHead(200, { ...json, 'content-encoding': 'gzip, gzip, gzip, gzip, gzip' }).end('x')
  })
  t.equal((await post()).status, 502, 'more than four')
  for (const coding of ['cow', 'gzip, cow', 'compress', '__proto__']) {
    upstreams[0]?.answerOnce(res => void res.writeHead(200, { ...json, 'content-encoding': coding }).end('x'))
    const answer = await post()
    t.equal(answer.status, 502, coding)
    t.match(await answer.json(), { error: { code: 'upstream_invalid', message: /content-encoding/ } }, coding)
  }
})

t.test('compressed events arrive one by one, as they are written [6.5]', async t => {
  const { url, upstreams } = await startEngine(t)
  const steps: (() => void)[] = []
  upstreams[0]?.answerOnce(res => {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
    const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH })
    gzip.pipe(res)
    for (let i = 0; i < 5; i++) steps.push(() => void gzip.write(`data: {"i":${i}}\n\n`))
    steps.push(() => void gzip.end('data: [DONE]\n\n'))
    steps.shift()?.()
  })
  const body = JSON.stringify({ model: modelName, stream: true })
  const answer = await fetch(url + chat, { method: 'POST', headers: json, body })
  let got = ''
  const seen: string[] = []
  for await (const chunk of answer.body ?? []) {
    got += Buffer.from(chunk as Uint8Array).toString()
    seen.push(got)
    // Each event is written after the previous one has arrived: nothing waits for more data.
    steps.shift()?.()
  }
  t.equal(got, `${[0, 1, 2, 3, 4].map(i => `data: {"i":${i}}\n\n`).join('')}data: [DONE]\n\n`)
  t.ok(seen.length >= 6, `${seen.length} pieces`)
})

t.test('half of a compressed answer never counts as complete, however it is framed [6.5]', async t => {
  const { url, upstreams } = await startEngine(t)
  for (const [name, pack] of Object.entries(packers)) {
    const packed = pack(text)
    for (const framing of ['a length', 'chunks', 'the end of the connection'])
      for (const kept of [1, 2, packed.length >> 1, packed.length - 1]) {
        upstreams[0]?.answerOnce(res => answerPacked(res, codingOf(name), packed.subarray(0, kept), framing))
        const { whole, status } = await askOnce(url, { model: modelName }, { key: 'any', path: chat })
        t.notOk(whole && status === 200, `${name}, ${framing}, ${kept} of ${packed.length} bytes`)
      }
  }
})

t.test('a compressed answer that breaks off delivers everything before the cut [6.5]', async t => {
  const { url, upstreams, rows, settled } = await startEngine(t)
  const event = (i: number): string => `data: {"i":${i}}\n\n`
  upstreams[0]?.answerOnce(res => {
    res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
    const gzip = createGzip()
    gzip.on('data', (chunk: Buffer) => void res.write(chunk))
    gzip.write(event(0) + event(1))
    gzip.flush(() => setImmediate(() => res.destroy()))
  })
  const body = JSON.stringify({ model: modelName, stream: true })
  const answer = await fetch(url + chat, { method: 'POST', headers: json, body })
  const got = await answer.text()
  t.ok(got.startsWith(event(0) + event(1)), got)
  t.match(got, /upstream_cut/)
  await settled()
  t.match(rows, [{ outcome: 'upstream_cut', errorCode: 'upstream_cut' }])
})

t.test('invalid compressed bytes are 502 or a cut, and hang no client [6.5]', async t => {
  const { url, upstreams, faults } = await startEngine(t)
  for (const [name, pack] of Object.entries(packers)) {
    const packed = Buffer.from(pack(text))
    const half = Buffer.from(packed.subarray(0, packed.length >> 1))
    packed.fill('x', packed.length >> 2, (packed.length >> 2) + 400)
    // Brotli, zstd as encoded here, and raw deflate have no checksum that would show corrupt contents.
    const spoilt = ['br', 'zstd', 'deflate, raw'].includes(name) ? [] : [packed]
    for (const bytes of [Buffer.from('{"plain":"json"}'), half, ...spoilt]) {
      upstreams[0]?.answerOnce(res => answerPacked(res, codingOf(name), bytes, 'a length'))
      const { whole, status } = await askOnce(url, { model: modelName }, { key: 'any', path: chat })
      t.notOk(whole && status === 200, name)
    }
  }
  t.strictSame(faults, [])
})

t.test('an answer that expands beyond the limits is cut, and little of it was ever in memory [6.5]', async t => {
  const { url, upstreams, rows, settled } = await startEngine(t)
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024))
  const nothing = gzipSync('')
  const bombs: readonly (readonly [coding: string, bytes: Buffer])[] = [
    ['gzip', bomb],
    ['gzip, gzip', gzipSync(bomb)],
    ['br', brotliCompressSync(Buffer.alloc(64 * 1024 * 1024), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['zstd', zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))],
    // The result is empty, but much data passes between the two layers.
    [
      'gzip, br',
      brotliCompressSync(Buffer.concat(Array.from({ length: 1_000_000 }, () => nothing)), {
        params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
      }),
    ],
  ]
  for (const [coding, bytes] of bombs) {
    const before = process.memoryUsage().arrayBuffers
    upstreams[0]?.answerOnce(res => answerPacked(res, coding, bytes, 'a length'))
    const { whole, status, text: got } = await askOnce(url, { model: modelName }, { key: 'any', path: chat })
    await settled()
    t.notOk(whole && status === 200, coding)
    t.ok(got.length <= 250 * bytes.length + 4_200_000, `${coding}: ${got.length} bytes got out`)
    t.equal(rows.at(-1)?.errorCode, 'upstream_answer_too_large', coding)
    t.ok(process.memoryUsage().arrayBuffers - before < 64 * 1024 * 1024, coding)
  }
})

t.test('an endless answer is bounded in bytes, received and decoded [6.9]', async t => {
  const max = 1024 * 1024
  const { url, upstreams, rows, settled } = await startEngine(t, { upstreams: [{ answerBytesMax: max }] })
  const noise = randomBytes(65_536)
  for (const coding of ['identity', 'gzip']) {
    upstreams[0]?.answerOnce(res => {
      res.writeHead(200, { ...json, 'content-encoding': coding })
      const out = coding === 'gzip' ? createGzip() : res
      if (out !== res) out.pipe(res)
      const more = (): void => {
        if (!res.destroyed) out.write(noise, () => setImmediate(more))
      }
      more()
    })
    const { whole, text: got } = await askOnce(url, { model: modelName }, { key: 'any', path: chat })
    await settled()
    t.notOk(whole, caseName({ coding }))
    t.ok(got.length <= max, `${got.length} bytes`)
    t.equal(rows.at(-1)?.errorCode, 'upstream_answer_too_large', caseName({ coding }))
  }
  upstreams[0]?.answerOnce(res => void res.writeHead(200, { ...json, 'content-length': max + 1 }).write('{'))
  const answer = await askOnce(url, { model: modelName }, { key: 'any', path: chat })
  t.equal(answer.status, 502, 'one with a declared length is refused before it begins')
})

t.test('an endless answer whose client has left ends, and its charge with it [6.9]', async t => {
  const { url, key, upstream, charges, settled } = await start(t, {
    edit: [[/total: 15m \}/, 'total: 15m, after_leave: 300ms }']],
  })
  const begun = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  upstream.answerOnce(res => {
    res.writeHead(200, json)
    res.write('{"created":1,"data":[{"b64_json":"')
    // Slowly, so that no limit of bytes ends it.
    const drip = setInterval(() => res.write('AAAA'), 20)
    res.once('close', () => {
      clearInterval(drip)
      closed.resolve()
    })
    begun.resolve()
  })
  const leave = new AbortController()
  const pending = fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'alpha-image-2', prompt: 'a boat' }),
    signal: leave.signal,
  }).catch(() => undefined)
  await begun.promise
  leave.abort()
  await pending
  await closed.promise
  await settled()
  const [charge] = await charges()
  t.not(charge?.state, 'reserved')
})

t.test('a compressed picture is charged, and arrives [6.5]', async t => {
  const { upstream, post, charges } = await start(t)
  const body = Buffer.from(JSON.stringify({ created: 1, data: [picture(1254, 1254)] }))
  for (const [name, pack] of Object.entries(packers)) {
    upstream.answerOnce(res => answerPacked(res, codingOf(name), pack(body), 'a length'))
    const answer = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
    t.equal(answer.status, 200, name)
    t.ok(Buffer.from(await answer.arrayBuffer()).equals(body), name)
    t.match(await charges(1), [{ state: 'settled', amount: '0.04', delivery: 'confirmed' }], name)
  }
})

t.test('a slow client also slows a compressed answer [6.5]', async t => {
  const { url, upstreams } = await startEngine(t, { upstreams: [{ timeouts: patient }] })
  let written = 0
  const stalled = Promise.withResolvers<void>()
  upstreams[0]?.answerOnce(res => {
    res.writeHead(200, { ...json, 'content-encoding': 'gzip' })
    const gzip = createGzip({ level: 0 })
    gzip.pipe(res)
    const piece = randomBytes(65_536)
    const more = (): void => {
      if (res.destroyed || written > 100_000_000) return
      written += piece.length
      if (gzip.write(piece)) setImmediate(more)
      else {
        const timer = setTimeout(() => stalled.resolve(), 400)
        gzip.once('drain', () => {
          clearTimeout(timer)
          more()
        })
      }
    }
    more()
  })
  const leave = new AbortController()
  const body = JSON.stringify({ model: modelName })
  const answer = await fetch(url + chat, { method: 'POST', headers: json, body, signal: leave.signal })
  await stalled.promise
  t.ok(written < 60_000_000, `${written} bytes were taken from the upstream`)
  leave.abort()
  await answer.text().catch(() => undefined)
})

function answerPacked(res: ServerResponse, coding: string, bytes: Buffer, framing: string): void {
  const headers = { ...json, 'content-encoding': coding, etag: '"x"', digest: 'sha-256=x', 'content-digest': 'x' }
  if (framing === 'a length') return void res.writeHead(200, { ...headers, 'content-length': bytes.length }).end(bytes)
  if (framing === 'the end of the connection') {
    res.useChunkedEncodingByDefault = false
    res.shouldKeepAlive = false
  }
  res.writeHead(200, headers)
  res.write(bytes.subarray(0, bytes.length >> 1))
  res.end(bytes.subarray(bytes.length >> 1))
}
