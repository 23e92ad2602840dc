import { GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { type Edits, start } from '../harness/start.ts'
import type { Received } from '../harness/upstream.ts'

const vectors = [
  [0.25, -0.5, 1],
  [0, 0.125, -2],
]
const usage = { prompt_tokens: 7, total_tokens: 7 }

/** `open` answers in the format of OpenAI, `gem` in the format of Google, under other names. */
const edit: Edits = [
  { 'families/gem': { forward: { 'generate.embed': { all: true } }, 'token-usage': {} } },
  {
    'models/open': {
      family: 'embedding',
      upstream: 'text',
      send_as: 'open-vendor',
      accepts: ['generate.embed'],
      prices: { input: '0.02' },
    },
    'models/gem': {
      family: 'gem',
      upstream: 'text',
      send_as: 'gem-vendor',
      accepts: ['embeddings'],
      prices: { input: '0.15' },
    },
  },
]

async function open(t: Pick<Test, 'teardown'>, more: Edits = []) {
  const started = await start(t, { upstreams: ['alpha', 'beta', 'text'], edit: [...edit, ...more] })
  const { upstream, received } = { upstream: started.upstreams['text'], received: [] as Received[] }
  upstream?.answer((res, request) => {
    received.push(request)
    const { requests, input } = request.json() as { requests?: unknown[]; input?: unknown[] }
    const given = vectors.slice(0, (requests ?? input ?? [0]).length)
    const data = given.map((embedding, index) => ({ object: 'embedding', index, embedding })).toReversed()
    const body = request.url.includes(':')
      ? requests
        ? { embeddings: given.map(values => ({ values })) }
        : { embedding: { values: given[0] } }
      : { object: 'list', data, model: 'open-vendor', usage }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const google = new GoogleGenAI({ apiKey: started.key, httpOptions: { baseUrl: started.url } })
  return { ...started, google, received, last: () => received.at(-1) }
}

t.test("OpenAI's SDK gets the vectors of a model that only supports generate.embed", async t => {
  const { openai, last, charges, settled, post } = await open(t)
  const one = await openai.embeddings.create({ model: 'gem', input: 'a boat', dimensions: 3 })
  t.same(one.data, [{ object: 'embedding', index: 0, embedding: vectors[0] }], 'the SDK requests base64')
  t.equal(one.model, 'gem')
  t.equal(last()?.url, '/v1beta/models/gem-vendor:embedContent')
  t.same(last()?.json(), { content: { parts: [{ text: 'a boat' }] }, outputDimensionality: 3 })

  const two = await openai.embeddings.create({ model: 'gem', input: ['a', 'b'], encoding_format: 'float' })
  t.same(
    two.data.map(({ embedding }) => embedding),
    vectors,
  )
  t.equal(last()?.url, '/v1beta/models/gem-vendor:batchEmbedContents')
  const named = (text: string) => ({ model: 'models/gem-vendor', content: { parts: [{ text }] } })
  t.same(last()?.json(), { requests: [named('a'), named('b')] })

  const answer = await post('/v1/embeddings', { model: 'gem', input: ['only'], user: 'ada' })
  t.equal(answer.headers.get('x-tollgate-dropped'), 'user')
  t.equal(answer.headers.get('x-tollgate-estimate'), 'usage', 'the upstream reports no tokens')
  t.match(await answer.json(), { usage: { prompt_tokens: 2, total_tokens: 2 } })
  await settled()
  t.equal((await charges()).length, 3)
})

t.test("Google's SDK gets the vectors of a model that only supports embeddings", async t => {
  const { google, last, charges } = await open(t)
  const contents = ['a', 'b']
  const two = await google.models.embedContent({ model: 'open', contents, config: { outputDimensionality: 3 } })
  t.same(
    two.embeddings?.map(({ values }) => values),
    vectors,
  )
  t.equal(last()?.url, '/v1/embeddings')
  t.same(last()?.json(), { model: 'open-vendor', input: contents, dimensions: 3, encoding_format: 'float' })
  const [charge] = await charges()
  t.equal(charge?.state, 'settled')
  t.equal(charge?.lines[0]?.quantity, usage.prompt_tokens, 'the usage is that of the upstream')
})

t.test("each request of a list has the upstream's name of the model, in every family", async t => {
  const { post, last } = await open(t)
  const families: { readonly [name: string]: Edits } = { gem: [], generative: [{ 'models/gem/family': 'generative' }] }
  for (const [family, more] of Object.entries(families)) {
    const own = await open(t, more)
    const requests = [1, 2].map(() => ({ model: 'models/gem', content: { parts: [{ text: 'a' }] } }))
    t.equal((await own.post('/v1beta/models/gem:batchEmbedContents', { requests })).status, 200, family)
    const sent = own.last()?.json() as { requests: readonly { model: string }[] }
    t.same(
      sent.requests.map(({ model }) => model),
      ['models/gem-vendor', 'models/gem-vendor'],
      family,
    )
  }
  await post('/v1/embeddings', { model: 'gem', input: ['a', 'b'] })
  t.match(last()?.json(), { requests: [{ model: 'models/gem-vendor' }, { model: 'models/gem-vendor' }] })
})

t.test('embedContent of one content is answered as one', async t => {
  const { post, last } = await open(t)
  const content = { parts: [{ text: 'a ' }, { text: 'boat' }] }
  const answer = await post('/v1beta/models/open:embedContent', { content, output_dimensionality: 3 })
  t.same(await answer.json(), { embedding: { values: vectors[0] } })
  t.match(last()?.json(), { input: ['a boat'], dimensions: 3 }, 'parts of one content get one vector')
})

t.test('a setting without an equivalent is refused with its field, and costs nothing', async t => {
  const { post, received, charges } = await open(t)
  const text = { content: { parts: [{ text: 'a' }] } }
  const image = { content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] } }
  const one = '/v1beta/models/open:embedContent'
  const many = '/v1beta/models/open:batchEmbedContents'
  const cases: readonly (readonly [string, object, RegExp])[] = [
    [one, { ...text, taskType: 'RETRIEVAL_QUERY' }, /embedding task \(taskType\)/],
    [one, { ...text, title: 'x' }, /\(title\)/],
    [one, image, /media \(content\.parts\)/],
    [one, {}, /'content' is not valid/],
    [one, { ...text, outputDimensionality: -1 }, /'outputDimensionality' is not valid/],
    [many, { requests: [] }, /'requests' is not valid/],
    [many, { requests: [text, { ...text, task_type: 'X' }] }, /requests\[1\]\.taskType/],
    [many, { requests: [text, { ...text, outputDimensionality: 2 }] }, /requests\[1\]\.outputDimensionality/],
    ['/v1/embeddings', { model: 'gem', input: [1, 2, 3] }, /token ids \(input\)/],
    ['/v1/embeddings', { model: 'gem', input: [[1], [2]] }, /token ids \(input\)/],
    ['/v1/embeddings', { model: 'gem' }, /'input' is not valid/],
    ['/v1/embeddings', { model: 'gem', input: [] }, /'input' is not valid/],
    ['/v1/embeddings', { model: 'gem', input: 'a', dimensions: 'many' }, /'dimensions' is not valid/],
    ['/v1/embeddings', { model: 'gem', input: 'a', encoding_format: 'hex' }, /'encoding_format' is not valid/],
  ]
  for (const [path, body, message] of cases) {
    const name = `${path} ${JSON.stringify(body)}`
    const answer = await post(path, body)
    t.equal(answer.status, 400, name)
    const { error } = (await answer.json()) as { error: { message: string; code: unknown } }
    t.match(error.message, message, name)
    if (path === one) t.equal(error.code, 400, `${name}: in the format of Google`)
  }
  t.equal(received.length, 0)
  t.same(await charges(), [])
})

t.test('on_loss: drop sends the request without it', async t => {
  const { post, last } = await open(t, [{ 'models/open/on_loss': 'drop' }])
  const body = { content: { parts: [{ text: 'a' }] }, taskType: 'RETRIEVAL_QUERY' }
  const answer = await post('/v1beta/models/open:embedContent', body)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('x-tollgate-dropped'), 'taskType')
  t.same(last()?.json(), { model: 'open-vendor', input: ['a'], encoding_format: 'float' })
})

t.test('errors and impossible responses of the upstream reach the client in its format', async t => {
  const { post, upstreams, settled } = await open(t)
  const says = async (status: number, body: string) => {
    upstreams['text']?.answer(res => void res.writeHead(status, { 'content-type': 'application/json' }).end(body))
    const answer = await post('/v1/embeddings', { model: 'gem', input: ['a', 'b'] })
    const text = await answer.text()
    await settled()
    return { status: answer.status, error: (JSON.parse(text) as { error: { message: string; type: string } }).error }
  }
  const refused = { error: { code: 400, message: 'too long', status: 'INVALID_ARGUMENT' } }
  const { status, error } = await says(400, JSON.stringify(refused))
  t.equal(status, 400)
  t.match(error, { type: 'invalid_request_error', message: /too long/ })
  for (const odd of [{ embeddings: [{ values: [1] }] }, { embeddings: [{}, {}] }, { other: 1 }]) {
    const body = JSON.stringify(odd)
    const untranslatable = await says(200, body)
    t.equal(untranslatable.status, 502, body)
    t.match(untranslatable.error, { code: 'upstream_answer_untranslatable' }, body)
  }
  t.match(await says(200, '[]'), { status: 502, error: { code: 'upstream_answer_kind' } })
})

t.test('check lists untranslated settings, and refuses unknown formats', async t => {
  const { plan } = await open(t)
  t.ok(plan.models.get('gem')?.accepts?.has('embeddings'))
  await t.rejects(
    open(t, [{ 'models/sim-speech/accepts': ['embeddings'] }]),
    /forwards no API format that can be translated/,
  )
})
