import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import type { Answer } from '../../plugins/format-bridge/neutral/index.ts'
import { caseName } from '../harness/case-name.ts'
import { askOf, startFour, vendorAnswer } from '../harness/four-formats.ts'
import { png } from '../harness/pictures.ts'
import type { Edits, Started } from '../harness/start.ts'
import { type Format, formats } from '../harness/translating.ts'
import { openTalk } from '../harness/web-socket.ts'

const answer: Answer = {
  parts: [{ kind: 'text', text: 'The card is 1111-2222.' }],
  stop: { why: 'end' },
  usage: { input: 30, output: 12 },
}

const directions = formats.flatMap(client => formats.map(upstream => ({ client, upstream })))

/** Each format is once the client's and once the upstream's. */
const ring = formats.map((client, i) => ({ client, upstream: formats[(i + 1) % formats.length] as Format }))

const pipeline = (more: string): Edits => [['pipeline: [auth, ratelimit, format-bridge,', `pipeline: [auth, ${more},`]]

/** One upstream that answers each operation in its own format. */
async function open(t: Pick<Test, 'teardown'>, edit: Edits = []) {
  const started = await startFour(t, edit)
  serve(started, answer)
  const says = async (client: Format, upstream: Format, more: object = {}, headers: Record<string, string> = {}) => {
    const [path, body] = askOf(client, `up-${upstream}`, false)
    const got = await started.post(path, { ...body, ...more }, headers)
    const text = await got.text()
    await started.settled()
    return { status: got.status, headers: got.headers, text }
  }
  return { ...started, says }
}

function serve({ upstream }: Started, given: Answer): void {
  upstream.answer((res, { url }) => {
    const format = formatOf(url)
    const { records, whole } = vendorAnswer(format, given)
    const isStream = upstream.received.at(-1)?.body.includes('"stream":true') || url.includes('streamGenerate')
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    res.end(isStream ? records.join('') : JSON.stringify(whole))
  })
}

function formatOf(url: string): Format {
  if (url.startsWith('/v1/chat/')) return 'chat'
  if (url.startsWith('/v1/responses')) return 'responses'
  return url.startsWith('/v1/messages') ? 'messages' : 'generate'
}

/** The markers of an error in a client's format. */
const errors: { readonly [format in Format]: object } = {
  chat: { error: { message: String, code: String } },
  responses: { error: { message: String, code: String } },
  messages: { type: 'error', error: { type: String, message: String } },
  generate: { error: { code: Number, message: String, status: String } },
}

const users: { readonly [format in Format]: object } = {
  chat: { user: 'ada' },
  responses: { safety_identifier: 'ada' },
  messages: { metadata: { user_id: 'ada' } },
  generate: {},
}

t.test("an end user in the client's field appears in the log, and in the upstream's field", async t => {
  const sources = 'body:user, body:safety_identifier, body:metadata.user_id, header:x-user'
  const {
    says,
    logs,
    upstream: up,
  } = await open(t, pipeline(`{ attribution: { end_user: [${sources}] } }, ratelimit, format-bridge`))
  for (const { client, upstream } of directions) {
    const name = caseName({ client, upstream })
    const own = client === 'generate' ? { 'x-user': 'ada' } : {}
    const got = await says(client, upstream, users[client], own)
    t.equal(got.status, 200, `${name}: ${got.text}`)
    t.match(await logs(1), [{ end_user: 'ada' }], name)
    if (client === upstream) continue
    const isSent = client !== 'generate' && upstream !== 'generate'
    const field = upstream === 'chat' ? { user: 'ada' } : users[upstream]
    t.match(up.received.at(-1)?.json(), isSent ? field : {}, name)
    const isLost = client !== 'generate' && upstream === 'generate'
    t.equal(got.headers.get('x-tollgate-dropped') !== null, isLost, name)
  }
})

const keyed: Edits = [
  [
    '  up: { url: "${UP_URL}",',
    '  up: { url: "${UP_URL}", credential: { header: authorization, value: "Bearer {key}" }, keys: { one: { value: "${TOLLGATE_ONE:-secret-one}" }, two: { value: "${TOLLGATE_TWO:-secret-two}" } },',
  ],
]

const refusals: { readonly [format in Format]: object } = {
  chat: { error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' } },
  responses: { error: { message: 'Incorrect API key', type: 'invalid_request_error', code: 'invalid_api_key' } },
  messages: { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
  generate: { error: { code: 401, status: 'UNAUTHENTICATED', message: 'API key not valid' } },
}

t.test("a vendor's 401 on a translated request suspends the key, and the next key is used", async t => {
  for (const { client, upstream } of ring) {
    const name = caseName({ client, upstream })
    const { says, upstream: up, charges } = await open(t, keyed)
    const used: string[] = []
    up.answer((res: ServerResponse, { headers, url }) => {
      const key = String(headers['authorization'])
      used.push(key)
      const isRefused = key.endsWith('one')
      res.writeHead(isRefused ? 401 : 200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(isRefused ? refusals[upstream] : vendorAnswer(formatOf(url), answer).whole))
    })
    let sent = 0
    // Requests begin with a random key: they go on until one began with the first.
    for (; sent < 6 || (sent < 40 && !used.some(key => key.endsWith('one'))); sent++) {
      const got = await says(client, upstream)
      t.match([got.status, got.text], [200, /1111-2222/], `${name} ${sent}`)
    }
    t.equal(used.filter(key => key.endsWith('one')).length, 1, `${name}: ${used.join(' ')}`)
    t.equal((await charges()).length, sent, name)
    up.answer((res: ServerResponse) => {
      res.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(refusals[upstream]))
    })
    for (let i = 0; i < 2; i++) {
      const failed = await says(client, upstream)
      t.ok(failed.status >= 500, `${name} ${i}: ${failed.status} ${failed.text}`)
      t.match(JSON.parse(failed.text), errors[client], `${name} ${i}`)
      t.notMatch(failed.text, /secret|Incorrect API key|x-api-key|API key not valid/, `${name} ${i}`)
    }
    t.equal((await charges()).length, sent, `${name}: nothing is charged`)
  }
})

/** An answer of 20 tokens at most. */
const shortly: { readonly [format in Format]: object } = {
  chat: { max_tokens: 20 },
  responses: { max_output_tokens: 20 },
  messages: { max_tokens: 20 },
  generate: { generationConfig: { maxOutputTokens: 20 } },
}

t.test("token limits count the upstream's report, and refuse in the client's format", async t => {
  const limited: Edits = [['default: { rpm: 60000 }', 'default: { rpm: 60000, tpm: 200 }']]
  for (const { client, upstream } of ring) {
    const name = caseName({ client, upstream })
    const { says, post, upstream: up } = await open(t, limited)
    // 42 tokens each. Until a request is answered, its estimate counts.
    for (const time of [1, 2, 3]) {
      const got = await says(client, upstream, shortly[client])
      t.equal(got.status, 200, `${name} ${time}: ${got.text}`)
    }
    const text = 'a long question '.repeat(30)
    const [path, body] = askOf(client, `up-${upstream}`, false, text)
    const refused = await (await post(path, { ...body, ...shortly[client] })).text()
    t.match(refused, /tpm/, name)
    t.match(JSON.parse(refused), errors[client], name)
    t.equal(up.received.length, 3, name)
  }
})

t.test('a repeated Idempotency-Key is a separate request, translated or not, and is not forwarded', async t => {
  const { says, upstream: up, charges } = await open(t)
  for (const { client, upstream } of directions)
    for (const time of [1, 2]) {
      const name = caseName({ client, upstream, time })
      t.equal((await says(client, upstream, {}, { 'idempotency-key': 'same' })).status, 200, name)
      t.equal(up.received.at(-1)?.headers['idempotency-key'], undefined, name)
    }
  t.equal((await charges(100)).length, directions.length * 2)
})

t.test('guards read and mask translated requests and responses', async t => {
  const rules = '{ name: card, pattern: "\\\\d{4}-\\\\d{4}", do: mask, put: "[card]" }'
  const edit: Edits = [
    ...pipeline('ratelimit, format-bridge, guard-patterns'),
    ...formats.map(
      one => [`  ${one}: { streams:`, `  ${one}: { guard-patterns: { rules: [${rules}] }, streams:`] as const,
    ),
  ]
  const started = await open(t, edit)
  for (const { client, upstream } of directions)
    for (const stream of [false, true]) {
      const name = caseName({ client, upstream, stream })
      const [path, body] = askOf(client, `up-${upstream}`, stream, 'My card is 3333-4444.')
      const got = await started.post(path, body)
      const text = await got.text()
      const sent = started.upstream.received.at(-1)?.body.toString() ?? ''
      t.match([got.status, text], [200, /\[card\]/], name)
      t.notMatch(text, /1111-2222/, name)
      t.match(sent, /My card is \[card\]/, name)
      t.notMatch(sent, /3333/, name)
    }
})

const image = png(4, 4).toString('base64')

t.test('requests for pictures are refused; unrequested pictures are delivered, or are an error', async t => {
  const started = await open(t)
  const { says, upstream: up } = started
  for (const { client, upstream, more } of [
    ...formats
      .slice(1)
      .map(upstream => ({ client: 'chat', upstream, more: { modalities: ['text', 'image'] } }) as const),
    ...formats
      .slice(0, 3)
      .map(
        upstream =>
          ({ client: 'generate', upstream, more: { generationConfig: { responseModalities: ['IMAGE'] } } }) as const,
      ),
    ...(['chat', 'messages', 'generate'] as const).map(
      upstream => ({ client: 'responses', upstream, more: { tools: [{ type: 'image_generation' }] } }) as const,
    ),
  ]) {
    const name = caseName({ client, upstream })
    const got = await says(client, upstream, more)
    t.equal(got.status, 400, `${name}: ${got.text}`)
    t.match(JSON.parse(got.text), errors[client], name)
  }
  t.equal(up.received.length, 0)

  const shown: Answer = {
    ...answer,
    parts: [
      { kind: 'text', text: 'Here.' },
      { kind: 'media', media: 'image', mime: 'image/png', source: { kind: 'bytes', base64: image } },
    ],
  }
  serve(started, shown)
  for (const upstream of ['chat', 'generate'] as const)
    for (const client of formats.filter(one => one !== upstream))
      for (const stream of [false, true]) {
        const name = caseName({ client, upstream, stream })
        const [path, body] = askOf(client, `up-${upstream}`, stream)
        const got = await started.post(path, body)
        const text = await got.text()
        // A message cannot carry a picture.
        if (client === 'messages') t.match(text, /"error"/, name)
        else for (const part of ['Here.', image]) t.ok(text.includes(part), name, { text })
      }
})

t.test('responses on a WebSocket are translated, and the connection keeps the conversation', async t => {
  const started = await open(t, [
    [
      '  - { match: POST /v1/responses, operation: responses, dialect: openai }',
      '  - { match: POST /v1/responses, operation: responses, dialect: openai }\n  - { match: GET /v1/responses, operation: responses, dialect: openai, session: { each: POST /v1/responses } }',
    ],
  ])
  const talk = await openTalk(t, `${started.url}/v1/responses`, started.key)
  for (const upstream of formats.filter(one => one !== 'responses')) {
    const create = { type: 'response.create', model: `up-${upstream}`, store: false }
    talk.send({ ...create, input: 'first' })
    const first = (await talk.next('response.completed')) as unknown as { response: { id: string; output: unknown } }
    t.match(JSON.stringify(first.response.output), /1111-2222/, upstream)
    talk.send({ ...create, input: 'second', previous_response_id: first.response.id })
    await talk.next('response.completed')
    const sent = started.upstream.received.at(-1)?.body.toString() ?? ''
    for (const part of ['first', '1111-2222', 'second']) t.ok(sent.includes(part), `${upstream}: ${part} of ${sent}`)
    talk.send({ ...create, input: 'third', previous_response_id: 'resp_other', store: true })
    t.match(await talk.next('error'), { status: 400, error: { code: 'not_translatable' } }, upstream)
  }
  talk.socket.close()
  await talk.closed
})

t.test('token counts and model lists are served in each accepted format, and call no upstream', async t => {
  const started = await open(t, [
    [
      '  - { match: POST /v1/responses, operation: responses, dialect: openai }',
      `  - { match: POST /v1/responses, operation: responses, dialect: openai }
  - { match: POST /v1/responses/input_tokens, operation: responses.tokens, dialect: openai }
  - { match: POST /v1/messages/count_tokens, operation: messages.count, dialect: anthropic }
  - { match: "POST /v1beta/models/{model}:countTokens", operation: generate.count, dialect: google }
  - { match: GET /v1/models, operation: models.list, dialect: by-caller, serve: models }
  - { match: GET /v1beta/models, operation: models.list, dialect: by-caller, serve: models }`,
    ],
  ])
  const counts = {
    responses: ['/v1/responses/input_tokens', 'input_tokens'],
    messages: ['/v1/messages/count_tokens', 'input_tokens'],
    generate: ['countTokens', 'totalTokens'],
  } as const
  for (const client of ['responses', 'messages', 'generate'] as const)
    for (const upstream of formats.filter(one => one !== client)) {
      const name = caseName({ client, upstream })
      const [own, member] = counts[client]
      const [, body] = askOf(client, `up-${upstream}`, false, 'How many tokens has this?')
      const path = client === 'generate' ? `/v1beta/models/up-${upstream}:${own}` : own
      const got = await started.post(path, { ...body, max_tokens: undefined, store: undefined, stream: undefined })
      const counted = (await got.json()) as { [member: string]: number }
      t.equal(got.status, 200, `${name}: ${JSON.stringify(counted)}`)
      t.ok((counted[member] ?? 0) > 5 && (counted[member] ?? 0) < 30, `${name}: ${counted[member]}`)
      t.equal(got.headers.get('x-tollgate-estimate'), member, name)
    }
  t.equal(started.upstream.received.length, 0)
  t.equal((await started.charges()).length, 0)

  const list = async (path: string, headers: Record<string, string>) => (await started.get(path, headers)).json()
  const names = formats.map(format => `up-${format}`)
  t.match(await list('/v1/models', {}), { object: 'list', data: names.map(id => ({ id, object: 'model' })) })
  t.match(await list('/v1/models', { 'anthropic-version': '2023-06-01' }), {
    data: names.map(id => ({ id, type: 'model' })),
    has_more: false,
  })
  t.match(await list('/v1beta/models', { 'x-goog-api-key': started.key }), {
    models: names.map(name => ({ name: `models/${name}`, supportedGenerationMethods: ['generateContent'] })),
  })
})

t.test("the gateway's own marks for a vendor's cache require a price", async t => {
  const auto: Edits = [
    [
      'messages: { all: true } }, token-usage: { unpriced: parent }, format-bridge: {} }',
      'messages: { all: true } }, token-usage: { unpriced: parent }, format-bridge: { prompt_cache: auto } }',
    ],
  ]
  const warned = ({ warnings = [] }: Started['plan']) => warnings.filter(text => text.includes('cache_write'))
  t.same(warned((await startFour(t)).plan), [])
  const started = await startFour(t, auto)
  t.match(warned(started.plan), [/'up-messages' gets prompts with cache marks, but has no price for cache_write/])
  await started.reload([
    [
      'up-messages: { family: messages, upstream: up, accepts: [chat, responses, generate], prices: {',
      'up-messages: { family: messages, upstream: up, accepts: [chat, responses, generate], prices: { cache_write: "1.25",',
    ],
  ])
  t.same(warned(started.gateway.plan), [])
})
