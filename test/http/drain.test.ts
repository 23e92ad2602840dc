import { once } from 'node:events'
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { askOnce } from '../harness/ask.ts'
import { picture } from '../harness/pictures.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, type Started, start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { openWire, requestHead } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'
import { until } from '../harness/edits.ts'

const free: Edits = [[/default: \{ rpm: 60, tpm: (\d+), concurrency: \d+ \}/, 'default: { rpm: 100000, tpm: $1 }']]
const image = { model: 'alpha-image-2', prompt: 'a boat' }

/** Holds every answer of an upstream until released; resolves when `count` requests have arrived. */
function hold(upstream: Upstream, count: number): { readonly reached: Promise<void>; readonly go: () => void } {
  const go = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let calls = 0
  upstream.answer(async res => {
    if (++calls === count) reached.resolve()
    await go.promise
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1024, 1024)] }))
  })
  return { reached: reached.promise, go: go.resolve }
}

type Told = { readonly status: number | undefined; readonly headers: IncomingHttpHeaders; readonly reused: boolean }

/** Whether new connections are refused. */
function isRefused(started: Started): Promise<boolean> {
  return get(started, new Agent()).then(
    () => false,
    (error: { readonly code?: string }) => error.code === 'ECONNREFUSED',
  )
}

/** One GET on an agent's sockets. */
function get({ url, key }: Started, agent: Agent): Promise<Told> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/models`, { agent, headers: { authorization: `Bearer ${key}` } }, answer => {
      answer.resume().on('end', () => {
        resolve({ status: answer.statusCode, headers: answer.headers, reused: sent.reusedSocket })
      })
    })
    sent.on('error', reject).end()
  })
}

t.test('a stop lets 50 requests in flight end, closes each connection, and accepts no new work [O3]', async t => {
  const started = await start(t, { edit: free })
  const { gateway, url, opsUrl, upstream, key } = started
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  t.equal((await get(started, agent)).status, 200)
  const { reached, go } = hold(upstream, 50)
  const pending = Array.from({ length: 50 }, () => askOnce(url, image, { key }))
  await reached
  const busy = await openWire(url)
  await busy.write(requestHead('GET', '/v1/models', [`Authorization: Bearer ${key}`]))
  t.equal((await busy.read()).headers['connection'], 'keep-alive')

  const closed = gateway.close()
  t.notOk(gateway.ready)
  t.equal((await fetch(`${opsUrl}/readyz`)).status, 503, 'it reports at once that it is not ready')
  t.equal((await fetch(`${opsUrl}/healthz`)).status, 200, 'and that it lives')
  t.equal(await busy.ended, 'end', 'a connection that waits for nothing is closed')
  await t.rejects(get(started, new Agent()), { code: 'ECONNREFUSED' }, 'no new connection is taken')
  await t.rejects(get(started, agent), 'nor does one that was kept')
  t.equal(gateway.open, 50)

  go()
  const answers = await Promise.all(pending)
  t.same(
    answers.map(({ status, whole, headers }) => [status, whole, headers['connection']]),
    answers.map(() => [200, true, 'close']),
  )
  await closed
  await t.rejects(fetch(`${opsUrl}/healthz`))
  const again = await started.reopen()
  t.equal((await again.charges(100)).filter(charge => charge.state === 'settled').length, 50, 'each is in the books')
  t.strictSame(await checkBooks(again.gateway), [])
})

t.test('a request on a busy connection gets 503 during a stop and is closed, not lost [O3]', async t => {
  const started = await start(t, { edit: free })
  const { gateway, url, key, upstream } = started
  const { reached, go } = hold(upstream, 1)
  const pending = askOnce(url, image, { key })
  await reached
  const wire = await openWire(url)
  const head = requestHead('GET', '/v1/models', [`Authorization: Bearer ${key}`])
  // With half a head, the connection is not idle, and the gateway must wait for the rest.
  await wire.write(head.slice(0, 20))
  await new Promise(resolve => setImmediate(resolve))
  const closed = gateway.close()
  // The gateway is not ready first: a request in between is still served.
  await until(() => isRefused(started))
  await wire.write(head.slice(20))
  const late = await wire.read()
  t.equal(late.status, 503)
  t.equal(late.headers['connection'], 'close')
  t.equal(late.headers['retry-after'], '1')
  t.match(late.body.toString(), /"code":"draining"/)
  t.equal(await wire.ended, 'end')
  go()
  t.equal((await pending).status, 200)
  await closed
})

t.test('a running stream ends completely, and its connection with it [O3]', async t => {
  const started = await start(t, { edit: free })
  const { gateway, url, key } = started
  const text = started.upstreams['text'] as Upstream
  const go = Promise.withResolvers<void>()
  text.answer(async res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')
    await go.promise
    res.end('data: [DONE]\n\n')
  })
  const wire = await openWire(url)
  const model = [...gateway.plan.models.values()].find(one => one.family.forward.has('chat'))?.name
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const lines = [`Authorization: Bearer ${key}`, 'Content-Type: application/json', `Content-Length: ${body.length}`]
  const begun = once(wire.socket, 'data')
  const reading = wire.read()
  await wire.write(requestHead('POST', '/v1/chat/completions', lines) + body)
  await begun
  const closed = gateway.close()
  go.resolve()
  const answer = await reading
  t.equal(answer.status, 200)
  t.ok(answer.complete)
  t.match(answer.body.toString(), /\[DONE\]/)
  t.equal(await wire.ended, 'end')
  await closed
})

t.test('server.drain_wait: accepts work while /readyz returns 503, and every answer closes its connection', async t => {
  const started = await start(t, { edit: [...free, { 'server/drain_wait': '700ms' }] })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  t.match((await get(started, agent)).headers, { connection: 'keep-alive' })
  const closed = started.gateway.close()
  t.equal((await fetch(`${started.opsUrl}/readyz`)).status, 503)
  const kept = await get(started, agent)
  t.match(kept, { status: 200, reused: true, headers: { connection: 'close' } })
  t.match(await get(started, agent), { status: 200, reused: false, headers: { connection: 'close' } })
  await closed
  await t.rejects(get(started, agent))
})

t.test('server.drain_wait: serves a connection that was opened before the listener closed', async t => {
  const started = await start(t, { edit: [...free, { 'server/drain_wait': '100ms' }] })
  const { gateway, url, key } = started
  const wire = await openWire(url)
  const closed = gateway.close()
  await until(() => isRefused(started))
  // A load balancer on a busy machine sends its request later than it opens the connection.
  await sleep(300)
  await wire.write(requestHead('GET', '/v1/models', [`Authorization: Bearer ${key}`]))
  t.match(await wire.read(), { status: 200, headers: { connection: 'close' } })
  await closed
})

t.test('a stuck upstream is cut at the deadline, and its charges are resolved [O4]', async t => {
  const started = await start(t, { edit: [...free, { 'server/drain': '300ms' }] })
  const { gateway, url, key, upstream } = started
  const reached = Promise.withResolvers<void>()
  let calls = 0
  upstream.answer(() => (++calls === 3 ? reached.resolve() : undefined))
  const left = Promise.withResolvers<void>()
  const waiting = [0, 1].map(() => askOnce(url, image, { key }))
  // The third client disconnects: the gateway still reads the upstream's answer in order to charge it.
  const gone = askOnce(url, image, { key, leave: left.promise })
  await reached.promise
  left.resolve()
  await gone
  const answering = await openWire(url)
  await answering.write(
    `${requestHead('POST', '/v1/images/generations', [`Authorization: Bearer ${key}`, 'Content-Type: application/json', 'Content-Length: 1000'])}{"model":`,
  )
  while (gateway.open < 4) await new Promise(resolve => setTimeout(resolve, 5))
  const before = performance.now()
  await gateway.close()
  t.comment(`closed after ${Math.round(performance.now() - before)} ms`)
  for (const answer of await Promise.all(waiting)) {
    t.equal(answer.status, 503, caseName({ answer }))
    t.equal(answer.headers['x-should-retry'], 'false', 'it may have been made: a second try could be a second sale')
    t.match(answer.json(), { error: { code: 'drain_deadline' } }, caseName({ answer }))
  }
  await answering.ended
  const again = await started.reopen()
  const charges = await again.charges(10)
  t.equal(charges.length, 3)
  t.notOk(
    charges.some(charge => charge.state === 'reserved'),
    'none is left open',
  )
  t.strictSame(await checkBooks(again.gateway), [])
})
