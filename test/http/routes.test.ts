import t from 'tap'
import { png } from '../harness/pictures.ts'
import type { Reaction } from '../harness/upstream.ts'
import { start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const text = { model: 'sim-chat', input: 'hi', query: 'q', documents: ['a'], messages: [], max_tokens: 1 }
/** For each spelling: the client's path, and the upstream's path. */
const spelled: readonly (readonly [sent: string, asked: string, model: string])[] = [
  ['/v1/chat/completions', '/v1/chat/completions', 'sim-chat'],
  ['/v1/v1/chat/completions', '/v1/chat/completions', 'sim-chat'],
  ['/chat/completions', '/v1/chat/completions', 'sim-chat'],
  ['/v1/v1/responses', '/v1/responses', 'sim-chat'],
  ['/embeddings', '/v1/embeddings', 'sim-embedding'],
  ['/v1/v1/messages', '/v1/messages', 'sim-messages'],
  ['/v1/v1/messages/count_tokens', '/v1/messages/count_tokens', 'sim-messages'],
  ['/v1/v1/rerank', '/v1/rerank', 'sim-rerank'],
  ['/v2/rerank', '/v2/rerank', 'sim-rerank'],
]
const generative: readonly (readonly [sent: string, asked: string])[] = [
  '/v1beta',
  '/v1',
  '/v1/v1beta',
  '/v1/v1',
  '',
].flatMap(version =>
  ['generateContent', 'streamGenerateContent?alt=sse', 'countTokens', 'embedContent', 'batchEmbedContents'].map(
    method => [`${version}/models/sim-generative:${method}`, `/v1beta/models/sim-generative:${method}`] as const,
  ),
)

const streamed: Reaction = res => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {}\n\n')

t.test('a doubled or shortened path reaches the upstream as intended [6.8]', async t => {
  const { post, upstreams } = await start(t, { edit: [['rpm: 60,', 'rpm: 1000,']] })
  const upstream = upstreams['text']
  upstream?.answer({})
  for (const [sent, received, model] of spelled) {
    t.equal((await post(sent, { ...text, model })).status, 200, sent)
    t.equal(upstream?.received.at(-1)?.url, received, caseName({ sent, received, model }))
  }
  for (const [sent, received] of generative) {
    upstream?.answer(received.endsWith('alt=sse') ? streamed : {})
    t.equal((await post(sent, { contents: [] })).status, 200, sent)
    t.equal(upstream?.received.at(-1)?.url, received, caseName({ sent, received }))
  }
  upstreams['alpha']?.answer({ data: [{ b64_json: png(8, 8).toString('base64') }] })
  t.equal((await post('/images/generations', { model: 'alpha-image-2', prompt: 'p' })).status, 200)
  t.equal(upstreams['alpha']?.received.at(-1)?.url, '/v1/images/generations')
})

t.test("a model in the path is sent under its upstream's name, including slashes", async t => {
  const { post, upstreams } = await start(t, {
    edit: [
      [
        'sim-generative: {',
        '"vendor/m-1": { family: generative, upstream: text, send_as: v/m 1, price: free }\n  sim-generative: {',
      ],
    ],
  })
  for (const name of ['vendor/m-1', 'vendor%2Fm-1']) {
    t.equal((await post(`/v1/models/${name}:generateContent`, { contents: [] })).status, 200, name)
    t.equal(upstreams['text']?.received.at(-1)?.url, '/v1beta/models/v/m%201:generateContent', caseName({ name }))
    t.same(upstreams['text']?.received.at(-1)?.json(), { contents: [] }, 'nothing is added to its body')
  }
})

t.test('a body with another model than the path is sent with the paid one', async t => {
  const { post, upstreams } = await start(t, { edit: [{ 'models/sim-generative/send_as': 'known' }] })
  for (const method of ['generateContent', 'streamGenerateContent'])
    for (const [model, sent] of [
      ['dearer', 'known'],
      ['models/dearer', 'known'],
      [['dearer'], 'known'],
      ['models/sim-generative', 'models/known'],
    ]) {
      t.equal(
        (await post(`/v1beta/models/sim-generative:${method}`, { contents: [], model })).status,
        200,
        caseName({ method, model, sent }),
      )
      t.same(
        upstreams['text']?.received.at(-1)?.json(),
        { contents: [], model: sent },
        caseName({ method, model, sent }),
      )
    }
  const plain = await start(t)
  await plain.post('/v1beta/models/sim-generative:generateContent', { contents: [], model: 'dearer' })
  t.equal(plain.upstreams['text']?.received.at(-1)?.json()['model'], 'sim-generative')
})

t.test('a family that does not forward `background` runs such responses at once', async t => {
  const { post, upstreams } = await start(t, {
    edit: [['responses: { all: true },', 'responses: { all: true, except: [background] },']],
  })
  await post('/v1/responses', { model: 'sim-chat', input: 'hi', background: true })
  t.same(upstreams['text']?.received.at(-1)?.json(), { model: 'sim-chat', input: 'hi' })
})

t.test("a stream's usage is read however the upstream writes its content type", async t => {
  const { post, upstreams, charges } = await start(t)
  const usage = { prompt_tokens: 1000, completion_tokens: 1000 }
  upstreams['text']?.answer(res => {
    res.writeHead(200, { 'content-type': 'Text/Event-Stream; Charset=UTF-8' })
    res.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`)
  })
  const answer = await post('/v1/chat/completions', { model: 'sim-chat', messages: [], stream: true })
  t.equal(answer.headers.get('content-type'), 'text/event-stream; Charset=UTF-8')
  t.equal(await answer.text(), 'data: [DONE]\n\n')
  t.match(await charges(), [{ amount: '0.002' }])
})

t.test('a model serves only the operations of its family', async t => {
  const { post, upstreams } = await start(t)
  for (const [path, model] of [
    ['/v1/chat/completions', 'sim-embedding'],
    ['/v1/embeddings', 'sim-chat'],
    ['/v1/images/generations', 'sim-chat'],
    ['/v1/messages', 'sim-chat'],
    ['/v1/rerank', 'alpha-image-2'],
  ] as const) {
    const answer = await post(path, { ...text, prompt: 'p', model })
    t.ok(answer.status === 400 || answer.status === 404, `${path} ${model}: ${answer.status}`)
    t.match(await answer.text(), model, caseName({ path, model }))
  }
  for (const upstream of Object.values(upstreams)) t.equal(upstream.received.length, 0, caseName({ upstream }))
})

t.test("models are listed in the client's format, at every spelling of the path", async t => {
  const { get, key } = await start(t)
  const shapeOf = async (path: string, headers = {}): Promise<string> =>
    Object.keys((await (await get(path, headers)).json()) as object).join()
  for (const path of ['/v1/models', '/v1/v1/models', '/models']) {
    t.equal(await shapeOf(path), 'object,data', path)
    t.match(await shapeOf(path, { 'anthropic-version': '2023-06-01' }), /has_more/, path)
    t.match(await shapeOf(path, { 'x-goog-api-key': key }), /^models/, path)
  }
  for (const path of ['/v1beta/models', '/v1/v1beta/models']) t.match(await shapeOf(path), /^models/, path)
  t.match(await (await get('/v1/v1/models/sim-chat')).json(), { id: 'sim-chat', object: 'model' })
  t.match(await (await get('/v1beta/models/sim-chat')).json(), { name: 'models/sim-chat' })
})

t.test('a reload applies web pages and heartbeats; settings that need a restart are reported', async t => {
  const { get, reload } = await start(t)
  const origin = 'https://app.example'
  t.equal((await get('/v1/models', { origin })).headers.get('access-control-allow-origin'), null)
  const result = await reload([
    ['origins: []', `origins: [${origin}]`],
    ['heartbeat: 15s', 'heartbeat: off\n  memory_max: 64MiB'],
    { 'server/listen': '127.0.0.1:9' },
  ])
  t.match(result, { ok: true })
  t.same(result.ok && result.changes, [
    'server.listen: 127.0.0.1:0 → 127.0.0.1:9',
    'server.memory_max: 192MiB → 64MiB',
    'server.heartbeat: 15s → off',
    `server.cors.origins: none → ${origin}`,
    'server.listen: takes effect at the next start',
  ])
  t.equal((await get('/v1/models', { origin })).headers.get('access-control-allow-origin'), origin)
})
