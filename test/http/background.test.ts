import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start, type Started } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'

const usage = { input_tokens: 100, output_tokens: 50, total_tokens: 150 }
/** 100 × 0.50 and 50 × 1.50 per million. */
const price = '0.000125'
const ask = { model: 'sim-chat', input: 'hi', background: true } as const

/** An upstream whose responses have the state that the test sets. */
type Work = { state: string; usage: object | null; polls: number; made: number; failing: boolean }

function working({ upstreams }: Started, work: Work): Work {
  const text = upstreams['text'] as Upstream
  text.answer((res, { method, url, body }) => {
    const say = (status: number, value: object): void =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const found = /^\/v1\/responses\/([^/?]+)(\/cancel)?/.exec(url)
    const show = (id: string) => {
      const isOver = !['queued', 'in_progress'].includes(work.state)
      return {
        id,
        object: 'response',
        background: true,
        status: work.state,
        output: [],
        usage: isOver ? work.usage : null,
      }
    }
    if (!found) {
      const request: { stream?: boolean } = JSON.parse(body.toString())
      const response = { ...show(`resp_${++work.made}`), status: 'queued', usage: null }
      if (request.stream !== true) return say(200, response)
      const event = { type: 'response.created', sequence_number: 0, response }
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(`event: response.created\ndata: ${JSON.stringify(event)}\n\n`)
      return void wait(20).then(() => res.destroy())
    }
    if (found[2]) work.state = 'cancelled'
    if (method === 'GET') work.polls++
    if (work.failing) return say(500, { error: { message: 'later' } })
    return say(200, show(found[1] as string))
  })
  return work
}

async function open(t: Test, edit: Edits = []): Promise<{ readonly started: Started; readonly work: Work }> {
  const started = await start(t, { edit })
  return { started, work: working(started, { state: 'queued', usage, polls: 0, made: 0, failing: false }) }
}

async function until<T>(found: () => Promise<T | undefined | false>): Promise<T> {
  for (let i = 0; i < 2_000; i++) {
    const value = await found()
    if (value) return value
    await wait(10)
  }
  throw new Error('it never came to that')
}

const ended = ({ charges }: Started) =>
  until(async () => {
    const [charge] = await charges()
    return charge && charge.state !== 'reserved' ? charge : undefined
  })

t.test('charges a background response when it ends, also if its client never asks for it', async t => {
  const { started, work } = await open(t)
  const made = await started.openai.responses.create(ask)
  t.match(made, { status: 'queued' })
  t.match(await started.charges(), [{ state: 'reserved', amount: '0' }], 'money is held for it')
  await until(async () => work.polls > 0)
  t.equal((await started.charges())[0]?.state, 'reserved')
  t.match(
    await started.openai.responses.delete(made.id).catch((error: unknown) => error),
    { status: 409, code: 'object_unsettled' },
    'it is not deleted before it is charged',
  )
  work.state = 'completed'
  t.match(await ended(started), { state: 'settled', amount: price })
  t.match(await started.openai.responses.retrieve(made.id), { status: 'completed', usage })
  t.equal((await started.charges()).length, 1, 'reading it costs nothing')
  await until(async () => (await started.gateway.storage.jobs.openOf(started.keyId)) === 0)
  await started.openai.responses.delete(made.id)
  t.strictSame(await checkBooks(started.gateway), [])
})

t.test('charges what a cancelled or failed response reports, and nothing without a report', async t => {
  const { started, work } = await open(t)
  const made = await started.openai.responses.create(ask)
  work.usage = null
  t.match(await started.openai.responses.cancel(made.id), { status: 'cancelled' })
  t.match(await ended(started), { state: 'voided', amount: '0' })
  for (const state of ['failed', 'cancelled', 'incomplete']) {
    work.state = 'queued'
    work.usage = usage
    await started.openai.responses.create(ask)
    work.state = state
    t.match(await ended(started), { state: 'settled', amount: price }, state)
  }
  t.strictSame(await checkBooks(started.gateway), [])
})

t.test('follows up a streamed background response whose stream breaks off', async t => {
  const { started, work } = await open(t)
  const types: string[] = []
  try {
    for await (const event of await started.openai.responses.create({ ...ask, stream: true })) types.push(event.type)
  } catch {
    // The upstream closed the stream.
  }
  t.strictSame(types.slice(0, 1), ['response.created'])
  t.match(await started.charges(), [{ state: 'reserved' }])
  work.state = 'completed'
  t.match(await ended(started), { state: 'settled', amount: price })
})

t.test("a restarted gateway continues the previous one's work, and charges it once", async t => {
  const { started, work } = await open(t)
  const made = await started.openai.responses.create(ask)
  work.failing = true
  const again = await started.reopen()
  await until(async () => work.polls > 0)
  t.match(await again.charges(), [{ state: 'reserved' }], 'a failing upstream is polled again')
  work.failing = false
  work.state = 'completed'
  t.match(await ended(again), { state: 'settled', amount: price })
  const openai = new OpenAI({ baseURL: `${again.url}/v1`, apiKey: started.key, maxRetries: 0 })
  t.match(await openai.responses.retrieve(made.id), { status: 'completed' })
  t.equal((await again.charges()).length, 1)
  t.strictSame(await checkBooks(again.gateway), [])
})

t.test('refuses background work beyond a budget, and sends lost work to review', async t => {
  const { started, work } = await open(t)
  const { key } = await started.newKey({ budget: 1 })
  const post = (body: object, secret = started.key) =>
    started.post('/v1/responses', body, { authorization: `Bearer ${secret}` })
  t.equal((await post(ask, key)).status, 402)
  t.equal(work.made, 0)
  await post(ask)
  const text = started.upstreams['text'] as Upstream
  text.answer(res => void res.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{}}'))
  t.match(await ended(started), { state: 'needs_review', amount: '0' })
})

t.test('work that may run at the upstream, although no id arrived, waits for review', async t => {
  const { started } = await open(t)
  const text = started.upstreams['text'] as Upstream
  const created = JSON.stringify({ id: 'resp_1', object: 'response', status: 'queued' })
  const rows: readonly (readonly [string, (res: ServerResponse, leave: () => void) => void, object?])[] = [
    ['a client that leaves first', (_, leave) => leave()],
    ['a client that leaves first, with a stream', (_, leave) => leave(), { stream: true }],
    ['a connection that breaks off', res => res.destroy()],
    [
      'a response that breaks off',
      res => {
        res.writeHead(200, { 'content-type': 'application/json' }).write(created.slice(0, 30))
        setImmediate(() => res.destroy())
      },
    ],
  ]
  for (const [name, reaction, more] of rows) {
    const leaving = new AbortController()
    text.answer(res => reaction(res, () => leaving.abort()))
    await fetch(`${started.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${started.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...ask, ...more }),
      signal: leaving.signal,
    })
      .then(answer => answer.text())
      .catch(() => '')
    const [charge] = await started.charges()
    t.match(charge, { state: 'needs_review', amount: '0', reason: 'background_not_recorded' }, name)
    t.not(charge?.held, '0.00', caseName({ name, has: 'a hold' }))
  }
  t.strictSame((await started.gateway.storage.books.verify()).problems, [])
})

t.test('the simulator runs responses in the background', async t => {
  const started = await start(t, { simulated: true })
  const { openai } = started
  const made = await openai.responses.create({ ...ask, input: 'Say something long.' })
  t.match(made, { status: 'queued', usage: null })
  const done = await until(async () => {
    const found = await openai.responses.retrieve(made.id)
    return found.status === 'completed' ? found : undefined
  })
  t.match(await ended(started), { state: 'settled' })
  t.ok((done.usage?.output_tokens ?? 0) > 0)
})
