import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { until } from '../harness/edits.ts'
import { HandClock, KeptLog } from '../harness/request-context.ts'
import { form } from '../harness/forms.ts'
import { type Edits, quietLog, type Started, start, type StartOptions } from '../harness/start.ts'
import type { Reaction } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const minute = 60_000
const limited: Edits = [{ 'groups/default': { rpm: 1000, tpm: 6000 } }]
/** 3,500 tokens by its length: two such requests exceed the limit. */
const long = 'some words '.repeat(1_273)
/** The usage in every answer with a report: the whole limit. */
const used = 6_000
const messages = [{ role: 'user', content: 'Say hello.' }]
const contents = [{ role: 'user', parts: [{ text: 'Say hello.' }] }]
const geminiUsage = { usageMetadata: { promptTokenCount: 900, candidatesTokenCount: used - 900 } }

function events(...all: readonly object[]): Reaction {
  return res => {
    const text = all.map(
      one => `${'type' in one ? `event: ${String(one.type)}\n` : ''}data: ${JSON.stringify(one)}\n\n`,
    )
    res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text.join(''))
  }
}

/** Holds every request until released. */
function holdAll(): { readonly reaction: Reaction; readonly held: ServerResponse[] } {
  const held: ServerResponse[] = []
  return { held, reaction: res => void held.push(res) }
}

async function startLimited(t: Test, options: StartOptions = {}): Promise<Started & { readonly clock: HandClock }> {
  const clock = new HandClock()
  return { ...(await start(t, { clock, edit: limited, ...options })), clock }
}

/** Tokens of the last minute, from the headers of the messages format: counting tokens is free. */
async function tokensUsed({ url, upstream, settled, upstreams }: Started, key: string): Promise<number> {
  await settled()
  ;(upstreams['text'] ?? upstream).answerOnce({ input_tokens: 3 })
  const answer = await fetch(`${url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-messages', messages }),
  })
  const [limit, left] = ['limit', 'remaining'].map(what => answer.headers.get(`anthropic-ratelimit-tokens-${what}`))
  return Number(limit) - Number(left)
}

type RouteCase = { readonly path: string; readonly body: object; readonly answer: object | Reaction }

const openaiUsage = { usage: { prompt_tokens: 900, completion_tokens: used - 900, total_tokens: used } }
const responsesUsage = { usage: { input_tokens: 900, output_tokens: used - 900 } }
const messagesUsage = { usage: { input_tokens: 900, output_tokens: used - 900 } }
const routes: { readonly [name: string]: RouteCase } = {
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'sim-chat', messages },
    answer: { choices: [], ...openaiUsage },
  },
  'chat, streamed': {
    path: '/v1/chat/completions',
    body: { model: 'sim-chat', messages, stream: true },
    answer: events({ choices: [{ index: 0, delta: { content: 'Hi' } }] }, { choices: [], ...openaiUsage }),
  },
  responses: {
    path: '/v1/responses',
    body: { model: 'sim-chat', input: 'Hi' },
    answer: { output: [], ...responsesUsage },
  },
  'responses, streamed': {
    path: '/v1/responses',
    body: { model: 'sim-chat', input: 'Hi', stream: true },
    answer: events({ type: 'response.completed', response: { output: [], ...responsesUsage } }),
  },
  messages: {
    path: '/v1/messages',
    body: { model: 'sim-messages', max_tokens: 100, messages },
    answer: { type: 'message', content: [], ...messagesUsage },
  },
  'messages, streamed': {
    path: '/v1/messages',
    body: { model: 'sim-messages', max_tokens: 100, messages, stream: true },
    answer: events(
      { type: 'message_start', message: { usage: { input_tokens: 900, output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens: used - 900 } },
    ),
  },
  generate: {
    path: '/v1beta/models/sim-generative:generateContent',
    body: { contents },
    answer: { candidates: [], ...geminiUsage },
  },
  'generate, streamed': {
    path: '/v1beta/models/sim-generative:streamGenerateContent?alt=sse',
    body: { contents },
    answer: events({ candidates: [], ...geminiUsage }),
  },
  embeddings: {
    path: '/v1/embeddings',
    body: { model: 'sim-embedding', input: 'Hi' },
    answer: { data: [], usage: { prompt_tokens: used, total_tokens: used } },
  },
  speech: {
    path: '/v1/audio/speech',
    body: { model: 'sim-speech', voice: 'alloy', input: long },
    answer: res => void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound'),
  },
  rerank: {
    path: '/v2/rerank',
    body: { model: 'sim-rerank', query: 'q', documents: [long] },
    answer: { results: [], meta: { billed_units: { search_units: 1 } } },
  },
}

t.test('on every route, streamed or not, used tokens delay the next request until its minute [LIM-6]', async t => {
  const started = await startLimited(t)
  const { clock, newKey, settled, url, upstreams } = started
  for (const [name, { path, body, answer }] of Object.entries(routes)) {
    const { key } = await newKey({ name })
    const post = () =>
      fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    upstreams['text']?.answer(answer)
    const first = await post()
    await first.arrayBuffer()
    t.equal(first.status, 200, name)
    await settled()
    const second = await post()
    t.equal(second.status, 429, name)
    const refusal = await second.text()
    t.match(refusal, /user_tpm reached: 6000 tokens in any 60 seconds/, caseName({ name, path, body, answer }))
    if (path.startsWith('/v1/chat'))
      t.match(JSON.parse(refusal), { error: { type: 'tokens' } }, caseName({ name, path, body, answer }))
    t.match(Number(second.headers.get('retry-after-ms')), minute, caseName({ name, path, body, answer }))
    t.equal(second.headers.get('retry-after'), '60', caseName({ name, path, body, answer }))
    // A write in progress would immediately seem a minute late.
    await settled()
    await started.gateway.storage.flush()
    clock.move(minute)
    const third = await post()
    await third.arrayBuffer()
    t.equal(third.status, 200, `${name}: whoever waits is admitted`)
    await settled()
  }
})

t.test('a form is counted by its text and its files [LIM-7]', async t => {
  const { url, newKey, settled, upstreams } = await startLimited(t)
  const { key } = await newKey()
  upstreams['text']?.answer({ text: 'hello' })
  const post = () => {
    const { body, contentType } = form({
      model: 'sim-transcription',
      prompt: long.slice(0, 10_000),
      file: Buffer.from('RIFF'),
    })
    return fetch(`${url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': contentType },
      body: new Uint8Array(body),
    })
  }
  t.equal((await post()).status, 200)
  await settled()
  t.equal((await post()).status, 429)
})

t.test('images, counting and lists use no tokens, also for a key without any left [LIM-8]', async t => {
  const started = await startLimited(t)
  const { key, post, get, upstreams } = started
  upstreams['text']?.answer({ choices: [], ...openaiUsage })
  t.equal((await post('/v1/chat/completions', routes['chat']?.body)).status, 200)
  t.equal(await tokensUsed(started, key), used)
  t.equal((await post('/v1/chat/completions', routes['chat']?.body)).status, 429)
  upstreams['alpha']?.answer({ data: [] })
  const image = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
  t.not(image.status, 429)
  t.equal(image.headers.get('x-ratelimit-remaining-tokens'), String(6_000 - used))
  t.equal((await get('/v1/models')).status, 200)
  t.equal(await tokensUsed(started, key), used)
})

t.test('a request that could never be admitted is 400 and takes nothing', async t => {
  const started = await startLimited(t)
  const { key, post, upstream, upstreams } = started
  const answer = await post('/v1/chat/completions', { model: 'sim-chat', messages, max_tokens: 7_000 })
  t.equal(answer.status, 400)
  t.match(await answer.json(), {
    error: { code: 'tokens_over_limit', message: /may use 70\d\d tokens, more than the limit user_tpm of 6000/ },
  })
  t.equal(answer.headers.get('x-should-retry'), 'false')
  t.equal(await tokensUsed(started, key), 0)
  t.equal(upstream.received.length + (upstreams['text']?.received.length ?? 0), 1, 'the count of tokens alone')
})

t.test('reservations are settled: refused and failed requests cost nothing, cut ones what has passed [R8]', async t => {
  const started = await startLimited(t)
  const { url, newKey, upstreams, settled } = started
  const text = upstreams['text'] as NonNullable<(typeof upstreams)['text']>
  const delta = { choices: [{ index: 0, delta: { content: 'word '.repeat(80) } }] }
  const piece = `data: ${JSON.stringify(delta)}\n\n`
  const cut: Reaction = async res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < 5; i++) if (!res.write(piece.replace('word', `word ${i}`))) await once(res, 'drain')
    setImmediate(() => res.destroy())
  }
  const cases: readonly [string, Reaction, (tokens: number) => boolean][] = [
    ['an upstream error', res => void res.writeHead(500).end('{}'), tokens => tokens === 0],
    ['refused by the upstream', res => void res.writeHead(400).end('{"error":{}}'), tokens => tokens === 0],
    ['a socket closed without an answer', res => void res.destroy(), tokens => tokens > 0 && tokens < 100],
    ['a stream that the upstream cut', cut, tokens => tokens > 10 && tokens < 1_000],
  ]
  for (const [name, reaction, isRight] of cases) {
    const { key } = await newKey({ name })
    text.answerOnce(reaction)
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-chat', messages, stream: true }),
    })
    await answer.text().catch(() => 'cut')
    const tokens = await tokensUsed(started, key)
    t.ok(isRight(tokens), `${name}: ${tokens}`)
  }
  const { key } = await newKey({ name: 'leaves' })
  const { held, reaction } = holdAll()
  text.answerOnce(reaction)
  const leaving = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  leaving.end(JSON.stringify({ model: 'sim-chat', messages, stream: true }))
  await until(() => held.length === 1)
  held[0]?.writeHead(200, { 'content-type': 'text/event-stream' })
  held[0]?.write(piece)
  held[0]?.write(piece.replace('word', 'other words'))
  const [answer] = (await once(leaving, 'response')) as [IncomingMessage]
  await once(answer, 'data')
  leaving.destroy()
  await settled()
  const tokens = await tokensUsed(started, key)
  t.ok(tokens > 0 && tokens < 1_000, `left in the middle: ${tokens}`)
})

t.test('a key has a limited number of requests in flight, until the last byte of each [LIM-4] [LIM-9]', async t => {
  const edit: Edits = [{ 'groups/default': { rpm: 60, concurrency: 2 } }]
  const { post, upstreams, settled } = await startLimited(t, { edit })
  const { held, reaction } = holdAll()
  upstreams['text']?.answer(reaction)
  const ask = () => post('/v1/chat/completions', { model: 'sim-chat', messages, stream: true })
  const [first, second] = [ask(), ask()]
  await until(() => held.length === 2)
  const third = await ask()
  t.equal(third.status, 429)
  t.equal(third.headers.get('retry-after'), '1')
  t.equal(third.headers.get('x-ratelimit-scope'), 'key_concurrency')
  t.match(await third.json(), { error: { message: /key_concurrency reached: 2 concurrent requests/ } })
  for (const res of held) res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n')
  await Promise.all([first, second])
  t.equal((await ask()).status, 429, 'a received head is not the end')
  for (const res of held) res.end('data: [DONE]\n\n')
  await Promise.all([first, second].map(async one => (await one).text()))
  await settled()
  upstreams['text']?.answer({ choices: [] })
  const after = await post('/v1/chat/completions', { model: 'sim-chat', messages })
  t.equal(after.status, 200)
  t.equal(after.headers.get('x-ratelimit-remaining-requests'), '57', 'refused ones took no request')
})

const two = `
version: 1
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: { rpm: 100 } }
upstreams:
  one: { url: "\${ONE_URL}", concurrency: 1 }
  two: { url: "\${TWO_URL}", concurrency: 2 }
pipeline: [auth, ratelimit, token-usage]
families: { chat: { streams: [chat], forward: { chat: { all: true } }, token-usage: {} } }
models:
  both: { family: chat, price: free, upstreams: [{ upstream: one }, { upstream: two, priority: 2 }] }
  alone: { family: chat, price: free, upstream: one }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
`

t.test('a full upstream is skipped for the next; if all are full, it is 429 and nothing is consumed', async t => {
  const { post, upstreams, settled } = await startLimited(t, { yaml: two, edit: [], upstreams: ['one', 'two'] })
  const [one, other] = [holdAll(), holdAll()]
  upstreams['one']?.answer(one.reaction)
  upstreams['two']?.answer(other.reaction)
  const ask = (model = 'both') => post('/v1/chat/completions', { model, messages })
  const pending = [ask(), ask(), ask()]
  await until(() => one.held.length + other.held.length === 3)
  t.same([one.held.length, other.held.length], [1, 2])
  for (const model of ['both', 'alone']) {
    const full = await ask(model)
    t.equal(full.status, 429, caseName({ model }))
    t.equal(full.headers.get('retry-after'), '1', caseName({ model }))
    t.match(await full.json(), { error: { message: /upstream_concurrency reached/ } }, caseName({ model }))
  }
  for (const res of [...one.held, ...other.held]) res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  for (const answer of await Promise.all(pending)) t.equal(answer.status, 200, caseName({ answer }))
  await settled()
  // The first upstream refuses and its place is released; then the other is called.
  upstreams['one']?.answer(res => void res.writeHead(503).end('{}'))
  upstreams['two']?.answer({ choices: [] })
  for (let i = 0; i < 5; i++) t.equal((await ask()).status, 200, caseName({ i }))
  upstreams['one']?.answer({ choices: [] })
  const alone = await ask('alone')
  t.equal(alone.status, 200, 'its place is free')
  t.equal(alone.headers.get('x-ratelimit-remaining-requests'), String(100 - 9))
})

t.test('a limit in shadow mode admits everyone and logs once a minute how many it would have refused', async t => {
  const kept = new KeptLog()
  const edit: Edits = [{ 'groups/default': { rpm: 2, tpm: 9, shadow: ['rpm', 'tpm'] } }]
  const { post, clock, upstreams, settled } = await startLimited(t, {
    edit,
    log: { ...quietLog(), warn: kept.warn },
  })
  upstreams['text']?.answer({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  for (let i = 0; i < 5; i++) {
    const answer = await post('/v1/chat/completions', { model: 'sim-chat', messages })
    t.equal(answer.status, 200, caseName({ i }))
    t.equal(answer.headers.get('x-ratelimit-limit-requests'), null, 'without a limit no limit is reported')
    await answer.text()
    await settled()
  }
  clock.move(minute - 10_000)
  await (await post('/v1/chat/completions', { model: 'sim-chat', messages })).text()
  await settled()
  clock.move(10_000)
  await post('/v1/chat/completions', { model: 'sim-chat', messages })
  const shadowed = kept.lines.filter(([, , text]) => text.includes('shadow')).map(([, facts]) => facts)
  t.match(
    shadowed.filter(facts => 'limit' in facts && facts.limit === 'user_rpm'),
    [{ limit: 'user_rpm', of: 'default', max: 2, refused: 1 }],
  )
  t.match(
    shadowed.filter(facts => 'limit' in facts && facts.limit === 'user_tpm'),
    [
      { limit: 'user_tpm', of: 'default', max: 9, refused: 1 },
      { limit: 'user_tpm', of: 'default', max: 9, refused: 6 },
    ],
  )
})
