import { gzipSync } from 'node:zlib'
import { toFile } from 'openai'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { picture, png } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'
import type { Reaction, Upstream } from '../harness/upstream.ts'

const hi = [{ role: 'user', content: 'hi' }]
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const google = '/v1beta/models/sim-generative'

type Call = { readonly path: string; readonly body: object }
const calls = {
  chat: { path: '/v1/chat/completions', body: { model: 'sim-chat', messages: hi } },
  responses: { path: '/v1/responses', body: { model: 'sim-chat', input: 'hi' } },
  messages: { path: '/v1/messages', body: { model: 'sim-messages', max_tokens: 16, messages: hi } },
  speech: { path: '/v1/audio/speech', body: { model: 'sim-speech', voice: 'alloy', input: 'hi' } },
  embeddings: { path: '/v1/embeddings', body: { model: 'sim-embedding', input: 'hi' } },
} as const satisfies { readonly [name: string]: Call }
const streamed = (call: Call): Call => ({ ...call, body: { ...call.body, stream: true } })

const chunk = { object: 'chat.completion.chunk', choices: [{ delta: { content: 'hi' } }], usage: { prompt_tokens: 1 } }
const object = JSON.stringify({ choices: [{ message: { content: 'hi' } }], usage: { prompt_tokens: 9 } })
const list = `[${object}]`
const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
const json = 'application/json'
const stream = 'text/event-stream'

/** An answer of that type, in packets of this many bytes. */
const answer =
  (type: string | undefined, text: string | Buffer, pieceBytes = 1e9): Reaction =>
  async res => {
    res.writeHead(200, { ...(type !== undefined && { 'content-type': type }) })
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      res.write(bytes.subarray(at, at + pieceBytes))
      await new Promise(resolve => setImmediate(resolve))
    }
    res.end()
  }

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const one of events) all.push(one)
  return all
}

type Wrong = readonly [what: string, call: Call, type: string | undefined, text: string]

const wrong: readonly Wrong[] = [
  ...(['chat', 'responses', 'messages'] as const).flatMap((name): readonly Wrong[] => [
    [`${name}: JSON for a stream`, streamed(calls[name]), json, object],
    [`${name}: JSON that calls itself events`, streamed(calls[name]), stream, object],
    [`${name}: a page for a stream`, streamed(calls[name]), 'text/html', '<!doctype html><p>hi'],
    [`${name}: a page that calls itself events`, streamed(calls[name]), stream, '<!doctype html><p>hi'],
    [`${name}: nothing for a stream`, streamed(calls[name]), stream, ''],
    [`${name}: blanks for a stream`, streamed(calls[name]), json, '\n  \n'],
    [`${name}: text without a type for a stream`, streamed(calls[name]), undefined, 'hi'],
    [`${name}: events for one answer`, calls[name], stream, events],
    [`${name}: events that call themselves JSON`, calls[name], json, events],
    [`${name}: events that call themselves text`, calls[name], 'text/plain', `\ufeff: hello\n\n${events}`],
    [`${name}: events without a type`, calls[name], undefined, `event: message\n${events}`],
    [`${name}: a list for one answer`, calls[name], json, list],
    [`${name}: a word for one answer`, calls[name], json, '"hi"'],
    [`${name}: a page for one answer`, calls[name], 'text/html', '<!doctype html><p>hi'],
    [`${name}: nothing for one answer`, calls[name], json, ''],
  ]),
  ['generate: events for one answer', { path: `${google}:generateContent`, body: { contents } }, stream, events],
  ['generate: a list for one answer', { path: `${google}:generateContent`, body: { contents } }, json, list],
  ['generate: a list for events', { path: `${google}:streamGenerateContent?alt=sse`, body: { contents } }, json, list],
  ['generate: one for events', { path: `${google}:streamGenerateContent?alt=sse`, body: { contents } }, json, object],
  ['generate: a page for a list', { path: `${google}:streamGenerateContent`, body: { contents } }, json, '<p>hi'],
  ['generate: nothing for a list', { path: `${google}:streamGenerateContent`, body: { contents } }, json, ''],
  [
    'speech: sound for a stream',
    { ...calls.speech, body: { ...calls.speech.body, stream_format: 'sse' } },
    'audio/mpeg',
    'ID3 sound',
  ],
  [
    'speech: JSON for a stream',
    { ...calls.speech, body: { ...calls.speech.body, stream_format: 'sse' } },
    json,
    object,
  ],
  ['speech: events for sound', calls.speech, stream, events],
  ['embeddings: events', calls.embeddings, stream, events],
  ['embeddings: a page', calls.embeddings, 'text/html', '<!doctype html><p>hi'],
  ['embeddings: a word', calls.embeddings, json, '"hi"'],
  ['embeddings: nothing', calls.embeddings, json, ''],
  ['embeddings: events that call themselves JSON', calls.embeddings, json, events],
]

t.test('an answer of another kind than requested is a 502 that forbids retries, and its charge waits', async t => {
  const { post, upstreams, logs, gateway } = await start(t, { edit: [['rpm: 60', 'rpm: 600']] })
  const upstream = upstreams['text'] as Upstream
  for (const [what, { path, body }, type, text] of wrong)
    for (const pieceBytes of [1e9, 1]) {
      const came = upstream.received.length
      upstream.answer(answer(type, text, pieceBytes))
      const refused = await post(path, body)
      const refusal = (await refused.json()) as object
      const name = caseName({ what, pieceBytes })
      t.match([refused.status, refused.headers.get('x-should-retry')], [502, 'false'], name)
      t.match(JSON.stringify(refusal), /instead of .*so its response was withheld/, name)
      t.equal(upstream.received.length, came + 1, name)
      // Nothing was sold with an empty answer.
      const billing = text.trim() === '' ? null : { state: 'needs_review', reason: 'answer_unrecognised' }
      t.match(await logs(1), [{ outcome: 'refused', status: 502, error: 'upstream_answer_kind', billing }], name)
    }
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('a page is no moderation', async t => {
  const { post, upstreams } = await start(t)
  upstreams['text']?.answer(answer('text/html', '<!doctype html><p>hi'))
  const refused = await post('/v1/moderations', { model: 'sim-moderation', input: 'hi' })
  t.match([refused.status, await refused.json()], [502, { error: { code: 'upstream_answer_kind' } }])
})

t.test("the error is in the client's API format", async t => {
  const { post, upstreams } = await start(t)
  upstreams['text']?.answer(answer(json, object))
  const refuse = async ({ path, body }: Call): Promise<unknown> => (await post(path, body)).json()
  t.match(await refuse(streamed(calls.chat)), { error: { code: 'upstream_answer_kind', type: 'server_error' } })
  t.match(await refuse(streamed(calls.messages)), { type: 'error', error: { type: 'api_error' } })
  const request = { path: `${google}:streamGenerateContent?alt=sse`, body: { contents } }
  t.match(await refuse(request), { error: { code: 502, status: 'UNAVAILABLE' } })
})

t.test('a transcription requested as a stream is refused as JSON and passes as text', async t => {
  const { upstreams, url, key, charges } = await start(t)
  const send = (more: { readonly [name: string]: string }): Promise<Response> => {
    const form = new FormData()
    form.append('model', 'sim-transcription')
    form.append('file', new Blob([Buffer.alloc(64)]), 'a.wav')
    for (const [name, value] of Object.entries(more)) form.append(name, value)
    const headers = { authorization: `Bearer ${key}` }
    return fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
  }
  for (const [type, text] of [
    [json, '{"text":"hi"}'],
    ['text/plain', 'hi'],
  ] as const) {
    upstreams['text']?.answer(answer(type, text))
    t.equal((await send({ stream: 'true' })).status, 502, type)
    t.match(await charges(1), [{ state: 'needs_review' }], type)
    t.equal(await (await send({})).text(), text, type)
    t.match(await charges(1), [{ state: 'settled' }], type)
  }
  upstreams['text']?.answer(answer(json, events))
  t.equal((await send({})).status, 502, 'events for one answer')
  for (const text of [
    'event: we met.\nThen data: none',
    'data: 12 of 14',
    ': so it goes',
    'id',
    '1\n00:00 --> 00:01\nhi',
  ]) {
    upstreams['text']?.answer(answer('text/plain', text, 1))
    t.equal(await (await send({ response_format: 'text' })).text(), text, caseName({ text }))
  }
})

t.test('an answer of the requested kind passes byte for byte, whatever its type and chunks', async t => {
  const { post, upstreams, charges } = await start(t, { edit: [['rpm: 60', 'rpm: 600']] })
  const right: readonly Wrong[] = [
    ['events', streamed(calls.chat), stream, events],
    ['events that call themselves JSON', streamed(calls.chat), json, events],
    ['events without a type', streamed(calls.chat), undefined, events],
    ['events behind a comment and blank lines', streamed(calls.chat), 'text/plain', `\n\n: wait\n\n${events}`],
    ['JSON', calls.chat, json, object],
    ['JSON that calls itself events', calls.chat, stream, object],
    ['JSON behind blanks', calls.chat, json, `\n   \n${object}`],
    ['JSON without a type', calls.chat, undefined, object],
    ['a list', { path: `${google}:streamGenerateContent`, body: { contents } }, json, list],
    ['one of a list', { path: `${google}:streamGenerateContent`, body: { contents } }, json, object],
    ['events of a list', { path: `${google}:streamGenerateContent`, body: { contents } }, stream, events],
    ['sound', calls.speech, 'audio/mpeg', 'data: no events'],
  ]
  for (const [what, { path, body }, type, text] of right)
    for (const pieceBytes of [1e9, 1]) {
      upstreams['text']?.answer(answer(type, text, pieceBytes))
      const passed = await post(path, body)
      const name = caseName({ what, pieceBytes })
      t.match([passed.status, await passed.text()], [200, text], name)
      t.match(await charges(1), [{ state: 'settled' }], name)
      if (text === events) t.equal(passed.headers.get('content-type'), stream, name)
    }
})

t.test('an error of the upstream passes unchanged, whatever was requested', async t => {
  const { post, upstreams, charges } = await start(t)
  const { path, body } = streamed(calls.chat)
  const error = JSON.stringify({ error: { message: 'slow down', code: 'rate_limit_exceeded' } })
  upstreams['text']?.answer(res => void res.writeHead(429, { 'content-type': json }).end(error))
  const limited = await post(path, body)
  t.match([limited.status, await limited.text()], [429, error])
  upstreams['text']?.answer(answer(json, error))
  const inside = await post(path, body)
  t.match([inside.status, await inside.text()], [429, error], 'inside a 200 of JSON')
  upstreams['text']?.answer(answer(stream, error))
  t.match((await post(path, body)).status, 429, 'inside a 200 that calls itself events')
  t.same(await charges(), [], 'nothing is charged')
})

t.test('a wrong kind that is detected after the head is an error in the stream', async t => {
  const { upstreams, openai, charges } = await start(t)
  const messages = [{ role: 'user' as const, content: 'hi' }]
  upstreams['text']?.answer(async res => {
    res.writeHead(200, { 'content-type': stream, 'content-encoding': 'gzip' })
    res.end(gzipSync(object))
  })
  const reading = await openai.chat.completions.create({ model: 'sim-chat', messages, stream: true })
  await t.rejects(
    (async () => {
      for await (const _ of reading) t.fail('no event comes of it')
    })(),
    /instead of an event stream/,
  )
  t.match(await charges(1), [{ state: 'needs_review' }])
})

const draw = { model: 'alpha-image-2', prompt: 'a boat' }
const usage = {
  total_tokens: 9,
  input_tokens: 2,
  output_tokens: 7,
  input_tokens_details: { text_tokens: 2, image_tokens: 0 },
}
const facts = { background: 'opaque', output_format: 'png', quality: 'high', size: '1254x1254' }
const one = picture(1254, 1254)
const other = picture(1254, 1250)
const asJson = (...data: object[]): string => JSON.stringify({ created: 7, data, ...facts, usage })
const event = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

t.test('images requested as a stream and answered as JSON become events of the API format', async t => {
  const { post, openai, upstreams, charges } = await start(t)
  for (const pieceBytes of [1e9, 1000, 7]) {
    upstreams['alpha']?.answer(answer(json, asJson({ ...one, revised_prompt: 'a "red" boat' }, other), pieceBytes))
    const events = await collect(await openai.images.generate({ ...draw, stream: true, n: 2 }))
    t.match(
      events,
      [
        { type: 'image_generation.completed', b64_json: one.b64_json, revised_prompt: 'a "red" boat' },
        { type: 'image_generation.completed', b64_json: other.b64_json, created_at: 7, ...facts, usage },
      ],
      caseName({ pieceBytes }),
    )
    t.match(await charges(1), [{ state: 'settled', delivery: 'confirmed', amount: '0.08' }], caseName({ pieceBytes }))
  }
  upstreams['alpha']?.answer(answer('text/plain', asJson(one)))
  const image = await toFile(png(8, 8), 'a.png', { type: 'image/png' })
  const edited = await collect(await openai.images.edit({ ...draw, image, stream: true }))
  t.match(edited, [{ type: 'image_edit.completed', b64_json: one.b64_json, usage }], 'JSON that calls itself text')
  upstreams['alpha']?.answer(answer(json, asJson()))
  const none = await post('/v1/images/generations', { ...draw, stream: true })
  t.match([none.status, none.headers.get('x-should-retry')], [502, 'false'])
  t.match(await charges(1), [{ state: 'needs_review' }], 'without an image there is no empty stream')
})

t.test('an answer without a byte costs nothing and keeps no hold', async t => {
  const { post, upstreams, charges } = await start(t)
  for (const isStream of [true, false])
    for (const type of [stream, json])
      for (const body of ['', ' \n']) {
        const name = caseName({ isStream, type, body })
        upstreams['alpha']?.answer(answer(type, body))
        const { status } = await post('/v1/images/generations', { ...draw, stream: isStream })
        t.equal(status, 502, name)
        t.match(await charges(1), [{ state: 'voided', reason: 'zero_images', held: '0.00' }], name)
      }
})

t.test('a stream without an event costs nothing and keeps no hold', async t => {
  const { post, upstreams, charges, newKey } = await start(t)
  const { key } = await newKey({ budget: 1_000_000 })
  const ask = { model: 'sim-chat', stream: true, messages: [{ role: 'user', content: 'a boat' }] }
  const done = 'data: [DONE]\n\n'
  for (const body of [': wait\n\n', `: wait\n\n${done}`, done, `event: x\n\nid: 1\n\n${done}`]) {
    upstreams['text']?.answer(answer(stream, body))
    const given = await post('/v1/chat/completions', ask, { authorization: `Bearer ${key}` })
    t.equal(await given.text(), body, caseName({ body }))
    t.match(await charges(1), [{ state: 'voided', reason: 'no_content', held: '0.00' }], caseName({ body }))
  }
  for (const body of [`data: {}\n\n${done}`, `text: a boat\n\n${done}`]) {
    upstreams['text']?.answer(answer(stream, body))
    await (await post('/v1/chat/completions', ask, { authorization: `Bearer ${key}` })).text()
    t.match(await charges(1), [{ state: 'settled' }], caseName({ body }))
  }
})

t.test('images requested in one answer and answered as events become that answer', async t => {
  const { openai, upstreams, charges, post } = await start(t)
  const streamed =
    event('image_generation.partial_image', { b64_json: picture(64, 64).b64_json, partial_image_index: 0 }) +
    event('image_generation.completed', { ...one, created_at: 7, ...facts }) +
    event('image_generation.completed', { ...other, created_at: 7, ...facts, usage }) +
    'data: [DONE]\n\n'
  for (const [type, pieceBytes] of [
    [stream, 1e9],
    [json, 1000],
    ['text/plain', 7],
  ] as const) {
    upstreams['alpha']?.answer(answer(type, streamed, pieceBytes))
    const whole = await openai.images.generate({ ...draw, n: 2 })
    t.match(whole, { data: [one, other], ...facts, usage }, type)
    t.match(await charges(1), [{ state: 'settled', delivery: 'confirmed', amount: '0.08' }], type)
  }
  upstreams['alpha']?.answer(answer(stream, streamed))
  const linked = await post('/v1/images/generations', { ...draw, n: 2, response_format: 'url' })
  t.match(await linked.json(), { data: [{ url: `data:image/png;base64,${one.b64_json}` }, { url: /^data:/ }] })
  const failed =
    event('image_generation.partial_image', { b64_json: one.b64_json }) +
    event('error', { error: { message: 'no more' } })
  upstreams['alpha']?.answer(answer(stream, failed))
  const refused = await post('/v1/images/generations', draw)
  t.match([refused.status, await refused.json()], [502, { error: { message: /no more/ } }])
  t.match(await charges(1), [{ state: 'needs_review' }])
})

t.test('an image is sent as an event while the JSON of the next still arrives', async t => {
  const { openai, upstreams, charges } = await start(t)
  const gate = Promise.withResolvers<void>()
  const text = asJson(one, other)
  const cut = text.lastIndexOf('b64_json') + 100
  upstreams['alpha']?.answer(async res => {
    res.writeHead(200, { 'content-type': json })
    res.write(text.slice(0, cut))
    await gate.promise
    res.end(text.slice(cut))
  })
  let count = 0
  for await (const { type } of await openai.images.generate({ ...draw, n: 2, stream: true })) {
    t.equal(type, 'image_generation.completed', 'each event')
    count++
    gate.resolve()
  }
  t.equal(count, 2)
  t.match(await charges(1), [{ state: 'settled', amount: '0.08' }])
})
