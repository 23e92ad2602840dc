import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import type { Reaction, Upstream } from '../harness/upstream.ts'

const chat = '/v1/chat/completions'
const ask = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }], stream: true }
const delta = { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'H' } }] }

/** A stream of these events; with `isOpen` its connection stays open. */
const stream =
  (text: string, isOpen = false): Reaction =>
  res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
    if (!isOpen) res.end()
  }

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

t.test('a stream whose first event is an error becomes an error status with its JSON', async t => {
  const { post, upstreams, logs, settled } = await start(t)
  const upstream = upstreams['text'] as Upstream
  const cases: readonly (readonly [what: string, text: string, status: number, body: object])[] = [
    ['a word', data({ error: { message: 'no', type: 'server_error' } }), 500, { error: { type: 'server_error' } }],
    ['a number', data({ error: { message: 'no', code: 422 } }), 422, { error: { code: 422 } }],
    ['what a caller did', data({ error: { type: 'invalid_request_error' } }), 400, { error: {} }],
    ['a limit', data({ error: { code: 'rate_limit_exceeded' } }), 429, { error: {} }],
    ['words that nobody knows', data({ error: { message: 'odd' } }), 502, { error: { message: 'odd' } }],
    ['a name alone', `event: error\n${data({ message: 'gone' })}`, 502, { error: { message: 'gone' } }],
    ['a name, and no JSON', 'event: error\ndata: gone\n\n', 502, { error: { message: 'gone' } }],
    ['a type at the top', data({ type: 'error', code: 'server_error', message: 'x' }), 500, { error: {} }],
    [
      'another style',
      `event: error\n${data({ type: 'error', error: { type: 'overloaded_error', message: 'x' } })}`,
      503,
      { type: 'error', error: { type: 'overloaded_error' } },
    ],
    [
      'a number beside its words',
      data({ type: 'error', sequence_number: 0, error: { code: 'rate_limit_exceeded' } }),
      429,
      { error: { code: 'rate_limit_exceeded' } },
    ],
    [
      'something unknown beside it',
      data({ type: 'error', shard: 7, error: { code: 'rate_limit_exceeded' } }),
      429,
      { type: 'error', error: { code: 'rate_limit_exceeded' } },
    ],
    [
      'empty answers beside it',
      data({ type: 'error', shard: 7, usage: null, choices: [], output: {}, error: { code: 'rate_limit_exceeded' } }),
      429,
      { type: 'error', error: { code: 'rate_limit_exceeded' } },
    ],
    [
      'with a long message',
      data({ error: { message: 'why '.repeat(10_000), code: 429 } }),
      429,
      { error: { code: 429 } },
    ],
    ['behind a greeting', `: hello\n\nretry: 10\n\n${data({ error: { code: 'server_error' } })}`, 500, { error: {} }],
  ]
  for (const [what, text, status, body] of cases) {
    upstream.answer(stream(text, true))
    const answer = await post(chat, ask)
    t.equal(answer.status, status, what)
    t.match(answer.headers.get('content-type'), /^application\/json/, what)
    t.match(await answer.json(), body, what)
  }
  await settled()
  t.match((await logs())[0], { status: 500, tokens: null, billing: null }, 'and nothing is charged')
  t.equal(upstream.received.length, cases.length, 'no upstream is called twice')
})

t.test('a stream that does not begin with an error passes unchanged', async t => {
  const { post, upstreams, logs, settled } = await start(t)
  const upstream = upstreams['text'] as Upstream
  const good: readonly (readonly [string, string])[] = [
    ['an answer', `${data(delta)}data: [DONE]\n\n`],
    ['error: null', data({ ...delta, error: null })],
    ['an error beside an answer', data({ ...delta, error: { code: 'odd' } })],
    ...['usage', 'usageMetadata', 'choices', 'candidates', 'output'].flatMap(member =>
      [
        { type: 'error', error: { code: 'rate_limit_exceeded' }, [member]: [{ sold: 7 }] },
        { type: 'error', code: 'rate_limit_exceeded', message: 'x', [member]: { sold: 7 } },
      ].map(event => [`an error beside ${member}`, `event: error\n${data(event)}`] as const),
    ),
  ]
  for (const [what, text] of good) {
    upstream.answer(stream(text))
    const answer = await post(chat, ask)
    t.equal(answer.status, 200, what)
    t.match(answer.headers.get('content-type'), /^text\/event-stream/, what)
    t.equal(await answer.text(), text, what)
  }
  upstream.answer(stream(data(delta) + data({ error: { message: 'later', type: 'server_error' } })))
  const answer = await post(chat, ask)
  t.equal(answer.status, 200)
  t.match(await answer.text(), /later/)
  await settled()
  t.match((await logs())[0], { status: 200, error: 'upstream_failed' }, 'a later one is in the log')
})

const withNext = [
  'sim-chat: { family: chat, upstream: text,',
  'sim-chat: { family: chat, upstreams: [{ upstream: text }, { upstream: beta, priority: 2 }],',
] as const

t.test('a rate limit as first event leads to the next upstream', async t => {
  const { post, upstreams } = await start(t, { edit: [withNext] })
  const [text, beta] = [upstreams['text'], upstreams['beta']] as [Upstream, Upstream]
  text.answer(stream(data({ error: { code: 429, message: 'slow down' } }), true))
  beta.answer(stream(data(delta)))
  const answer = await post(chat, ask)
  t.equal(answer.status, 200)
  t.equal(await answer.text(), data(delta))
  t.equal(beta.received.length, 1)
})

t.test('a first event that may have been sold is not repeated elsewhere', async t => {
  const cases: readonly (readonly [error: object, status: number])[] = [
    [{ type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 503],
    [{ error: { code: 503, message: 'x' } }, 503],
    [{ error: { code: 'server_error' } }, 500],
  ]
  for (const [error, status] of cases) {
    const { post, upstreams } = await start(t, { edit: [withNext] })
    const [text, beta] = [upstreams['text'], upstreams['beta']] as [Upstream, Upstream]
    text.answer(stream(data(error), true))
    beta.answer(stream(data(delta)))
    t.equal((await post(chat, ask)).status, status, caseName({ error }))
    t.equal(beta.received.length, 0, caseName({ error }))
  }
})

t.test('pictures: an initial error is not charged, and its quoted key is hidden', async t => {
  const { post, upstreams, charges } = await start(t, { env: { ALPHA_API_KEY: 'vendor-secret-alpha' } })
  const upstream = upstreams['alpha'] as Upstream
  const image = { model: 'alpha-image-2', prompt: 'a boat', stream: true }
  upstream.answer(stream(data({ error: { message: 'bad key vendor-secret-alpha', code: 'server_error' } }), true))
  const answer = await post('/v1/images/generations', image)
  t.equal(answer.status, 500)
  t.notMatch(await answer.text(), 'vendor-secret')
  t.match(await charges(), [{ state: 'voided' }])
  const whole = { type: 'image_generation.completed', ...picture(1024, 1024) }
  upstream.answer(stream(`event: image_generation.completed\n${data(whole)}`))
  const sold = await post('/v1/images/generations', image)
  t.equal(sold.status, 200, caseName({ whole: true }))
  await sold.text()
  t.match((await charges())[0], { state: 'settled' })
})
