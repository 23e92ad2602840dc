import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { Answer } from '../../plugins/format-bridge/neutral/index.ts'
import type { Json } from '../../src/domain/index.ts'
import { explainRequest } from '../../src/gateway/explain.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { fourYaml, startFour, vendorAnswer } from '../harness/four-formats.ts'
import { HandTime } from '../harness/hand-time.ts'
import { type Edits, start, type Started } from '../harness/start.ts'
import { type Format, formats } from '../harness/translating.ts'
import { openTalk } from '../harness/web-socket.ts'

const secret = 'a-secret-of-at-least-32-characters-1'
const routes = '  - { match: POST /v1/responses, operation: responses, dialect: openai }\n'
const more = [
  ['GET /v1/responses/{id}', 'responses.get', ''],
  ['DELETE /v1/responses/{id}', 'responses.delete', ''],
  ['GET /v1/responses/{id}/input_items', 'responses.items', ''],
  ['POST /v1/responses/{id}/cancel', 'responses.cancel', ', body: none'],
  ['POST /v1/responses/input_tokens', 'responses.tokens', ''],
  ['GET /v1/responses', 'responses', ', session: { each: POST /v1/responses }'],
].map(([match, operation, rest]) => `  - { match: "${match}", operation: ${operation}, dialect: openai${rest} }\n`)

const keeping = (options: string): Edits => [
  ['format-bridge, token-usage]', `{ format-bridge: { responses: { ${options} } } }, token-usage]`],
  [routes, routes + more.join('')],
]

const answer = (text: string): Answer => ({
  parts: [
    { kind: 'text', text },
    { kind: 'call', id: 'call_1', name: 'look', arguments: '{"city":"Paris"}' },
  ],
  stop: { why: 'calls' },
  usage: { input: 30, output: 12 },
})

const ends: { readonly [format in Format]: string } = {
  chat: 'chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  generate: 'enerateContent',
}

/** The upstream numbers its answers. */
function serve({ upstream }: Started): void {
  upstream.answer((res, { url, body }) => {
    const format = formats.find(one => url.includes(ends[one])) ?? 'chat'
    const { records, whole } = vendorAnswer(format, answer(`answer ${upstream.received.length}`))
    const isStream = body.includes('"stream":true') || url.includes('streamGenerate')
    res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    res.end(isStream ? records.join('') : JSON.stringify(whole))
  })
}

async function open(t: Pick<Test, 'teardown'>, options = `secret: ${secret}`) {
  const started = await startFour(t, keeping(options))
  serve(started)
  return started
}

const result = { type: 'function_call_output', call_id: 'call_1', output: 'rain' } as const
const tools = [{ type: 'function' as const, name: 'look', parameters: { type: 'object' }, strict: false }]

const refusalOf = (call: Promise<unknown>): Promise<{ status?: number; code?: string }> =>
  call.then(
    () => ({}),
    (error: unknown) => error as { status: number; code: string },
  )

t.test('a conversation continues by the id of a response, on every upstream, streamed or not', async t => {
  const { openai, upstream: up, charges, gateway } = await open(t)
  for (const format of formats.filter(one => one !== 'responses'))
    for (const stream of [false, true]) {
      const name = caseName({ format, stream })
      const create = async (body: object): Promise<OpenAI.Responses.Response> => {
        const request = { model: `up-${format}`, tools, ...body }
        if (!stream) return openai.responses.create(request as never)
        return openai.responses.stream(request as never).finalResponse()
      }
      const first = await create({ input: 'What is the weather?', instructions: 'Be brief.' })
      t.match(first, { store: true, previous_response_id: null, status: 'completed' }, name)
      const second = await create({ input: [result], previous_response_id: first.id })
      t.match(second, { store: true, previous_response_id: first.id }, name)
      const wrong = { input: { role: 'user', content: 'And then?' }, previous_response_id: second.id }
      t.match(await refusalOf(create(wrong)), { status: 400, code: 'untranslatable_request' }, name)
      const third = await create({ input: 'And now?', previous_response_id: second.id, store: false })
      t.match(third, { store: false, previous_response_id: second.id }, name)
      const sent = up.received.at(-1)?.body.toString() ?? ''
      const places = ['What is the weather?', first.output_text, 'rain', second.output_text, 'And now?'].map(part =>
        sent.indexOf(part),
      )
      t.ok(!places.includes(-1), `${name}: ${places.join(' ')} in ${sent}`)
      t.same(
        places,
        [...places].sort((a, b) => a - b),
        `${name}: in order`,
      )
      t.notOk(sent.includes('Be brief.'), `${name}: instructions are those of one request`)
      t.notOk(/previous_response_id|"store"/.test(sent), name)
      const idsOf = ({ output }: OpenAI.Responses.Response) => output.map(({ id }) => id)
      t.same(idsOf(await openai.responses.retrieve(first.id)), idsOf(first), name)
      t.match(await refusalOf(openai.responses.retrieve(third.id)), { status: 404 }, `${name}: not stored`)
    }
  t.equal((await charges(100)).length, 18, 'stored responses cost nothing')
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('only their key can get, list and delete responses, which are encrypted in the storage', async t => {
  const started = await open(t)
  const { openai, url, newKey, folder } = started
  const { key } = await newKey()
  const other = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  const ask = { model: 'up-messages', input: 'a private question' } as const
  const { id } = await openai.responses.create(ask)
  const next = await openai.responses.create({ ...ask, input: 'next', previous_response_id: id })
  for (const [name, call] of [
    ['get', () => other.responses.retrieve(id)],
    ['items', () => other.responses.inputItems.list(id)],
    ['delete', () => other.responses.delete(id)],
    ['continue', () => other.responses.create({ ...ask, previous_response_id: id })],
    ['get an unknown one', () => openai.responses.retrieve('resp_unknown')],
    ['continue an unknown one', () => openai.responses.create({ ...ask, previous_response_id: 'resp_unknown' })],
  ] as const)
    t.match(await refusalOf(call()), { status: 404 }, name)
  const { data } = await openai.responses.inputItems.list(id)
  t.match(data, [{ role: 'user', content: 'a private question' }])
  t.match(await refusalOf(openai.responses.cancel(id)), { status: 400, code: 'kept_response_whole' })
  t.match(await refusalOf(openai.responses.retrieve(id, { stream: true })), { status: 400 })

  const database = new DatabaseSync(join(folder, 'tollgate.db'), { readOnly: true })
  const rows = () => JSON.stringify(database.prepare('SELECT * FROM stored_object').all())
  t.notMatch(rows(), /private|answer/)
  t.match(rows(), /v1\./)
  const [listed] = await started.gateway.storage.objects.list({ id, limit: 1 })
  t.match(listed, { kind: 'response', upstream: '', shown: null, model: 'up-messages' })

  await openai.responses.delete(id)
  t.match(await refusalOf(openai.responses.retrieve(id)), { status: 404 })
  t.match(
    await refusalOf(openai.responses.create({ ...ask, previous_response_id: next.id })),
    { status: 404, code: 'kept_response_unknown' },
    'a conversation needs all of its responses',
  )
  const content = database.prepare('SELECT shown FROM stored_object WHERE id = ?').get(id)
  t.equal(content?.['shown'], null, 'its content is deleted')
  database.close()
})

t.test('responses survive a restart and a change of the secret, and are unreadable without theirs', async t => {
  const started = await open(t)
  const ask = { model: 'up-chat', input: 'hi' } as const
  const { id } = await started.openai.responses.create(ask)
  const again = await started.reopen()
  const client = new OpenAI({ baseURL: `${again.url}/v1`, apiKey: started.key, maxRetries: 0 })
  const further = { ...ask, previous_response_id: id }
  t.equal((await client.responses.create(further)).previous_response_id, id)
  const other = `another-${secret}`
  await again.reload([[`secret: ${secret}`, `secret: ${other}`]])
  const calls = { create: () => client.responses.create(further), retrieve: () => client.responses.retrieve(id) }
  for (const [name, call] of Object.entries(calls))
    t.match(await refusalOf(call()), { status: 500, code: 'kept_response_unreadable' }, name)
  await again.reload([[`secret: ${other}`, `secret: ${other}, old_secrets: [${secret}]`]])
  const newer = await client.responses.create(further)
  t.equal(newer.previous_response_id, id)
  t.notMatch(JSON.stringify(again.gateway.plan.settings), secret, 'no secret is shown')
  await again.reload([[`responses: { secret: ${other}, old_secrets: [${secret}] }`, '']])
  t.match(await refusalOf(client.responses.create(further)), { status: 400, code: 'not_translatable' }, 'off')
  t.match(await refusalOf(client.responses.create({ ...ask, store: true })), { status: 400 }, 'off')
})

t.test('the memory for bodies limits conversations too', async t => {
  const edit = [...keeping(`secret: ${secret}`), ['drain_wait: 0s }', 'drain_wait: 0s, memory_max: 2MiB }']] as Edits
  const started = await startFour(t, edit)
  const { post, upstream } = started
  serve(started)
  const long = { model: 'up-chat', tools, input: 'long '.repeat(200_000) }
  const { id } = (await (await post('/v1/responses', long)).json()) as { id: string }
  const { whole } = vendorAnswer('chat', answer('slow'))
  const go = Promise.withResolvers<void>()
  upstream.answer(async res => {
    await go.promise
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
  })
  const next = () => post('/v1/responses', { model: 'up-chat', tools, input: [result], previous_response_id: id })
  const seen = upstream.received.length
  const first = next()
  while (upstream.received.length === seen) await new Promise(resolve => setTimeout(resolve, 10))
  const second = await next()
  t.equal(second.status, 503)
  t.equal(second.headers.get('retry-after'), '2')
  t.match(await second.json(), { error: { code: 'kept_conversations_full' } })
  go.resolve()
  t.equal((await first).status, 200)
  await started.settled()
  t.equal((await next()).status, 200, 'its memory is free again')
})

t.test('a response expires', async t => {
  const time = new HandTime()
  const started = await start(t, {
    yaml: fourYaml,
    edit: keeping(`secret: ${secret}, keep: 1h`),
    upstreams: ['up'],
    clock: { now: time.now, tick: time.tick },
  })
  serve(started)
  const { openai } = started
  const { id } = await openai.responses.create({ model: 'up-chat', input: 'hi' })
  t.equal((await openai.responses.retrieve(id)).id, id)
  time.ms += 3_600_001
  const refused = await refusalOf(openai.responses.create({ model: 'up-chat', input: 'hi', previous_response_id: id }))
  t.match(refused, { status: 404, code: 'kept_response_unknown' })
  t.match(await refusalOf(openai.responses.retrieve(id)), { status: 404 })
})

t.test('a response that fails or is cut is not stored', async t => {
  const started = await open(t)
  const { openai, upstream: up, gateway } = started
  const { records } = vendorAnswer('chat', answer('half'))
  up.answerOnce(res => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(records.slice(0, 2).join(''), () => res.destroy())
  })
  await refusalOf(openai.responses.stream({ model: 'up-chat', input: 'hi' }).finalResponse())
  up.answerOnce(
    res => void res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}'),
  )
  t.match(await refusalOf(openai.responses.create({ model: 'up-chat', input: 'hi' })), { status: 400 })
  t.same(await gateway.storage.objects.list({ limit: 10 }), [])
})

t.test('a response that cannot be stored ends with an error, and a stream that had begun is charged', async t => {
  const { openai, post, url, key, gateway, charges } = await open(t)
  gateway.storage.objects.put = () => Promise.reject(new Error('disk full'))
  const ask = { model: 'up-chat', input: 'hi' } as const
  const lost = { code: 'kept_response_lost' }
  t.match(await refusalOf(openai.responses.create(ask)), { status: 503, ...lost })
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  const stream = openai.responses.stream(ask).on('event', event => void events.push(event))
  t.match(await refusalOf(stream.finalResponse()), { message: /could not be stored/ })
  t.ok(
    events.some(({ type }) => type === 'response.output_text.delta'),
    'what was written before arrives',
  )
  const streamed = await (await post('/v1/responses', { ...ask, stream: true })).text()
  t.notMatch(streamed, /response\.completed/, 'the end is withheld')
  const [, last = ''] = /event: response\.failed\ndata: (.*)\n\n$/.exec(streamed) ?? []
  t.match(JSON.parse(last), { type: 'response.failed', response: { status: 'failed', error: lost } })
  const talk = await openTalk(t, `${url}/v1/responses`, key)
  talk.send({ type: 'response.create', ...ask, store: true })
  t.match(await talk.next('response.failed'), { response: { error: lost } })
  talk.socket.close()
  await talk.closed
  t.same(await refusalOf(openai.responses.create({ ...ask, store: false })), {}, 'one that is not stored arrives')
  const made = await charges(10)
  t.equal(made.length, 4, 'all but the whole one, of which the client has nothing')
  for (const [i, one] of made.entries())
    t.match(one, { state: 'settled', amount: made[0]?.amount ?? '' }, `charge ${i}`)
})

t.test('`explain` shows requests for stored responses as the gateway answers them', async t => {
  const { gateway, reload } = await open(t)
  const explain = (fields: { readonly [field: string]: Json }) =>
    explainRequest(gateway.plan, {
      operation: 'responses',
      model: 'up-chat',
      size: undefined,
      quality: undefined,
      n: undefined,
      fields: { input: 'hi', ...fields },
    })
  for (const fields of [{ store: true }, { previous_response_id: 'resp_1' }]) {
    const { operation, dropped, sent } = explain(fields)
    t.match([operation, dropped], ['chat', []], JSON.stringify(fields))
    t.notOk('store' in sent || 'previous_response_id' in sent, JSON.stringify(fields))
  }
  t.throws(() => explain({ background: true }), { code: 'not_translatable' }, 'other state is not kept')
  await reload([[`responses: { secret: ${secret} }`, '']])
  t.throws(() => explain({ store: true }), { code: 'not_translatable' }, 'off')
})

t.test('kept responses do not count toward the limit of stored objects', async t => {
  const edit: Edits = [
    ...keeping(`secret: ${secret}`),
    ['rpm: 60000', 'rpm: 60000, stored_objects: { max: 0, bytes: 1B }'],
  ]
  const started = await startFour(t, edit)
  serve(started)
  const { openai, gateway, keyId } = started
  const { id } = await openai.responses.create({ model: 'up-chat', input: 'hi' })
  t.equal((await openai.responses.retrieve(id)).id, id)
  t.same(await gateway.storage.objects.sizeOf(keyId), { count: 0, bytes: 0 })
})

t.test('token counts, sessions and other models of the key can use the conversation', async t => {
  const started = await open(t)
  const { openai, post } = started
  const long = 'a long question '.repeat(50)
  const { id } = await openai.responses.create({ model: 'up-chat', input: long })
  const count = async (body: object) => {
    const answer = await post('/v1/responses/input_tokens', { model: 'up-chat', input: 'hi', ...body })
    return ((await answer.json()) as { input_tokens: number }).input_tokens
  }
  t.ok((await count({ previous_response_id: id })) > (await count({})) + 150)
  const moved = await openai.responses.create({ model: 'up-generate', input: [result], previous_response_id: id })
  t.ok(started.upstream.received.at(-1)?.body.includes('a long question'))
  const talk = await openTalk(t, `${started.url}/v1/responses`, started.key)
  talk.send({
    type: 'response.create',
    model: 'up-messages',
    input: 'go on',
    store: true,
    previous_response_id: moved.id,
  })
  t.match(await talk.next('response.completed'), { response: { previous_response_id: moved.id, store: true } })
  t.ok(started.upstream.received.at(-1)?.body.includes('a long question'))
  talk.socket.close()
  await talk.closed
  // The upstream stores only its own responses, and knows none of these.
  const native = await refusalOf(
    openai.responses.create({ model: 'up-responses', input: 'hi', previous_response_id: id }),
  )
  t.match(native, { status: 400, code: 'object_elsewhere' })
})

t.test('the command line lists them and deletes them, with their content', async t => {
  const { openai, folder, settled } = await open(t)
  const { id } = await openai.responses.create({ model: 'up-chat', input: 'hi' })
  await settled()
  t.match((await runCli({ folder }, 'objects', 'list', '--kind', 'response')).stdout, id)
  const ended = await runCli({ folder }, 'objects', 'end', id, '--reason', 'requested')
  t.match([ended.code, ended.stdout + ended.stderr], [0, /is ended, and its content is deleted/])
  t.match(await refusalOf(openai.responses.retrieve(id)), { status: 404 })
})
