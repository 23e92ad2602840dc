import t from 'tap'
import { clientBodies, imageTools, vendorTools } from '../cases/client-tools.ts'
import { askOnce } from '../harness/ask.ts'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'

type Asked = { readonly path: string; readonly body: { readonly [name: string]: unknown } }
const asks: { readonly [style: string]: Asked } = {
  chat: {
    path: '/v1/chat/completions',
    body: { model: 'sim-chat', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  },
  responses: { path: '/v1/responses', body: { model: 'sim-chat', max_output_tokens: 9, input: 'hi' } },
  messages: {
    path: '/v1/messages',
    body: { model: 'sim-messages', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
  },
  generate: {
    path: '/v1beta/models/sim-generative:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  },
}
const shipped = await start(t)
const upstream = shipped.upstreams['text'] as NonNullable<(typeof shipped.upstreams)[string]>
upstream.answer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })

const ask = (style: string, more: object, key = shipped.key, url = shipped.url) => {
  const { path, body } = asks[style] as Asked
  return askOnce(url, { ...body, ...more }, { path, key, headers: { 'x-api-key': key } })
}
/** The same for JSON text that JavaScript would not write: its members come before those of the request. */
const askText = (style: string, text: string, url = shipped.url, key = shipped.key) => {
  const { path, body } = asks[style] as Asked
  const own = JSON.stringify(
    Object.fromEntries(Object.entries(body).filter(([name]) => !text.startsWith(`{"${name}"`))),
  )
  return askOnce(url, Buffer.from(`${text.slice(0, -1)},${own.slice(1)}`), { path, key, headers: { 'x-api-key': key } })
}

t.test('with the shipped file all requests of agents and SDKs with client-side tools pass', async t => {
  for (const [style, bodies] of Object.entries(clientBodies))
    for (const body of bodies) {
      const answer = await ask(style, body)
      t.equal(answer.status, 200, caseName({ style, body, text: answer.text }))
      const sent = JSON.parse(upstream.received.at(-1)?.body.toString() ?? '{}') as { [name: string]: unknown }
      for (const [name, value] of Object.entries(body)) t.same(sent[name], value, caseName({ style, name }))
    }
})

t.test('with the shipped file no tool that makes images is forwarded, in any spelling', async t => {
  const before = upstream.received.length
  for (const style of Object.keys(asks))
    for (const text of imageTools) {
      const answer = await askText(style, text)
      t.equal(answer.status, 400, caseName({ style, text }))
      t.match(
        answer.text,
        /vendor_tool_refused|tool_repeated|would run|declares its type twice/,
        caseName({ style, text }),
      )
    }
  t.equal(upstream.received.length, before, 'the upstream was not called')
  await shipped.settled()
})

t.test('an unlisted tool that the upstream runs is refused with its name, path and remedy', async t => {
  const before = upstream.received.length
  for (const [body, tool, place] of vendorTools)
    for (const style of ['chat', 'responses'] as const) {
      const answer = await ask(style, body)
      t.equal(answer.status, 400, caseName({ style, body }))
      const { error } = answer.json() as { error: { code: string; param: string; message: string } }
      t.match(error, { code: 'vendor_tool_refused', param: place }, caseName({ body }))
      t.ok(error.message.includes(`'${tool}'`) && error.message.includes('vendor_tools'), error.message)
    }
  const native = await ask('generate', { tools: [{ codeExecution: {} }] })
  t.match(native.json(), { error: { status: 'INVALID_ARGUMENT', message: /codeExecution/ } })
  t.match((await ask('messages', { tools: [{ type: 'code_execution_20250825', name: 'x' }] })).json(), {
    type: 'error',
    error: { type: 'invalid_request_error', message: /code_execution_20250825/ },
  })
  t.equal(upstream.received.length, before, 'the upstream was not called')
  await shipped.settled()
})

t.test('a family that lists a tool forwards it, and its content is still checked', async t => {
  const edit = [['vendor_tools: [web_search, ', 'vendor_tools: ["openrouter:*", web, web_search, ']] as const
  const open = await start(t, { edit })
  const one = open.upstreams['text'] as typeof upstream
  one.answer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })
  const nested = (type: string) => ({ tools: [{ type: 'openrouter:subagent', parameters: { tools: [{ type }] } }] })
  t.equal((await ask('chat', nested('openrouter:web_search'), open.key, open.url)).status, 200)
  t.equal((await ask('chat', { plugins: [{ id: 'web' }] }, open.key, open.url)).status, 200)
  t.equal((await ask('chat', { web_search_options: {} }, open.key, open.url)).status, 200)
  t.match((await ask('chat', nested('code_interpreter'), open.key, open.url)).json(), {
    error: { code: 'vendor_tool_refused', param: 'tools[0].parameters.tools[0].type' },
  })
  for (const style of ['chat', 'responses'])
    t.match(
      (await ask(style, nested('openrouter:image_generation'), open.key, open.url)).json(),
      { error: { code: 'image_tool_refused', param: 'tools[0].parameters.tools[0].type' } },
      style,
    )
})

const old = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: {} }
upstreams: { text: { url: "\${TEXT_URL}" } }
pipeline: [auth, token-usage]
families:
  text: { streams: [chat], token-usage: {} }
models:
  sim-chat: { family: text, upstream: text, prices: { input: "1", output: "1" } }
  sim-messages: { family: text, upstream: text, prices: { input: "1", output: "1" } }
  sim-generative: { family: text, upstream: text, prices: { input: "1", output: "1" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/messages, operation: messages, dialect: anthropic }
  - { match: "POST /v1beta/models/{model}:generateContent", operation: generate, dialect: google, stream: never }
`

t.test('a family of an older file forwards every tool except those that make images', async t => {
  const started = await start(t, { yaml: old, upstreams: ['text'] })
  const one = started.upstreams['text'] as typeof upstream
  one.answer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })
  for (const [body] of vendorTools)
    t.equal((await ask('chat', body, started.key, started.url)).status, 200, caseName({ body }))
  for (const [style, bodies] of Object.entries(clientBodies))
    for (const body of bodies)
      t.equal((await ask(style, body, started.key, started.url)).status, 200, caseName({ style, body }))
  t.equal((await ask('chat', { fallbacks: ['unheard'] }, started.key, started.url)).status, 200, 'a name of theirs')
  const before = one.received.length
  for (const style of Object.keys(asks))
    for (const text of imageTools)
      t.equal((await askText(style, text, started.url, started.key)).status, 400, caseName({ style, text }))
  t.equal(one.received.length, before, 'the upstream was not called')
  await started.settled()
})

t.test('a restricted key reaches no other model by any name in a request, with old and new files', async t => {
  const started = await start(t, { yaml: old, upstreams: ['text'] })
  const edit = [['vendor_tools: [web_search, ', 'vendor_tools: ["*", web_search, ']] as const
  const open = await start(t, { edit })
  const bodies: readonly (readonly [name: string, body: (name: string) => object])[] = [
    ['plugins[0].analysis_models[0]', m => ({ plugins: [{ id: 'fusion', analysis_models: [m] }] })],
    ['tools[0].parameters.analysis_models[0]', m => ({ tools: [{ type: 'x', parameters: { analysis_models: [m] } }] })],
    [
      'tools[0].parameters.tools[0].parameters.model',
      m => ({ tools: [{ type: 'x', parameters: { tools: [{ type: 'y', parameters: { model: m } }] } }] }),
    ],
    ['fallbacks[0]', m => ({ fallbacks: [m] })],
    ['fallbacks[0].model', m => ({ fallbacks: [{ model: m }] })],
    ['Model', m => ({ Model: m })],
    ['input[0].tools[0].model', m => ({ input: [{ tools: [{ type: 'x', model: m }] }] })],
  ]
  for (const { url, newKey, upstreams } of [started, open]) {
    const one = upstreams['text'] as typeof upstream
    one.answer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })
    const { key } = await newKey({ models: ['sim-chat'] })
    for (const [place, body] of bodies) {
      const before = one.received.length
      const barred = await ask('chat', body('sim-messages'), key, url)
      t.match(barred.json(), { error: { param: place } }, caseName({ place, text: barred.text }))
      // A model of another family cannot be a fallback, with any key.
      t.ok(barred.status === 400 || barred.status === 403, place)
      const unheard = await ask('chat', body('vendor/other-model'), key, url)
      t.ok(unheard.status === 403 || unheard.status === 404, caseName({ place, text: unheard.text }))
      t.equal(one.received.length, before, 'the upstream was not called')
      t.equal((await ask('chat', body('sim-chat'), key, url)).status, 200, place)
    }
  }
})

t.test("a model named anywhere is sent under its upstream's name", async t => {
  const edit = [
    ['vendor_tools: [web_search, ', 'vendor_tools: ["*", web_search, '],
    [
      'sim-embedding: { family: embedding, upstream: text,',
      'sim-embedding: { family: embedding, upstream: text, send_as: vendor/e,',
    ],
    [
      'sim-generative: { family: generative, upstream: text,',
      'sim-generative: { family: generative, upstream: text, send_as: vendor-g,',
    ],
  ] as const
  const open = await start(t, { edit })
  const one = open.upstreams['text'] as typeof upstream
  one.answer({ usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })
  const body = {
    plugins: [{ id: 'x', analysis_models: ['sim-chat', 'sim-embedding'] }],
    judge: [{ model: 'sim-embedding' }],
  }
  t.equal((await ask('chat', body, open.key, open.url)).status, 200)
  t.match(JSON.parse(one.received.at(-1)?.body.toString() ?? ''), {
    plugins: [{ id: 'x', analysis_models: ['sim-chat', 'vendor/e'] }],
    judge: [{ model: 'vendor/e' }],
  })
  const requests = [{ model: 'models/sim-generative', content: { parts: [{ text: 'hi' }] } }]
  const path = '/v1beta/models/sim-generative:batchEmbedContents'
  t.equal((await askOnce(open.url, { requests }, { path, key: open.key })).status, 200)
  t.match(JSON.parse(one.received.at(-1)?.body.toString() ?? ''), { requests: [{ model: 'models/vendor-g' }] })
})
