import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { type Started, start } from '../harness/start.ts'
import type { Reaction, Upstream } from '../harness/upstream.ts'

const three = ['text', 'two', 'three'] as const
const edit = [
  ['upstreams:\n', 'upstreams:\n  two: { url: "${TWO_URL}" }\n  three: { url: "${THREE_URL}" }\n'],
  [/default: { rpm: 60, tpm: 500000, concurrency: 32 }/, 'default: { rpm: 60000, tpm: 500000000 }'],
  [
    'sim-chat: { family: chat, upstream: text,',
    'sim-chat: { family: chat, upstreams: [{ upstream: text }, { upstream: two }, { upstream: three }],',
  ],
] as const

let made = 0
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }

/** An upstream that stores responses, and knows only its own. */
function keeping(name: string): Reaction {
  const kept = new Map<string, object>()
  return (res, { method, url, body }) => {
    const say = (status: number, value: object): void =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const id = /^\/v1\/responses\/([^/?]+)/.exec(url)?.[1]
    const request: { previous_response_id?: string; stream?: boolean } = id ? {} : JSON.parse(body.toString())
    const before = id ?? request.previous_response_id
    if (before !== undefined && !kept.has(before)) return say(404, { error: { code: 'previous_response_not_found' } })
    if (id) {
      const found = kept.get(id)
      if (method === 'DELETE') kept.delete(id)
      return say(200, { ...found, id })
    }
    const output = [{ id: `msg_${name}_${++made}`, type: 'message', content: [] }]
    const answer = { id: `resp_${name}_${made}`, object: 'response', status: 'completed', output, usage }
    kept.set(answer.id, answer)
    if (request.stream !== true) return say(200, answer)
    const events = [
      { type: 'response.created', response: { ...answer, output: [], usage: null } },
      { type: 'response.output_item.added', item: output[0] },
      { type: 'response.completed', response: answer },
    ]
    const text = events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    return void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
  }
}

async function open(t: Test): Promise<Started & { readonly list: readonly Upstream[]; readonly other: OpenAI }> {
  const started = await start(t, { upstreams: ['alpha', 'beta', ...three], edit })
  for (const name of three) (started.upstreams[name] as Upstream).answer(keeping(name))
  const { key } = await started.newKey({ name: 'other' })
  const other = new OpenAI({ baseURL: `${started.url}/v1`, apiKey: key, maxRetries: 0 })
  return { ...started, list: three.map(name => started.upstreams[name] as Upstream), other }
}

/** The error of a refused call; undefined if it succeeds. */
const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

const ask = { model: 'sim-chat', input: 'hi' } as const

t.test('sends every follow-up of 200 conversations to the upstream that has the first response', async t => {
  const { openai, list } = await open(t)
  const places = new Set<string>()
  for (let i = 0; i < 200; i++) {
    const isStream = i % 2 === 1
    let id = ''
    if (isStream)
      for await (const event of await openai.responses.create({ ...ask, stream: true }))
        if (event.type === 'response.created') id = event.response.id
    if (!isStream) ({ id } = await openai.responses.create(ask))
    places.add(id.split('_')[1] as string)
    const next = await openai.responses.create({ ...ask, previous_response_id: id })
    t.equal(next.id.split('_')[1], id.split('_')[1], `follow-up ${i}`)
  }
  t.equal(places.size, 3, 'all upstreams took part')
  // One of them fails from now on: no other upstream is called for its responses.
  const answers = await Promise.all(Array.from({ length: 30 }, () => openai.responses.create(ask)))
  const [, two] = list as [Upstream, Upstream, Upstream]
  two.answer(res => void res.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{}}'))
  let wrong = 0
  for (const { id } of answers) {
    const at = id.split('_')[1]
    const failed = await openai.responses.create({ ...ask, previous_response_id: id }).then(
      next => (next.id.split('_')[1] === at ? 0 : 1),
      (error: InstanceType<typeof OpenAI.APIError>) => (at === 'two' && error.status === 503 ? 0 : 1),
    )
    wrong += failed
  }
  t.equal(wrong, 0, 'follow-ups at the wrong upstream')
})

t.test('fetches a response, lists its input and deletes it at its upstream, free of charge', async t => {
  const { openai, post, get, charges, gateway } = await open(t)
  const made = await openai.responses.create(ask)
  t.match(await openai.responses.retrieve(made.id), { id: made.id, usage })
  t.equal((await get(`/v1/responses/${made.id}/input_items`)).status, 200)
  t.equal((await post(`/v1/responses/${made.id}/cancel`, '', { 'content-type': '' })).status, 200)
  t.equal((await charges()).length, 1, 'only the answer is charged')
  await openai.responses.delete(made.id)
  t.match(await refusalOf(openai.responses.retrieve(made.id)), { status: 404, code: 'object_not_found' })
  t.match(await refusalOf(openai.responses.create({ ...ask, previous_response_id: made.id })), { status: 404 })
  t.match(gateway.open, 0)
})

t.test('refuses 40 attempts to reach the response of another key without calling an upstream', async t => {
  const { openai, other, list, url, newKey } = await open(t)
  const mine = await openai.responses.create(ask)
  const item = mine.output[0]?.id as string
  const countCalls = () => list.reduce((sum, { received }) => sum + received.length, 0)
  const before = countCalls()
  const { key } = await newKey({ name: 'third' })
  const send = (method: string, path: string, body?: unknown) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  const escaped = mine.id.replace('r', '\\u0072')
  const bodies: unknown[] = [
    { ...ask, previous_response_id: mine.id },
    { ...ask, previous_response_id: mine.id, stream: true },
    { ...ask, previous_response_id: mine.id, store: false },
    `{"model":"sim-chat","input":"hi","previous_response_id":"${escaped}"}`,
    `{"model":"sim-chat","input":"hi","previous\\u005fresponse_id":"${mine.id}"}`,
    { ...ask, previousResponseId: mine.id },
    { model: 'sim-chat', input: [{ type: 'item_reference', id: item }] },
    { model: 'sim-chat', input: [{ id: item, type: 'item_reference' }] },
    { model: 'sim-chat', input: [{ id: item }] },
    { model: 'sim-chat', input: [{ type: null, id: item }] },
    { model: 'sim-chat', input: [{ type: 'item_reference', id: item, is: 'x', text: 'y', tool: 'z' }] },
    `{"model":"sim-chat","input":[{"type":"item_reference","id":"x","id":"${item}"}]}`,
    { ...ask, tools: [{ type: 'web_search', container: { id: 'cntr_1' } }] },
    { ...ask, container: { id: 'cntr_1' } },
    `{"model":"sim-chat","input":[{"type":"item\\u005freference","id":"${item}"}]}`,
    { ...ask, conversation: 'conv_1' },
    { ...ask, conversation: { id: 'conv_1' } },
    { model: 'sim-chat', input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
    { model: 'sim-chat', input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
    {
      model: 'sim-chat',
      input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: 'file-1' }] }],
    },
    { model: 'sim-chat', input: 'x', prompt: { id: 'p', variables: { x: { type: 'input_file', file_id: 'file-1' } } } },
    { ...ask, tools: [{ type: 'web_search', container: 'cntr_1' }] },
    { ...ask, tools: [{ type: 'web_search', container: { type: 'auto', file_ids: ['file-1'] } }] },
    { ...ask, tools: [{ type: 'web_search', vector_store_ids: ['vs_1'] }] },
  ]
  let tries = 0
  for (const path of ['/v1/responses', '/responses'])
    for (const body of bodies) {
      const response = await send('POST', path, body)
      t.equal(response.status, 404, caseName({ body: JSON.stringify(body).slice(0, 120) }))
      t.match(await response.json(), { error: { code: 'object_not_found' } }, caseName({ path }))
      tries++
    }
  for (const [method, path] of [
    ['GET', `/v1/responses/${mine.id}`],
    ['GET', `/v1/responses/${mine.id}?stream=true`],
    ['GET', `/responses/${mine.id}`],
    ['GET', `/v1/responses/${mine.id}/input_items`],
    ['DELETE', `/v1/responses/${mine.id}`],
    ['POST', `/v1/responses/${mine.id}/cancel`],
    ['GET', `/v1/responses/${encodeURIComponent(`x/../${mine.id}`)}`],
    ['GET', `/v1/responses/${mine.id}%2Finput_items`],
  ] as const) {
    const response = await send(method, path)
    t.ok([404, 400].includes(response.status), caseName({ method, path, status: response.status }))
    await response.text()
    tries++
  }
  t.match(await refusalOf(other.responses.retrieve(mine.id)), { status: 404 })
  t.ok(tries >= 40, `${tries} attempts`)
  t.equal(countCalls(), before, 'no upstream saw one of them')
  t.match(await openai.responses.retrieve(mine.id), { id: mine.id }, 'its owner still reaches it')
})

t.test('records an id of up to 1,024 bytes', async t => {
  const { upstreams, post, get } = await start(t)
  for (const length of [200, 255, 300, 1024]) {
    const id = `resp_${'a'.repeat(length - 5)}`
    upstreams['text']?.answer({ id, object: 'response', status: 'completed', output: [], usage: {} })
    t.equal((await post('/v1/responses', ask)).status, 200, caseName({ length }))
    t.equal((await post('/v1/responses', { ...ask, previous_response_id: id })).status, 200, caseName({ length }))
    t.equal((await get(`/v1/responses/${id}`)).status, 200, caseName({ length }))
  }
})

t.test('ignores ids in client tools, and lets every key use shared objects', async t => {
  const { post, list, reload } = await open(t)
  const call = { type: 'function_call', call_id: 'c', name: 'open', arguments: '{"file_id":"mine"}' }
  const tool = {
    type: 'function',
    name: 'open',
    parameters: { type: 'object', properties: { file_id: { type: 'string' } } },
  }
  const own = {
    model: 'sim-chat',
    input: [call, { type: 'function_call_output', call_id: 'c', output: 'file_id: x' }],
    tools: [tool],
    metadata: { file_id: 'x', conversation: 'y' },
  }
  t.equal((await post('/v1/responses', own)).status, 200)
  const messages = { model: 'sim-chat', messages: [{ role: 'user', content: 'conversation' }] }
  t.equal((await post('/v1/chat/completions', messages)).status, 200)
  const store = { ...ask, tools: [{ type: 'web_search', vector_store_ids: ['vs_team'] }] }
  t.equal((await post('/v1/responses', store)).status, 404)
  await reload([['  chat:\n', '  chat:\n    shared_objects: ["vs_*"]\n']])
  t.equal((await post('/v1/responses', store)).status, 200)
  t.ok(list.some(({ received }) => received.length > 0))
})

t.test('stores objects before it sends their ids, and finds them after a restart', async t => {
  const first = await open(t)
  const made = await first.openai.responses.create(ask)
  const again = await first.reopen()
  const openai = new OpenAI({ baseURL: `${again.url}/v1`, apiKey: first.key, maxRetries: 0 })
  t.match(await openai.responses.retrieve(made.id), { id: made.id })
  const kept = await again.gateway.storage.objects.list({ limit: 10 })
  t.match(kept, [{ id: made.id, kind: 'response', model: 'sim-chat', keyId: first.keyId, vendorKey: null }])
  t.equal((await openai.responses.create({ ...ask, store: false })).object, 'response')
  t.equal((await again.gateway.storage.objects.list({ limit: 10 })).length, 1, 'store: false keeps nothing')
})

t.test('sends a follow-up with the vendor key that made the object, even while that key is limited', async t => {
  const started = await start(t, {
    env: { K1: 'one', K2: 'two' },
    edit: [
      [
        'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }',
        'credential: { header: authorization, value: "Bearer {key}" }\n    keys: { a: { value: "${K1}" }, b: { value: "${K2}" } }',
      ],
    ],
  })
  const { openai, upstreams, reload } = started
  const text = upstreams['text'] as Upstream
  const byKey = new Map(['Bearer one', 'Bearer two'].map(key => [key, keeping(key.replace('Bearer ', ''))]))
  text.answer((res, received, req) => byKey.get(String(received.headers.authorization))?.(res, received, req))
  const made = []
  for (let i = 0; i < 12; i++) made.push(await openai.responses.create(ask))
  t.equal(new Set(made.map(({ id }) => id.split('_')[1])).size, 2, 'both keys were used')
  for (const { id } of made) {
    const next = await openai.responses.create({ ...ask, previous_response_id: id })
    t.equal(next.id.split('_')[1], id.split('_')[1], id)
    t.match(await openai.responses.retrieve(id), { id }, id)
  }
  await reload([['a: { value: "${K1}" }', 'a: { value: "${K1}", weight: 0 }']])
  const old = made.find(({ id }) => id.startsWith('resp_one')) as (typeof made)[number]
  t.match(
    await openai.responses.retrieve(old.id),
    { id: old.id },
    'a key that gets nothing new still serves its objects',
  )
  byKey.set('Bearer one', res => void res.writeHead(429, { 'retry-after': '60' }).end('{"error":{}}'))
  const before = text.received.length
  t.match(await refusalOf(openai.responses.create({ ...ask, previous_response_id: old.id })), { status: 429 })
  t.ok(text.received.slice(before).every(({ headers }) => headers.authorization === 'Bearer one'))
  const two = made.find(({ id }) => id.startsWith('resp_two')) as (typeof made)[number]
  const both = {
    ...ask,
    previous_response_id: old.id,
    input: [{ type: 'item_reference' as const, id: two.output[0]?.id as string }],
  }
  t.match(await refusalOf(openai.responses.create(both)), { status: 400, code: 'objects_apart' })
})

t.test('withholds an id whose object cannot be recorded', async t => {
  const { post, folder } = await open(t)
  const db = new DatabaseSync(join(folder, 'tollgate.db'), { timeout: 5_000 })
  t.teardown(() => db.close())
  db.exec(`CREATE TRIGGER full BEFORE INSERT ON stored_object BEGIN SELECT RAISE(ABORT, 'no room'); END`)
  const whole = await post('/v1/responses', ask)
  t.equal(whole.status, 503)
  const refusal = await whole.text()
  t.match(JSON.parse(refusal), { error: { code: 'object_not_recorded' } })
  t.notMatch(refusal, /resp_/)
  const stream = await post('/v1/responses', { ...ask, stream: true })
  const events = await stream.text().catch(() => '')
  t.notMatch(events, /resp_(?:text|two|three)_/)
  db.exec('DROP TRIGGER full')
  t.equal((await post('/v1/responses', ask)).status, 200)
})
