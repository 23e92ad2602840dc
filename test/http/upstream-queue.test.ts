import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { HandTime } from '../harness/hand-time.ts'
import { start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { chatAnswer } from '../harness/vendor-keys.ts'

const chat = '/v1/chat/completions'
const plenty = ['rpm: 60, tpm: 500000', 'rpm: 6000, tpm: 500000000'] as const
/** Removes the shipped limit of one key. */
const unbound = [/, concurrency: 32/, ''] as const

/** A gateway whose vendor answers on demand, and clients named in their requests. */
async function open(t: Test, own: string, clock?: HandTime) {
  const started = await start(t, {
    ...(clock && { clock }),
    edit: [plenty, unbound, [/(url: "\$\{TEXT_URL[^\n]*)/, `$1\n    ${own}`]],
  })
  const vendor = started.upstreams['text'] as Upstream
  const held: { readonly who: string; readonly res: ServerResponse }[] = []
  const arrivals: (() => void)[] = []
  vendor.answer((res, { body }) => {
    const { messages } = JSON.parse(body.toString()) as { messages: { content: string }[] }
    held.push({ who: messages[0]?.content ?? '', res })
    for (const tell of arrivals.splice(0)) tell()
  })
  const has = async (count: number): Promise<void> => {
    while (held.length < count) await new Promise<void>(resolve => void arrivals.push(resolve))
  }
  /** Answers the oldest request. @returns its client */
  const next = async (): Promise<string> => {
    await has(1)
    const one = held.shift()
    one?.res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer))
    return one?.who ?? ''
  }
  const keys = new Map<string, Promise<{ key: string }>>()
  const ask = async (who: string): Promise<Response> => {
    const made = keys.get(who) ?? started.newKey({ name: who })
    keys.set(who, made)
    const { key } = await made
    const body = { model: 'sim-chat', messages: [{ role: 'user', content: who }] }
    return started.post(chat, body, { authorization: `Bearer ${key}` })
  }
  const figure = async (name: string): Promise<number> => {
    const text = await (await fetch(`${started.opsUrl}/metrics`)).text()
    return Number(new RegExp(`^${name}\\{upstream="text"\\} (\\S+)$`, 'm').exec(text)?.[1])
  }
  const waits = async (count: number): Promise<void> => {
    while ((await figure('tollgate_upstream_queue')) !== count) await new Promise(resolve => setImmediate(resolve))
  }
  return { ...started, held, has, next, ask, waits, figure }
}

t.test('256 slow requests of one key: another client gets the first free connection', async t => {
  const { ask, has, next, waits, figure } = await open(t, '# 256 connections by default')
  const slow = Array.from({ length: 300 }, () => ask('slow'))
  await has(256)
  await waits(44)
  t.equal(await figure('tollgate_upstream_connections'), 256)
  t.equal(await figure('tollgate_upstream_connections_max'), 256)
  const other = ask('other')
  await waits(45)
  for (let i = 0; i < 256; i++) await next()
  const order: string[] = []
  for (let i = 0; i < 45; i++) order.push(await next())
  t.ok(order.indexOf('other') <= 1, `it is served ${order.indexOf('other') + 1}. of 45, and came last`)
  t.equal((await other).status, 200)
  for (const one of slow) t.equal((await one).status, 200, 'each is answered')
})

t.test('clients take turns, however many requests each has waiting', async t => {
  const { ask, next, waits, has } = await open(t, 'connections: 1')
  const pending = [ask('a')]
  await has(1)
  for (const [i, who] of ['a', 'a', 'a', 'a', 'b', 'b', 'c'].entries()) {
    pending.push(ask(who))
    await waits(i + 1)
  }
  const order: string[] = []
  for (let i = 0; i < pending.length; i++) order.push(await next())
  t.equal(order.join(''), 'aabcabaa')
  for (const one of pending) t.equal((await one).status, 200, 'each is answered')
})

t.test('a request that waits too long gets 429 with a time to wait, and costs nothing', async t => {
  const clock = new HandTime()
  const { ask, has, waits, next, figure, charges, logs } = await open(
    t,
    'connections: 1\n    queue: { for: 3s }',
    clock,
  )
  const first = ask('first')
  await has(1)
  const second = ask('second')
  await waits(1)
  clock.pass(2_900)
  await waits(1)
  clock.pass(200)
  const refused = await second
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '3', 'one waits, and one was served in that time')
  t.match(await refused.json(), { error: { code: 'upstream_queue_full', type: 'requests' } })
  t.equal(await next(), 'first')
  t.equal((await first).status, 200)
  t.equal(await figure('tollgate_upstream_queue_refused_total'), 1)
  t.match(
    (await logs()).find(({ status }) => status === 429),
    { error: 'upstream_queue_full', outcome: 'refused' },
  )
  t.equal((await charges()).length, 1, 'only the one that was served')
})

t.test('[13.9] Retry-After is the time until the queue has drained, at the latest rate', async t => {
  const clock = new HandTime()
  const { ask, has, waits, next } = await open(t, 'connections: 1\n    queue: { max: 2 }', clock)
  const served = [ask('a')]
  await has(1)
  served.push(ask('a'))
  await waits(1)
  served.push(ask('a'))
  await waits(2)
  // One request leaves the queue, and another six seconds later.
  await next()
  await waits(1)
  clock.pass(6_000)
  await next()
  await waits(0)
  for (const one of [1, 2]) {
    served.push(ask('a'))
    await waits(one)
  }
  const refused = await ask('a')
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '4', 'two wait, and three were served in six seconds')
  for (let i = 0; i < 3; i++) await next()
  for (const one of served) t.equal((await one).status, 200, 'each is answered')
})

t.test('if too many wait, the client with most of them loses a slot to a later one', async t => {
  const { ask, has, waits, next, figure } = await open(t, 'connections: 1\n    queue: { max: 3 }')
  const first = ask('a')
  await has(1)
  const waiting: Promise<Response>[] = []
  for (let i = 1; i <= 3; i++) {
    waiting.push(ask('a'))
    await waits(i)
  }
  const over = await ask('a')
  t.equal(over.status, 429, 'it has too many itself')
  const other = ask('b')
  t.equal((await Promise.race(waiting)).status, 429, 'the last of those of the client that has most')
  t.equal(await figure('tollgate_upstream_queue'), 3)
  const order: string[] = []
  for (let i = 0; i < 4; i++) order.push(await next())
  t.equal(order.join(''), 'aaba')
  t.equal((await first).status, 200)
  t.equal((await other).status, 200)
})

t.test("with a full queue the model's next upstream is called, and it is no failure of the first", async t => {
  const started = await start(t, {
    edit: [
      unbound,
      [
        /(url: "\$\{TEXT_URL[^\n]*)/,
        '$1\n    connections: 1\n    queue: { max: 0 }\n    cooldown: { failures: 1, for: 60s }',
      ],
      [/(sim-chat: \{[^\n]*?)upstream: text/, '$1upstreams: [{ upstream: text }, { upstream: beta, priority: 2 }]'],
    ],
  })
  const [text, beta] = [started.upstreams['text'], started.upstreams['beta']] as [Upstream, Upstream]
  const came = Promise.withResolvers<ServerResponse>()
  text.answer(res => came.resolve(res))
  beta.answer(chatAnswer)
  const body = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
  const first = started.post(chat, body)
  const held = await came.promise
  for (let i = 0; i < 5; i++) t.equal((await started.post(chat, body)).status, 200, caseName({ i }))
  t.equal(beta.received.length, 5)
  held.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer))
  t.equal((await first).status, 200)
  text.answer(chatAnswer)
  t.equal((await started.post(chat, body)).status, 200)
  t.equal(text.received.length, 2, 'it is called again at once')
})

t.test("the error is in the client's API format", async t => {
  const { held, has, ask, post, newKey } = await open(t, 'connections: 1\n    queue: { max: 0 }')
  const first = ask('first')
  await has(1)
  const { key } = await newKey({ name: 'other' })
  const message = { max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
  const messages = await post('/v1/messages', { model: 'sim-messages', ...message }, { authorization: `Bearer ${key}` })
  t.equal(messages.status, 429)
  t.match(await messages.json(), { type: 'error', error: { type: 'rate_limit_error' } })
  held[0]?.res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer))
  t.equal((await first).status, 200)
})
