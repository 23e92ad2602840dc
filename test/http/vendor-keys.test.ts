import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { picture } from '../harness/pictures.ts'
import { HandTime } from '../harness/hand-time.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import type { Reaction, Received, Upstream } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const completion = {
  id: 'c1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const ask = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
const chat = '/v1/chat/completions'
const image = { model: 'alpha-image-2', prompt: 'a boat', size: '1024x1024' }

const secrets = { TEXT_KEY_1: 'vendor-secret-one', TEXT_KEY_2: 'vendor-secret-two', TEXT_KEY_3: 'vendor-secret-three' }
const mark = 'credential: { header: authorization, value: "Bearer {key}" }'
const two = 'first: { value: "${TEXT_KEY_1}" }, second: { value: "${TEXT_KEY_2}" }'

/** The text of an upstream with keys, in place of its credential. */
function keyed(name: 'TEXT' | 'ALPHA', keys: string, more = ''): readonly (readonly [string, string])[] {
  return [
    [
      `credential: { header: authorization, value: "Bearer \${${name}_API_KEY:-}" }`,
      `${mark}\n    keys: { ${keys} }${more}`,
    ],
  ]
}

/** A gateway whose upstream for chat, and on request its upstream for pictures, has keys. */
function open(
  t: Test,
  options: StartOptions & { readonly keys?: string; readonly more?: string } = {},
): Promise<Started> {
  const { keys = two, more = '', edit = [], env = {}, ...rest } = options
  return start(t, { ...rest, env: { ...secrets, ...env }, edit: [...keyed('TEXT', keys, more), ...edit] })
}

function keyOf({ headers }: Received): string {
  return String(headers.authorization).replace('Bearer vendor-secret-', '')
}

/** Answers by key; all other keys get a normal answer. */
function answerBy(upstream: Upstream, by: { readonly [key: string]: Reaction }, whole: object = completion): void {
  upstream.answer((res, received, req) => {
    const reaction = by[keyOf(received)]
    if (reaction) return reaction(res, received, req)
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
  })
}

const say =
  (status: number, body: unknown, headers: { readonly [name: string]: string } = {}): Reaction =>
  res =>
    void res
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

const badKey = say(401, { error: { message: 'Incorrect API key: vendor-secret-one', code: 'invalid_api_key' } })

t.test('with a 401 on one of two keys, 20 of 20 calls are answered, and one upstream call is wasted', async t => {
  const { openai, upstreams, charges } = await open(t)
  const upstream = upstreams['text'] as Upstream
  answerBy(upstream, { one: badKey })
  for (let i = 0; i < 20; i++) {
    const answer = await openai.chat.completions.create({ ...ask, messages: [{ role: 'user', content: 'hi' }] })
    t.equal(answer.choices[0]?.message.content, 'Hello', caseName({ i }))
  }
  const keysUsed = upstream.received.map(keyOf)
  t.equal(keysUsed.filter(one => one === 'two').length, 20)
  t.equal(keysUsed.filter(one => one === 'one').length, 1, 'one call wasted')
  t.equal((await charges()).length, 20, 'each is charged once')
})

t.test('a refusal compressed unasked is read like any other', async t => {
  const refusal = { error: { code: 400, status: 'INVALID_ARGUMENT', details: [{ reason: 'API_KEY_INVALID' }] } }
  const text = JSON.stringify(refusal)
  const packed = {
    gzip: gzipSync(text),
    deflate: deflateSync(text),
    br: brotliCompressSync(text),
    zstd: zstdCompressSync(text),
    'gzip, br': brotliCompressSync(gzipSync(text)),
  }
  for (const [coding, bytes] of Object.entries(packed)) {
    const { post, upstreams } = await open(t, { keys: 'first: { value: "${TEXT_KEY_1}" }' })
    const upstream = upstreams['text'] as Upstream
    upstream.answer(res => void res.writeHead(400, { 'content-encoding': coding }).end(bytes))
    for (let i = 0; i < 2; i++) {
      const answer = await post(chat, ask)
      t.match(await answer.json(), { error: { code: 'upstream_credentials' } }, coding)
    }
    t.equal(upstream.received.length, 1, `${coding}: the key is suspended`)
  }
})

t.test('a refusal that is too long when decoded is classified by its status, and passed to the client', async t => {
  const { post, upstreams } = await open(t, { keys: 'first: { value: "${TEXT_KEY_1}" }' })
  const upstream = upstreams['text'] as Upstream
  const long = gzipSync(Buffer.alloc(200_000, ' '))
  upstream.answer(res => void res.writeHead(400, { 'content-encoding': 'gzip' }).end(long))
  const answer = await post(chat, ask)
  t.equal(answer.status, 400)
  t.equal((await answer.text()).length, 200_000)
})

t.test("missing credit reported only by a sentence is the vendor key's matter, not the client's", async t => {
  const { post, upstreams } = await open(t)
  const upstream = upstreams['text'] as Upstream
  const message =
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'
  const refusal = say(400, { type: 'error', error: { type: 'invalid_request_error', message } })
  answerBy(upstream, { one: refusal, two: refusal })
  for (const calls of [2, 1, 0]) {
    const before = upstream.received.length
    const answer = await post(chat, ask)
    t.match(await answer.json(), { error: { code: 'upstream_credentials' } }, caseName({ calls }))
    t.equal(upstream.received.length - before, calls, 'one request suspends one key, which is then not used')
  }
})

t.test("the client never reads that its key is bad when the vendor's is, nor sees the vendor's", async t => {
  const { post, upstreams, logs } = await open(t)
  const upstream = upstreams['text'] as Upstream
  answerBy(upstream, { one: badKey, two: badKey })
  for (const calls of [2, 1, 0]) {
    const before = upstream.received.length
    const answer = await post(chat, ask)
    const text = await answer.text()
    t.equal(answer.status, 502, caseName({ calls }))
    t.match(JSON.parse(text), { error: { code: 'upstream_credentials', type: 'server_error' } }, caseName({ calls }))
    t.notMatch(text, 'Incorrect', caseName({ calls }))
    t.notMatch(text, 'vendor-secret', caseName({ calls }))
    t.equal(upstream.received.length - before, calls, 'one request suspends one key, which is then not used')
  }
  for (const one of await logs()) t.match(one, { error: 'upstream_credentials', billing: null }, 'each row')
})

t.test('if all keys are limited, returns 429 with the Retry-After of the first usable one', async t => {
  const clock = new HandTime()
  const { post, upstreams, settled, gateway } = await open(t, { clock: { now: clock.now, tick: clock.tick } })
  const upstream = upstreams['text'] as Upstream
  const limit = (seconds: string): Reaction =>
    say(429, { error: { code: 'rate_limit_exceeded' } }, { 'retry-after': seconds })
  answerBy(upstream, { one: limit('30'), two: limit('20') })
  for (let i = 0; i < 3; i++) {
    const answer = await post(chat, ask)
    t.equal(answer.status, 429, caseName({ i }))
    t.match(await answer.json(), { error: { code: 'upstream_limited' } }, caseName({ i }))
    t.equal(answer.headers.get('retry-after'), '20', caseName({ i }))
  }
  t.equal(upstream.received.length, 3, 'one request pauses one key, and none is used before')
  await settled()
  // Work in progress during a clock jump would seem to have taken that long.
  await gateway.storage.flush()
  clock.pass(20_000)
  answerBy(upstream, { one: limit('30') })
  const answer = await post(chat, ask)
  t.equal(answer.status, 200, await answer.text())
  t.equal(upstream.received.map(keyOf).at(-1), 'two')
})

/** New secrets are new keys, which begin in the active state. */
async function renew({ reload }: Started, count: number): Promise<void> {
  await reload([[/vendor-secret-(\w+?)(?:-\d+)?"/g, `vendor-secret-$1-${count}"`]])
}

const literal = 'first: { value: "vendor-secret-one" }, second: { value: "vendor-secret-two" }'

t.test('an unsold request goes to the next key at once, and one that may have been sold to none', async t => {
  const started = await open(t, { keys: literal })
  const { post, upstreams } = started
  const upstream = upstreams['text'] as Upstream
  const event =
    (...data: readonly object[]): Reaction =>
    res =>
      void res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(data.map(one => `data: ${JSON.stringify(one)}\n\n`).join(''))
  const over: Reaction = (res, _received, req) => {
    res.writeHead(200, { 'content-type': 'application/json' }).write('{"id":')
    setTimeout(() => req.socket.destroy(), 5)
  }
  const delta = { id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'H' } }] }
  const cases: readonly (readonly [string, Reaction, number, number])[] = [
    ['400 with a reason', say(400, { error: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] } }), 2, 502],
    ['402', say(402, {}), 2, 502],
    ['403 of the key', say(403, { reason: 'INVALID_API_KEY' }), 2, 502],
    ['429 without credit', say(429, { error: { code: 'insufficient_quota' } }), 2, 502],
    ['429', say(429, {}), 2, 429],
    ['503 with a word', say(503, { error: { type: 'overloaded_error' } }), 2, 503],
    ['200 with an error alone', say(200, { error: { code: 402, message: 'no' }, user_id: 'x' }), 2, 502],
    ['an error as the first event', event({ error: { code: 429 } }), 2, 429],
    ['a fault as the first event', event({ error: { code: 'server_error', message: 'no' } }), 1, 500],
    ['200 with a fault alone', say(200, { error: { code: 500, message: 'no' } }), 1, 500],
    ['404 of the model', say(404, { error: { code: 'model_not_found' } }), 2, 404],
    ['403 of the model', say(403, { error: { type: 'permission_error' } }), 2, 502],
    ['a bad request', say(400, { error: { message: 'API_KEY_INVALID insufficient_quota', code: 'bad' } }), 1, 400],
    ['a fault', say(500, { error: { code: 'server_error' } }), 1, 500],
    ['503 without a word', say(503, '<html>'), 1, 503],
    ['a gateway that gave up', say(504, ''), 1, 504],
    ['no answer', (_res, _received, req) => void req.socket.destroy(), 1, 502],
    ['half an answer', over, 1, 200],
    ['200 with error: null', say(200, { ...completion, error: null }), 1, 200],
    ['200 with an error beside an answer', say(200, { error: { code: 429 }, ...completion }), 1, 200],
    ['a later event that is an error', event(delta, { error: { code: 429 } }), 1, 200],
  ]
  for (const [i, [what, reaction, calls, status]] of cases.entries()) {
    await renew(started, i)
    answerBy(upstream, { [`one-${i}`]: reaction, [`two-${i}`]: reaction })
    const before = upstream.received.length
    const answer = await post(chat, { ...ask, stream: what.includes('event') })
    await answer.text().catch(() => undefined)
    t.equal(upstream.received.length - before, calls, what)
    t.equal(answer.status, status, what)
  }
})

t.test('a stream whose first event is large arrives whole', async t => {
  const { post, upstreams } = await open(t)
  const upstream = upstreams['text'] as Upstream
  const long = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(300_000)}"}}]}\n\ndata: [DONE]\n\n`
  upstream.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(long))
  const answer = await post(chat, { ...ask, stream: true })
  t.equal(await answer.text(), long)
})

t.test('on_unknown: pay_twice continues after a possible sale, and a charge in doubt stays one', async t => {
  const { post, upstreams, charges } = await start(t, {
    env: { ...secrets, ALPHA_KEY_1: 'vendor-secret-one', ALPHA_KEY_2: 'vendor-secret-two' },
    edit: keyed(
      'ALPHA',
      'first: { value: "${ALPHA_KEY_1}" }, second: { value: "${ALPHA_KEY_2}" }',
      '\n    on_unknown: pay_twice',
    ),
  })
  const upstream = upstreams['alpha'] as Upstream
  const fault = say(500, { error: { code: 'server_error' } })
  const done = { created: 1, data: [picture(1024, 1024)] }
  let calls = 0
  upstream.answer((res, received, req) => (calls++ === 0 ? fault : say(200, done))(res, received, req))
  const answer = await post('/v1/images/generations', image)
  t.equal(answer.status, 200)
  await answer.text()
  t.equal(calls, 2)
  t.match(await charges(), [{ state: 'settled' }])
  upstream.answer(fault)
  t.equal((await post('/v1/images/generations', image)).status, 500)
  t.equal((await charges())[0]?.state, 'needs_review', 'it may have been sold')
})

t.test('a picture with an error is a sale: charged, and bought once', async t => {
  const { post, upstreams, charges } = await start(t, {
    env: { ...secrets, ALPHA_KEY_1: 'vendor-secret-one', ALPHA_KEY_2: 'vendor-secret-two' },
    edit: keyed('ALPHA', 'first: { value: "${ALPHA_KEY_1}" }, second: { value: "${ALPHA_KEY_2}" }'),
  })
  const upstream = upstreams['alpha'] as Upstream
  for (const error of [null, { code: 429, message: 'x' }]) {
    const before = upstream.received.length
    upstream.answer({ error, created: 1, data: [picture(1024, 1024)] })
    await (await post('/v1/images/generations', image)).text()
    t.equal(upstream.received.length - before, 1, caseName({ error }))
    t.match((await charges())[0], { state: 'settled' }, caseName({ error }))
  }
})

t.test("a client cannot disable a model for others: a key's refusal counts if another key serves it", async t => {
  const toolModels = /^ +vendor_tools: \[web_search, .*\n/m
  const started = await open(t, { keys: literal, edit: [[toolModels, '']] })
  const { post, upstreams } = started
  const upstream = upstreams['text'] as Upstream
  const gone = say(404, { error: { code: 'model_not_found', param: 'tools[0].model' } })
  upstream.answer(gone)
  t.equal((await post(chat, { ...ask, tools: [{ model: 'bogus' }] })).status, 404)
  t.ok(upstream.received.length > 0, 'it was the vendor')
  answerBy(upstream, {})
  const before = upstream.received.length
  for (let i = 0; i < 12; i++) t.equal((await post(chat, ask)).status, 200, caseName({ i }))
  t.equal(new Set(upstream.received.slice(before).map(keyOf)).size, 2, 'both are called')
  answerBy(upstream, { one: gone })
  for (let i = 0; i < 12; i++) t.equal((await post(chat, ask)).status, 200, caseName({ i }))
  t.equal(upstream.received.slice(before + 12).filter(one => keyOf(one) === 'one').length, 1, 'proved once')
})

t.test('if no key that serves a model has a weight, clients get that reason', async t => {
  const { post, upstreams } = await open(t, {
    keys: 'one: { value: "vendor-secret-one", weight: 0 }, two: { value: "vendor-secret-two", models: [sim-messages] }',
  })
  const answer = await post(chat, ask)
  t.equal(answer.status, 502)
  t.match(await answer.json(), { error: { code: 'upstream_credentials', message: /has no usable key / } })
  t.equal(upstreams['text']?.received.length, 0)
})

t.test('keys are chosen by weight, by model, and by free capacity', async t => {
  const keys = [
    'one: { value: "vendor-secret-one" }',
    'two: { value: "vendor-secret-two", rpm: 5 }',
    'three: { value: "vendor-secret-three", models: ["sim-messages", "no-such*"] }',
    'four: { value: "vendor-secret-four", weight: 0 }',
    'five: { value: "vendor-secret-five", budget: { amount: "0.000001" } }',
  ]
  const started = await open(t, {
    keys: keys.join(', '),
    edit: [
      ['rpm: 60, tpm: 500000', 'rpm: 6000, tpm: 5000000'],
      [', "no-such*"', ''],
    ],
  })
  const { post, upstreams, settled } = started
  const upstream = upstreams['text'] as Upstream
  answerBy(upstream, {}, { ...completion, usage: { prompt_tokens: 300, completion_tokens: 200, total_tokens: 500 } })
  for (let i = 0; i < 60; i++) {
    await (await post(chat, ask)).text()
    await settled()
  }
  const counts: { [key: string]: number } = {}
  for (const one of upstream.received) counts[keyOf(one)] = (counts[keyOf(one)] ?? 0) + 1
  t.comment(JSON.stringify(counts))
  t.equal(counts['two'], 5, 'no more than its limit')
  t.equal(counts['three'], undefined, 'it does not serve the model')
  t.equal(counts['four'], undefined, 'it is drained')
  t.equal(counts['five'], 1, 'its budget is spent by the first')
  t.equal(counts['one'], 54)
})

t.test('keys may be in a parameter, and in several places at once', async t => {
  const { post, upstreams } = await start(t, {
    env: secrets,
    edit: [
      [
        'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }',
        'credential: [{ query: key, value: "{key}" }, { header: x-a, value: "a {key} b {key}" }]\n    keys: { first: { value: "${TEXT_KEY_1}" } }',
      ],
    ],
  })
  const upstream = upstreams['text'] as Upstream
  upstream.answer(completion)
  t.equal((await post(chat, ask)).status, 200)
  t.match(upstream.received[0], {
    url: '/v1/chat/completions?key=vendor-secret-one',
    headers: { 'x-a': 'a vendor-secret-one b vendor-secret-one' },
  })
  upstream.answer(say(400, { error: { message: 'bad key vendor-secret-one' } }))
  t.notMatch(await (await post(chat, ask)).text(), 'vendor-secret', 'quoted to no client')
})

t.test('a refused upstream is followed by the next, with and without keys', async t => {
  const { post, upstreams } = await open(t, {
    edit: [
      [
        'sim-chat: { family: chat, upstream: text,',
        'sim-chat: { family: chat, upstreams: [{ upstream: text }, { upstream: beta, priority: 2 }],',
      ],
    ],
  })
  const [text, beta] = [upstreams['text'], upstreams['beta']] as [Upstream, Upstream]
  answerBy(text, { one: badKey, two: badKey })
  beta.answer(completion)
  for (let i = 0; i < 3; i++) t.equal((await post(chat, ask)).status, 200, caseName({ i }))
  t.equal(text.received.length, 3, 'one request suspends one key')
  t.equal(beta.received.length, 3)
  beta.answer(say(500, {}))
  t.equal((await post(chat, ask)).status, 500)
})

t.test('a sale of another upstream does not count as spending of the refused key', async t => {
  const { post, upstreams, gateway, settled } = await open(t, {
    keys: 'first: { value: "${TEXT_KEY_1}", budget: { amount: "1.00" } }',
    edit: [
      [
        'sim-chat: { family: chat, upstream: text,',
        'sim-chat: { family: chat, upstreams: [{ upstream: text }, { upstream: beta, priority: 2 }],',
      ],
    ],
  })
  const [text, beta] = [upstreams['text'], upstreams['beta']] as [Upstream, Upstream]
  beta.answer({ ...completion, usage: { prompt_tokens: 300, completion_tokens: 200, total_tokens: 500 } })
  text.answer(say(429, {}))
  t.equal((await post(chat, ask)).status, 200)
  await settled()
  t.equal(beta.received.length, 1)
  t.match(gateway.status().upstream_keys['text'], [{ budget: { spent: /^0\.00$/ }, lately: { limited: 1 } }])
})

t.test('a charge of pictures names the upstream that sold them', async t => {
  const { post, upstreams, gateway, settled } = await start(t, {
    edit: [
      [
        '  alpha-image-2: {',
        '  pictures: { family: alpha-image, upstreams: [{ upstream: alpha }, { upstream: beta, priority: 2 }], prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08" } }\n  alpha-image-2: {',
      ],
    ],
  })
  const [alpha, beta] = [upstreams['alpha'], upstreams['beta']] as [Upstream, Upstream]
  alpha.answer(say(429, {}))
  beta.answer({ created: 1, data: [picture(1024, 1024)] })
  t.equal((await post('/v1/images/generations', { ...image, model: 'pictures' })).status, 200)
  const last = async () => {
    await settled()
    const all = await gateway.storage.books.all(null, 10)
    return all.at(-1)
  }
  t.match(await last(), { state: 'settled', upstream: 'beta' })
  beta.answer({ created: 1, pictures: ['https://pictures.example/1.png'] })
  t.equal((await post('/v1/images/generations', { ...image, model: 'pictures' })).status, 502)
  t.match(await last(), { state: 'needs_review', upstream: 'beta' }, 'and one that waits for a person')
})

t.test('a request that goes to another upstream unsent takes nothing from the limits of a key', async t => {
  const { post, upstreams } = await open(t, {
    keys: 'one: { value: "vendor-secret-one", rpm: 2, tpm: 12000 }',
    more: '\n    concurrency: 1',
    edit: [
      [
        'sim-chat: { family: chat, upstream: text,',
        'sim-chat: { family: chat, upstreams: [{ upstream: text, priority: 1 }, { upstream: beta, priority: 2 }],',
      ],
    ],
  })
  const { text, beta } = upstreams as { readonly text: Upstream; readonly beta: Upstream }
  text.answer(completion)
  beta.answer(completion)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  text.answerOnce(async (res, received, req) => {
    arrive()
    await released
    await say(200, completion)(res, received, req)
  })
  const first = post(chat, ask)
  await arrived
  for (let i = 0; i < 4; i++) t.equal((await post(chat, ask)).status, 200, caseName({ i }))
  t.strictSame([text.received.length, beta.received.length], [1, 4], 'the first upstream is full')
  release()
  t.equal((await first).status, 200)
  t.equal((await post(chat, ask)).status, 200)
  t.strictSame([text.received.length, beta.received.length], [2, 4], 'its key has served one request of two')
})
