import t from 'tap'
import { replayCharge } from '../../src/index.ts'
import type { Json } from '../../src/domain/index.ts'
import { start } from '../harness/start.ts'

/** One family for each API format; the table below has the prices of the models. */
const yaml = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: {} }
upstreams:
  text:
    url: "\${TEXT_URL}"
    credential: { header: authorization, value: "Bearer \${TEXT_API_KEY}" }
  text-eu: { url: "\${TEXT_URL}", region: eu }
pipeline: [auth, ratelimit, multipart-rewrite, token-usage]
families:
  chat: { streams: [chat, responses], forward: { chat: { all: true }, responses: { all: true } }, token-usage: {} }
  messages: { streams: [messages], forward: { messages: { all: true } }, token-usage: {} }
  generate: { streams: [generate], forward: { generate: { all: true } }, token-usage: {} }
  embedding: { forward: { embeddings: { all: true } }, token-usage: {} }
models:
  claude:
    family: messages
    upstream: text
    prices: { input: "5", cached_input: "0.50", cache_write: "6.25", cache_write_1h: "10", output: "25", web_search: "10" }
    times: [{ if: { speed: fast }, by: "2" }, { if: { region: us }, by: "1.1" }]
  gemini:
    family: generate
    upstream: text
    prices: { input: "1.25", cached_input: "0.125", output: "10", grounding: "35", maps: "25" }
    overrides: [{ if: { input_above: 200000 }, input: "2.50", cached_input: "0.25", output: "15" }]
    times: [{ if: { service_tier: priority }, by: "1.8" }]
  gemini-flash:
    family: generate
    upstream: text
    prices: { input: "0.30", input_audio: "1.00", output: "2.50", grounding: "35" }
  gpt-audio:
    family: chat
    upstream: text
    prices: { input: "2.50", input_audio: "32", output: "10", output_audio: "64" }
  gpt:
    family: chat
    upstream: text
    prices: { input: "1.25", cached_input: "0.125", output: "10", web_search: "10" }
    times: [{ if: { service_tier: priority }, by: "2" }, { if: { service_tier: flex }, by: "0.5" }]
  grok: { family: chat, upstream: text, prices: { input: "1.25", output: "10" } }
  deepseek:
    family: chat
    upstream: text
    prices: { input: "1.32", cached_input: "0.044", output: "3.96" }
    times: [{ if: { hours: ["00:00-24:00"], zone: UTC }, by: "0.5" }]
  embedding: { family: embedding, upstream: text, prices: { input: "0.02" } }
  gpt-eu:
    family: chat
    upstream: text-eu
    prices: { input: "1.25", output: "10" }
    times: [{ if: { region: eu }, by: "1.1" }, { if: { region: us }, by: "3" }]
  plain: { family: chat, upstream: text, prices: { input: "1", output: "1" } }
  strict: { family: chat, upstream: text, prices: { input: "1", output: "1" }, unpriced: refuse }
  reviewed: { family: chat, upstream: text, prices: { input: "1", output: "1" }, unpriced: review }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/embeddings, operation: embeddings, dialect: openai }
  - { match: POST /v1/messages, operation: messages, dialect: anthropic }
  - { match: "POST /v1beta/models/{model}:generateContent", operation: generate, dialect: google, stream: never }
  - { match: "POST /v1beta/models/{model}:streamGenerateContent", operation: generate, dialect: google, stream: always }
`

const shared = await start(t, { yaml, upstreams: ['text'] })

type Members = { readonly [name: string]: Json }
type Row = {
  readonly title: string
  readonly model: string
  readonly path: string
  readonly streamPath?: string
  /** The fields of the request next to its model and a text. */
  readonly asks?: Members
  /** Members of the answer that report usage. */
  readonly report: Members
  readonly amount: string
}

const messages = { path: '/v1/messages' }
const chat = { path: '/v1/chat/completions' }
const responses = { path: '/v1/responses' }
const generate = (model: string) => ({
  model,
  path: `/v1beta/models/${model}:generateContent`,
  streamPath: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
})
const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'boats' } }

/** Prices as vendors publish them; amounts computed by hand from the vendor's own rules. */
const table: readonly Row[] = [
  {
    ...messages,
    title: 'cache writes for one hour cost more than those for five minutes',
    model: 'claude',
    report: {
      usage: {
        input_tokens: 2000,
        cache_creation_input_tokens: 8000,
        cache_read_input_tokens: 90000,
        output_tokens: 1000,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 8000 },
      },
    },
    // 2k × 5 + 8k × 10 + 90k × 0.5 + 1k × 25, per million.
    amount: '0.16',
  },
  {
    ...messages,
    title: 'searches of the web are charged each',
    model: 'claude',
    report: { usage: { input_tokens: 4000, output_tokens: 1120, server_tool_use: { web_search_requests: 3 } } },
    amount: '0.078',
  },
  {
    ...messages,
    title: 'a fast answer costs twice as much, its searches what they cost',
    model: 'claude',
    asks: { speed: 'fast' },
    report: {
      usage: {
        input_tokens: 10000,
        output_tokens: 2000,
        speed: 'fast',
        server_tool_use: { web_search_requests: 3 },
      },
    },
    amount: '0.23',
  },
  {
    ...chat,
    title: 'where no answer tells its region, it is that of the upstream',
    model: 'gpt-eu',
    report: { usage: { prompt_tokens: 20000, completion_tokens: 1000, total_tokens: 21000 } },
    // (20k × 1.25 + 1k × 10) × 1.1, per million.
    amount: '0.0385',
  },
  {
    ...messages,
    title: 'a fast answer costs twice as much',
    model: 'claude',
    asks: { speed: 'fast' },
    report: { usage: { input_tokens: 10000, output_tokens: 2000, speed: 'fast' } },
    amount: '0.20',
  },
  {
    ...messages,
    title: 'a request for speed that was not served is charged at the standard price',
    model: 'claude',
    asks: { speed: 'fast' },
    report: { usage: { input_tokens: 10000, output_tokens: 2000, speed: 'standard' } },
    amount: '0.10',
  },
  {
    ...messages,
    title: 'a compaction that only the iterations report is charged',
    model: 'claude',
    report: {
      usage: {
        input_tokens: 45000,
        output_tokens: 1234,
        iterations: [
          { type: 'compaction', input_tokens: 180000, output_tokens: 3500 },
          { type: 'message', input_tokens: 45000, output_tokens: 1234 },
        ],
      },
    },
    amount: '1.24335',
  },
  {
    ...generate('gemini'),
    title: 'a long prompt has the prices of long prompts, all of it',
    report: { usageMetadata: { promptTokenCount: 300000, candidatesTokenCount: 5000, totalTokenCount: 305000 } },
    amount: '0.825',
  },
  {
    ...generate('gemini-flash'),
    title: 'audio in the prompt has its own price',
    report: {
      usageMetadata: {
        promptTokenCount: 20100,
        candidatesTokenCount: 500,
        totalTokenCount: 20600,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 100 },
          { modality: 'AUDIO', tokenCount: 20000 },
        ],
      },
    },
    amount: '0.02128',
  },
  {
    ...generate('gemini-flash'),
    title: 'a grounded prompt is charged once, whatever it searched for',
    report: {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'Boats.' }] },
          finishReason: 'STOP',
          groundingMetadata: { webSearchQueries: ['boats', 'ships'] },
        },
      ],
      usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 520, totalTokenCount: 1520 },
    },
    amount: '0.0366',
  },
  {
    ...chat,
    title: 'audio in and out has its own prices',
    model: 'gpt-audio',
    report: {
      usage: {
        prompt_tokens: 1200,
        completion_tokens: 600,
        total_tokens: 1800,
        prompt_tokens_details: { cached_tokens: 0, text_tokens: 200, audio_tokens: 1000 },
        completion_tokens_details: { text_tokens: 100, audio_tokens: 500 },
      },
    },
    amount: '0.0655',
  },
  ...(['priority', 'flex', 'default'] as const).map(
    (tier): Row => ({
      ...chat,
      title: `the tier ${tier} of the answer sets the price`,
      model: 'gpt',
      asks: { service_tier: 'priority' },
      report: { service_tier: tier, usage: { prompt_tokens: 10000, completion_tokens: 2000, total_tokens: 12000 } },
      amount: { priority: '0.065', flex: '0.01625', default: '0.0325' }[tier],
    }),
  ),
  {
    ...responses,
    title: 'three searches of a response are charged each',
    model: 'gpt',
    report: {
      output: [search, search, search, { type: 'message', content: [{ type: 'output_text', text: 'Boats.' }] }],
      usage: { input_tokens: 8000, output_tokens: 800, total_tokens: 8800 },
    },
    amount: '0.048',
  },
  {
    ...chat,
    title: 'reasoning that is left out of the completion is charged as output',
    model: 'grok',
    report: {
      usage: {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 1041,
        completion_tokens_details: { reasoning_tokens: 1000 },
      },
    },
    amount: '0.01013',
  },
  {
    ...chat,
    title: 'a window of time has its own factor',
    model: 'deepseek',
    report: {
      usage: {
        prompt_tokens: 12500,
        completion_tokens: 2000,
        total_tokens: 14500,
        prompt_cache_hit_tokens: 2500,
        prompt_cache_miss_tokens: 10000,
      },
    },
    // (10k × 1.32 + 2.5k × 0.044 + 2k × 3.96) / 1M × 0.5
    amount: '0.010615',
  },
]

/** The complete answer, or the events of its API format. */
function answerOf({ path, report }: Row): Members {
  if (path.includes('/messages')) return { type: 'message', role: 'assistant', content: [], ...report }
  if (path.includes('/responses')) return { id: 'r1', object: 'response', status: 'completed', output: [], ...report }
  return path.includes('generateContent')
    ? { candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }], ...report }
    : { object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' } }], ...report }
}

function eventsOf(row: Row): string {
  const { path, report } = row
  if (path.includes('/messages')) {
    const { usage } = report as { usage: Members }
    const first = {
      type: 'message_start',
      message: { type: 'message', usage: { ...usage, output_tokens: 1, iterations: null } },
    }
    const last = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }
    return [first, last, { type: 'message_stop' }]
      .map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('')
  }
  if (path.includes('/responses')) {
    const event = { type: 'response.completed', response: answerOf(row) }
    return `event: response.completed\ndata: ${JSON.stringify(event)}\n\n`
  }
  if (path.includes('generateContent')) return `data: ${JSON.stringify(answerOf(row))}\n\n`
  const chunk = { object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hi' } }] }
  const last = { object: 'chat.completion.chunk', choices: [], ...report }
  return `data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`
}

function requestOf({ path, model, asks }: Row, stream: boolean): Members {
  const text = 'Say hello.'
  const more = { ...asks, ...(stream && { stream: true }) }
  if (path.includes('generateContent')) return { contents: [{ role: 'user', parts: [{ text }] }], ...asks }
  if (path.includes('/responses')) return { model, input: text, ...more }
  return { model, max_tokens: 100, messages: [{ role: 'user', content: text }], ...more }
}

async function charge(row: Row, stream: boolean) {
  const { upstream, post, charges, gateway } = shared
  if (stream)
    upstream.answer(res => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end(eventsOf(row))
    })
  else upstream.answer(answerOf(row))
  const answer = await post(stream ? (row.streamPath ?? row.path) : row.path, requestOf(row, stream))
  const text = await answer.text()
  const [last] = await charges(1)
  const stored = last && (await gateway.storage.ledger.find(last.id))
  return { status: answer.status, text, last, replayed: stored ? await replayCharge(stored) : ['not stored'] }
}

t.test('text costs what its vendor charges, in whole answers and in streams', async t => {
  for (const row of table)
    for (const stream of [false, true]) {
      const { status, last, replayed, text } = await charge(row, stream)
      const name = `${row.title}${stream ? ', streamed' : ''}`
      t.equal(status, 200, text.slice(0, 300))
      t.equal(last?.amount, row.amount, name)
      t.same([last?.state, replayed], ['settled', []], name)
    }
  t.same((await shared.gateway.storage.books.verify()).problems, [])
})

t.test('small requests of a key add up to their exact cost', async t => {
  const { upstream, newKey, post, charges } = shared
  upstream.answer({ object: 'list', data: [], usage: { prompt_tokens: 20, total_tokens: 20 } })
  const { key } = await newKey({})
  for (let i = 0; i < 61; i++)
    await (await post('/v1/embeddings', { model: 'embedding', input: 'a' }, { authorization: `Bearer ${key}` })).text()
  const own = await charges(61)
  t.equal(own.length, 61)
  const sum = own.reduce((total, one) => total + Math.round(Number(one.amount) * 1e6), 0)
  // 61 × 20 × 0.02 / 1M is 24.4 micro-units.
  t.equal(sum, 24)
})

t.test('usage without a price is refused if the request asks for it', async t => {
  const { upstream, post } = shared
  const before = upstream.received.length
  const asks: readonly (readonly [Members, RegExp])[] = [
    [{ web_search_options: {} }, /no price for web_search/],
    [{ tools: [{ type: 'web_search_preview' }] }, /no price for web_search/],
    [{ tools: [{ type: 'shell', environment: { type: 'container_auto' } }] }, /no price for code_execution/],
    [{ service_tier: 'priority' }, /no price for service_tier=priority/],
    [{ modalities: ['text', 'audio'] }, /no price for output_audio/],
    [{ messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }, /no price for input_audio/],
  ]
  for (const [ask, pattern] of asks) {
    const body = { model: 'strict', messages: [{ role: 'user', content: 'hi' }], ...ask }
    const answer = await post('/v1/chat/completions', body)
    t.equal(answer.status, 400, JSON.stringify(ask))
    t.match(await answer.text(), pattern, JSON.stringify(ask))
  }
  t.equal(upstream.received.length, before, 'nothing was bought')
  upstream.answer({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
  const plain = { model: 'strict', messages: [{ role: 'user', content: 'the words "web_search" and priority' }] }
  t.equal((await post('/v1/chat/completions', plain)).status, 200, 'words in a text ask for nothing')
  for (const [own, what] of [
    [{ tools: [{ type: 'function', function: { name: 'web_search', parameters: {} } }] }, "a client's own function"],
    [{ tools: [{ type: 'shell' }, { type: 'shell', environment: { type: 'local' } }] }, 'a shell at the client'],
    [{ service_tier: 'unspecified' }, 'a tier that leaves the choice to the upstream'],
  ] as const)
    t.equal((await post('/v1/chat/completions', { ...plain, ...own })).status, 200, what)
})

t.test('usage that only the answer reports is reviewed, or charged as its parent and flagged', async t => {
  const { upstream, post, charges } = shared
  const report = {
    choices: [],
    usage: { prompt_tokens: 1000, completion_tokens: 10, server_tool_use: { web_search_requests: 2 } },
  }
  const ask = async (model: string) => {
    upstream.answer(report)
    await (await post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'hi' }] })).text()
    return (await charges(1))[0]
  }
  t.match(await ask('strict'), {
    state: 'needs_review',
    reason: 'unpriced: web_search',
    lines: [{}, {}, { tier: 'web_search', quantity: 2 }],
  })
  t.match(await ask('reviewed'), { state: 'needs_review', reason: 'unpriced: web_search' })
  const parent = await ask('plain')
  t.match(parent, { state: 'settled', amount: '0.00101' })
  t.match(parent?.lines[2], { tier: 'web_search', quantity: 2, price: '0.00', flags: ['unpriced:web_search'] })
})
