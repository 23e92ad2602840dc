import t from 'tap'
import { askOnce } from '../harness/ask.ts'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'

const yaml = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups:
  default: {}
  partner: { models: [cheap, "d*"] }
upstreams:
  text: { url: "\${TEXT_URL}" }
  other: { url: "\${OTHER_URL}" }
pipeline: [auth, ratelimit, token-usage]
families:
  chat:
    streams: [chat]
    further_models: { instead: [models, routing.fallbacks], beside: [tools.model] }
    token-usage: {}
  open: { further_models: { instead: [] }, token-usage: {} }
  plain: { token-usage: {} }
  narrow: { forward: { chat: [model, messages] }, token-usage: {} }
models:
  cheap: { family: chat, upstream: text, send_as: vendor/cheap, prices: { input: "10", output: "10" } }
  dear: { family: chat, upstream: text, send_as: vendor/dear, prices: { input: "1000", output: "1000" } }
  gone: { family: chat, upstream: text, enabled: false, prices: { input: "10", output: "10" } }
  far: { family: chat, upstream: other, prices: { input: "10", output: "10" } }
  two:
    family: chat
    upstreams: [{ upstream: other, priority: 1 }, { upstream: text, priority: 2, send_as: vendor/two }]
    prices: { input: "10", output: "10" }
  plain-one: { family: plain, upstream: text, prices: { input: "10", output: "10" } }
  open-one: { family: open, upstream: text, prices: { input: "10", output: "10" } }
  narrow-one: { family: narrow, upstream: text, prices: { input: "10", output: "10" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
`
const messages = [{ role: 'user', content: 'Say hello.' }]
const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
const shared = await start(t, { yaml, upstreams: ['text', 'other'] })
const upstream = shared.upstreams['text'] as NonNullable<(typeof shared.upstreams)[string]>
const path = '/v1/chat/completions'
const ask = (body: object, key = shared.key) => askOnce(shared.url, { messages, ...body }, { path, key })

function answered(model: string | undefined) {
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }]
  return { id: 'c1', object: 'chat.completion', created: 1, ...(model !== undefined && { model }), choices, usage }
}

t.test('an additional model in a body is checked against the allowed ones, and reported with its path', async t => {
  const { key: partner } = await shared.newKey({ group: 'partner' })
  const { key: narrow } = await shared.newKey({ models: ['cheap', 'two'] })
  upstream.answer(answered('vendor/cheap'))
  const before = upstream.received.length
  for (const { key, body, status, code, param } of [
    { key: narrow, body: { models: ['cheap', 'dear'] }, status: 403, code: 'model_not_allowed', param: 'models[1]' },
    { key: narrow, body: { models: 'dear' }, status: 403, code: 'model_not_allowed', param: 'models' },
    {
      key: narrow,
      body: { routing: { fallbacks: ['dear'] } },
      status: 403,
      code: 'model_not_allowed',
      param: 'routing.fallbacks[0]',
    },
    {
      key: narrow,
      body: { tools: [{ type: 'a' }, { type: 'b', model: 'dear' }] },
      status: 403,
      code: 'model_not_allowed',
      param: 'tools[1].model',
    },
    { key: partner, body: { models: ['dear', 'two'] }, status: 403, code: 'model_not_allowed', param: 'models[1]' },
    {
      key: shared.key,
      body: { models: ['cheap', 'unheard'] },
      status: 404,
      code: 'model_not_found',
      param: 'models[1]',
    },
    { key: shared.key, body: { models: ['gone'] }, status: 404, code: 'model_not_found', param: 'models[0]' },
    { key: shared.key, body: { models: [7] }, status: 400, code: 'invalid_type', param: 'models[0]' },
    { key: shared.key, body: { models: ['far'] }, status: 400, code: 'models_not_together', param: 'models[0]' },
    {
      key: shared.key,
      body: { models: ['plain-one'] },
      status: 400,
      code: 'models_not_together',
      param: 'models[0]',
    },
  ]) {
    const answer = await ask({ model: 'cheap', ...body }, key)
    t.equal(answer.status, status, caseName(body))
    t.match(answer.json(), { error: { code, param } }, caseName(body))
  }
  t.equal(
    (
      await askOnce(shared.url, Buffer.from(`{"model":"cheap","messages":[],"tools":[{"mod\\u0065l":"dear"}]}`), {
        path,
        key: narrow,
      })
    ).status,
    403,
    'however its name is written',
  )
  t.equal((await ask({ model: 'plain-one', models: ['dear'] }, shared.key)).status, 400, 'a family without the setting')
  t.equal(upstream.received.length, before, 'no upstream was called')
  await shared.settled()
  t.same(await shared.charges(), [])
})

t.test('upstreams get additional models by their own names', async t => {
  upstream.answer(answered('vendor/cheap'))
  const sent = async (body: { readonly model: string; readonly [name: string]: unknown }): Promise<unknown> => {
    t.equal((await ask(body)).status, 200, caseName(body))
    return JSON.parse(upstream.received.at(-1)?.body.toString() ?? '')
  }
  const tools = [
    { type: 'function', function: { name: 'f', description: 'a model' } },
    { type: 'advisor', model: 'dear' },
  ]
  t.match(await sent({ model: 'cheap', models: ['cheap', 'dear'], tools, routing: { fallbacks: null } }), {
    model: 'vendor/cheap',
    models: ['vendor/cheap', 'vendor/dear'],
    tools: [tools[0], { type: 'advisor', model: 'vendor/dear' }],
    routing: { fallbacks: null },
  })
  t.match(
    await sent({ model: 'two', models: ['dear'] }),
    { model: 'vendor/two', models: ['vendor/dear'] },
    'the upstream of both',
  )
  t.match(
    await sent({ model: 'open-one', models: ['whatever'] }),
    { models: ['whatever'] },
    'a family that names no places',
  )
  t.match(await sent({ model: 'cheap', models: ['cheap'] }), { models: ['vendor/cheap'] }, 'the first alone, again')
  t.notMatch(
    await sent({ model: 'narrow-one', models: ['whatever'] }),
    { models: [] },
    'what is not sent on names nothing',
  )
})

t.test('charges the model that the answer names, and the most expensive if it names none', async t => {
  const { id, key } = await shared.newKey({ budget: 10_000_000 })
  const event = (fields: object): string =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', ...fields })}\n\n`
  const streamed = (model: string, reported: object | null): string =>
    event({ model, choices: [{ index: 0, delta: { content: 'Hello.' } }], usage: null }) +
    (reported ? event({ model, choices: [], usage: reported }) : '') +
    'data: [DONE]\n\n'
  for (const { name, react, model, amount, stream = false } of [
    { name: 'the first', react: answered('vendor/cheap'), model: 'cheap', amount: '0.0011' },
    { name: 'another, dearer', react: answered('vendor/dear'), model: 'dear', amount: '0.11' },
    { name: 'a dated one', react: answered('vendor/dear-2026-01-01'), model: 'dear', amount: '0.11' },
    { name: 'a name that nobody said', react: answered('vendor/dearest'), model: 'dear', amount: '0.11' },
    { name: 'none', react: answered(undefined), model: 'dear', amount: '0.11' },
    { name: 'in a stream', react: streamed('vendor/cheap', usage), model: 'cheap', amount: '0.0011', stream: true },
    { name: 'in a dear stream', react: streamed('vendor/dear', usage), model: 'dear', amount: '0.11', stream: true },
    {
      name: 'in a stream without a use',
      react: streamed('vendor/cheap', null),
      model: 'cheap',
      amount: /^0\.000/,
      stream: true,
    },
  ]) {
    if (typeof react === 'string')
      upstream.answer(res => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).end(react)
      })
    else upstream.answer(react)
    for (const by of [shared.key, key]) {
      const answer = await ask({ model: 'cheap', models: ['dear'], stream, max_tokens: 20 }, by)
      t.equal(answer.status, 200, name)
      const [charge] = await shared.charges(1)
      const whose = `${name}, ${by === key ? 'held' : 'not held'}`
      t.match(charge, { state: 'settled', amount }, whose)
      t.match(await shared.gateway.storage.ledger.find(charge?.id ?? ''), { model }, whose)
    }
  }
  t.match(await shared.gateway.storage.keys.find(id), { held: 0 })
  t.same((await shared.gateway.storage.books.verify()).problems, [])
  const { key: poor } = await shared.newKey({ budget: 20_000 })
  upstream.answer(answered('vendor/cheap'))
  t.equal((await ask({ model: 'cheap', max_tokens: 20 }, poor)).status, 200)
  t.equal(
    (await ask({ model: 'cheap', models: ['dear'], max_tokens: 20 }, poor)).status,
    402,
    'held is for the dearest',
  )
})

t.test('with the shipped file a restricted key gets no other model through a tool', async t => {
  const edit = [
    ['vendor_tools: [web_search, ', 'vendor_tools: ["openrouter:advisor", image_generation, web_search, '],
    ['vendor_tools: ["web_search_*", ', 'vendor_tools: ["advisor_*", "web_search_*", '],
  ] as const
  const shipped = await start(t, { edit })
  const { key } = await shipped.newKey({ models: ['sim-chat', 'sim-messages', 'sim-embedding'] })
  const upstream = shipped.upstreams['text'] as NonNullable<(typeof shipped.upstreams)[string]>
  const advisor = (model: string) => ({ type: 'advisor_20260301', name: 'advisor', model })
  const served = (model: string) => ({ type: 'openrouter:advisor', parameters: { model } })
  const drawn = (model: string) => ({ type: 'image_generation', model })
  for (const [at, model, tool] of [
    ['/v1/messages', 'sim-messages', advisor],
    ['/v1/chat/completions', 'sim-chat', served],
    ['/v1/responses', 'sim-chat', drawn],
  ] as const)
    for (const [name, status] of [
      ['sim-generative', 403],
      ['unheard', 404],
    ] as const) {
      const body = { model, messages, input: 'hi', max_tokens: 9, tools: [tool(name)] }
      const answer = await askOnce(shipped.url, body, { path: at, key, headers: { 'x-api-key': key } })
      t.match(answer, { status, text: name }, caseName({ at, name }))
    }
  t.equal(upstream.received.length, 0, 'no upstream was called')
  upstream.answer(answered('sim-chat'))
  const own = { model: 'sim-chat', messages, tools: [served('sim-embedding')] }
  t.equal((await askOnce(shipped.url, own, { path, key })).status, 200, 'an allowed one is called')
})
