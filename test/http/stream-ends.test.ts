import { request } from 'node:http'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { HandTime } from '../harness/hand-time.ts'
import { start, type Started } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { chatAnswer } from '../harness/vendor-keys.ts'

const delta = { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hello' } }] }
const usage = { ...delta, choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }
const event = (data: object | string, name = '') =>
  `${name === '' ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

const user = { role: 'user', content: 'hi' }
const streams = {
  chat: {
    path: '/v1/chat/completions',
    ask: { model: 'sim-chat', stream: true, messages: [user] },
    events: [event(delta), event(usage), event('[DONE]')],
  },
  responses: {
    path: '/v1/responses',
    ask: { model: 'sim-chat', stream: true, input: 'hi' },
    events: [
      event({ type: 'response.output_text.delta', delta: 'Hello' }, 'response.output_text.delta'),
      event(
        {
          type: 'response.completed',
          response: { id: 'r1', status: 'completed', usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } },
        },
        'response.completed',
      ),
    ],
  },
  messages: {
    path: '/v1/messages',
    ask: { model: 'sim-messages', stream: true, max_tokens: 5, messages: [user] },
    events: [
      event({ type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }, 'message_start'),
      event({ type: 'message_delta', delta: {}, usage: { output_tokens: 2 } }, 'message_delta'),
      event({ type: 'message_stop' }, 'message_stop'),
    ],
  },
}

/** Reads a stream until a text arrives, and then closes the connection. */
function readUntil({ url, key }: Started, path: string, body: object, last: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const call = request(url + path, { method: 'POST', headers }, res => {
      let text = ''
      res.on('error', () => undefined)
      res.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (!text.includes(last)) return
        call.destroy()
        resolve()
      })
    })
    call.on('error', reject)
    call.end(JSON.stringify(body))
  })
}

t.test('a client that closes after the last event counts as served, whenever the upstream ends', async t => {
  for (const [name, { path, ask, events }] of Object.entries(streams))
    for (const pieces of ['whole', 'split'] as const) {
      const started = await start(t)
      const upstream = started.upstreams['text'] as Upstream
      const over = Promise.withResolvers<void>()
      upstream.answer(async res => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        const text = events.join('')
        for (const piece of pieces === 'whole' ? [text] : (text.match(/[\s\S]{1,17}/g) ?? [])) {
          res.write(piece)
          await new Promise(resolve => setImmediate(resolve))
        }
        await over.promise
        res.end()
      })
      await readUntil(started, path, ask, events.at(-1) ?? '')
      over.resolve()
      t.match(await started.logs(1), [{ outcome: 'answered', status: 200 }], caseName({ name, pieces }))
      t.match(await started.charges(), [{ state: 'settled' }], caseName({ name, pieces }))
    }
})

t.test('a client that closes before it does not', async t => {
  for (const [name, { path, ask, events }] of Object.entries(streams)) {
    const started = await start(t)
    const upstream = started.upstreams['text'] as Upstream
    upstream.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).write(events[0]))
    await readUntil(started, path, ask, events[0] ?? '')
    t.match(await started.logs(1), [{ outcome: 'caller_gone' }], name)
  }
})

t.test('x-should-retry of an upstream is passed on', async t => {
  const { post, upstreams } = await start(t)
  const upstream = upstreams['text'] as Upstream
  for (const hint of ['true', 'false']) {
    upstream.answer(res => {
      res.writeHead(400, { 'content-type': 'application/json', 'x-should-retry': hint })
      res.end('{"error":{"message":"no"}}')
    })
    const answer = await post('/v1/chat/completions', { ...streams.chat.ask, stream: false })
    t.equal(answer.headers.get('x-should-retry'), hint, `x-should-retry: ${hint}`)
  }
})

t.test('a client refused for reserved tokens waits until their requests are expected to end', async t => {
  const clock = new HandTime()
  const { post, upstreams, settled } = await start(t, {
    clock: { now: clock.now, tick: clock.tick },
    edit: [{ 'groups/default': { rpm: 60, tpm: 6000 } }],
  })
  const upstream = upstreams['text'] as Upstream
  const held: (() => void)[] = []
  const came: (() => void)[] = []
  upstream.answer(res => {
    held.push(() => void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(chatAnswer)))
    for (const tell of came.splice(0)) tell()
  })
  const ask = () => post('/v1/chat/completions', { model: 'sim-chat', max_tokens: 3_000, messages: [user] })
  const arrive = () => new Promise<void>(resolve => void came.push(resolve))
  let arrived = arrive()
  const first = ask()
  await arrived
  clock.pass(4_000)
  held.shift()?.()
  t.equal((await first).status, 200)
  await settled()
  arrived = arrive()
  const second = ask()
  await arrived
  clock.pass(1_000)
  const refused = await ask()
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '3', 'the one before took 4 s, and this one has run for 1')
  held.shift()?.()
  t.equal((await second).status, 200)
  await settled()
  arrived = arrive()
  const third = ask()
  await arrived
  held.shift()?.()
  t.equal((await third).status, 200, 'it was given back')
})
