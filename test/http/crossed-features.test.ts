import t, { type Test } from 'tap'
import { builtins } from '../../plugins/index.ts'
import { type Edits, start } from '../harness/start.ts'

/** A plugin placed after the translation. */
const following = (plugin: string) => ['format-bridge,', `format-bridge, ${plugin},`] as const

/** The shipped file, whose chat models also accept requests of messages. */
const translated = (more: Edits = []): Edits => [
  ['\n  messages:\n', '\n  messages:\n    format-bridge: { reasoning: budget, max_tokens: 4000 }\n'],
  ['sim-chat: { family: chat,', 'sim-chat: { family: chat, accepts: [messages, generate, responses],'],
  ['sim-messages: { family: messages,', 'sim-messages: { family: messages, accepts: [chat],'],
  ...more,
]

async function open(t: Pick<Test, 'teardown'>, edit: Edits) {
  const started = await start(t, { upstreams: ['text'], edit })
  const says = async (path: string, body: unknown, headers?: Record<string, string>) => {
    const answer = await started.post(path, body, headers)
    const text = await answer.text()
    await started.settled()
    return { status: answer.status, headers: answer.headers, text }
  }
  return { ...started, says }
}

const usage = { prompt_tokens: 4, completion_tokens: 40 }
const completion = (content: string) => ({
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage,
})
const message = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'v',
  content: [{ type: 'text', text: 'hi' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 4, output_tokens: 40 },
}
const ask = { max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }

const sources = 'end_user: [body:user, body:metadata.user_id], tags: [body:metadata.feature]'

t.test("a translated request is attributed by its client's fields", async t => {
  const { says, upstreams, logs } = await open(t, translated([following(`{ attribution: { ${sources} } }`)]))
  upstreams['text']?.answer(completion('hi'))
  const metadata = { user_id: 'ada', feature: 'search' }
  t.equal((await says('/v1/messages', { ...ask, model: 'sim-chat', metadata })).status, 200)
  t.match(await logs(1), [{ end_user: 'ada', tags: ['feature:search'] }], 'messages')
  upstreams['text']?.answer(message)
  const named = { user: 'ada@team.example', metadata: { feature: 'chat' } }
  t.equal((await says('/v1/chat/completions', { ...ask, ...named, model: 'sim-messages' })).status, 200)
  t.match(await logs(1), [{ end_user: 'ada@team.example', tags: ['feature:chat'] }], 'chat')
})

const guard: Edits = [
  ['\n  chat:\n', '\n  chat:\n    guard-patterns: { longest: 24, rules: [{ name: forbidden, words: [dragon] }] }\n'],
]

const eventsOf = (pieces: readonly string[]): readonly string[] =>
  [
    ...pieces.map(content => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ].map(event => `data: ${JSON.stringify(event)}\n\n`)

t.test("a blocked response is the guard's error in the client's format, and charged as used", async t => {
  const { says, upstreams, logs } = await open(t, translated([following('guard-patterns'), ...guard]))
  const blocked = { error: 'response_blocked', billing: { state: 'settled', amount: '0.000062' } }
  upstreams['text']?.answer(completion('a dragon'))
  const whole = await says('/v1/messages', { ...ask, model: 'sim-chat' })
  t.match(JSON.parse(whole.text), { type: 'error', error: { details: { error_code: 'response_blocked' } } })
  t.match(await logs(1), [blocked], 'whole')

  const pieces = ['this is a long enough text before ', 'a dragon ', 'and more of it']
  upstreams['text']?.answer(res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of eventsOf(pieces)) res.write(event)
    res.end('data: [DONE]\n\n')
  })
  const contents = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
  for (const [path, body, wanted] of [
    [
      '/v1/messages',
      { ...ask, model: 'sim-chat', stream: true },
      /^event: error\ndata: .*"error_code":"response_blocked"/m,
    ],
    ['/v1beta/models/sim-chat:streamGenerateContent?alt=sse', contents, /^data: \{"error":\{"code":403,/m],
    ['/v1beta/models/sim-chat:streamGenerateContent', contents, /./],
  ] as const) {
    const cut = await says(path, body).catch((error: unknown) => ({ text: String(error) }))
    t.match(cut.text, wanted, path)
    t.notMatch(cut.text, /dragon|The upstream/, path)
    t.match(await logs(1), [blocked], path)
  }
})

t.test('works with the response cache and limits, at the documented pipeline position', async t => {
  const { says, upstreams } = await open(
    t,
    translated([
      ['accepts: [messages, generate, responses]', 'accepts: [messages], cache: { for: 1h }'],
      { 'groups/default/rpm': 3 },
    ]),
  )
  upstreams['text']?.answer(completion('hi'))
  const body = { ...ask, model: 'sim-chat' }
  const count = async () => (await says('/v1/messages/count_tokens', body)).status
  t.equal((await says('/v1/messages', body)).headers.get('x-tollgate-cache'), 'miss')
  t.same([await count(), await count(), await count()], [200, 200, 429], 'a count is a request')
})

t.test('a `stream` that is not a boolean is refused, translated or not', async t => {
  const { says, upstreams } = await open(t, translated())
  for (const [path, model] of [
    ['/v1/messages', 'sim-chat'],
    ['/v1/messages', 'sim-messages'],
    ['/v1/chat/completions', 'sim-messages'],
  ] as const)
    t.equal((await says(path, { ...ask, model, stream: 'yes' })).status, 400, `${path} ${model}`)
  t.equal(upstreams['text']?.received.length, 0)
})

t.test('a missing or misplaced translation plugin is reported only for models that need it', async t => {
  const accepts = ['sim-chat: { family: chat,', 'sim-chat: { family: chat, accepts: [messages],'] as const
  const without = ['format-bridge, ', ''] as const
  const late = ['format-bridge, multipart-rewrite,', 'multipart-rewrite, format-bridge,'] as const
  const fails: readonly (readonly [string, Edits, RegExp])[] = [
    ['missing', [accepts, without], /'accepts' of 'sim-chat' has no effect[\s\S]*add format-bridge to pipeline/],
    ['late', [accepts, late], /'format-bridge' is on the wrong side of multipart-rewrite/],
  ]
  for (const [name, edit, wanted] of fails) await t.rejects(start(t, { edit }), wanted, name)
  const { post } = await start(t, { edit: [late] })
  t.equal((await post('/v1/chat/completions', { ...ask, model: 'sim-chat' })).status, 200)
})

t.test('plugins that no model uses have no hooks', async t => {
  const { gateway } = await start(t)
  const host = { plan: gateway.plan, keep: (_name: string, create: () => unknown) => create() }
  const unused = builtins.filter(({ name }) => name === 'answer-cache' || name === 'format-bridge')
  t.equal(unused.length, 2)
  for (const plugin of unused) t.same(plugin.create({} as never, host as never), {}, plugin.name)
})

t.test('a key without access to a translated model gets 403, whatever its request contains', async t => {
  const { url, upstreams, newKey } = await open(t, translated())
  const { key } = await newKey({ models: ['sim-messages'] })
  const answer = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key },
    body: JSON.stringify({ ...ask, model: 'sim-chat', container: 'c' }),
  })
  t.equal(answer.status, 403, await answer.text())
  t.equal(upstreams['text']?.received.length, 0)
})

t.test('prompts get cache marks if the family enables it and the client sends none', async t => {
  const auto = translated([['max_tokens: 4000 }', 'max_tokens: 4000, prompt_cache: auto }']])
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' },
    { role: 'assistant', content: 'four' },
    { role: 'user', content: 'five' },
  ]
  const tools = ['a', 'b'].map(name => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  const usage = { input_tokens: 2, cache_creation_input_tokens: 30, cache_read_input_tokens: 20, output_tokens: 1 }
  const answer = { id: 'm', type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn', usage }
  for (const [edit, wanted] of [
    [auto, ['b', 'Be brief.', 'three', 'five']],
    [translated(), []],
  ] as const) {
    const { says, upstreams, charges } = await open(t, edit)
    upstreams['text']?.answer(answer)
    const { status, text } = await says('/v1/chat/completions', { model: 'sim-messages', messages, tools })
    t.equal(status, 200, `${wanted.length} marks: ${text}`)
    const sent = JSON.stringify(upstreams['text']?.received.at(-1)?.json())
    const marked = [...sent.matchAll(/\{[^{}]*"(?:text|name)":"([^"]*)"[^}]*(?:\{[^{}]*\})?,"cache_control":/g)]
    t.same(marked.map(([, name]) => `${name}`).toSorted(byText), [...wanted].toSorted(byText), `${wanted.length} marks`)
    const [charge] = await charges()
    t.same(
      charge?.lines.map(({ tier, quantity }) => `${tier}=${quantity}`),
      ['input=2', 'cached_input=20', 'cache_write=30', 'output=1'],
      `the bill with ${wanted.length} marks`,
    )
  }
})

function byText(a: string, b: string): number {
  return a < b ? -1 : 1
}
