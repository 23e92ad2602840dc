import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { requestKey } from '../../plugins/answer-cache/request-key.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { explainRequest } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { editYaml } from '../harness/edit-yaml.ts'
import { HandTime } from '../harness/hand-time.ts'
import { png } from '../harness/pictures.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { type Edits, start, type Started, type StartOptions } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'
import type { Reaction } from '../harness/upstream.ts'

/** The shipped file with a cache for one model. */
function cached(settings: string, model = 'sim-chat'): Edits {
  return [[new RegExp(`\\n {2}${model}: \\{`), `\n  ${model}: { cache: ${settings},`]] as never
}

const usage = { prompt_tokens: 1_000, completion_tokens: 1_000 }
const ask = (content: string, more: object = {}) => ({
  model: 'sim-chat',
  messages: [{ role: 'user', content }],
  ...more,
})

/** Every answer differs from the one before. */
function counting(): Reaction {
  let calls = 0
  return res =>
    void res
      .writeHead(200, { 'content-type': 'application/json', 'openai-processing-ms': '7' })
      .end(JSON.stringify({ id: `answer-${++calls}`, choices: [{ message: { content: `${calls}` } }], usage }))
}

const events = (number: number): string =>
  [
    { choices: [{ index: 0, delta: { content: `${number}` }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ]
    .map(event => `data: ${JSON.stringify(event)}\n\n`)
    .join('') + 'data: [DONE]\n\n'

const chat = '/v1/chat/completions'

async function startCached(t: Parameters<typeof start>[0], settings: string, more: StartOptions = {}) {
  const started = await start(t, { edit: cached(settings), ...more })
  started.upstreams['text']?.answer(counting())
  const says = async (body: unknown, headers?: Record<string, string>) => {
    const answer = await started.post(chat, body, headers)
    const text = await answer.text()
    await started.settled()
    return {
      status: answer.status,
      cache: answer.headers.get('x-tollgate-cache'),
      age: answer.headers.get('age'),
      text,
      answer,
    }
  }
  const asked = () => started.upstreams['text']?.received.length
  return { ...started, says, asked }
}

function withKey({ url }: Started, key: string) {
  return async (body: unknown) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(url + chat, { method: 'POST', headers, body: JSON.stringify(body) })
    await answer.text()
    return answer.headers.get('x-tollgate-cache')
  }
}

t.test('an equal request gets the cached answer for free, and every report shows it', async t => {
  const started = await startCached(t, '{ for: 1h }')
  const { says, asked, charges, logs, opsUrl, gateway } = started
  const first = await says(ask('a boat'))
  t.match(first, { status: 200, cache: 'miss', age: null })
  const again = await says({ messages: [{ content: 'a boat', role: 'user' }], model: 'sim-chat' })
  t.match(again, { status: 200, cache: 'hit', age: '0', text: first.text }, 'members in another order')
  t.equal(again.answer.headers.get('openai-processing-ms'), null, 'it reveals nothing about the first request')
  t.equal(asked(), 1)
  const [hit, miss] = await charges()
  t.match(hit, { state: 'settled', amount: '0.00', lines: [{ tier: 'cached_response', price: '0.00' }] })
  t.match(miss, { state: 'settled', amount: '0.002' })
  const [ofHit, ofMiss] = await logs()
  t.match(ofHit, { cache: 'hit', saved: '0.002', upstream: null, usage: { input_tokens: null } })
  t.match(ofMiss, { cache: 'miss', saved: null, upstream: 'text' })
  const costs = await (await enterAsAdmin(started)).get('/api/costs?by=tier')
  t.match(costs.body, {
    totals: [{ saved: '0.002' }],
    rows: [{}, {}, { what: 'cached_response', amount: '0.00', saved: '0.002' }],
  })
  const figures = await (await fetch(`${opsUrl}/metrics`)).text()
  t.match(figures, /tollgate_answer_cache_total\{model="sim-chat",result="hit"\} 1/)
  t.match(figures, /tollgate_answer_cache_saved_micros_total\{model="sim-chat"\} 2000/)
  const found = await gateway.storage.journal.list({ limit: 5, cache: 'hit' })
  t.same(
    found.map(({ row }) => row.id),
    [ofHit?.id],
  )
})

t.test('a model without the setting is not affected', async t => {
  const { says, asked } = await startCached(t, '{ for: 1h }', { edit: cached('{ for: 1h }', 'sim-messages') })
  for (const _ of [1, 2]) t.match(await says(ask('a boat')), { cache: null }, 'no header')
  t.equal(asked(), 2)
})

t.test('any difference that may change the answer is another request', async t => {
  const { says, post } = await startCached(t, '{ for: 1h }')
  const big = '{"model":"sim-chat","seed":9007199254740993,"messages":[{"role":"user","content":"a boat"}]}'
  const named = '{"model":"sim-chat","messages":[{"role":"user","content":"bad","content":"a boat"}]}'
  const others: readonly (readonly [string, unknown, Record<string, string>?])[] = [
    ['another text', ask('a ship')],
    ['a field more', ask('a boat', { temperature: 0 })],
    ['a number as a text', ask('a boat', { temperature: '0' })],
    ['an empty field', ask('a boat', { stop: null })],
    ['a large number', big],
    ['its neighbour', big.replace('993', '992')],
    ['16 digits with a point', big.replace('9007199254740993', '12345678.123456781')],
    ['its neighbour with a point', big.replace('9007199254740993', '12345678.1234567812')],
    ['a member that is there twice', named],
    ['an escaped text of a difference', ask('a\\boat')],
    ['another accepted type', ask('a boat'), { accept: 'text/plain' }],
  ]
  await says(ask('a boat'))
  for (const [name, body, headers] of others) t.equal((await says(body, headers)).cache, 'miss', name)
  await post(chat, ask('a boat', { stream: true })).then(answer => {
    t.equal(answer.headers.get('x-tollgate-cache'), 'miss', 'a stream')
    return answer.text()
  })
})

t.test('fields that identify the client make no difference, unless the answer repeats them', async t => {
  const { says, upstreams } = await startCached(t, '{ for: 1h }')
  await says(ask('a boat', { user: 'ada', metadata: { trace: 'one' } }))
  t.equal((await says(ask('a boat', { user: 'bob', metadata: { trace: 'two' } }))).cache, 'hit')
  t.equal((await says(ask('a boat'))).cache, 'hit')
  upstreams['text']?.answer({
    choices: [{ message: { content: 'for z\u00f6e' } }],
    usage,
    metadata: { user: 'z\u00f6e' },
  })
  await says(ask('echo', { user: 'z\u00f6e' }))
  t.equal((await says(ask('echo', { user: 'bob' }))).cache, 'miss', 'another never gets it')
  t.equal((await says(ask('echo', { user: 'z\u00f6e' }))).cache, 'hit', 'the same gets it')
})

t.test('an answer that repeats such a field is found, whatever characters the upstream escapes', async t => {
  const { says, upstreams } = await startCached(t, '{ for: 1h }')
  const rows: readonly (readonly [string, string, string])[] = [
    ['plain', 'z\u00f6e', 'z\u00f6e'],
    ['lower case', 'z\u00f6e', 'z\\u00f6e'],
    ['upper case', 'z\u00f6e', 'z\\u00F6e'],
    ['a slash', 'https://a/ada', 'https:\\/\\/a\\/ada'],
    ['HTML', 'ada <a&b@c>', 'ada \\u003ca\\u0026b@c\\u003e'],
    ['a letter', 'eve', '\\u0065ve'],
    ['a quote', 'a"da', 'a\\u0022da'],
    ['a line', 'a\nda', 'a\\nda'],
    ['a backslash', 'a\\da', 'a\\\\da'],
    ['two units', '\u{1f6a2}', '\\ud83d\\udea2'],
  ]
  for (const [name, user, written] of rows) {
    upstreams['text']?.answer(
      res =>
        void res
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"choices":[],"usage":${JSON.stringify(usage)},"metadata":{"of":"${written}"}}`),
    )
    await says(ask(name, { user }))
    t.equal((await says(ask(name, { user: 'bob' }))).cache, 'miss', caseName({ name, user: 'another' }))
    t.equal((await says(ask(name, { user }))).cache, 'hit', caseName({ name, user: 'the same' }))
  }
})

t.test('an answer to a request with very many such values is returned only to the same request', async t => {
  const { says } = await startCached(t, '{ for: 1h }')
  const metadata = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`name-${i}`, `value-${i}`]))
  t.equal((await says(ask('a boat', { metadata }))).cache, 'miss')
  t.equal((await says(ask('a boat', { metadata: {} }))).cache, 'miss')
  t.equal((await says(ask('a boat', { metadata }))).cache, 'hit')
})

t.test('the fields of a request with very many are read in turns', async t => {
  const fields = Array.from({ length: 20_000 }, (_, i) => `"f${i}":1`)
  const json = scanObject(Buffer.from(`{${fields.join(',')}}`))
  const head = { method: 'POST', path: chat, query: '', headers: {} }
  const slots = { need: () => ({ key: { id: 'key_1', user: 'ada' }, group: { name: 'default' } }) }
  const context = { slots, head, plan: { settings: {} }, dialect: { name: 'openai', requestHeaders: [] } }
  const model = { name: 'm', family: { name: 'f' }, upstreams: [], prices: new Map() }
  const target = { body: { kind: 'json', json }, model, family: {}, stream: false }
  let turns = 0
  let isOver = false
  const count = (): void => void (isOver || (turns++, setImmediate(count)))
  count()
  await requestKey({ context, target, policy: { per: 'key', ignore: new Set() } } as never)
  isOver = true
  t.ok(turns >= 20, `${turns} turns`)
})

t.test('a stream is never answered with JSON, whichever fields may differ', async t => {
  const { says, upstreams } = await startCached(t, '{ for: 1h, ignore: [stream, stream_options] }')
  t.equal((await says(ask('a boat'))).cache, 'miss')
  upstreams['text']?.answer(res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(1)))
  const stream = await says(ask('a boat', { stream: true }))
  t.same([stream.cache, stream.answer.headers.get('content-type')], ['miss', 'text/event-stream'])
})

t.test('streams are replayed as the same bytes', async t => {
  const { says, upstreams, asked } = await startCached(t, '{ for: 1h }')
  let made = 0
  upstreams['text']?.answer(res => {
    const text = events(++made)
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(text.slice(0, 20))
    res.end(text.slice(20))
  })
  const body = ask('a boat', { stream: true, stream_options: { include_usage: true } })
  const first = await says(body)
  const second = await says(body)
  t.same([first.cache, second.cache, second.text], ['miss', 'hit', events(1)])
  t.equal(second.answer.headers.get('content-type'), 'text/event-stream')
  const plain = ask('a boat', { stream: true })
  const cut = await says(plain)
  t.equal((await says(plain)).text, cut.text, 'without the usage that the client did not request')
  t.notMatch(cut.text, /prompt_tokens/)
  t.equal(asked(), 2)
})

const failures: readonly (readonly [string, object | Reaction, object?])[] = [
  [
    'an error',
    res => void res.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}'),
  ],
  [
    'a refusal',
    res => void res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}'),
  ],
  [
    'an error within a success',
    res => void res.writeHead(200, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}'),
  ],
  [
    'an answer that breaks off',
    res => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"choices":[')
      setImmediate(() => res.destroy())
    },
  ],
  [
    'a stream without its last event',
    res =>
      void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(1).replace('data: [DONE]\n\n', '')),
    { stream: true },
  ],
  [
    'an error in a stream',
    res =>
      void res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`data: {"error":{"message":"overloaded"}}\n\n${events(1)}`),
    { stream: true },
  ],
  [
    'a stream that breaks off',
    res => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(events(1).slice(0, 90))
      setImmediate(() => res.destroy())
    },
    { stream: true },
  ],
  [
    'a long answer',
    res =>
      void res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ message: { content: 'x'.repeat(2 ** 20) } }], usage })),
  ],
  [
    'an error instead of a choice',
    res =>
      void res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ error: { code: 502, message: 'no' }, message: { content: '' } }], usage })),
  ],
  [
    'a choice that ends with an error',
    res =>
      void res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ finish_reason: 'error', message: { content: 'a b' } }], usage })),
  ],
  [
    'a streamed choice that ends with an error',
    res =>
      void res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(events(1).replace('"finish_reason":"stop"', '"finish_reason":"error"')),
    { stream: true },
  ],
  ['a failed response', { id: 'resp_1', object: 'response', status: 'failed', error: null, output: [], usage }],
  ['a cancelled response', { id: 'resp_1', object: 'response', status: 'cancelled', error: null, output: [], usage }],
  ['an empty answer', res => void res.writeHead(200, { 'content-type': 'application/json' }).end()],
]

t.test('only complete, successful answers are cached', async t => {
  const { post, settled, upstreams } = await startCached(t, '{ for: 1h }')
  for (const [name, reaction, more] of failures) {
    upstreams['text']?.answerOnce(reaction)
    const body = ask(name, more)
    await post(chat, body).then(
      answer => answer.text().catch(() => ''),
      () => '',
    )
    await settled()
    const answer = await post(chat, body)
    t.equal(answer.headers.get('x-tollgate-cache'), 'miss', name)
    await answer.text()
    await settled()
  }
})

t.test('answers are cached for the configured time, by the injected clock', async t => {
  const time = new HandTime()
  const { says, logs } = await startCached(t, '{ for: 60s }', { clock: { now: time.now, tick: time.tick } })
  await says(ask('a boat'))
  // A write in progress during a clock jump looks like a storage that hangs.
  await logs()
  time.ms = 59_999
  t.match(await says(ask('a boat')), { cache: 'hit', age: '59' })
  t.equal((await says(ask('a boat'), { 'cache-control': 'max-age=30' })).cache, 'miss', 'younger ones alone are wanted')
  await logs()
  time.ms = 59_999 + 60_000
  t.equal((await says(ask('a boat'))).cache, 'miss')
})

t.test('Cache-Control of a request is honoured', async t => {
  const { says, asked } = await startCached(t, '{ for: 1h }')
  t.equal((await says(ask('a boat'), { 'cache-control': 'no-store' })).cache, 'bypass')
  t.equal((await says(ask('a boat'))).cache, 'miss', 'nothing was stored')
  const fresh = await says(ask('a boat'), { 'cache-control': 'No-Cache' })
  t.equal(fresh.cache, 'miss', 'nothing is read')
  t.equal((await says(ask('a boat'))).text, fresh.text, 'and it was stored')
  t.equal((await says(ask('a boat'), { 'cache-control': 'max-age=0, no-store' })).cache, 'bypass')
  t.equal(asked(), 4)
})

t.test('answers are shared only within the configured scope', async t => {
  const rows: readonly (readonly [string, string | null, string | null])[] = [
    ['key', 'miss', 'miss'],
    ['user', 'hit', 'miss'],
    ['group', 'hit', 'miss'],
  ]
  for (const [per, sameUser, otherGroup] of rows) {
    const started = await startCached(t, `{ for: 1h, per: ${per} }`)
    await started.says(ask('a boat'))
    const another = await started.newKey({ name: 'another' })
    const partner = await started.newKey({ name: 'partner', group: 'partner' })
    t.equal(await withKey(started, another.key)(ask('a boat')), sameUser, `per ${per}, another key`)
    t.equal(await withKey(started, partner.key)(ask('a boat')), otherGroup, `per ${per}, another group`)
  }
})

t.test('two equal requests at once are both sent', async t => {
  const { post, upstreams, asked } = await startCached(t, '{ for: 1h }')
  let release: () => void = () => undefined
  const both = new Promise<void>(resolve => (release = resolve))
  upstreams['text']?.answer(async res => {
    if (asked() === 2) release()
    await both
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices: [], usage }))
  })
  const answers = await Promise.all([post(chat, ask('a boat')), post(chat, ask('a boat'))])
  t.same(
    answers.map(answer => answer.headers.get('x-tollgate-cache')),
    ['miss', 'miss'],
  )
})

t.test('answers with stored objects, or references to them, are never cached', async t => {
  const { post, upstreams, settled } = await startCached(t, '{ for: 1h }')
  upstreams['text']?.answer({ id: 'resp_1', object: 'response', status: 'completed', output: [], choices: [], usage })
  const rows: readonly (readonly [string, string, object])[] = [
    ['a stored chat', chat, ask('a boat', { store: true })],
    ['audio', chat, ask('a boat', { modalities: ['text', 'audio'] })],
    ['a tool of the vendor', chat, ask('a boat', { tools: [{ type: 'code_interpreter' }] })],
    ['a response that is stored unless asked not to be', '/v1/responses', { model: 'sim-chat', input: 'a boat' }],
    ['a stored response', '/v1/responses', { model: 'sim-chat', input: 'a boat', store: true }],
    ['work in the background', '/v1/responses', { model: 'sim-chat', input: 'a', background: true, store: false }],
  ]
  for (const [name, path, body] of rows) {
    const answer = await post(path, body)
    await answer.text()
    if (answer.status === 200) t.equal(answer.headers.get('x-tollgate-cache'), 'bypass', name)
    else t.ok(answer.status >= 400 && answer.headers.get('x-tollgate-cache') !== 'hit', name)
  }
  const body = { model: 'sim-chat', input: 'a boat', store: false }
  const results: (string | null)[] = []
  for (const _ of [1, 2]) {
    const answer = await post('/v1/responses', body)
    await answer.text()
    await settled()
    results.push(answer.headers.get('x-tollgate-cache'))
  }
  t.same(results, ['miss', 'hit'], 'one that is not stored is kept')
})

t.test("after a change of the model's configuration no earlier answer is used", async t => {
  const { says, reload } = await startCached(t, '{ for: 1h }')
  await says(ask('a boat'))
  t.match(await reload([{ 'groups/default/rpm': 70 }, { 'models/sim-embedding/prices/input': '0.03' }]), { ok: true })
  t.equal((await says(ask('a boat'))).cache, 'hit', 'nothing that concerns the model has changed')
  const changed = await reload([{ 'models/sim-chat/send_as': 'other-model' }])
  t.match(changed, { ok: true })
  t.equal((await says(ask('a boat'))).cache, 'miss')
})

t.test('a change of the memory, or the end of the cache, frees the cached answers', async t => {
  const { says, reload } = await startCached(t, '{ for: 1h }')
  const both = async (name: string, ...edits: readonly [Edits, Edits]) => {
    await says(ask(name))
    t.equal((await says(ask(name))).cache, 'hit', caseName({ name, reloaded: false }))
    for (const edit of edits) t.match(await reload(edit), { ok: true }, caseName({ name, edit }))
    t.equal((await says(ask(name))).cache, 'miss', caseName({ name, reloaded: true }))
  }
  const less = 'answer-cache: { memory_max: 1MiB },'
  await both('memory', [['answer-cache,', less]], [[less, 'answer-cache,']])
  const use = 'cache: { for: 1h }, '
  const line = '\n  sim-chat: { '
  await both('use', [[line + use, line]], [[line, line + use]])
})

t.test('a hit has the configured price, and a budget holds for it', async t => {
  const started = await startCached(t, '{ for: 1h, per: user, hit_price: { each: "0.001", times: "0.1" } }')
  const { says, charges, newKey, gateway } = started
  await says(ask('a boat'))
  t.equal((await says(ask('a boat'))).cache, 'hit')
  t.match((await charges())[0], { amount: '0.0012', lines: [{ tier: 'cached_response', price: '0.0012' }] })
  const poor = await newKey({ name: 'poor', budget: 2_000 })
  const askPoor = withKey(started, poor.key)
  t.equal(await askPoor(ask('a boat')), 'hit')
  await started.settled()
  t.not(await askPoor(ask('a boat')), 'hit', 'its budget has no room for a second one')
  await started.settled()
  t.match((await charges())[0], { state: 'settled', amount: '0.0012' }, 'the refused one has no charge')
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('limits count a hit as a request, and no tokens', async t => {
  const { says } = await startCached(t, '{ for: 1h }', {
    edit: [...cached('{ for: 1h }'), { 'groups/default/rpm': 3 }],
  })
  const results: number[] = []
  for (const _ of [1, 2, 3, 4]) results.push((await says(ask('a boat'))).status)
  t.same(results, [200, 200, 200, 429])
})

t.test('images are cached only if the model allows it, and charged as configured', async t => {
  for (const [images, results] of [
    ['', ['bypass', 'bypass']],
    [', images: true, hit_price: { times: "0.5" }', ['miss', 'hit']],
  ] as const) {
    const { post, upstreams, settled, charges } = await start(t, {
      edit: cached(`{ for: 1h${images} }`, 'alpha-image-2'),
    })
    upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(1024, 1024).toString('base64') }] })
    const seen: (string | null)[] = []
    for (const _ of [1, 2]) {
      const answer = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
      await answer.text()
      await settled()
      seen.push(answer.headers.get('x-tollgate-cache'))
    }
    t.same(seen, results, images)
    const amounts = (await charges()).map(({ amount }) => amount)
    t.same(amounts, images === '' ? ['0.02', '0.02'] : ['0.01', '0.02'], images)
  }
})

t.test('administrators can stop the use of cached answers: of a model, of a key, or of all', async t => {
  const { says, gateway, keyId } = await startCached(t, '{ for: 1h }')
  const { answers } = gateway.storage
  await says(ask('a boat'))
  for (const [name, scope, result] of [
    ['another model', { model: 'sim-messages' }, 'hit'],
    ['another key', { keyId: 'key_other' }, 'hit'],
    ['the model', { model: 'sim-chat' }, 'miss'],
    ['the key', { keyId }, 'miss'],
    ['all', {}, 'miss'],
  ] as const) {
    await answers.add(scope, 'root', 'it was wrong')
    // The plugin reads them every second. The wait is limited by time, so that a busy machine does not fail the test.
    const end = performance.now() + 20_000
    let seen = (await says(ask('a boat'))).cache
    while (seen !== result && performance.now() < end) {
      await new Promise(resolve => setTimeout(resolve, 250))
      seen = (await says(ask('a boat'))).cache
    }
    t.equal(seen, result, name)
  }
  const [entry] = await gateway.storage.trail.list({ limit: 1 })
  t.match(entry, { action: 'answer_cache.purge', actor: 'root', reason: 'it was wrong' })
})

t.test('the command line and the admin API stop the use of cached answers', async t => {
  const started = await startCached(t, '{ for: 1h }', { onDisk: true })
  const { says, gateway, folder, keyId } = started
  const admin = await enterAsAdmin(started)
  const untilMissed = async (name: string): Promise<void> => {
    // The plugin reads them every second. The wait is limited by time, so that a busy machine does not fail the test.
    const end = performance.now() + 20_000
    let seen = (await says(ask('a boat'))).cache
    while (seen !== 'miss' && performance.now() < end) {
      await new Promise(resolve => setTimeout(resolve, 250))
      seen = (await says(ask('a boat'))).cache
    }
    t.equal(seen, 'miss', name)
  }
  await says(ask('a boat'))
  t.equal((await says(ask('a boat'))).cache, 'hit')
  const ran = await runCli({ folder }, 'cache', 'purge', '--model', 'sim-chat', '--reason', 'by command')
  t.match(ran, { code: 0, stderr: /Cached responses of 'sim-chat' are not used any more/ })
  await untilMissed('by command')
  const answer = await admin.post('/api/cache/purge', { key: keyId, reason: 'by API' })
  t.ok(answer.status < 300, caseName({ status: answer.status, body: answer.body }))
  await untilMissed('by API')
  for (const [field, name, status] of [
    ['model', 'sim-chatt', 400],
    ['model', 'sim-*', 400],
    ['key', 'key_other', 404],
  ] as const) {
    const refused = await admin.post('/api/cache/purge', { [field]: name, reason: 'misspelled' })
    t.match([refused.status, refused.body], [status, { error: { field } }], `${field} ${name} by API`)
    const ran = await runCli({ folder }, 'cache', 'purge', `--${field}`, name, '--reason', 'misspelled')
    t.match(ran, { code: 1, stderr: new RegExp(`'${name.replace('*', '\\*')}'`) }, `${field} ${name} by command`)
  }
  await says(ask('a boat'))
  const file = join(folder, 'gateway.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replaceAll('sim-chat', 'renamed-chat'))
  t.match(await gateway.reload(), { ok: true })
  const ofRemoved = await admin.post('/api/cache/purge', { model: 'sim-chat', reason: 'removed, by API' })
  t.ok(ofRemoved.status < 300, caseName({ status: ofRemoved.status, body: ofRemoved.body }))
  const byCommand = await runCli({ folder }, 'cache', 'purge', '--model', 'sim-chat', '--reason', 'removed, by command')
  t.match(byCommand, { code: 0 })
  await writeFile(file, text)
  t.match(await gateway.reload(), { ok: true })
  await untilMissed('answers of a model that was removed in between')
  const trail = await gateway.storage.trail.list({ limit: 10 })
  t.same(
    trail.filter(({ action }) => action === 'answer_cache.purge').map(({ reason }) => reason),
    ['removed, by command', 'removed, by API', 'by API', 'by command'],
  )
})

t.test('a key may opt out, and may have to opt in', async t => {
  for (const [keys, cache, results] of [
    ['all', 'off', [null, null]],
    ['all', 'on', ['miss', 'hit']],
    ['opted_in', 'on', ['miss', 'hit']],
    ['opted_in', null, [null, null]],
  ] as const) {
    const { says, gateway, keyId } = await startCached(t, `{ for: 1h, keys: ${keys} }`)
    await gateway.storage.keys.change(keyId, { cache }, 'root')
    const seen: (string | null)[] = []
    for (const _ of [1, 2]) seen.push((await says(ask('a boat'))).cache)
    t.same(seen, results, `${keys}, ${cache}`)
  }
})

t.test(
  'gateways share the answers in Redis, and without a reachable Redis each request is a miss',
  { skip: redisMissing() },
  async t => {
    const redis = await startRedis(t)
    const shared = { edit: cached('{ for: 1h, per: group }'), env: { TOLLGATE_COUNTERS: redis.url } }
    const [one, two] = [await startCached(t, '', shared), await startCached(t, '', shared)]
    // Two gateways with the same configuration share the addresses of their upstreams.
    const same = { ...shared, upstreams: [], env: { ...shared.env, TEXT_URL: one.upstreams['text']?.url ?? '' } }
    const three = await startCached(t, '', {
      ...same,
      env: { ...same.env, ALPHA_URL: one.upstreams['alpha']?.url ?? '', BETA_URL: one.upstreams['beta']?.url ?? '' },
    })
    const first = await one.says(ask('a boat'))
    t.equal((await two.says(ask('a boat'))).cache, 'miss', 'another upstream')
    t.match(await three.says(ask('a boat')), { cache: 'hit', text: first.text })
    await redis.kill()
    t.match(await three.says(ask('a boat')), { status: 200, cache: 'miss' })
  },
)

t.test('a response is cached after its guards, and a blocked one is not', async t => {
  const guard = `guard-patterns: { rules: [
      { name: card, pattern: "\\\\d{4}-\\\\d{4}", do: mask, put: "[card]", on: [response] }, { name: word, words: [dragon], on: [response] } ] }`
  const edit = [
    ...cached('{ for: 1h }'),
    [/answer-cache, format-bridge,/, 'answer-cache, format-bridge, guard-patterns,'],
    [/\n {2}chat:\n/, `\n  chat:\n    ${guard}\n`],
  ] as never
  const { says, upstreams, asked } = await startCached(t, '', { edit })
  upstreams['text']?.answer({ choices: [{ message: { content: 'card 1111-2222' } }], usage })
  const first = await says(ask('a card'))
  t.match(first, { cache: 'miss', text: /\[card\]/ })
  t.match(await says(ask('a card')), { cache: 'hit', text: first.text })
  upstreams['text']?.answer({ choices: [{ message: { content: 'a dragon' } }], usage })
  for (const time of ['first', 'second']) t.equal((await says(ask('a beast'))).status, 403, time)
  t.equal(asked(), 3)
})

t.test(
  'a pipeline that would cache text before its guards is refused; a cache without its plugin is reported',
  async t => {
    const after = [
      ...cached('{ for: 1h }'),
      [/answer-cache, format-bridge, multipart-rewrite,/, 'format-bridge, multipart-rewrite, answer-cache,'],
    ]
    await t.rejects(
      start(t, { edit: after as never }),
      /'answer-cache' is on the wrong side of format-bridge, multipart-rewrite/,
    )
    const without: Edits = [...cached('{ for: 1h }'), ['answer-cache, ', '']]
    await t.rejects(start(t, { edit: without }), /no plugin of the pipeline keeps responses/)
  },
)

t.test(
  "a translated request has separate cached answers, in its client's format and with its dropped fields",
  async t => {
    const accepting = '{ for: 1h, per: key, ignore: [seed, metadata] }, accepts: [messages, responses, generate]'
    const { says, post, asked, upstreams, settled, charges } = await startCached(t, '', {
      // The edit removes native responses from its family.
      edit: [
        ...cached(accepting),
        ['streams: [chat, completions, responses, responses.get]', 'streams: [chat, completions]'],
        ['responses: { all: true }, responses.get: { all: true }, ', ''],
      ],
    })
    upstreams['text']?.answer((res, received) => {
      const content = `answer ${asked()}`
      if (received.json()['stream'] !== true) {
        const choices = [{ message: { content }, finish_reason: 'stop' }]
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'c', choices, usage }))
        return
      }
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events(asked() ?? 0))
    })
    const get = async (path: string, body: object) => {
      const answer = await post(path, { model: 'sim-chat', ...body })
      const text = await answer.text()
      await settled()
      const header = (name: string) => answer.headers.get(`x-tollgate-${name}`)
      return { cache: header('cache'), dropped: header('dropped'), text }
    }
    const messages = [{ role: 'user', content: 'a question' }]
    const contents = [{ role: 'user', parts: [{ text: 'a question' }] }]
    const cases: readonly (readonly [string, object, string | null])[] = [
      ['/v1/messages', { max_tokens: 9, messages }, null],
      ['/v1/messages', { max_tokens: 9, messages, top_k: 3 }, 'top_k'],
      ['/v1/messages', { max_tokens: 9, messages, stream: true }, null],
      ['/v1/responses', { input: 'a question', store: false }, null],
      ['/v1/responses', { input: 'a question', store: false, prompt_cache_key: 'k' }, 'prompt_cache_key'],
      ['/v1beta/models/sim-chat:generateContent', { contents }, null],
      ['/v1beta/models/sim-chat:streamGenerateContent?alt=sse', { contents }, null],
      ['/v1beta/models/sim-chat:streamGenerateContent', { contents }, null],
    ]
    t.equal((await says(ask('a question'))).cache, 'miss')
    for (const [path, body, dropped] of cases) {
      const name = `${path} ${dropped}`
      const sent = asked() ?? 0
      const first = await get(path, body)
      t.match(first, { cache: 'miss', dropped }, `${name}: ${first.text}`)
      t.same(await get(path, body), { ...first, cache: 'hit' }, name)
      t.equal(asked(), sent + 1, name)
    }
    t.equal((await says(ask('a question'))).cache, 'hit')
    const items = (await charges()).flatMap(({ lines }) => lines.map(({ tier }) => tier))
    t.equal(items.filter(tier => tier === 'cached_response').length, cases.length + 1)
    // In the upstream's format the field has another name: the client's own name counts.
    const named = { max_tokens: 9, messages, metadata: { user_id: 'ada' } }
    t.equal((await get('/v1/messages', named)).cache, 'hit', 'ignored')
    const stored = await get('/v1/responses', { input: 'a question' })
    t.equal(stored.cache, 'bypass', 'the client did not say that nothing is stored')
  },
)

t.test('explain says how long responses are cached, and what a hit costs', async t => {
  const settings = '{ for: 90m, per: user, hit_price: { each: "0.001", times: "0.1" } }'
  const { gateway, folder } = await startCached(t, settings)
  const request = { model: 'sim-chat', size: undefined, quality: undefined, n: undefined }
  const uses = { input: 1_000_000, output: 0 }
  const { cache } = await explainRequest(gateway.plan, { ...request, operation: 'chat', uses })
  t.match(cache, { for_ms: 5_400_000, per: 'user', keys: 'all', each: '0.001', times: '0.10', expected: '0.051' })
  const image = await explainRequest(gateway.plan, {
    ...request,
    n: 1,
    operation: 'image.generate',
    model: 'alpha-image-2',
  })
  t.equal(image.cache, null, 'a model without a cache')
  const yaml = editYaml(await readFile('gateway.yaml', 'utf8'), cached(settings))
  const { stdout } = await runCli({ folder, yaml }, 'explain', 'chat', '--model', 'sim-chat')
  t.match(
    stdout,
    /^cache {6}responses are cached for 90m per user; a hit costs 0\.001 \+ 0\.10 × the price of the response \(cli\.yaml:\d+\)$/m,
  )
})
