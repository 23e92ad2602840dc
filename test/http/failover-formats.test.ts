import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { explainRequest } from '../../src/gateway/explain.ts'
import type { Json } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { smallConfig } from '../harness/small-config.ts'
import { type Edits, type Started, start } from '../harness/start.ts'
import type { Reaction, Upstream } from '../harness/upstream.ts'

/**
 * Two vendors, each with an API format of its own and two keys; the models of each fall back to the models of the
 * other.
 */
const yaml = `${smallConfig()}pipeline: [auth, ratelimit, format-bridge, token-usage]
upstreams:
  bells: { url: "\${BELLS_URL}", cooldown: { failures: 10000 }, credential: { header: x-api-key, value: "{key}" }, keys: { a: { value: bell-a }, b: { value: bell-b } } }
  drums: { url: "\${DRUMS_URL}", cooldown: { failures: 10000 }, credential: { header: authorization, value: "Bearer {key}" }, keys: { c: { value: drum-c } } }
families:
  chat:
    streams: [chat]
    forward: { chat: { all: true } }
    token-usage: { unpriced: parent }
    format-bridge: {}
  messages:
    streams: [messages]
    forward: { messages: { all: true } }
    token-usage: { unpriced: parent }
    format-bridge: {}
defaults: { models: { retry_on: [500, reset], retry: { attempts: 4, backoff: 1ms } } }
models:
  bell: { family: messages, upstream: bells, accepts: [chat], send_as: bell-9, prices: { input: "3", output: "15" }, fallbacks: [drum-small] }
  drum: { family: chat, upstream: drums, accepts: [messages], send_as: drum-9, prices: { input: "1", output: "2" }, fallbacks: [bell-small] }
  bell-small: { family: messages, upstream: bells, accepts: [chat], send_as: bell-1, prices: { input: "30", output: "40" } }
  drum-small: { family: chat, upstream: drums, accepts: [messages], send_as: drum-1, prices: { input: "10", output: "20" } }
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/messages, operation: messages, dialect: anthropic }
  - { match: POST /v1/messages/count_tokens, operation: messages.count, dialect: anthropic }
`

type Vendors = Started & { readonly bells: Upstream; readonly drums: Upstream }

async function open(t: Test, edit: Edits = []): Promise<Vendors> {
  const started = await start(t, { yaml, edit, upstreams: ['bells', 'drums'] })
  const { bells, drums } = started.upstreams as { readonly bells: Upstream; readonly drums: Upstream }
  bells.answer(serveMessages)
  drums.answer(serveChat)
  return { ...started, bells, drums }
}

const event = (data: { readonly type?: string }): string =>
  `${data.type === undefined ? '' : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`
const send = (res: ServerResponse, isStream: boolean, body: object, events: readonly object[], last = ''): void => {
  res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  res.end(isStream ? events.map(event).join('') + last : JSON.stringify(body))
}

const chatUsage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }
const serveChat: Reaction = (res, received) => {
  const one = (members: object) => ({ id: 'c', object: 'chat.completion.chunk', model: 'd', choices: [members] })
  const whole = {
    id: 'c',
    model: 'd',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'drums' } }],
    usage: chatUsage,
  }
  const events = [
    one({ index: 0, delta: { role: 'assistant', content: 'drums' } }),
    one({ index: 0, delta: {}, finish_reason: 'stop' }),
    { id: 'c', object: 'chat.completion.chunk', model: 'd', choices: [], usage: chatUsage },
  ]
  send(res, received.json()['stream'] === true, whole, events, 'data: [DONE]\n\n')
}

const message = { id: 'm', type: 'message', role: 'assistant', model: 'b', content: [], stop_reason: null }
const serveMessages: Reaction = (res, received) => {
  const whole = {
    ...message,
    content: [{ type: 'text', text: 'bells' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 12, output_tokens: 6 },
  }
  const events = [
    { type: 'message_start', message: { ...message, usage: { input_tokens: 12, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'bells' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 6 } },
    { type: 'message_stop' },
  ]
  send(res, received.json()['stream'] === true, whole, events)
}

const refuse =
  (status: number): Reaction =>
  res =>
    void res
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'Busy', code: 'busy' } }))
const cut: Reaction = (_res, _received, req) => void req.socket.destroy()

const ask = { max_tokens: 50, messages: [{ role: 'user', content: 'Which?' }] }
const paths = { chat: '/v1/chat/completions', messages: '/v1/messages' } as const

type Chunk = {
  readonly choices?: readonly { readonly [name in 'delta' | 'message']?: { readonly content?: string } }[]
  readonly delta?: { readonly text?: string }
  readonly content?: readonly { readonly text?: string }[]
}

/** The text of an answer in the client's own format. */
function textOf(format: keyof typeof paths, isStream: boolean, body: string): string {
  const jsons = isStream ? [...body.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => json) : [body]
  const texts = jsons.flatMap(json => {
    const { choices = [], delta, content = [] } = JSON.parse(json) as Chunk
    if (format === 'chat') return choices.map(one => (isStream ? one.delta : one.message)?.content)
    return isStream ? [delta?.text] : content.map(({ text }) => text)
  })
  return texts.join('')
}

const costs = { bells: (12 * 30 + 6 * 40) / 1e6, drums: (11 * 10 + 5 * 20) / 1e6 }

t.test('a fallback with another API format answers and is charged at its own prices', async t => {
  const { bells, drums, post, logs, charges, gateway, reload } = await open(t)
  for (const [model, first, second, keys] of [
    ['bell', bells, 'drums', 2],
    ['drum', drums, 'bells', 1],
  ] as const)
    for (const format of ['chat', 'messages'] as const)
      for (const stream of [false, true])
        for (const fault of [529, 500, 'cut'] as const) {
          const name = caseName({ model, format, stream, fault })
          // After a refusal the vendor's next key is tried; a request that may have been sold is not repeated.
          for (let i = 0; i < (fault === 529 ? keys : 1); i++) first.answerOnce(fault === 'cut' ? cut : refuse(fault))
          const answer = await post(paths[format], { model, stream, ...ask })
          const body = await answer.text()
          t.equal(answer.status, 200, `${name}: ${body}`)
          t.equal(textOf(format, stream, body), second, `${name}: ${body}`)
          const [row] = await logs(1)
          t.match(row, { model, upstream: second, outcome: 'answered', status: 200 }, name)
          t.match(row?.attempts?.at(-1), { upstream: second, model: /-small$/, answer: '200' }, name)
          t.equal(row?.attempts?.[0]?.model, undefined, name)
          t.equal(await costOf(charges), costs[second], name)
        }
  // A paused upstream is tried after the fallback.
  await reload([['BELLS_URL}", cooldown: { failures: 10000 }', 'BELLS_URL}", cooldown: { failures: 1, for: 1h }']])
  bells.answerOnce(cut)
  for (const count of [2, 1]) {
    const answer = await post(paths.messages, { model: 'bell', ...ask })
    t.equal(textOf('messages', false, await answer.text()), 'drums', `${count} attempts`)
    t.equal((await logs(1))[0]?.attempts?.length, count, 'a fallback is named even if nothing else was called')
    t.equal(await costOf(charges), costs.drums, `${count} attempts`)
  }
  t.same((await gateway.storage.books.verify()).problems, [])
})

async function costOf(charges: Started['charges']): Promise<number> {
  const [charge] = await charges(1)
  return charge?.state === 'settled' ? Number(charge.amount) : Number.NaN
}

t.test('the hold is for the most expensive possible model, and the charge for the one that answered', async t => {
  const { drums, post, newKey, charges, gateway } = await open(t)
  const { key } = await newKey({ budget: 1_000_000 })
  const request = { model: 'drum', ...ask, max_tokens: 100 }
  const own = await post(paths.chat, request, { authorization: `Bearer ${key}` })
  t.equal(textOf('chat', false, await own.text()), 'drums')
  t.equal(await costOf(charges), (11 * 1 + 5 * 2) / 1e6)
  drums.answerOnce(refuse(529))
  await (await post(paths.chat, request, { authorization: `Bearer ${key}` })).text()
  t.equal(await costOf(charges), costs.bells)
  const { key: poor } = await newKey({ budget: 1_000 })
  const refused = await post(paths.chat, request, { authorization: `Bearer ${poor}` })
  t.equal(refused.status, 402)
  t.match(await refused.text(), /may cost up to 0\.004\d+ USD/, '100 tokens at 40, and the input')
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('a request that a fallback cannot carry, or that has begun, stays with the first upstream', async t => {
  const { bells, drums, post, logs, charges } = await open(t)
  drums.answerOnce(refuse(529))
  const refused = await post(paths.chat, { model: 'drum', ...ask, n: 2 })
  t.match([refused.status, await refused.json()], [529, { error: { message: 'Busy' } }])
  t.equal(bells.received.length, 0)
  drums.answerOnce((res: ServerResponse) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write('data: {"choices":[{"index":0,"delta":{"content":"dru"}}]}\n\n', () => res.destroy())
  })
  const begun = await post(paths.messages, { model: 'drum', ...ask, stream: true })
  t.match(await begun.text(), /dru[\s\S]*event: error\ndata: .*upstream_cut/)
  t.equal(bells.received.length, 0)
  t.match((await logs(1))[0], { model: 'drum', upstream: 'drums', outcome: 'upstream_cut' })
  const paid = (await charges()).length

  // Both fail repeatedly: the error is in the client's format, and nothing is charged.
  drums.answer(refuse(500))
  bells.answer(refuse(500))
  for (const [format, type] of [
    ['chat', undefined],
    ['messages', 'error'],
  ] as const) {
    const failed = await post(paths[format], { model: 'drum', ...ask })
    t.match([failed.status, await failed.json()], [500, { type, error: { message: 'Busy' } }], format)
    const tried = (await logs(1))[0]?.attempts?.map(({ model }) => model)
    t.same(tried, [undefined, 'bell-small', undefined, 'bell-small'], format)
  }
  t.equal((await charges()).length, paid)
  // The second round may end after the first upstream.
  drums.answer(serveChat)
  drums.answerOnce(refuse(500))
  const again = await post(paths.messages, { model: 'drum', ...ask, top_k: 3 })
  t.equal(again.headers.get('x-tollgate-dropped'), 'top_k')
  t.equal(textOf('messages', false, await again.text()), 'drums')
  t.equal(await costOf(charges), (11 * 1 + 5 * 2) / 1e6)
})

t.test('only fields that the answering upstream did not get are reported as dropped', async t => {
  const { drums, bells, post } = await open(t)
  const request = { model: 'drum', ...ask, seed: 7 }
  t.equal((await post(paths.chat, request)).headers.get('x-tollgate-dropped'), null)
  t.equal(drums.received.at(-1)?.json()['seed'], 7)
  drums.answerOnce(refuse(529))
  t.equal((await post(paths.chat, request)).headers.get('x-tollgate-dropped'), 'seed')
  t.equal(bells.received.at(-1)?.json()['model'], 'bell-1')
})

t.test('explain names the fallback, and the fields that it would get', async t => {
  const { plan } = await open(t)
  const explain = (fields: { readonly [name: string]: Json }) => {
    const request = { model: 'drum', operation: 'chat', size: undefined, quality: undefined, n: undefined }
    return explainRequest(plan, { ...request, fields: { ...ask, ...fields } }).fallbacks
  }
  t.match(explain({ seed: 7 }), [
    {
      model: 'bell-small',
      upstream: 'bells',
      operation: 'messages',
      dropped: ['seed'],
      at_most: /^0\.00/,
      sent: { max_tokens: 50, model: 'bell-1' },
    },
  ])
  t.match(explain({ n: 2 }), [{ model: 'bell-small', refused: /n/ }])
})

t.test('the answer of a translated fallback is cached like any other', async t => {
  const { bells, post, reload } = await open(t)
  await reload([
    ['ratelimit, format-bridge', 'ratelimit, answer-cache, format-bridge'],
    ['send_as: bell-9,', 'send_as: bell-9, cache: { for: 1h },'],
  ])
  bells.answerOnce(cut)
  const got: string[] = []
  for (let i = 0; i < 3; i++) {
    const answer = await post(paths.messages, { model: 'bell', ...ask })
    got.push(`${textOf('messages', false, await answer.text())} ${answer.headers.get('x-tollgate-cache')}`)
  }
  t.same(got, ['drums miss', 'drums hit', 'drums hit'])
})

t.test('check validates fallbacks', async t => {
  const { reload } = await open(t)
  const problemsOf = async (edit: Edits) => JSON.stringify(await reload(edit))
  const bare = '\nmodels:\n  free: { family: bare, upstream: drums, price: free }\n'
  t.match(await problemsOf([['fallbacks: [drum-small]', 'fallbacks: [drums]']]), /fallback_unknown/)
  t.match(await problemsOf([['fallbacks: [drums]', 'fallbacks: [bell]']]), /fallback_unknown/)
  const edit: Edits = [
    ['fallbacks: [bell]', 'fallbacks: [free]'],
    ['\nmodels:\n', bare],
    ['\nfamilies:\n', '\nfamilies:\n  bare: { forward: { chat: { all: true } } }\n'],
  ]
  t.match(await problemsOf(edit), /fallback_sections.*token-usage/)
})

t.test("a conversation continues at its first vendor without the fallback's thoughts", async t => {
  const { bells, drums, post } = await open(t)
  bells.answerOnce(cut)
  drums.answerOnce({
    choices: [
      { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Drums.', reasoning_content: 'Hm.' } },
    ],
    usage: chatUsage,
  })
  const first = await post(paths.messages, { model: 'bell', ...ask })
  const { content } = (await first.json()) as { readonly content: readonly { readonly type: string }[] }
  t.same(
    content.map(({ type }) => type),
    ['thinking', 'text'],
  )
  const own = { type: 'thinking', thinking: 'So.', signature: 'RXF1aXZhbGVudA==' }
  const messages = [
    { role: 'user', content: 'Which?' },
    { role: 'assistant', content: [own, { type: 'text', text: 'Bells.' }] },
    { role: 'user', content: 'And?' },
    { role: 'assistant', content },
    { role: 'user', content: 'More?' },
  ]
  await (await post(paths.messages, { model: 'bell', max_tokens: 5, messages })).text()
  t.strictSame(bells.received.at(-1)?.json()['messages'], [
    ...messages.slice(0, 3),
    { role: 'assistant', content: [{ type: 'text', text: 'Drums.' }] },
    messages[4],
  ])
})

t.test("a request for a group's alias fails over like one for its model", async t => {
  const { bells, post, logs } = await open(t, [{ 'groups/default': { aliases: { best: 'bell' } } }])
  for (const format of ['chat', 'messages'] as const) {
    const name = caseName({ format })
    bells.answerOnce(refuse(500))
    const answer = await post(paths[format], { model: 'best', ...ask })
    const body = await answer.text()
    t.equal(answer.status, 200, `${name}: ${body}`)
    t.equal(textOf(format, false, body), 'drums', name)
    const [row] = await logs(1)
    t.match(row, { model: 'bell', alias: 'best', upstream: 'drums' }, name)
    t.match(row?.attempts, [{ upstream: 'bells' }, { upstream: 'drums', model: 'drum-small' }], name)
  }
})

t.test('if the upstream of a model is full, its fallbacks answer', async t => {
  const { bells, drums, post } = await open(t, [['bells: { url', 'bells: { concurrency: 1, url']])
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  bells.answerOnce(async (res, received, req) => {
    arrive()
    await released
    await serveMessages(res, received, req)
  })
  const first = post(paths.messages, { ...ask, model: 'bell' })
  await arrived
  const second = await post(paths.messages, { ...ask, model: 'bell' })
  t.match([second.status, await second.json()], [200, { content: [{ text: 'drums' }] }])
  release()
  t.match(await (await first).json(), { content: [{ text: 'bells' }] })
  t.match([bells.received.length, drums.received.length], [1, 1])
})

t.test('a slot at the upstream of a fallback is free again, also if the group has no limits', async t => {
  const { bells, drums, post, settled } = await open(t, [
    ['default: { rpm: 6000 }', 'default: {}'],
    ['drums: { url', 'drums: { concurrency: 1, url'],
    ['fallbacks: [drum-small] }', 'fallbacks: [drum-small, bell-small] }'],
  ])
  drums.answer(refuse(503))
  bells.answer((res, received, req) =>
    (received.json()['model'] === 'bell-9' ? refuse(503) : serveMessages)(res, received, req),
  )
  for (const calls of [1, 2, 3]) {
    const answer = await post(paths.messages, { ...ask, model: 'bell' })
    t.match([answer.status, await answer.json()], [200, { content: [{ text: 'bells' }] }], caseName({ calls }))
    await settled()
    t.equal(drums.received.length, calls, caseName({ calls }))
  }
})
