import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { formatBill } from '../../src/cli/commands/logs.ts'
import { explainRequest, replayCharge } from '../../src/index.ts'
import { type Started, start } from '../harness/start.ts'
import type { Reaction } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const yaml = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups:
  default: {}
  partner: { multiplier: "0.9" }
upstreams:
  text:
    url: "\${TEXT_URL}"
    credential: { header: authorization, value: "Bearer \${TEXT_API_KEY}" }
pipeline: [auth, ratelimit, multipart-rewrite, token-usage]
families:
  chat:
    streams: [chat, responses]
    forward: { chat: { all: true }, responses: { all: true } }
    token-usage: {}
  quiet:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { include_usage: false }
  billed:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { on_caller_gone: bill }
  messages:
    streams: [messages]
    forward: { messages: { all: true }, messages.count: { all: true } }
    token-usage: { free_operations: [messages.count] }
  generative:
    streams: [generate]
    forward: { generate: { all: true } }
    token-usage: {}
  embedding: { forward: { embeddings: { all: true } }, token-usage: {} }
  speech: { forward: { audio.speech: { all: true } }, token-usage: { count_characters_of: input } }
  transcription:
    streams: [audio.transcribe]
    forward: { audio.transcribe: { all: true } }
    multipart-rewrite: { files: { file: { keep: first } } }
    token-usage: {}
  rerank: { forward: { rerank: { all: true } }, token-usage: {} }
models:
  chat-one: { family: chat, upstream: text, prices: { input: "500", cached_input: "50", output: "1500" } }
  chat-billed: { family: billed, upstream: text, prices: { input: "500", cached_input: "50", output: "1500" } }
  chat-free: { family: chat, upstream: text, price: free }
  chat-each: { family: chat, upstream: text, prices: { input: "500", output: "1500", request: "0.01" } }
  chat-quiet: { family: quiet, upstream: text, prices: { input: "500", output: "1500" } }
  messages-one: { family: messages, upstream: text, prices: { input: "1000", cached_input: "100", output: "5000" } }
  generative-one: { family: generative, upstream: text, prices: { input: "300", output: "2500" } }
  embedding-one: { family: embedding, upstream: text, prices: { input: "20" } }
  embedding-text: { family: embedding, upstream: text, prices: { input: "20", output: "30" } }
  speech-one: { family: speech, upstream: text, prices: { character: "15000" } }
  transcription-one: { family: transcription, upstream: text, prices: { second: "0.0001" } }
  rerank-one: { family: rerank, upstream: text, prices: { search_unit: "0.002" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/embeddings, operation: embeddings, dialect: openai }
  - { match: POST /v1/audio/speech, operation: audio.speech, dialect: openai }
  - { match: POST /v1/audio/transcriptions, operation: audio.transcribe, dialect: openai, body: form }
  - { match: POST /v1/messages, operation: messages, dialect: anthropic }
  - { match: POST /v1/messages/count_tokens, operation: messages.count, dialect: anthropic }
  - { match: POST /v1/rerank, operation: rerank, dialect: cohere }
  - { match: "POST /v1beta/models/{model}:streamGenerateContent", operation: generate, dialect: google, stream: always }
  - { match: "GET /v1/charges/{id}", operation: charges.get, dialect: openai, serve: charge }
`

const shared = await start(t, { yaml, upstreams: ['text'] })

/** The one gateway of this file; each test sees only its own records. */
async function begin(): Promise<Started & { readonly asked: () => number }> {
  const before = new Set((await shared.logs(500)).map(log => log.id))
  const receivedBefore = shared.upstream.received.length
  return {
    ...shared,
    charges: async limit => (await shared.charges(500)).filter(charge => !before.has(charge.id)).slice(0, limit),
    logs: async limit => (await shared.logs(500)).filter(log => !before.has(log.id)).slice(0, limit),
    /** Requests that the upstream has received in this test. */
    asked: () => shared.upstream.received.length - receivedBefore,
  }
}

const messages = [{ role: 'user', content: 'Say hello.' }]

function content(text: string): string {
  return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}},"finish_reason":null}],"usage":null}\n\n`
}
const usageEvent = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46,"prompt_tokens_details":{"cached_tokens":2}}}\n\n`
const finished = 'data: [DONE]\n\n'

/** Answers with these pieces as events, each in a write of its own. */
function events(...pieces: string[]): Reaction {
  return async res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) if (!res.write(piece)) await once(res, 'drain')
    res.end()
  }
}

/** Sends some events and keeps the stream open; resolves when the other side has closed it. */
function openEvents(...pieces: string[]): { readonly reaction: Reaction; readonly closed: Promise<unknown> } {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  return {
    closed: promise,
    reaction(res) {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const piece of pieces) res.write(piece)
      res.on('close', resolve)
    },
  }
}

/** Requests a stream, reads until some bytes arrive, and disconnects. */
async function readAndLeave(started: Started, path: string, body: object, until: string, key = started.key) {
  const req = request(started.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  req.end(JSON.stringify(body))
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of res) {
    text += String(chunk)
    if (text.includes(until)) break
  }
  req.destroy()
  return text
}

const answer = {
  id: 'c1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello {"usage":{"prompt_tokens":9999}}' } }],
  usage: { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46, prompt_tokens_details: { cached_tokens: 2 } },
}

t.test('a chat is charged by the tokens that the upstream counted, cached ones at their own price', async t => {
  const started = await begin()
  const { openai, upstream, charges, logs, get, gateway } = started
  upstream.answer(answer)
  await openai.chat.completions.create({ model: 'chat-one', messages: [{ role: 'user', content: 'hi' }] })
  const [charge] = await charges()
  t.match(charge, {
    state: 'settled',
    amount: '0.0561',
    text: '输入 10, 缓存输入 2, 输出 34',
    tier: null,
    source: null,
  })
  t.match(charge, { delivery: 'confirmed', flags: [], currency: 'USD' })
  t.same(
    charge?.lines.map(({ tier, quantity, price }) => [tier, quantity, price]),
    [
      ['input', 10, '0.005'],
      ['cached_input', 2, '0.0001'],
      ['output', 34, '0.051'],
    ],
  )
  t.match(charge?.lines[0], { at: /gateway\.yaml:\d+$/, why: '10 input tokens × 500.00 / 1M' })
  t.match(
    charge && formatBill(charge).at(-1),
    /^charged {4}0\.0561 USD, settled$/,
    'no word of multipliers: prices of tokens have them',
  )
  const [log] = await logs()
  t.match(log, { outcome: 'answered', usage: { input_tokens: 12, output_tokens: 34 } })
  t.match(await (await get(`/v1/charges/${charge?.id}`)).json(), { amount: '0.0561' })
  const stored = await gateway.storage.ledger.find(charge?.id ?? '')
  t.same(stored && (await replayCharge(stored)), [])
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test("every item has the group's multiplier, and a free model costs nothing but is counted", async t => {
  const started = await begin()
  const { upstream, newKey, post, charges, logs } = started
  upstream.answer(answer)
  const { key } = await newKey({ group: 'partner' })
  await (await post('/v1/chat/completions', { model: 'chat-one', messages }, { authorization: `Bearer ${key}` })).text()
  const [charge] = await charges()
  t.match(charge, { amount: '0.05049', lines: [{ price: '0.0045' }, { price: '0.00009' }, { price: '0.0459' }] })
  t.match(
    charge && formatBill(charge).slice(-2),
    ['factors    group multiplier ×0.9', 'charged    0.05049 USD, settled'],
    'the bill names the factor',
  )
  await (await post('/v1/chat/completions', { model: 'chat-free', messages })).text()
  t.equal((await charges()).length, 1)
  t.match(await logs(1), [{ model: 'chat-free', billing: null, usage: { input_tokens: 12, output_tokens: 34 } }])
})

t.test('a chat stream reports its usage to the gateway alone if the client did not request it [STR-6]', async t => {
  const started = await begin()
  const { upstream, post, charges, logs } = started
  const shown = [content('Hel'), content('lo'), finished]
  upstream.answer(events(shown[0] as string, shown[1] as string, usageEvent, finished))
  for (const options of [{}, { stream_options: null }, { stream_options: { include_usage: false } }]) {
    const res = await post('/v1/chat/completions', { model: 'chat-one', messages, stream: true, ...options })
    t.equal(await res.text(), shown.join(''), caseName({ options }))
    t.match(upstream.received.at(-1)?.json(), { stream_options: { include_usage: true } }, caseName({ options }))
    t.match(await charges(1), [{ amount: '0.0561', delivery: 'confirmed' }], caseName({ options }))
    t.match(await logs(1), [{ usage: { input_tokens: 12, output_tokens: 34 } }], caseName({ options }))
  }
})

t.test('a client that requests the usage gets every byte of the stream', async t => {
  const started = await begin()
  const { upstream, post, charges } = started
  const sent = [content('Hello'), usageEvent, finished]
  upstream.answer(events(...sent))
  const stream_options = { include_usage: true, other: 1 }
  const res = await post('/v1/chat/completions', { model: 'chat-one', messages, stream: true, stream_options })
  t.equal(await res.text(), sent.join(''))
  t.match(upstream.received.at(-1)?.json(), { stream_options })
  t.match(await charges(1), [{ amount: '0.0561' }])
})

t.test('a family may not request usage from upstreams, and missing usage is not 0', async t => {
  const started = await begin()
  const { upstream, post, charges, logs } = started
  upstream.answer(events(content('Hello'), finished))
  await (await post('/v1/chat/completions', { model: 'chat-quiet', messages, stream: true })).text()
  t.notOk('stream_options' in (upstream.received.at(-1)?.json() ?? {}))
  t.match(await charges(), [{ state: 'settled', flags: ['usage_missing', 'estimated'] }])
  t.match(await logs(1), [{ outcome: 'answered', usage: { input_tokens: null, output_tokens: null } }])
  await (await post('/v1/chat/completions', { model: 'chat-each', messages, stream: true })).text()
  const [charge] = await charges(1)
  t.match(charge, { flags: ['usage_missing', 'estimated'], text: /^输入 \d+, 输出 \d+, 请求 1$/ })
})

t.test('a stream that its client leaves is charged by a marked estimate [STR-2]', async t => {
  const started = await begin()
  const { upstream, charges, settled } = started
  const words = Array.from({ length: 40 }, (_, i) => content(` word${i}`))
  const open = openEvents(...words)
  upstream.answer(open.reaction)
  const body = { model: 'chat-one', messages, stream: true }
  await readAndLeave(started, '/v1/chat/completions', body, 'word39')
  await open.closed
  await settled()
  const [charge] = await charges()
  t.match(charge, { state: 'settled', delivery: 'partial', flags: ['estimated'] })
  const [input, output] = charge?.lines ?? []
  t.match(input, { tier: 'input', quantity: Math.ceil(JSON.stringify(body).length / 4), flags: ['estimated'] })
  t.ok((output?.quantity ?? 0) >= 39 && (output?.quantity ?? 0) < 100, String(output?.quantity))
})

t.test('a messages stream that its client leaves is charged as reported, and the rest by an estimate', async t => {
  const started = await begin()
  const { upstream, charges, settled, logs } = started
  const delta = (text: string) =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`
  const open = openEvents(
    `event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":25,"output_tokens":1}}}\n\n`,
    ...Array.from({ length: 20 }, (_, i) => delta(` word${i}`)),
  )
  upstream.answer(open.reaction)
  await readAndLeave(
    started,
    '/v1/messages',
    { model: 'messages-one', max_tokens: 99, messages, stream: true },
    'word19',
  )
  await open.closed
  await settled()
  t.match(await charges(), [
    {
      lines: [
        { tier: 'input', quantity: 25, flags: [] },
        { tier: 'output', flags: ['estimated'] },
      ],
    },
  ])
  t.match(await logs(1), [{ outcome: 'caller_gone', usage: { input_tokens: 25 } }])
})

t.test('a messages stream is charged by its last cumulative counts, and counting tokens is free', async t => {
  const started = await begin()
  const { upstream, post, charges, logs } = started
  upstream.answer(
    events(
      `event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}\n\n`,
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n`,
      `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}\n\n`,
      `event: message_stop\ndata: {"type":"message_stop"}\n\n`,
    ),
  )
  await (await post('/v1/messages', { model: 'messages-one', max_tokens: 9, messages, stream: true })).text()
  t.match(await charges(), [{ text: '输入 10, 缓存输入 7, 缓存写入 3, 输出 5', amount: '0.0387' }])
  upstream.answer({ input_tokens: 11 })
  await (await post('/v1/messages/count_tokens', { model: 'messages-one', messages })).text()
  t.equal((await charges()).length, 1)
  t.match(await logs(1), [{ operation: 'messages.count', status: 200, billing: null }])
})

t.test('a generative stream is charged by its last chunk', async t => {
  const started = await begin()
  const { upstream, post, charges } = started
  const one = (text: string, out: number) =>
    `data: {"candidates":[{"content":{"parts":[{"text":"${text}"}]}}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":${out},"totalTokenCount":${4 + out}}}\r\n\r\n`
  upstream.answer(events(one('a', 2), one('b', 6)))
  const path = '/v1beta/models/generative-one:streamGenerateContent?alt=sse'
  t.equal(await (await post(path, { contents: [{ parts: [{ text: 'hi' }] }] })).text(), one('a', 2) + one('b', 6))
  t.match(await charges(), [{ text: '输入 4, 输出 6', amount: '0.0162' }])
})

t.test('embeddings, a rerank, a transcription and a speech are charged by their units', async t => {
  const started = await begin()
  const { upstream, openai, post, charges } = started
  upstream.answer({
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: Array.from({ length: 40_000 }, (_, i) => i / 7) }],
    usage: { prompt_tokens: 8, total_tokens: 8 },
  })
  await (await post('/v1/embeddings', { model: 'embedding-one', input: 'x' })).arrayBuffer()
  t.match(await charges(1), [{ text: '输入 8', amount: '0.00016' }])

  upstream.answer({ id: 'r', results: [{ index: 0, relevance_score: 1 }], meta: { billed_units: { search_units: 3 } } })
  await (await post('/v1/rerank', { model: 'rerank-one', query: 'q', documents: ['a'] })).text()
  t.match(await charges(1), [{ text: '检索单元 3', amount: '0.006' }])

  upstream.answer({ text: 'hello', usage: { type: 'duration', seconds: 12 } })
  const file = new File([new Uint8Array(3_000)], 'a.wav')
  await openai.audio.transcriptions.create({ model: 'transcription-one', file })
  t.match(await charges(1), [{ text: '秒 12', amount: '0.0012' }])

  upstream.answer(
    (res: ServerResponse) => void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(5_000)),
  )
  await (await openai.audio.speech.create({ model: 'speech-one', voice: 'alloy', input: 'Hello 你好' })).arrayBuffer()
  t.match(await charges(1), [{ text: '字符 8', amount: '0.12' }])
})

t.test('an error inside a stream of status 200 is logged as a failure and not estimated [STR-5]', async t => {
  const started = await begin()
  const { upstream, post, charges, logs } = started
  upstream.answer(
    events(content('Hel'), 'data: {"error":{"message":"overloaded","type":"server_error","code":null}}\n\n'),
  )
  const text = await (await post('/v1/chat/completions', { model: 'chat-one', messages, stream: true })).text()
  t.match(text, 'overloaded')
  t.same(await charges(), [])
  t.match(await logs(1), [{ outcome: 'upstream_cut', error: 'upstream_failed', status: 200 }])
})

t.test('an empty answer of status 200 costs nothing and keeps no hold', async t => {
  const { upstream, newKey, url, logs } = await begin()
  upstream.answer((res: ServerResponse) => void res.writeHead(200, { 'content-type': 'application/json' }).end())
  const { key } = await newKey({ budget: 100_000_000 })
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'chat-one', messages }],
    ['/v1/chat/completions', { model: 'chat-each', messages, stream: true }],
    ['/v1/embeddings', { model: 'embedding-one', input: 'hi' }],
    ['/v1/audio/speech', { model: 'speech-one', voice: 'alloy', input: 'Hello' }],
    ['/v1/rerank', { model: 'rerank-one', query: 'hi', documents: ['a'] }],
  ] as const) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    await (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
    t.match(await logs(1), [{ billing: { state: 'voided', amount: '0.00', held: '0.00' } }], caseName({ path }))
  }
})

t.test('a refusal, an unreachable upstream and a stream that it cuts are not estimated', async t => {
  const started = await begin()
  const { upstream, post, charges } = started
  upstream.answerOnce(
    (res: ServerResponse) => void res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{}}'),
  )
  t.equal((await post('/v1/chat/completions', { model: 'chat-one', messages })).status, 400)
  upstream.answerOnce((res: ServerResponse) => void res.destroy())
  t.equal((await post('/v1/chat/completions', { model: 'chat-one', messages })).status, 502)
  upstream.answerOnce((res: ServerResponse) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(content('Hel'), () => res.destroy())
  })
  await (await post('/v1/chat/completions', { model: 'chat-one', messages, stream: true })).text()
  t.same(await charges(), [])
})

t.test('a key with a budget holds an estimate before the upstream is called, and pays the actual usage', async t => {
  const started = await begin()
  const { upstream, newKey, post, charges, gateway } = started
  const { key, id } = await newKey({ budget: 100_000 })
  const authorization = `Bearer ${key}`
  const readKey = async () => (await gateway.storage.keys.list({ limit: 1_000 })).find(one => one.id === id)
  let heldMeanwhile: number | undefined
  upstream.answer(async (res: ServerResponse) => {
    heldMeanwhile = (await readKey())?.held
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const body = { model: 'chat-one', messages, max_tokens: 40 }
  t.equal((await post('/v1/chat/completions', body, { authorization })).status, 200)
  t.equal(heldMeanwhile, Math.ceil(JSON.stringify(body).length / 4) * 500 + 40 * 1_500)
  const [charge] = await charges()
  t.match(charge, { state: 'settled', amount: '0.0561', delivery: 'confirmed' })
  t.match(await readKey(), { spent: 56_100, held: 0 })

  const refused = await post('/v1/chat/completions', body, { authorization })
  t.equal(refused.status, 402)
  t.match(await refused.json(), { error: { code: 'insufficient_quota' } })
  t.equal(refused.headers.get('x-should-retry'), 'false')
  t.equal(started.asked(), 1)

  upstream.answer((res: ServerResponse) => void res.writeHead(400, { 'content-type': 'application/json' }).end('{}'))
  await (await post('/v1/chat/completions', { ...body, max_tokens: 5 }, { authorization })).text()
  const [voided] = await charges(1)
  t.match(voided, { state: 'voided', reason: 'upstream_refused', amount: '0.00', text: '-' })
  t.strictSame(voided && formatBill(voided), ['-', 'charged    0.00 USD, voided (upstream_refused)'])
  t.match(await readKey(), { spent: 56_100, held: 0 })
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('[8.1] a quote of text equals what its budget reserves, to the last micro-unit', async t => {
  const { plan, post, newKey, upstream } = await begin()
  upstream.answer(answer)
  const unsaid = { size: undefined, quality: undefined }
  const fields = { messages: [{ role: 'user', content: 'how long is a boat?' }], max_tokens: 100 }
  const quoted = await explainRequest(plan, { model: 'chat-one', operation: 'chat', n: 1, fields, ...unsaid })
  t.match(quoted, { quote: { expected: null, tier: null, prices: {} }, warnings: [/100 output/] })
  const most = Math.round(Number(quoted.quote?.at_most) * 1_000_000)
  const body = { model: 'chat-one', prompt: '…', n: 1, ...fields }
  for (const [budget, status] of [
    [most - 1, 402],
    [most, 200],
  ] as const) {
    const { key } = await newKey({ budget })
    const answer = await post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
    t.equal(answer.status, status, `a budget of ${budget}`)
    await answer.text()
  }
  for (const [model, operation] of [
    ['chat-free', 'chat'],
    ['messages-one', 'messages.count'],
  ] as const)
    t.equal(
      (await explainRequest(plan, { model, operation, n: 1, ...unsaid })).quote,
      null,
      `${operation} of ${model} is free`,
    )
})

/** Sends some events, and the rest on a signal; `gone` reports whether the other side had closed before. */
function inTwo(first: readonly string[], rest: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const sent = { gone: false, go: resolve }
  const reaction: Reaction = async res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of first) res.write(piece)
    res.on('close', () => (sent.gone ||= !res.writableEnded))
    await promise
    for (const piece of rest) res.write(piece)
    res.end()
  }
  return { reaction, sent }
}

t.test('speech priced by time is never free if its answer does not report the time', async t => {
  const before = '  transcription-one: {'
  const model = '  speech-timed: { family: speech, upstream: text, prices: { minute: "0.06" } }\n'
  const { post, upstream, charges, settled } = await start(t, {
    yaml: yaml.replace(before, `${model}${before}`),
    upstreams: ['text'],
  })
  upstream.answer(
    (res: ServerResponse) => void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(160_000, 1)),
  )
  await (await post('/v1/audio/speech', { model: 'speech-timed', voice: 'alloy', input: 'Hello' })).arrayBuffer()
  await settled()
  t.match(await charges(1), [{ state: 'settled', amount: '0.01', lines: [{ tier: 'second', quantity: 10 }] }])
})

t.test('a client that leaves before the last byte of speech pays for what it received', async t => {
  const before = '  transcription-one: {'
  const models = [
    '  speech-timed: { family: speech, upstream: text, prices: { minute: "0.06" } }',
    '  speech-tokens: { family: speech, upstream: text, prices: { input: "1", output: "12" } }',
  ]
  const { post, upstream, charges, settled } = await start(t, {
    yaml: yaml.replace(before, `${models.join('\n')}\n${before}`),
    upstreams: ['text'],
  })
  for (const [model, tier, quantity] of [
    ['speech-timed', 'second', 10],
    ['speech-tokens', 'output', 1500],
  ] as const) {
    const { promise: left, resolve: leave } = Promise.withResolvers<void>()
    upstream.answer(async res => {
      res.on('close', leave).writeHead(200, { 'content-type': 'audio/mpeg' }).write(Buffer.alloc(160_000, 1))
      await left
      res.end()
    })
    const speech = await post('/v1/audio/speech', { model, voice: 'alloy', input: 'Hello' })
    let received = 0
    for await (const piece of speech.body as AsyncIterable<Uint8Array>) {
      received += piece.length
      // Leaving the loop closes the connection.
      if (received === 160_000) break
    }
    await settled()
    const [charge] = await charges(1)
    t.match(charge, { state: 'settled' }, caseName({ model }))
    t.match(charge?.lines.at(-1), { tier, quantity }, caseName({ model }))
  }
})

t.test('a client that leaves after the last word pays the usage that the upstream then reports', async t => {
  const started = await begin()
  const last = content('there').replace('"finish_reason":null', '"finish_reason":"stop"')
  const quoted = content('"finish_reason":"stop" there')
  const rows = [
    { what: 'the last word', model: 'chat-one', pieces: [content('Hello'), last], exact: true },
    { what: 'a word before it', model: 'chat-one', pieces: [content('Hello'), content('there')], exact: false },
    { what: 'one that quotes it', model: 'chat-one', pieces: [content('Hello'), quoted], exact: false },
    { what: 'whatever it has read', model: 'chat-billed', pieces: [content('Hello'), content('there')], exact: true },
  ]
  for (const { what, model, pieces, exact } of rows) {
    const { reaction, sent } = inTwo(pieces, [usageEvent, finished])
    started.upstream.answer(reaction)
    await readAndLeave(started, '/v1/chat/completions', { model, messages, stream: true }, 'there')
    // Long enough for the gateway to notice; if it has given up the upstream's answer, the connection is closed by
    // then.
    await sleep(300)
    sent.go()
    await started.settled()
    t.equal(sent.gone, !exact, caseName({ what, is: 'read on' }))
    const [charge] = await started.charges(1)
    t.match(charge, { state: 'settled', flags: exact ? [] : ['estimated'] }, caseName({ what, is: 'charged' }))
    if (exact) t.equal(charge?.amount, '0.0561', caseName({ what, is: 'what was used' }))
  }
})

t.test('a key with a budget that leaves a stream pays the estimate, and its hold ends', async t => {
  const started = await begin()
  const { upstream, newKey, charges, settled, gateway } = started
  const { key, id } = await newKey({ budget: 10_000_000 })
  const open = openEvents(content('Hello'), content(' there'))
  upstream.answer(open.reaction)
  await readAndLeave(started, '/v1/chat/completions', { model: 'chat-one', messages, stream: true }, 'there', key)
  await open.closed
  await settled()
  const [charge] = await charges()
  t.match(charge, { state: 'settled', delivery: 'partial', flags: ['estimated'] })
  t.match(
    (await gateway.storage.keys.list({ limit: 1_000 })).find(one => one.id === id),
    { held: 0, spent: Number(charge?.amount) * 1_000_000 },
  )
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('a request whose tools make images is refused with a remedy: it is never free', async t => {
  const started = await begin()
  const { upstream, post } = started
  const tools = [{ type: 'web_search' }, { type: 'image_generation' }]
  for (const model of ['chat-one', 'chat-free']) {
    const res = await post('/v1/responses', { model, input: 'draw', tools })
    t.equal(res.status, 400, caseName({ model }))
    t.match(
      await res.json(),
      {
        error: { code: 'image_tool_refused', param: 'tools', message: /\/v1\/images\/generations/ },
      },
      caseName({ model }),
    )
  }
  t.equal(started.asked(), 0)
  upstream.answer({ id: 'r', object: 'response', output: [], usage: { input_tokens: 3, output_tokens: 4 } })
  t.equal((await post('/v1/responses', { model: 'chat-one', input: 'x', tools: [{ type: 'web_search' }] })).status, 200)
})

t.test('every event is passed on as it arrives, before the next one is sent', async t => {
  const started = await begin()
  const { upstream, post } = started
  const sent: (() => void)[] = []
  upstream.answer(async (res: ServerResponse) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < 3; i++) {
      res.write(content(`part${i}`))
      await new Promise<void>(resolve => void sent.push(resolve))
    }
    res.write(usageEvent)
    res.end(finished)
  })
  const res = await post('/v1/chat/completions', { model: 'chat-one', messages, stream: true })
  let text = ''
  for await (const chunk of res.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString()
    sent.shift()?.()
  }
  t.equal(text, content('part0') + content('part1') + content('part2') + finished)
})

/** A chat whose usage has this JSON text. */
function chatWith(usage: string): Reaction {
  return res => {
    const content = 'The boat is red. '.repeat(10)
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(`{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"${content}"}}]${usage}}`)
  }
}

t.test('[6.3] a 200 without usage, or with an invalid one, is charged by a marked estimate', async t => {
  const { upstream, post, charges } = await begin()
  const usages = [
    '',
    ',"usage":null',
    ',"usage":{}',
    ',"usage":{"prompt_tokens":-5,"completion_tokens":-1}',
    ',"usage":{"prompt_tokens":1.5,"completion_tokens":2.5}',
    ',"usage":{"prompt_tokens":"12","completion_tokens":"34"}',
    ',"usage":{"prompt_tokens":1e999,"completion_tokens":1e999}',
    ',"usage":{"prompt_tokens":NaN,"completion_tokens":NaN}',
  ]
  for (const usage of usages) {
    upstream.answer(chatWith(usage))
    t.equal((await post('/v1/chat/completions', { model: 'chat-one', messages })).status, 200, usage)
    const [charge] = await charges(1)
    t.match(charge, { state: 'settled', flags: ['usage_missing', 'estimated'] }, usage)
    t.match(charge?.lines, [{ tier: 'input' }, { tier: 'output' }], usage)
    t.ok((charge?.lines[1]?.quantity ?? 0) >= 40, `${usage}: ${charge?.lines[1]?.quantity} output tokens`)
  }
  t.equal((await charges()).length, usages.length)
})

t.test('[6.3] in every format a whole answer without usage leaves a charge', async t => {
  const { upstream, post, charges, openai } = await begin()
  const sse = (text: string) => events(text)
  const form = () => {
    const body = new FormData()
    body.append('model', 'transcription-one')
    body.append('file', new File([new Uint8Array(48_000)], 'a.wav'))
    return body
  }
  const rows: [string, Reaction | object, () => Promise<unknown>, object][] = [
    [
      'responses',
      { id: 'r', output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }] },
      () => post('/v1/responses', { model: 'chat-one', input: 'hi' }),
      { lines: [{ tier: 'input' }, { tier: 'output' }] },
    ],
    [
      'a stream of messages',
      sse(
        'event: content_block_delta\ndata: {"delta":{"text":"Hello"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
      ),
      () => post('/v1/messages', { model: 'messages-one', messages, stream: true }),
      { lines: [{ tier: 'input' }, { tier: 'output' }] },
    ],
    [
      'generate',
      sse(
        'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\n\ndata: {"candidates":[{"finishReason":"STOP"}]}\n\n',
      ),
      () => post('/v1beta/models/generative-one:streamGenerateContent', { contents: [] }),
      { lines: [{ tier: 'input' }, { tier: 'output' }] },
    ],
    [
      'embeddings',
      { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1, 2] }] },
      () => post('/v1/embeddings', { model: 'embedding-one', input: 'a boat' }),
      { lines: [{ tier: 'input' }] },
    ],
    [
      'rerank',
      { id: 'r', results: [{ index: 0, relevance_score: 1 }] },
      () => post('/v1/rerank', { model: 'rerank-one', query: 'q', documents: ['a'] }),
      { lines: [{ tier: 'search_unit', quantity: 1 }] },
    ],
    [
      'a transcription as text',
      res => void res.writeHead(200, { 'content-type': 'text/plain' }).end('hello'),
      () =>
        fetch(`${shared.url}/v1/audio/transcriptions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${shared.key}` },
          body: form(),
        }),
      { lines: [{ tier: 'second', quantity: 3 }] },
    ],
  ]
  for (const [name, reaction, ask, expected] of rows) {
    upstream.answer(reaction)
    const res = (await ask()) as Response
    await res.text()
    t.equal(res.status, 200, name)
    t.match((await charges(1))[0], { state: 'settled', flags: ['usage_missing', 'estimated'], ...expected }, name)
  }
  upstream.answer((res: ServerResponse) => void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound'))
  await (await openai.audio.speech.create({ model: 'speech-one', voice: 'alloy', input: 'Hello' })).arrayBuffer()
  t.match(
    await charges(1),
    [{ text: '字符 5', flags: [] }],
    'sound is priced by what was sent, and has no usage to miss',
  )
})

t.test('[6.3] an implausible report is estimated and goes to review', async t => {
  const { upstream, post, charges, gateway, newKey } = await begin()
  const rich = await newKey({ budget: 100_000_000 })
  const keys = [undefined, { authorization: `Bearer ${rich.key}` }]
  const usages = [
    ',"usage":{"prompt_tokens":12,"completion_tokens":99999999}',
    ',"usage":{"prompt_tokens":99999999,"completion_tokens":4}',
    ',"usage":{"prompt_tokens":12,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":13}}',
    ',"usage":{"prompt_tokens":9007199254740991,"completion_tokens":9007199254740991}',
  ]
  for (const headers of keys)
    for (const usage of usages) {
      upstream.answer(chatWith(usage))
      t.equal((await post('/v1/chat/completions', { model: 'chat-one', messages }, headers)).status, 200, usage)
      const [charge] = await charges(1)
      t.match(charge, { state: 'needs_review', reason: 'usage_implausible' }, usage)
      t.match(charge?.lines, [{ tier: 'input' }, { tier: 'output' }], usage)
      t.ok(Number(charge?.amount) > 0 && Number(charge?.amount) < 1, `${charge?.amount} is the estimate`)
      const how = headers ? 'settle' : 'void'
      t.ok(await gateway.storage.books.resolve(charge?.id ?? '', how, 'ann', 'seen'), caseName({ headers, usage }))
      const [ended] = await charges(1)
      t.match(
        ended,
        how === 'settle' ? { state: 'settled', amount: charge?.amount } : { state: 'voided', amount: '0' },
        caseName({ headers, usage }),
      )
    }
  t.same((await gateway.storage.books.verify()).problems, [])
  const spent = (await gateway.storage.keys.find(rich.id))?.spent ?? 0
  t.equal(
    spent,
    (await charges()).slice(0, 4).reduce((sum, charge) => sum + Number(charge.amount) * 1e6, 0),
  )
  t.equal((await gateway.storage.keys.find(rich.id))?.held, 0)
})

t.test('[6.3] a stream with a nonsensical last event goes to review', async t => {
  const { upstream, post, charges } = await begin()
  const nonsense = usageEvent.replace('"completion_tokens":34', '"completion_tokens":34000000')
  upstream.answer(events(content('Hello'), content(' there'), nonsense, finished))
  await (await post('/v1/chat/completions', { model: 'chat-one', messages, stream: true })).text()
  const [charge] = await charges(1)
  t.match(charge, { state: 'needs_review', lines: [{ tier: 'input', quantity: 10 }, {}, { tier: 'output' }] })
  t.ok((charge?.lines[2]?.quantity ?? 0) < 100)
})

t.test('vectors lack no output, also for a model with a price for it', async t => {
  const { upstream, post, charges, reload } = await begin()
  const vectors = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }] }
  let rule = 'embeddings: { all: true } }, token-usage: {'
  for (const missing of ['estimate', 'review', 'refuse']) {
    const next = `embeddings: { all: true } }, token-usage: { missing_usage: ${missing}`
    await reload([[rule, next]])
    rule = next
    upstream.answer({ ...vectors, usage: { prompt_tokens: 8, total_tokens: 8 } })
    const answer = await post('/v1/embeddings', { model: 'embedding-text', input: 'a boat' })
    t.equal(answer.status, 200, caseName({ missing }))
    await answer.arrayBuffer()
    const [charge] = await charges(1)
    t.match(charge, { state: 'settled', flags: [], amount: '0.00016' }, caseName({ missing }))
  }
})

t.test('[6.3] a family may send missing usage to review, or refuse it before delivery', async t => {
  const { upstream, post, charges, reload, logs } = await begin()
  await reload([['token-usage: { include_usage: false }', 'token-usage: { missing_usage: review }']])
  upstream.answer(chatWith(''))
  t.equal((await post('/v1/chat/completions', { model: 'chat-quiet', messages })).status, 200)
  t.match(await charges(1), [{ state: 'needs_review', reason: 'usage_missing', flags: ['usage_missing', 'estimated'] }])
  upstream.answer(answer)
  t.equal((await post('/v1/chat/completions', { model: 'chat-quiet', messages })).status, 200)
  t.match(await charges(1), [{ state: 'settled', flags: [] }], 'an answer with usage is charged by it')

  await reload([['token-usage: { missing_usage: review }', 'token-usage: { missing_usage: refuse }']])
  upstream.answer(chatWith(''))
  const before = (await charges()).length
  const refused = await post('/v1/chat/completions', { model: 'chat-quiet', messages })
  t.equal(refused.status, 502)
  t.match(await refused.json(), { error: { code: 'upstream_usage_missing', message: /input, output/ } })
  t.equal((await charges()).length, before, 'and nothing is charged')
  t.match(await logs(1), [{ status: 502, error: 'upstream_usage_missing' }])
  upstream.answer(answer)
  const whole = await post('/v1/chat/completions', { model: 'chat-quiet', messages })
  t.same(await whole.json(), answer, 'an answer with usage passes unchanged')
  upstream.answer({ error: { message: 'no', code: 'content_filter' } })
  const inside = await post('/v1/chat/completions', { model: 'chat-quiet', messages })
  t.equal(inside.status, 400, 'an error inside keeps its meaning')
  t.match(await inside.json(), { error: { code: 'content_filter' } })
  upstream.answer(events(content('Hello'), finished))
  await (await post('/v1/chat/completions', { model: 'chat-quiet', messages, stream: true })).text()
  t.match(await charges(1), [{ state: 'needs_review', reason: 'usage_missing' }], 'a stream has left')
})
