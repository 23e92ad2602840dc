import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { type Edits, start, type Started } from '../harness/start.ts'

/**
 * Parts of coding agents' requests that no other client sends; `npm run test:agents -- --translated` runs the agents.
 */

const only = (format: string): string => `
  only-${format}:
    streams: [${format}]
    forward: { ${format}: { all: true } }
    token-usage: { unpriced: parent }`

const edit: Edits = [
  ['\n  chat:\n', `${only('chat')}${only('generate')}\n  chat:\n`],
  [
    '\n  sim-chat:',
    `
  on-chat: { family: only-chat, upstream: text, accepts: [messages, responses, generate], prices: { input: "1", output: "1" } }
  on-generate: { family: only-generate, upstream: text, accepts: [responses], prices: { input: "1", output: "1" } }
  sim-chat:`,
  ],
]

async function open(t: Test) {
  const started = await start(t, { upstreams: ['text'], edit })
  const text = started.upstreams['text'] as Started['upstream']
  const post = (path: string, body: object) =>
    fetch(`${started.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${started.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return { started, text, post }
}

const chatAnswer = {
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const schema = { type: 'object', properties: { cmd: { type: 'string' } }, required: ['cmd'] }
const exec = { type: 'function', name: 'exec', strict: false, parameters: schema }
/** The fields that Codex sends with every request. */
const codex = {
  model: 'on-chat',
  instructions: 'Be brief.',
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] }],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { summary: 'auto' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'a',
  client_metadata: { turn_id: 'b' },
}
const search = { type: 'web_search', external_web_access: false }

t.test("an optional web search next to a request's own tools is dropped", async t => {
  const { text, post } = await open(t)
  text.answer(chatAnswer)
  const requests: readonly (readonly [string, string, object])[] = [
    ['responses', '/v1/responses', { ...codex, tools: [exec, search] }],
    [
      'messages',
      '/v1/messages',
      {
        model: 'on-chat',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'x' }],
        tools: [
          { name: 'exec', input_schema: schema },
          { type: 'web_search_20250305', name: 'web_search' },
        ],
      },
    ],
    [
      'generate',
      '/v1beta/models/on-chat:generateContent',
      {
        contents: [{ role: 'user', parts: [{ text: 'x' }] }],
        tools: [{ functionDeclarations: [{ name: 'exec', parametersJsonSchema: schema }] }, { googleSearch: {} }],
      },
    ],
  ]
  for (const [name, path, body] of requests) {
    const answered = await post(path, body)
    t.equal(answered.status, 200, `${name}: ${await answered.text()}`)
    t.match(answered.headers.get('x-tollgate-dropped'), /tools\[1\]/, name)
    t.match(text.received.at(-1)?.json(), { tools: [{ function: { name: 'exec' } }] }, name)
  }
})

t.test('a required web search is refused', async t => {
  const { text, post } = await open(t)
  const cases: readonly (readonly [string, object])[] = [
    ['the only tool', { tools: [search] }],
    ['a call is demanded', { tools: [exec, search], tool_choice: 'required' }],
    ['another hosted tool', { tools: [exec, { type: 'file_search' }] }],
  ]
  for (const [name, more] of cases) {
    const answered = await post('/v1/responses', { ...codex, ...more })
    t.equal(answered.status, 400, name)
    t.match(await answered.json(), { error: { code: 'not_translatable' } }, name)
  }
  t.equal(text.received.length, 0, 'nothing was sent')
})

t.test('one call at a time is dropped as a hint if the upstream has no such setting', async t => {
  const { text, post } = await open(t)
  text.answer({
    candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  })
  const answered = await post('/v1/responses', { ...codex, model: 'on-generate', tools: [exec] })
  t.equal(answered.status, 200, await answered.text())
  t.match(answered.headers.get('x-tollgate-dropped'), /parallel_tool_calls/)
})

t.test('a tool search is dropped', async t => {
  const { text, post } = await open(t)
  text.answer(chatAnswer)
  const find = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: schema }
  const responses = await post('/v1/responses', { ...codex, tools: [exec, find] })
  t.equal(responses.status, 200, await responses.text())
  const messages = await post('/v1/messages', {
    model: 'on-chat',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'x' }],
    tools: [
      { name: 'exec', input_schema: schema, defer_loading: true },
      { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
    ],
  })
  t.equal(messages.status, 200, await messages.text())
  for (const sent of text.received) t.same(namesOf(sent.json()), ['exec'], sent.url)
  t.equal(text.received.length, 2)
})

t.test('tools in the input are translated, including freeform ones', async t => {
  const { text, post } = await open(t)
  const call = { id: 'call_1', type: 'function', function: { name: 'functions__exec', arguments: '{"input":"y()"}' } }
  text.answer({
    ...chatAnswer,
    choices: [
      { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [call] } },
    ],
  })
  const later = {
    type: 'additional_tools',
    role: 'developer',
    tools: [
      {
        type: 'namespace',
        name: 'functions',
        description: '',
        tools: [{ type: 'custom', name: 'exec', description: 'Runs.' }],
      },
      { type: 'namespace', name: 'agents', description: 'Agents.', tools: [{ ...exec, name: 'spawn' }] },
    ],
  }
  const { input } = codex
  const answered = await post('/v1/responses', { ...codex, input: [later, ...input] })
  const answer = (await answered.json()) as { readonly output: readonly object[] }
  t.match(answer.output, [{ type: 'custom_tool_call', namespace: 'functions', name: 'exec', input: 'y()' }])
  t.same(namesOf(text.received.at(-1)?.json()), ['functions__exec', 'agents__spawn'])
  const wrong = { ...later, tools: [{ type: 'file_search' }] }
  const refused = await post('/v1/responses', { ...codex, input: [wrong, ...input] })
  t.match(await refused.json(), { error: { param: 'input[0].tools[0]' } })
})

t.test('a past web search does not prevent a change of the model', async t => {
  const { text, post } = await open(t)
  text.answer(chatAnswer)
  const past = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }
  const found = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] }
  const input = [...codex.input, past, found, ...codex.input]
  const responses = await post('/v1/responses', { ...codex, input })
  t.equal(responses.status, 200, await responses.text())
  t.match(responses.headers.get('x-tollgate-dropped'), /input\[1\]/)
  const messages = await post('/v1/messages', {
    model: 'on-chat',
    max_tokens: 9,
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
          { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
          { type: 'text', text: 'Found.' },
        ],
      },
      { role: 'user', content: 'y' },
    ],
  })
  t.equal(messages.status, 200, await messages.text())
  t.match(messages.headers.get('x-tollgate-dropped'), /messages\[1\]\.content\[0\]/)
  t.equal(text.received.length, 2)
})

/** Names of tools in a request of chat completions. */
const namesOf = (body: Record<string, unknown> | undefined): readonly (string | undefined)[] =>
  ((body?.['tools'] ?? []) as readonly { readonly function?: { readonly name?: string } }[]).map(
    tool => tool.function?.name,
  )

t.test('tools in a namespace are called by a combined name, and the client gets both parts', async t => {
  const { text, post } = await open(t)
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'agents__spawn', arguments: '{"cmd":"y"}' },
  }
  const tools = [
    exec,
    { type: 'namespace', name: 'agents', description: 'Agents.', tools: [{ ...exec, name: 'spawn' }] },
  ]
  const wanted = { type: 'function_call', namespace: 'agents', name: 'spawn', arguments: '{"cmd":"y"}' }
  text.answer({
    ...chatAnswer,
    choices: [
      { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, tool_calls: [call] } },
    ],
  })
  const whole = await post('/v1/responses', { ...codex, tools })
  const answer = (await whole.json()) as { readonly output: readonly object[] }
  t.match(answer.output, [wanted])
  t.same(namesOf(text.received.at(-1)?.json()), ['exec', 'agents__spawn'])

  text.answer((res: ServerResponse) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'v' }
    const deltas = [
      { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      { choices: [], usage: chatAnswer.usage },
    ]
    for (const delta of deltas) res.write(`data: ${JSON.stringify({ ...chunk, ...delta })}\n\n`)
    res.end('data: [DONE]\n\n')
  })
  const streamed = await post('/v1/responses', { ...codex, tools, stream: true })
  const events = (await streamed.text())
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => JSON.parse(line.slice(6)) as { readonly type: string; readonly item?: object })
  for (const type of ['response.output_item.added', 'response.output_item.done'])
    t.match(events.find(event => event.type === type)?.item, { namespace: 'agents', name: 'spawn' }, type)

  text.answer(chatAnswer)
  const next = await post('/v1/responses', {
    ...codex,
    tools,
    input: [
      ...codex.input,
      { ...wanted, call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1', output: 'z' },
    ],
  })
  t.equal(next.status, 200)
  const { messages } = text.received.at(-1)?.json() ?? {}
  t.match(messages, [{}, {}, { tool_calls: [{ function: { name: 'agents__spawn' } }] }, { role: 'tool', content: 'z' }])
})
