import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { type Charge, type LogRow, unknownOfLogRow } from '../../src/domain/index.ts'
import { createLog, createMetrics } from '../../src/observe/index.ts'
import { caseName } from '../harness/case-name.ts'

const row: LogRow = {
  id: 'req_1',
  time: 0,
  keyId: 'key_1',
  user: 'local',
  group: 'default',
  model: 'model-one',
  operation: 'image.generate',
  status: 200,
  outcome: 'answered',
  errorCode: null,
  durationMs: 812,
  upstream: 'alpha',
  configRevision: 'abc',
  forwarded: ['model', 'prompt'],
  dropped: ['seed'],
  clientRequestId: null,
  inputTokens: null,
  outputTokens: null,
  ...unknownOfLogRow,
}

const charge: Charge = {
  id: 'req_1',
  keyId: 'key_1',
  user: 'local',
  group: 'default',
  operation: 'image.generate',
  model: 'model-one',
  family: 'family-one',
  upstream: 'alpha',
  configRevision: 'abc',
  currency: 'USD',
  size: '3840x2160',
  quality: null,
  n: 2,
  rule: { kind: 'tiers', tiers: [], tierFrom: ['output'], otherwise: '2K', requestedTier: '4K', warnings: [] },
  state: 'settled',
  reason: null,
  hold: 80_000,
  held: 0,
  amount: 80_000,
  refunded: 0,
  createdAt: 0,
  endedAt: 1,
  vendorCost: null,
  delivery: 'confirmed',
  lines: [
    { index: 0, tier: '2K', source: 'output', width: 1672, height: 941, price: 40_000, flags: [], quantity: null },
    {
      index: 1,
      tier: '2K',
      source: 'default',
      width: null,
      height: null,
      price: 40_000,
      flags: ['undecodable'],
      quantity: null,
    },
  ],
}

/** A log whose finished lines are kept. */
function keptLog(options: { pretty?: boolean; secrets?: string[] } = {}) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { log: createLog({ level: 'debug', pretty: false, ...options, destination }), lines }
}

t.test('a secret is never written', async t => {
  const secret = 'up"stream-credential\\1'
  const places: [string, object][] = [
    ['in the text', {}],
    ['as a fact', { value: secret }],
    ['inside a fact', { headers: [{ authorization: `Bearer ${secret}` }] }],
    ['in an error and its cause', { err: new Error('x', { cause: new Error(secret) }) }],
    ['in a query', { url: `/v1beta/models?key=${encodeURIComponent(secret)}` }],
    ['at the edge of a long string', { value: 'x'.repeat(2015) + secret + 'y'.repeat(500) }],
  ]
  for (const pretty of [false, true]) {
    for (const [place, facts] of places) {
      const { log, lines } = keptLog({ pretty, secrets: [`Bearer ${secret}`] })
      log.info(facts, place === 'in the text' ? `upstream said ${secret}` : 'said')
      t.notMatch(lines.join(''), /stream-credential/, `${place}, ${pretty ? 'for people' : 'as JSON'}`)
    }
  }
})

t.test("a client's key is never written, although it is on no list", async t => {
  for (const text of ['sk-tg-0123456789abcdef', 'Bearer 0123456789abcdef', '/v1beta/models?key=0123456789abcdef']) {
    const { log, lines } = keptLog()
    log.warn({ text }, text)
    t.notMatch(lines.join(''), /0123456789/, text)
  }
})

t.test('a secret that is registered later is hidden from then on', async t => {
  const { log, lines } = keptLog()
  log.hide(['rotated-credential'])
  log.info({}, 'rotated-credential')
  t.notMatch(lines.join(''), /rotated/)
})

t.test('a client cannot forge a line or move the cursor', async t => {
  const text = 'a\r\nb\u001b[31mc\u009b2Jd\u2028e\u202ef'
  for (const pretty of [false, true]) {
    const { log, lines } = keptLog({ pretty })
    log.info({ text }, text)
    t.equal(lines.join('').split(/\r|\n/).length, 2, 'one line')
    t.notMatch(lines.join('').trimEnd(), /\p{Cc}|\u2028|\u202e/u, pretty ? 'for people' : 'as JSON')
  }
})

t.test('no string of a line is longer than 2 KiB', async t => {
  const { log, lines } = keptLog()
  log.error({ body: 'b'.repeat(1_000_000), deep: { list: ['l'.repeat(5000)] } }, 'm'.repeat(5000))
  const line = JSON.parse(lines.join('')) as { body: string; deep: { list: string[] }; msg: string }
  for (const text of [line.body, line.deep.list[0], line.msg]) t.ok(text && text.length <= 2048, caseName({ text }))
  t.match(line.body, '[1000000 characters]')
})

t.test('a finished request is one line of JSON with the names of the log record', async t => {
  const { log, lines } = keptLog()
  log.request({ ...row, clientRequestId: 'c'.repeat(9000) })
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines.join('')), { id: 'req_1', key_id: 'key_1', duration_ms: 812, forwarded: 'model prompt' })
  t.ok(lines.join('').length < 4096)
})

t.test('a flush writes all logged lines, to a pipe and to a file', async t => {
  const script = `
    const { createLog } = await import(${JSON.stringify(import.meta.resolve('../../src/observe/index.ts'))})
    const log = createLog({ level: 'info' })
    log.info({}, 'buffered until now')
    await log.flush()
    process.send('flushed')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const written: Buffer[] = []
  child.stderr?.on('data', (chunk: Buffer) => written.push(chunk))
  const messages: unknown[] = []
  child.on('message', message => messages.push(message))
  await once(child, 'close')
  t.strictSame(messages, ['flushed'])
  t.match(Buffer.concat(written).toString(), 'buffered until now')
})

t.test('metrics', async t => {
  const metrics = createMetrics()
  t.teardown(() => metrics.close())
  metrics.know({ operations: ['image.generate'], models: ['model-one'], upstreams: ['alpha'] })
  metrics.gauge('bodies_memory_bytes', 'Bodies held in memory.', () => 42)

  await t.test('count requests, images and their anomalies', async t => {
    for (let i = 0; i < 3; i++) {
      metrics.began()
      metrics.upstreamAnswered('alpha', 200, 700)
    }
    metrics.settled(row)
    metrics.charged(charge)
    metrics.settled({ ...row, status: 429, outcome: 'refused', errorCode: 'user_rpm' })
    const { text } = await metrics.expose()
    for (const line of [
      'tollgate_requests_total{operation="image.generate",model="model-one",status="2xx",outcome="answered"} 1',
      'tollgate_requests_total{operation="image.generate",model="model-one",status="4xx",outcome="refused"} 1',
      'tollgate_request_duration_seconds_bucket{operation="image.generate",le="1"} 2',
      'tollgate_request_duration_seconds_bucket{operation="image.generate",le="0.5"} 0',
      'tollgate_upstream_head_seconds_count{upstream="alpha",status="2xx"} 3',
      'tollgate_refusals_total{code="user_rpm"} 1',
      'tollgate_charges_total{state="settled"} 1',
      'tollgate_charged_micros_total{model="model-one",currency="USD"} 80000',
      'tollgate_charge_lines_total{model="model-one",tier="2K",source="output"} 1',
      'tollgate_charge_lines_total{model="model-one",tier="2K",source="default"} 1',
      'tollgate_line_flags_total{model="model-one",flag="undecodable"} 1',
      'tollgate_size_differs_total{model="model-one"} 1',
      'tollgate_requests_in_flight 1',
      'tollgate_bodies_memory_bytes 42',
    ]) {
      t.ok(text.split('\n').includes(line), line)
    }
  })

  await t.test('100,000 made-up models create no series', async t => {
    const before = (await metrics.expose()).text.split('\n').length
    for (let i = 0; i < 100_000; i++) {
      metrics.began()
      metrics.settled({ ...row, model: `made-up-${i}`, operation: `made-up-${i}`, upstream: `made-up-${i}` })
    }
    const after = (await metrics.expose()).text
    t.ok(after.split('\n').length < before + 40)
    t.match(after, 'operation="other",model="other",status="2xx",outcome="answered"} 100000')
  })
})
