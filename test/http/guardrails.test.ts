import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { mayHoldTexts } from '../../src/guardrails/texts.ts'
import { operations } from '../../src/operations/index.ts'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'
import type { Reaction } from '../harness/upstream.ts'

const pipeline = [/pipeline: \[auth, ratelimit,/, 'pipeline: [auth, ratelimit, guard-patterns, guard-service,'] as const
const patterns = `guard-patterns: { longest: 24, rules: [
      { name: card, pattern: "\\\\d{4}-\\\\d{4}-\\\\d{4}-\\\\d{4}", do: mask, put: "[card]" },
      { name: forbidden, words: [dragon] } ] }`

/** The families of text with one more section. */
function guarded(section: string): readonly (readonly [RegExp, string])[] {
  return [
    [pipeline[0], pipeline[1]],
    [/\n {2}(chat|messages|generative):\n/g, `\n  $1:\n    ${section}\n`],
  ] as never
}

/** The families of every operation whose requests have texts. */
const everywhere = [
  [pipeline[0], pipeline[1]],
  [/\n {2}(chat|messages|generative):\n/g, `\n  $1:\n    ${patterns}\n`],
  ['embedding: { forward', `embedding: { ${patterns}, forward`],
] as const

const card = '1111-2222-3333-4444'
const prompt = (content: string) => ({ model: 'sim-chat', messages: [{ role: 'user', content }] })
const usage = { prompt_tokens: 4, completion_tokens: 40 }

/** A stream of chat completions whose text arrives in these pieces. */
function streamOf(pieces: readonly string[]): Reaction {
  const delta = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
  const events = [
    ...pieces.map(delta),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ]
  const text = events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
  return res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${text}data: [DONE]\n\n`)
}

function textOf(stream: string): string {
  return [...stream.matchAll(/^data: (\{.*)$/gm)]
    .map(
      ([, data = '{}']) =>
        (JSON.parse(data) as { choices?: { delta?: { content?: string } }[] }).choices?.[0]?.delta?.content ?? '',
    )
    .join('')
}

/** A moderation service whose answers the test sets. */
async function startService(t: Test, answer: (request: Asked) => object | number) {
  const asked: Asked[] = []
  const server = createServer(async (req, res) => {
    const one = { ...((await json(req)) as Asked), authorization: req.headers.authorization }
    asked.push(one)
    const reply = answer(one)
    if (typeof reply === 'number') res.writeHead(reply).end()
    else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/check` }
}

type Asked = {
  readonly side?: string
  readonly texts?: readonly string[]
  readonly input?: readonly string[]
  readonly user?: string
  readonly authorization?: string | undefined
}

t.test('patterns block and mask requests, in every API format', async t => {
  const { upstreams, post, logs, charges } = await start(t, { edit: guarded(patterns) })
  const text = upstreams['text']
  text?.answer({ choices: [{ message: { content: 'fine' } }], usage })

  const refused = await post('/v1/chat/completions', prompt('Draw a Dragon, please'))
  t.equal(refused.status, 403)
  t.match(await refused.json(), {
    error: { code: 'request_blocked', message: /rule 'forbidden' \(guard-patterns\)/ },
  })
  t.equal(text?.received.length, 0, 'no upstream was called')
  t.match(await logs(1), [{ error: 'request_blocked', outcome: 'refused' }])
  t.same(await charges(), [])

  let input: object = { note: 'a dragon' }
  for (let i = 0; i < 50; i++) input = { more: input }
  const use = { type: 'tool_use', id: 'u', name: 'pay', input }
  const deep = { model: 'sim-messages', max_tokens: 9, messages: [{ role: 'assistant', content: [use] }] }
  const nested = await post('/v1/messages', deep)
  t.match(
    [nested.status, await nested.text()],
    [403, /request_blocked/],
    'text is found as deep as a body may be nested',
  )

  const twice = '{"model":"sim-chat","messages":[{"role":"user","content":"a Dragon","content":"a boat"}]}'
  const repeated = await post('/v1/chat/completions', twice)
  t.match(
    [repeated.status, await repeated.text()],
    [400, /guarded_name_repeated.*messages\.0\.content|messages\.0\.content.*guarded_name_repeated/],
    'a guard reads the last of two members, an upstream may read the first',
  )
  t.equal(text?.received.length, 0, 'no upstream was called')

  const calls = [{ id: 'c', type: 'function', function: { name: 'pay', arguments: `{"card":"${card}"}` } }]
  const messages = [
    { role: 'user', content: [{ type: 'text', text: `my card is ${card}` }] },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'c', content: `charged ${card}` },
  ]
  await post('/v1/chat/completions', { model: 'sim-chat', messages })
  await post('/v1/messages', {
    model: 'sim-messages',
    max_tokens: 9,
    system: card,
    messages: [{ role: 'user', content: card }],
  })
  for (const [i, one] of (text?.received ?? []).entries()) {
    const sent = one.body.toString()
    t.notMatch(sent, card, caseName({ i }))
    t.match(sent, '[card]', caseName({ i }))
    t.doesNotThrow(() => one.json(), caseName({ i }))
  }
  t.equal(text?.received.length, 2)
  t.match(text?.received[0]?.json(), {
    messages: [{}, { tool_calls: [{ function: { arguments: '{"card":"[card]"}' } }] }, {}],
  })
})

t.test('an event without an end is blocked before it fills the memory', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const [before, after] = JSON.stringify({ choices: [{ index: 0, delta: { content: '|' } }] }).split('|')
  for (const [name, mebibytes, expected] of [
    ['large', 20, true],
    ['too large', 66, false],
  ] as const) {
    // The event is incomplete until the stream ends.
    upstreams['text']?.answer(res => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: ${before}`)
      for (let i = 0; i < mebibytes; i++) res.write('x '.repeat(512 * 1024))
      res.end(after)
    })
    const text = await (await post('/v1/chat/completions', { ...prompt('hello'), stream: true })).text()
    t.equal(text.includes('x x x'), expected, name)
    t.equal(text.includes('response_too_long'), !expected, name)
  }
})

t.test('a complete answer is masked, or withheld and charged as used', async t => {
  const { upstreams, post, logs, charges } = await start(t, { edit: guarded(patterns) })
  upstreams['text']?.answer({ choices: [{ message: { role: 'assistant', content: `card ${card}.` } }], usage })
  const masked = await post('/v1/chat/completions', prompt('hello'))
  t.match(await masked.json(), { choices: [{ message: { content: 'card [card].' } }], usage })

  upstreams['text']?.answer({ choices: [{ message: { role: 'assistant', content: 'a dragon' } }], usage })
  const blocked = await post('/v1/chat/completions', prompt('hello'))
  t.equal(blocked.status, 403)
  t.match(await blocked.json(), { error: { code: 'response_blocked', message: /'forbidden' \(guard-patterns\)/ } })
  t.match(await logs(1), [
    {
      error: 'response_blocked',
      outcome: 'refused',
      error_values: { guard: 'guard-patterns', rule: 'forbidden' },
    },
  ])
  const [withheld, sent] = await charges()
  t.equal(withheld?.amount, sent?.amount, "the upstream's sale costs the same")
  t.ok(Number(sent?.amount) > 0)
})

t.test('a stream is masked and blocked across its events, however they are cut', async t => {
  const { upstreams, post, logs, charges } = await start(t, { edit: guarded(patterns) })
  const ask = async (pieces: readonly string[]): Promise<string> => {
    upstreams['text']?.answer(streamOf(pieces))
    return (await post('/v1/chat/completions', { ...prompt('hello'), stream: true })).text()
  }
  const long = `before ${card} and after, with some more words than are held back: ${card}`
  for (const size of [1, 3, 7, 19, 200]) {
    const pieces = long.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
    const got = await ask(pieces)
    t.equal(textOf(got), long.replaceAll(card, '[card]'), caseName({ size }))
    t.match(got, /\[DONE\]\n\n$/, caseName({ size }))
  }
  const got = await ask(['it was ', 'a dra', 'gon', ' and more ', 'of it'])
  t.equal(textOf(got), '', 'none of the held text is sent')
  t.match(got, /"code":"response_blocked"/)
  t.notMatch(got, 'DONE')
  t.match(await logs(1), [{ error: 'response_blocked', outcome: 'refused', usage: { output_tokens: 40 } }])
  const [blocked, passed] = await charges()
  t.equal(blocked?.amount, passed?.amount)

  const early = await ask('one two three four five six seven eight nine ten a dragon'.match(/.{1,5}/g) ?? [])
  t.match(textOf(early), /^one two three/, 'text released earlier is sent')
  t.notMatch(early, 'dragon')
})

t.test('streams of messages and responses are masked too, with their repeated texts', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const sse = (events: readonly (readonly [string, object])[]): Reaction => {
    const text = events
      .map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify({ type: event, ...data })}\n\n`)
      .join('')
    return res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
  }
  const [half, rest] = [card.slice(0, 8), card.slice(8)]
  upstreams['text']?.answer(
    sse([
      [
        'message_start',
        { message: { id: 'm', model: 'x', content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
      ],
      ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: `a ${half}` } }],
      ['ping', {}],
      ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: `${rest} b` } }],
      ['content_block_stop', { index: 0 }],
      ['message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }],
      ['message_stop', {}],
    ]),
  )
  const messages = await (
    await post('/v1/messages', { ...prompt('hi'), model: 'sim-messages', max_tokens: 9, stream: true })
  ).text()
  t.notMatch(messages, half)
  t.match(messages, /"text":"a \[card\]"[^]*"text":" b"[^]*message_stop/)
  t.match(messages, /event: ping\n/)

  const item = { id: 'i', type: 'message', content: [{ type: 'output_text', text: `a ${card} b` }] }
  const place = { item_id: 'i', output_index: 0, content_index: 0 }
  upstreams['text']?.answer(
    sse([
      ['response.created', { response: { id: 'r', status: 'in_progress', output: [] } }],
      ['response.output_text.delta', { ...place, delta: `a ${half}` }],
      ['response.output_text.delta', { ...place, delta: `${rest} b` }],
      ['response.output_text.done', { ...place, text: `a ${card} b` }],
      ['response.output_item.done', { output_index: 0, item }],
      [
        'response.completed',
        { response: { id: 'r', status: 'completed', output: [item], usage: { input_tokens: 1, output_tokens: 2 } } },
      ],
    ]),
  )
  const responses = await (await post('/v1/responses', { model: 'sim-chat', input: 'hi', stream: true })).text()
  t.notMatch(responses, /1111|4444/)
  t.equal(responses.match(/a \[card\] b/g)?.length, 3, 'the end of the text, of its item, and of the response')
  t.match(responses, /response\.completed/)
})

t.test('a service decides about requests and answers', async t => {
  const service = await startService(t, ({ texts = [] }) => {
    if (texts.some(text => text.includes('dragon'))) return { action: 'block', rule: 'beasts' }
    return texts.some(text => text.includes('Ann'))
      ? { action: 'edit', texts: texts.map(text => text.replaceAll('Ann', 'A.')) }
      : { action: 'pass' }
  })
  const section = `guard-service: { url: "${service.url}", authorization: Bearer guard-token-1, on: [request, response], every: 20 }`
  const { upstreams, post, settled } = await start(t, { edit: guarded(section) })
  upstreams['text']?.answer({ choices: [{ message: { content: 'for Ann' } }], usage })
  const edited = await post('/v1/chat/completions', prompt('from Ann'))
  t.match(await edited.json(), { choices: [{ message: { content: 'for A.' } }] })
  t.match(upstreams['text']?.received[0]?.json(), { messages: [{ content: 'from A.' }] })
  t.match(service.asked[0], {
    side: 'request',
    texts: ['from Ann'],
    user: 'local',
    authorization: 'Bearer guard-token-1',
  })
  const blocked = await post('/v1/chat/completions', prompt('a dragon'))
  t.match(await blocked.json(), { error: { code: 'request_blocked', message: /'beasts' \(guard-service\)/ } })

  upstreams['text']?.answer(streamOf(['Hello ', 'Ann, this is some ', 'text of more than twenty characters for Ann.']))
  const before = service.asked.length
  const streamed = await (await post('/v1/chat/completions', { ...prompt('hello'), stream: true })).text()
  t.equal(textOf(streamed), 'Hello A., this is some text of more than twenty characters for A..')
  t.ok(service.asked.length - before <= 4, 'it is called for pieces of a length, not for every event')
  await settled()
})

t.test('a failing service blocks or allows requests, as configured', async t => {
  let status = 500
  const service = await startService(t, () => (status === 200 ? { action: 'dance' } : status))
  for (const [unavailable, expected] of [
    ['refuse', 503],
    ['pass', 200],
  ] as const) {
    const section = `guard-service: { url: "${service.url}", unavailable: ${unavailable} }`
    const { upstreams, post, settled } = await start(t, { edit: guarded(section) })
    upstreams['text']?.answer({ choices: [], usage })
    for (status of [500, 200]) {
      const answer = await post('/v1/chat/completions', prompt('hello'))
      t.equal(answer.status, expected, caseName({ unavailable, status }))
      if (expected === 503) t.match(await answer.json(), { error: { code: 'guard_unavailable' } }, caseName({ status }))
    }
    await settled()
  }
})

t.test('a service with the moderations format is supported', async t => {
  const service = await startService(t, ({ input = [] }) => ({
    results: input.map(text => ({
      flagged: text.includes('dragon'),
      categories: { violence: text.includes('dragon'), hate: false },
    })),
  }))
  const section = `guard-service: { url: "${service.url}", format: openai-moderations }`
  const { upstreams, post } = await start(t, { edit: guarded(section) })
  upstreams['text']?.answer({ choices: [], usage })
  t.equal((await post('/v1/chat/completions', prompt('hello'))).status, 200)
  t.match(await (await post('/v1/chat/completions', prompt('dragon'))).json(), { error: { message: /'violence'/ } })
})

t.test('a rule without words or pattern, or with an invalid one, is refused when the file is read', async t => {
  for (const [rule, says] of [
    ['{ name: a }', /either a pattern or words/],
    ['{ name: a, pattern: "(?=a)" }', /the pattern is invalid/],
    ['{ name: a, pattern: "a", words: [bb] }', /either a pattern or words/],
  ] as const)
    await t.rejects(
      start(t, { edit: guarded(`guard-patterns: { rules: [${rule}] }`) }),
      { message: says },
      caseName({ rule }),
    )
})

t.test('a word is found at every place of a request or a stream', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const { received = [] } = upstreams['text'] ?? {}
  for (const body of [
    prompt('an _dragon_ in emphasis'),
    { ...prompt('hello'), prediction: { type: 'content', content: 'a dragon' } },
    { ...prompt('hello'), prediction: { type: 'content', content: [{ type: 'text', text: 'a dragon' }] } },
  ]) {
    t.equal((await post('/v1/chat/completions', body)).status, 403, caseName({ body }))
    t.equal(received.length, 0, caseName({ body }))
  }
  t.equal((await post('/v1/chat/completions', prompt('a dragonfly, or snake_dragon_case'))).status, 200)
  // Some vendors repeat the whole text so far in each chunk.
  const chunk = (delta: string, content: string) => {
    const choice = { index: 0, delta: { content: delta }, message: { role: 'assistant', content } }
    return `data: ${JSON.stringify({ choices: [choice] })}\n\n`
  }
  for (const [body, hidden] of [
    [chunk('', `paid with ${card}`), card],
    [chunk('', 'it was a dragon'), 'dragon'],
    ['data: {"type":"response.output_text.done","text":"it was a dragon"}\n\n', 'dragon'],
  ] as const) {
    upstreams['text']?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(body))
    const got = await (await post('/v1/chat/completions', { ...prompt('hello'), stream: true })).text().catch(String)
    t.notMatch(got, hidden, caseName({ hidden }))
  }
})

t.test('token probabilities do not contain masked text', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const tokens = ['paid ', '1111-', '2222-', '3333-', '4444', ' by card']
  const logprobs = (some: readonly string[]) => ({
    content: some.map(token => ({ token, logprob: -1, bytes: [...Buffer.from(token)] })),
  })
  const message = { role: 'assistant', content: tokens.join('') }
  const choice = { index: 0, message, logprobs: logprobs(tokens), finish_reason: 'stop' }
  upstreams['text']?.answer({ choices: [choice], usage })
  const whole = await (await post('/v1/chat/completions', { ...prompt('hello'), logprobs: true })).text()
  t.match(whole, /paid \[card\] by card/)
  t.match(whole, '"logprobs":null')
  t.notMatch(whole, '2222')
  const events = tokens.map(token => ({
    choices: [{ index: 0, delta: { content: token }, logprobs: logprobs([token]) }],
  }))
  const body = [...events, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, { choices: [], usage }]
    .map(event => `data: ${JSON.stringify(event)}\n\n`)
    .join('')
  upstreams['text']?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(body))
  const stream = await (await post('/v1/chat/completions', { ...prompt('hello'), stream: true, logprobs: true })).text()
  t.equal(textOf(stream), 'paid [card] by card')
  t.match(stream, '"token":"paid "', 'others are left as they are')
  t.notMatch(stream, /2222|4444|50,50,50,50/)
})

t.test('every text of a request is checked, wherever its format has it', async t => {
  const { upstreams, post } = await start(t, { edit: everywhere })
  const { received = [] } = upstreams['text'] ?? {}
  const document = (source: object) => ({
    model: 'sim-messages',
    max_tokens: 10,
    messages: [{ role: 'user', content: [{ type: 'document', source }] }],
  })
  const responses = '/v1/responses'
  for (const [path, body] of [
    ['/v1/completions', { model: 'sim-chat', prompt: 'hello', suffix: 'a dragon' }],
    ['/v1/messages', document({ type: 'text', media_type: 'text/plain', data: 'a dragon' })],
    [responses, { model: 'sim-chat', prompt: { id: 'pmpt_1', variables: { data: 'a dragon' } } }],
    [
      responses,
      { model: 'sim-chat', prompt: { id: 'pmpt_1', variables: { name: { type: 'input_text', text: 'a dragon' } } } },
    ],
    ['/v1/conversations', { items: [{ type: 'message', role: 'user', content: 'a dragon' }] }],
    ['/v2/embed', { model: 'sim-embedding', inputs: [{ content: [{ type: 'text', text: 'a dragon' }] }] }],
    [
      '/v1beta/models/sim-generative:generateContent',
      { contents: [{ role: 'model', parts: [{ executableCode: { language: 'PYTHON', code: 'a dragon' } }] }] },
    ],
  ] as const) {
    const answer = await post(path, body)
    t.equal(answer.status, 403, caseName({ path, body }))
    t.match(await answer.text(), 'forbidden', caseName({ path, body }))
  }
  t.equal(received.length, 0)
})

t.test('images and links are no text: they pass unchanged, whatever they contain', async t => {
  const { upstreams, post, charges } = await start(t, { edit: everywhere })
  const upstream = upstreams['text']
  const link = `https://pictures.example/dragon/${card}.png`
  const encoded = `data:image/png;base64,iVBORw0KGgo/dragon+/${card.replaceAll('-', '')}AA`
  const input = [link, encoded].map(image_url => ({ type: 'input_image', image_url }))
  const call = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo/dragon+AA==' }
  const response = { id: 'r1', object: 'response', status: 'completed', model: 'm', output: [call] }
  const counted = { ...response, usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } }
  const body = { model: 'sim-chat', input: [{ role: 'user', content: input }] }
  upstream?.answer(counted)
  const whole = await post('/v1/responses', body)
  t.match([whole.status, await whole.json()], [200, { output: [call] }])
  t.match(upstream?.received.at(-1)?.json()['input'], body.input)
  const events = [
    { type: 'response.output_item.done', output_index: 0, item: call },
    { type: 'response.completed', response: counted },
  ].map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  upstream?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join('')))
  const stream = await post('/v1/responses', { ...body, stream: true })
  t.equal(await stream.text(), events.join(''))
  t.strictSame(
    (await charges()).map(({ state }) => state),
    ['settled', 'settled'],
  )
})

t.test('a long event without text passes a guard, because nothing of it waits', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const picture = {
    type: 'response.image_generation_call.partial_image',
    partial_image_b64: 'A'.repeat(9 * 1024 * 1024),
  }
  const last = {
    type: 'response.completed',
    response: { id: 'r1', output: [], usage: { input_tokens: 3, output_tokens: 2 } },
  }
  const text = [picture, last].map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  upstreams['text']?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text))
  const answer = await post('/v1/responses', { model: 'sim-chat', input: 'draw', stream: true })
  t.equal((await answer.text()).length, text.length)
})

t.test('quotes in a stream are checked like those in a complete response', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const citation = { type: 'char_location', cited_text: `paid with ${card}`, document_index: 0 }
  const events = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        content: [],
        usage: { input_tokens: 4, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: [] } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'card 1111-2222-' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '3333-4444 it is' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 40 } },
    { type: 'message_stop' },
  ]
  const text = events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  upstreams['text']?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text))
  const answer = await post('/v1/messages', {
    model: 'sim-messages',
    max_tokens: 50,
    stream: true,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const got = await answer.text()
  t.notMatch(got, /2222|3333|4444/)
  t.match(got, 'paid with [card]')
})

t.test('a fallback receives the text as the rules of the requested model edited it', async t => {
  const { upstreams, post } = await start(t, {
    edit: [
      ['format-bridge, multipart-rewrite,', 'format-bridge, guard-patterns, multipart-rewrite,'],
      [/\n {2}chat:\n/, `\n  chat:\n    ${patterns}\n`],
      [/\n {2}messages:\n/, '\n  messages:\n    guard-patterns: { rules: [{ name: other, words: [griffin] }] }\n'],
      [/(\n {2}sim-messages: \{ family: messages,)/, '$1 accepts: [chat],'],
      [/(\n {2}sim-chat: \{ family: chat,)/, '$1 fallbacks: [sim-messages],'],
    ],
  })
  const upstream = upstreams['text']
  upstream?.answerOnce(
    res => void res.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"code":"busy"}}'),
  )
  upstream?.answer({
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'ok' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 4, output_tokens: 2 },
  })
  t.equal((await post('/v1/chat/completions', prompt(`my card ${card}`))).status, 200)
  const sent = upstream?.received.map(({ body }) => String(body)) ?? []
  t.equal(sent.length, 2)
  for (const [i, body] of sent.entries()) {
    t.match(body, 'my card [card]', caseName({ i }))
    t.notMatch(body, card, caseName({ i }))
  }
})

t.test('a stream is not blocked for a part of a longer word, wherever it is cut', async t => {
  const { upstreams, post } = await start(t, { edit: guarded(patterns) })
  const words = 'The snapdragon, the dragonfly and the super_dragon_plant. '
  const said = `${'They grow many plants there. '.repeat(3)}${words}${'And so on. '.repeat(5)}`
  for (const size of [1, 2, 3, 5]) {
    upstreams['text']?.answer(streamOf(said.match(new RegExp(`.{1,${size}}`, 'g')) ?? []))
    const answer = await post('/v1/chat/completions', { ...prompt('hello'), stream: true })
    t.equal(textOf(await answer.text()), said, caseName({ size }))
  }
})

/** Described fields without text of people, except numbers, switches and choices. */
const withoutText = new Set(
  `background completion_window embedding_types endpoint expires_after file generationConfig image input_file_id
  input_type language language_code mask metadata model model_id moderation output_format previous_response_id purpose
  quality response_format session size stream_options tools ttl voice voice_settings`.split(/\s+/),
)

t.test('guards know of each field of an operation whether it holds texts', async t => {
  for (const { name, fields = {} } of operations)
    for (const [field, { schema }] of Object.entries(fields)) {
      const { type, enum: choices } = schema as { readonly type?: unknown; readonly enum?: unknown }
      if (choices !== undefined || ['number', 'integer', 'boolean'].includes(String(type))) continue
      t.not(mayHoldTexts(field), withoutText.has(field), caseName({ name, field }))
    }
})
