import type { ServerResponse } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { type Edits, start, type Started } from '../harness/start.ts'

/** The shipped file, with translation for both families. */
const bridged = (more: Edits = []): Edits => [
  ['\n  messages:\n', '\n  messages:\n    format-bridge: { reasoning: budget, max_tokens: 4000 }\n'],
  ['sim-chat: { family: chat,', 'sim-chat: { family: chat, accepts: [messages, generate],'],
  ['sim-messages: { family: messages,', 'sim-messages: { family: messages, accepts: [chat],'],
  ...more,
]

async function open(t: Test, more: Edits = []) {
  const started = await start(t, { upstreams: ['text'], edit: bridged(more) })
  const { url, key } = started
  const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const text = started.upstreams['text'] as Started['upstream']
  const sent = (): Record<string, unknown> => text.received.at(-1)?.json() ?? {}
  return { started, anthropic, openai, text, sent }
}

/** The required members of an SDK's error, whose type has more. */
const like = (wanted: object): Error => wanted as Error

/** An event stream, with one write per record. */
const stream = (records: readonly string[]) => (res: ServerResponse) => {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const record of records) res.write(record)
  res.end()
}

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-u', object: 'chat.completion.chunk', created: 1, model: 'v', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usage = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27, prompt_tokens_details: { cached_tokens: 4 } }
const chatCalls = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'I look ' }),
  chunk({ content: 'both up.' }),
  chunk({ tool_calls: [{ index: 0, id: 'call_a', type: 'function', function: { name: 'look', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":"P' } }] }),
  chunk({ tool_calls: [{ index: 1, id: 'call_b', type: 'function', function: { name: 'look', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: 'aris"}' } }] }),
  chunk({ tool_calls: [{ index: 1, function: { arguments: '{"city":"Rome"}' } }] }),
  chunk({}, 'tool_calls'),
  `data: ${JSON.stringify({ id: 'chatcmpl-u', object: 'chat.completion.chunk', created: 1, model: 'v', choices: [], usage })}\n\n`,
  'data: [DONE]\n\n',
]

const look = {
  name: 'look',
  description: 'Looks up a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
}

t.test(
  "a messages SDK streams parallel calls from a chat upstream, and the bill counts the upstream's report",
  async t => {
    const { started, anthropic, text, sent } = await open(t)
    text.answer(stream(chatCalls))
    const answer = await anthropic.messages
      .stream({
        model: 'sim-chat',
        max_tokens: 500,
        system: 'Be brief.',
        tools: [look],
        messages: [{ role: 'user', content: 'Paris and Rome?' }],
      })
      .finalMessage()
    t.match(answer, {
      model: 'sim-chat',
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'I look both up.' },
        { type: 'tool_use', id: 'call_a', name: 'look', input: { city: 'Paris' } },
        { type: 'tool_use', id: 'call_b', name: 'look', input: { city: 'Rome' } },
      ],
      usage: { input_tokens: 16, cache_read_input_tokens: 4, output_tokens: 7 },
    })
    t.equal(text.received.at(-1)?.url, '/v1/chat/completions')
    t.match(sent(), {
      model: 'sim-chat',
      max_completion_tokens: 500,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Paris and Rome?' },
      ],
      tools: [{ type: 'function', function: { name: 'look', parameters: look.input_schema } }],
      stream: true,
      stream_options: { include_usage: true },
    })
    const [charge] = await started.charges()
    t.same(
      charge?.lines.map(({ tier, quantity }) => `${tier}=${quantity}`),
      ['input=16', 'cached_input=4', 'output=7'],
    )
    const [row] = await started.logs()
    t.match(row, { status: 200, model: 'sim-chat', operation: 'chat', outcome: 'answered' })
  },
)

t.test("a tool loop continues: results, images and the model's thoughts return to the upstream", async t => {
  const { anthropic, text, sent } = await open(t)
  text.answer({
    id: 'x',
    model: 'v',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: null,
          reasoning_content: 'I need the weather.',
          tool_calls: [
            { id: 'functions.look:0', type: 'function', function: { name: 'look', arguments: '{"city":"Paris"}' } },
          ],
        },
      },
    ],
    usage,
  })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Paris?' }]
  const first = await anthropic.messages.create({ model: 'sim-chat', max_tokens: 500, tools: [look], messages })
  const call = first.content.find(block => block.type === 'tool_use')
  t.match(first.content[0], { type: 'thinking', thinking: 'I need the weather.', signature: /./ })
  t.match(call?.id, /^[A-Za-z0-9_-]+$/)
  text.answer({
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Sunny.' } }],
    usage,
  })
  const second = await anthropic.messages.create({
    model: 'sim-chat',
    max_tokens: 500,
    tools: [look],
    messages: [
      ...messages,
      { role: 'assistant', content: first.content as Anthropic.ContentBlockParam[] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: call?.id ?? '',
            content: [
              { type: 'text', text: 'See the picture.' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aWs=' } },
            ],
          },
          { type: 'text', text: 'Well?' },
        ],
      },
    ],
  })
  t.match(second.content, [{ type: 'text', text: 'Sunny.' }])
  t.match(sent()['messages'], [
    { role: 'user', content: 'Paris?' },
    {
      role: 'assistant',
      reasoning_content: 'I need the weather.',
      tool_calls: [{ id: call?.id, function: { name: 'look', arguments: '{"city":"Paris"}' } }],
    },
    { role: 'tool', tool_call_id: call?.id, content: 'See the picture.' },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aWs=' } },
        { type: 'text', text: 'Well?' },
      ],
    },
  ])
})

const block = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const messageStream = [
  block('message_start', {
    message: {
      id: 'msg_u',
      type: 'message',
      role: 'assistant',
      content: [],
      model: 'v',
      usage: { input_tokens: 9, cache_read_input_tokens: 3, output_tokens: 1 },
    },
  }),
  block('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
  block('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } }),
  block('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } }),
  block('content_block_stop', { index: 0 }),
  block('ping', {}),
  block('content_block_start', { index: 1, content_block: { type: 'text', text: '' } }),
  block('content_block_delta', { index: 1, delta: { type: 'text_delta', text: '{"a":1}' } }),
  block('content_block_stop', { index: 1 }),
  block('content_block_start', {
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} },
  }),
  block('content_block_stop', { index: 2 }),
  block('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 30 } }),
  block('message_stop', {}),
]

t.test(
  'a chat SDK streams from a messages upstream: effort, schema, tools without arguments, usage on demand',
  async t => {
    const { started, openai, text, sent } = await open(t)
    text.answer(stream(messageStream))
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      required: ['a'],
      additionalProperties: false,
    }
    const answer = await openai.chat.completions
      .stream({
        model: 'sim-messages',
        reasoning_effort: 'medium',
        stop: 'END',
        messages: [
          { role: 'developer', content: 'Answer in JSON.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'One?' },
              { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,aWs=' } },
            ],
          },
        ],
        tools: [
          {
            type: 'function',
            function: {
              name: 'now',
              strict: true,
              parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
            },
          },
        ],
        parallel_tool_calls: false,
        response_format: { type: 'json_schema', json_schema: { name: 'one', strict: true, schema } },
        stream_options: { include_usage: true },
      })
      .finalChatCompletion()
    t.match(answer, {
      model: 'sim-messages',
      choices: [
        {
          finish_reason: 'tool_calls',
          message: { content: '{"a":1}', tool_calls: [{ id: 'toolu_1', function: { name: 'now', arguments: '{}' } }] },
        },
      ],
      usage: { prompt_tokens: 12, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 3 } },
    })
    t.equal(text.received.at(-1)?.url, '/v1/messages')
    t.equal(text.received.at(-1)?.headers['anthropic-version'], '2023-06-01')
    t.match(sent(), {
      max_tokens: 4000,
      system: [{ type: 'text', text: 'Answer in JSON.' }],
      thinking: { type: 'enabled', budget_tokens: 2048 },
      stop_sequences: ['END'],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema } },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'One?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aWs=' } },
          ],
        },
      ],
    })
    const [charge] = await started.charges()
    t.same(
      charge?.lines.map(({ tier, quantity }) => `${tier}=${quantity}`),
      ['input=9', 'cached_input=3', 'output=30'],
    )
  },
)

t.test("a stream cut after any record is an error in the client's format", async t => {
  const { anthropic, openai, text } = await open(t)
  const ask = { max_tokens: 50, messages: [{ role: 'user' as const, content: 'x' }] }
  for (let kept = 1; kept < messageStream.length; kept++) {
    text.answer(stream(messageStream.slice(0, kept)))
    const answer = openai.chat.completions.stream({ ...ask, model: 'sim-messages' }).finalChatCompletion()
    await t.rejects(answer, like({ error: { code: 'upstream_stream_failed' } }), `messages, ${kept} records`)
  }
  // The last record is a sentinel: finish and usage are complete without it.
  for (let kept = 1; kept < chatCalls.length - 1; kept++) {
    text.answer(stream(chatCalls.slice(0, kept)))
    const answer = anthropic.messages.stream({ ...ask, model: 'sim-chat' }).finalMessage()
    await t.rejects(
      answer,
      like({ error: { error: { details: { error_code: 'upstream_stream_failed' } } } }),
      `chat, ${kept} records`,
    )
  }
})

t.test("errors, limits and refusals are in the client's format", async t => {
  const { started, anthropic, openai, text } = await open(t)
  text.answer((res: ServerResponse) => {
    res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' })
    res.end(JSON.stringify({ error: { message: 'Too many requests.', type: 'rate_limit_error', code: 'rate' } }))
  })
  const ask = { max_tokens: 50, messages: [{ role: 'user' as const, content: 'x' }] }
  await t.rejects(
    anthropic.messages.create({ ...ask, model: 'sim-chat' }),
    like({
      status: 429,
      error: { type: 'error', error: { type: 'rate_limit_error', message: 'Too many requests.' } },
    }),
  )
  text.answer((res: ServerResponse) => {
    res.writeHead(529, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }))
  })
  await t.rejects(
    openai.chat.completions.create({ ...ask, model: 'sim-messages' }),
    like({ status: 503, error: { message: 'Overloaded' } }),
  )
  t.equal((await started.charges()).length, 0, 'nothing is charged')

  const before = text.received.length
  for (const [field, value] of [
    ['n', 2],
    ['service_tier', 'flex'],
    ['logprobs', true],
    ['store', true],
    ['modalities', ['text', 'audio']],
    ['response_format', { type: 'json_object' }],
  ] as const)
    await t.rejects(
      openai.chat.completions.create({ ...ask, model: 'sim-messages', [field]: value } as never),
      like({ status: 400, code: 'not_translatable', param: field }),
      field,
    )
  await t.rejects(
    anthropic.messages.create({
      ...ask,
      model: 'sim-chat',
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    }),
    like({ status: 400, error: { error: { details: { error_code: 'not_translatable' } } } }),
  )
  t.equal(text.received.length, before, 'nothing was sent')
})

t.test('hints are dropped, and the response and the log name them; on_loss sets the rule', async t => {
  const { started, openai, text } = await open(t)
  text.answer({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  })
  const ask = { model: 'sim-messages', seed: 7, messages: [{ role: 'user' as const, content: 'x' }] }
  const answered = await openai.chat.completions.create(ask).withResponse()
  t.equal(answered.data.choices[0]?.message.content, 'ok')
  t.equal(answered.response.headers.get('x-tollgate-dropped'), 'seed')
  const [row] = await started.logs()
  t.match(row, { dropped: ['seed'] }, JSON.stringify(row))
  await started.reload([['accepts: [chat],', 'accepts: [chat], on_loss: refuse,']])
  await t.rejects(openai.chat.completions.create(ask), like({ status: 400, param: 'seed' }))
  await started.reload([['on_loss: refuse,', 'on_loss: drop,']])
  t.equal((await openai.chat.completions.create({ ...ask, n: 3 })).choices.length, 1)
})

t.test('models and token counts are served in each accepted format', async t => {
  const { anthropic, started, text } = await open(t)
  const counted = await anthropic.messages
    .countTokens({ model: 'sim-chat', messages: [{ role: 'user', content: 'How many tokens has this?' }] })
    .withResponse()
  t.ok(counted.data.input_tokens > 5 && counted.data.input_tokens < 30, String(counted.data.input_tokens))
  t.equal(counted.response.headers.get('x-tollgate-estimate'), 'input_tokens')
  const contents = [{ role: 'user', parts: [{ text: 'How many tokens has this?' }] }]
  const counts: unknown[] = []
  for (const body of [{ contents }, { generateContentRequest: { model: 'models/sim-chat', contents } }])
    counts.push(await (await started.post('/v1beta/models/sim-chat:countTokens', body)).json())
  t.match(counts[0], { totalTokens: Number })
  t.same(counts[1], counts[0], 'a complete request')
  t.equal(text.received.length, 0)
  t.equal((await started.charges()).length, 0)
  const names: string[] = []
  for await (const model of anthropic.models.list()) names.push(model.id)
  t.ok(names.includes('sim-chat'))
})

t.test("a request in the upstream's own format passes unchanged", async t => {
  const { openai, text, sent } = await open(t)
  text.answer({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }], usage })
  const ask = {
    model: 'sim-chat',
    messages: [{ role: 'user' as const, content: 'x' }],
    prediction: null,
    extra: { kept: true },
  }
  await openai.chat.completions.create(ask as never)
  t.same(sent(), ask)
})
