import { once } from 'node:events'
import { request } from 'node:http'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { showObject } from '../../src/domain/show-objects.ts'
import { caseName } from '../harness/case-name.ts'
import { type Started, start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'

const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

async function open(t: Test, edit: Parameters<typeof start>[1] = {}): Promise<Started & { readonly other: OpenAI }> {
  const wide = [/default: { rpm: 60, tpm: 500000, concurrency: 32 }/, 'default: { rpm: 60000 }'] as const
  const started = await start(t, { simulated: true, ...edit, edit: [wide, ...(edit.edit ?? [])] })
  const { key } = await started.newKey({ name: 'other' })
  return { ...started, other: new OpenAI({ baseURL: `${started.url}/v1`, apiKey: key, maxRetries: 0 }) }
}

const upload = async (client: OpenAI, text = 'hello', name = 'a.txt') =>
  client.files.create({ file: await toFile(Buffer.from(text), name), purpose: 'user_data' })

t.test('lets only its key look up, download, use, list and delete an uploaded file', async t => {
  const { openai, other, charges } = await open(t)
  const [one, two] = [await upload(openai), await upload(openai, 'second', 'b.txt')]
  t.match(one, { object: 'file', bytes: 5, filename: 'a.txt' })
  t.match(await openai.files.retrieve(one.id), { id: one.id })
  t.equal(await (await openai.files.content(one.id)).text(), 'hello')
  t.same(new Set((await openai.files.list()).data.map(({ id }) => id)), new Set([one.id, two.id]))
  t.same((await other.files.list()).data, [], 'another key has none')
  const page = await openai.files.list({ limit: 1, order: 'asc' })
  t.equal(page.data.length, 1)
  t.equal((await page.getNextPage()).data.length, 1, 'the second page')
  const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: one.id }] }]
  t.match(await openai.responses.create({ model: 'sim-chat', input }), { object: 'response' })
  t.match(await refusalOf(other.responses.create({ model: 'sim-chat', input })), {
    status: 404,
    code: 'object_not_found',
  })
  t.match(await openai.files.delete(one.id), { deleted: true })
  t.match(await refusalOf(openai.files.retrieve(one.id)), { status: 404 })
  t.match(await refusalOf(openai.responses.create({ model: 'sim-chat', input })), { status: 404 })
  t.same(
    (await openai.files.list()).data.map(({ id }) => id),
    [two.id],
  )
  t.equal((await charges()).length, 1, 'only the answer is charged')
})

t.test('ends the record of a deleted file that the upstream does not have any more', async t => {
  const group = 'default: { rpm: 60000, stored_objects: { max: 1 } }'
  const { openai, upstreams } = await open(t, {
    simulated: false,
    edit: [
      ['default: { rpm: 60000 }', group],
      ['${TEXT_URL:-simulator:text}', '${ALPHA_URL}'],
    ],
  })
  const alpha = upstreams['alpha'] as Upstream
  for (const [status, kept] of [
    [404, false],
    [410, false],
    [403, true],
    [500, true],
  ] as const) {
    const id = `file-${status}`
    alpha.answerOnce({ id, object: 'file', bytes: 5 })
    await upload(openai)
    t.match(await refusalOf(upload(openai)), { status: 429, code: 'objects_full' }, caseName({ status }))
    alpha.answerOnce(res => void res.writeHead(status, { 'content-type': 'application/json' }).end('{}'))
    t.match(await refusalOf(openai.files.delete(id)), { status }, caseName({ status }))
    t.equal((await openai.files.list()).data.length, Number(kept), caseName({ status, kept }))
    if (!kept) continue
    alpha.answerOnce({ id, deleted: true })
    await openai.files.delete(id)
  }
})

t.test('lists objects with an expiry that no calendar has', async t => {
  const { openai, upstreams, gateway } = await open(t, {
    simulated: false,
    edit: [['${TEXT_URL:-simulator:text}', '${ALPHA_URL}']],
  })
  for (const [id, expires_at] of [
    ['file-far', 9_000_000_000_000],
    ['file-year', '+275760-09-13T00:00:00.001Z'],
    ['file-last', 8_640_000_000_000],
  ] as const) {
    upstreams['alpha']?.answerOnce({ id, object: 'file', bytes: 5, expires_at })
    await upload(openai)
  }
  const objects = await gateway.storage.objects.list({ limit: 10 })
  t.same(Object.fromEntries(objects.map(showObject).map(({ id, expires }) => [id, expires])), {
    'file-far': null,
    'file-year': null,
    'file-last': '+275760-09-13T00:00:00.000Z',
  })
})

t.test('lets only its key continue, update, list and delete a conversation', async t => {
  const { openai, other, post } = await open(t)
  const made = await openai.conversations.create({ items: [{ role: 'user', content: 'hi' }], metadata: { a: 'b' } })
  t.match(made, { object: 'conversation', metadata: { a: 'b' } })
  t.match(await openai.conversations.retrieve(made.id), { id: made.id })
  t.match(await openai.conversations.update(made.id, { metadata: { a: 'c' } }), { metadata: { a: 'c' } })
  t.equal((await openai.conversations.items.list(made.id)).data.length, 1)
  const added = await post(`/v1/conversations/${made.id}/items`, { items: [{ role: 'user', content: 'more' }] })
  t.equal(added.status, 200)
  const [first, second] = (await openai.conversations.items.list(made.id)).data.map(({ id }) => id ?? '') as [
    string,
    string,
  ]
  const of = { conversation_id: made.id }
  t.match(await openai.conversations.items.retrieve(second, of), { id: second, content: 'more' })
  t.match(await refusalOf(other.conversations.items.delete(second, of)), { status: 404, code: 'object_not_found' })
  t.match(await refusalOf(openai.conversations.items.retrieve('msg_none', of)), { status: 404 })
  t.match(await openai.conversations.items.delete(second, of), { id: made.id, object: 'conversation' })
  t.strictSame(
    (await openai.conversations.items.list(made.id)).data.map(({ id }) => id),
    [first],
  )
  t.match(await refusalOf(openai.conversations.items.retrieve(second, of)), { status: 404 }, 'the item is deleted')
  t.match(await openai.responses.create({ model: 'sim-chat', input: 'x', conversation: made.id }), {
    object: 'response',
  })
  t.match(await openai.responses.create({ model: 'sim-chat', input: 'x', conversation: { id: made.id } }), {
    object: 'response',
  })
  const foreign = { model: 'sim-chat', input: 'x', conversation: { id: made.id } }
  t.match(await refusalOf(other.responses.create(foreign)), { status: 404, code: 'object_not_found' })
  await openai.conversations.delete(made.id)
  t.match(await refusalOf(openai.conversations.retrieve(made.id)), { status: 404 })
})

t.test('refuses 40 attempts to reach the file and the conversation of another key', async t => {
  const { openai, url, newKey } = await open(t)
  const items = [{ role: 'user', content: 'hi' } as const]
  const [file, conversation] = [await upload(openai), await openai.conversations.create({ items })]
  const [item] = (await openai.conversations.items.list(conversation.id)).data.map(({ id }) => id)
  const { key } = await newKey({ name: 'third' })
  const ask = (method: string, path: string, body?: object) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  let tries = 0
  for (const prefix of ['/v1', '/v1/v1', ''])
    for (const [method, path, body] of [
      ['GET', `/files/${file.id}`],
      ['GET', `/files/${file.id}/content`],
      ['DELETE', `/files/${file.id}`],
      ['GET', `/files/${encodeURIComponent(file.id)}%2Fcontent`],
      ['GET', `/conversations/${conversation.id}`],
      ['POST', `/conversations/${conversation.id}`, { metadata: {} }],
      ['POST', `/conversations/${conversation.id}/items`, { items: [] }],
      ['GET', `/conversations/${conversation.id}/items`],
      ['GET', `/conversations/${conversation.id}/items/${item}`],
      ['DELETE', `/conversations/${conversation.id}/items/${item}`],
      ['DELETE', `/conversations/${conversation.id}`],
      ['POST', '/conversations', { items: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }] }],
      ['POST', '/responses', { model: 'sim-chat', input: 'x', conversation: conversation.id }],
      [
        'POST',
        '/responses',
        { model: 'sim-chat', input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }] },
      ],
      ['POST', '/responses/input_tokens', { model: 'sim-chat', input: 'x', conversation: conversation.id }],
      [
        'POST',
        '/chat/completions',
        { model: 'sim-chat', messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: file.id } }] }] },
      ],
    ] as const) {
      const response = await ask(method, prefix + path, body)
      t.match(await response.json(), { error: { code: 'object_not_found' } }, caseName({ method, path: prefix + path }))
      t.equal(response.status, 404, caseName({ method, path: prefix + path }))
      tries++
    }
  t.ok(tries >= 40, `${tries} attempts`)
  t.match(await openai.files.retrieve(file.id), { id: file.id }, 'its owner still reaches it')
  t.match(await openai.conversations.retrieve(conversation.id), { id: conversation.id })
  t.equal((await openai.conversations.items.list(conversation.id)).data.length, 1, 'with its item')
})

t.test('an item of a conversation does not lead to objects of another key', async t => {
  const { openai, upstreams, url, newKey, key } = await start(t)
  const text = upstreams['text'] as Upstream
  text.answer((res, { url: path }) => {
    const id = path.startsWith('/v1/files') ? 'file-1' : 'conv_1'
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id, object: 'x' }))
  })
  await upload(openai)
  const other = (await newKey()).key
  const ask = (secret: string, method: string, path: string) =>
    fetch(url + path, { method, headers: { authorization: `Bearer ${secret}` } })
  await fetch(`${url}/v1/conversations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${other}`, 'content-type': 'application/json' },
    body: '{}',
  })
  const sent = text.received.length
  for (const method of ['GET', 'DELETE'])
    for (const item of ['..%2F..%2F..%2Ffiles%2Ffile-1', '%2e%2e%2f%2e%2e%2f%2e%2e%2ffiles%2ffile-1', 'a%2F..%2F..']) {
      const answer = await ask(other, method, `/v1/conversations/conv_1/items/${item}`)
      t.match(String(answer.status), /^40[04]$/, caseName({ method, item }))
    }
  t.equal(text.received.length, sent, 'no request reached the upstream')
  t.equal((await ask(key, 'GET', '/v1/files/file-1')).status, 200)
})

t.test('streams an upload to the upstream without waiting for its end', async t => {
  const { url, key, upstreams, gateway } = await start(t)
  const text = upstreams['text'] as Upstream
  let seen = 0
  let began: () => void
  const first = new Promise<void>(resolve => (began = resolve))
  text.server.prependListener(
    'request',
    req =>
      void req.on('data', (chunk: Buffer) => {
        seen += chunk.length
        began()
      }),
  )
  text.answer({ id: 'file-1', object: 'file', bytes: 8 * 1024 * 1024 })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=x' }
  const req = request(`${url}/v1/files`, { method: 'POST', headers })
  const head =
    '--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
  req.write(head)
  req.write(Buffer.alloc(1024 * 1024, 1))
  await first
  t.ok(seen > 0, 'the upstream has some of it before the client has sent all')
  for (let i = 0; i < 7; i++) if (!req.write(Buffer.alloc(1024 * 1024, 1))) await once(req, 'drain')
  req.end('\r\n--x--\r\n')
  const [res] = (await once(req, 'response')) as [import('node:http').IncomingMessage]
  t.equal(res.statusCode, 200)
  res.resume()
  await once(res, 'end')
  t.equal(text.received[0]?.body.length, head.length + 8 * 1024 * 1024 + '\r\n--x--\r\n'.length)
  t.match(await gateway.storage.objects.list({ limit: 2 }), [{ id: 'file-1', kind: 'file', bytes: 8 * 1024 * 1024 }])
})

t.test(
  'limits the number and bytes of stored objects of each key, and refuses a body over the limit of the route',
  async t => {
    const { openai, other, reload, url, key } = await open(t, {
      edit: [['default: { rpm: 60000 }', 'default: { rpm: 60000, stored_objects: { max: 2 } }']],
    })
    const first = await upload(openai)
    await upload(openai)
    t.match(await refusalOf(upload(openai)), { status: 429, code: 'objects_full' })
    t.match(await refusalOf(openai.conversations.create({})), { status: 429 })
    t.match(await upload(other), { object: 'file' }, 'another key has a separate limit')
    await openai.files.delete(first.id)
    t.match(await upload(openai), { object: 'file' })
    await reload([['{ max: 2 }', '{ bytes: 12B }']])
    t.match(await refusalOf(upload(openai, 'more than is left')), { status: 429, code: 'objects_full' })
    await reload([[', body_max: 512MiB', ', body_max: 1KiB']])
    const form = new FormData()
    form.append('purpose', 'user_data')
    form.append('file', new Blob([new Uint8Array(4096)]), 'a')
    const large = await fetch(`${url}/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
    t.equal(large.status, 413)
  },
)

t.test('refuses in the API format of the client', async t => {
  const { post } = await open(t)
  const source = { type: 'file', file_id: 'file_1' }
  const messages = {
    model: 'sim-messages',
    max_tokens: 8,
    messages: [{ role: 'user', content: [{ type: 'document', source }] }],
  }
  const anthropic = await post('/v1/messages', messages)
  t.equal(anthropic.status, 404)
  t.match(await anthropic.json(), {
    type: 'error',
    error: { type: 'not_found_error', message: /file 'file_1' does not exist/ },
  })
  const contents = [{ parts: [{ fileData: { fileUri: 'https://example.com/v1beta/files/abc' } }] }]
  for (const body of [{ contents }, { contents: [{ parts: [{ text: 'hi' }] }], cachedContent: 'cachedContents/1' }]) {
    const google = await post('/v1beta/models/sim-generative:generateContent', body)
    t.equal(google.status, 404, caseName({ body: JSON.stringify(body) }))
    t.match(
      await google.json(),
      { error: { code: 404, status: 'NOT_FOUND' } },
      caseName({ body: JSON.stringify(body) }),
    )
  }
})

t.test('lets only its key use a container from a response, with and without streaming', async t => {
  const { post, newKey, upstreams, gateway } = await start(t, {
    edit: [
      ['"web_fetch_*", "tool_search_tool_*"]', '"web_fetch_*", "tool_search_tool_*", "code_execution_*"]'],
      [/(sim-messages: .*web_search: "10")/, '$1, code_execution: "1"'],
    ],
  })
  const text = upstreams['text'] as Upstream
  const usage = { input_tokens: 1, output_tokens: 1 }
  const own = { type: 'tool_use', id: 't', name: 'n', input: { container: { id: 'forged' } } }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [own], usage }
  text.answer((res, received) => {
    const { stream } = received.json()
    if (stream !== true) {
      const whole = { ...message, container: { expires_at: 'x', id: 'container_1' } }
      return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
    }
    const events = [
      { type: 'message_start', message: { ...message, content: [], container: null } },
      { type: 'content_block_start', index: 0, content_block: own },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', container: { id: 'container_2' } }, usage },
      { type: 'message_stop' },
    ]
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    return void res.end(events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
  })
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }]
  const ask = { model: 'sim-messages', max_tokens: 8, tools, messages: [{ role: 'user', content: 'hi' }] }
  for (const more of [{}, { stream: true }]) {
    const made = await post('/v1/messages', { ...ask, ...more })
    t.equal(made.status, 200, await made.text())
  }
  const { key } = await newKey({ name: 'other' })
  for (const container of ['container_1', 'container_2', { id: 'container_1', skills: [] }]) {
    t.equal((await post('/v1/messages', { ...ask, container })).status, 200, JSON.stringify(container))
    const other = await post('/v1/messages', { ...ask, container }, { authorization: `Bearer ${key}` })
    t.equal(other.status, 404, caseName({ container: JSON.stringify(container) }))
  }
  t.equal((await post('/v1/messages', { ...ask, container: 'forged' })).status, 404)
  t.equal((await gateway.storage.objects.list({ kind: 'container', limit: 9 })).length, 2)
})
