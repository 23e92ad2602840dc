import { readFile } from 'node:fs/promises'
import t from 'tap'
import { runCli } from '../harness/cli.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'
import type { Upstream } from '../harness/upstream.ts'

t.test('lists stored objects and deletes one while the gateway is running', async t => {
  const started = await start(t, { simulated: true })
  const { openai, keyId } = started
  const run = (...args: readonly string[]) => runCli(started, ...args)
  const made = await openai.responses.create({ model: 'sim-chat', input: 'hi' })
  await openai.conversations.create({})
  const listed = await run('objects', 'list', '--format', 'json')
  t.match(listed, { code: 0 })
  t.match(
    listed.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as object),
    [
      { kind: 'conversation', key_id: keyId, upstream: 'text', ended: null },
      { id: made.id, kind: 'response', key_id: keyId, model: 'sim-chat' },
    ],
  )
  t.match((await run('objects', 'list', '--kind', 'response')).stdout, new RegExp(made.id))
  t.notMatch((await run('objects', 'list', '--kind', 'file')).stdout, made.id)
  t.match(await run('objects', 'list', '--key', 'key_none'), { code: 0, stderr: /No stored object/ })
  t.match(await run('objects', 'end', made.id, '--reason', 'asked for'), { code: 0, stderr: /is ended/ })
  const refused = await openai.responses.retrieve(made.id).then(
    () => undefined,
    (error: unknown) => error,
  )
  t.match(refused, { status: 404, code: 'object_not_found' })
  t.match(await run('objects', 'end', made.id), { code: 1, stderr: /no stored object/ })
  const { trail } = started.gateway.storage
  t.match(await trail.list({ limit: 1 }), [{ action: 'object.end', subject: made.id, reason: 'asked for' }])
})

t.test('deletes an ended object at the upstream and vendor key that made it', async t => {
  const keys = 'keys: { a: { value: "${K1}" }, b: { value: "${K2}" } }'
  const edit = [
    [
      'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }',
      `credential: { header: authorization, value: "Bearer {key}" }\n    ${keys}`,
    ],
  ] as const
  const env = { K1: 'one', K2: 'two' }
  const started = await start(t, { edit, env })
  const { upstreams, keyId, gateway } = started
  const text = upstreams['text'] as Upstream
  const yaml = edit.reduce((all, [find, put]) => all.replace(find, () => put), await readFile('gateway.yaml', 'utf8'))
  const run = (...args: readonly string[]) => runCli({ ...started, yaml, env: { ...env, TEXT_URL: text.url } }, ...args)
  const base = {
    keyId,
    upstream: 'text',
    parent: null,
    requestId: 'req_1',
    bytes: 0,
    shown: null,
    createdAt: Date.now(),
  }
  const rest = { ...base, expiresAt: null, deletedAt: null }
  await gateway.storage.objects.put([
    { ...rest, id: 'resp_1', kind: 'response', vendorKey: 'b', model: 'sim-chat' },
    { ...rest, id: 'file_1', kind: 'file', vendorKey: 'a', model: 'sim-messages' },
    { ...rest, id: 'files/x', kind: 'file', vendorKey: 'a', model: 'sim-generative' },
    { ...rest, id: 'cntr_1', kind: 'container', vendorKey: 'a', model: 'sim-chat' },
    { ...rest, id: 'resp_2', kind: 'response', vendorKey: 'b', model: 'sim-chat' },
  ])
  text.answer({ deleted: true })
  for (const [id, method, path, secret, beta] of [
    ['resp_1', 'DELETE', '/v1/responses/resp_1', 'two', undefined],
    ['file_1', 'DELETE', '/v1/files/file_1', 'one', 'files-api-2025-04-14'],
    ['files/x', 'DELETE', '/v1beta/files/x', 'one', undefined],
  ] as const) {
    t.match(await run('objects', 'end', id), { code: 0, stderr: /no longer at upstream/ }, id)
    const sent = text.received.at(-1)
    t.match(sent, { method, url: path }, id)
    t.equal(sent?.headers.authorization, `Bearer ${secret}`, id)
    t.equal(sent?.headers['anthropic-beta'], beta, id)
  }
  const before = text.received.length
  t.match(await run('objects', 'end', 'cntr_1'), { code: 0, stderr: /no family of its models/ })
  t.equal(text.received.length, before, 'no request can delete it')
  text.answer(res => void res.writeHead(500).end('{}'))
  t.match(await run('objects', 'end', 'resp_2'), { code: 1, stderr: /is ended, but .* it answered 500/ })
  t.match(await gateway.storage.objects.find(keyId, [{ kind: 'response', id: 'resp_2' }]), [], 'the record ends anyway')
})

t.test('administrators page through objects in the API and end one, at its vendor too; others may not', async t => {
  const started = await start(t, { simulated: true })
  const { openai, keyId, gateway } = started
  const admin = await enterAsAdmin(started)
  const viewer = await enterAsUser(started, admin, 'vic', 'viewer')
  const made = await openai.responses.create({ model: 'sim-chat', input: 'hi' })
  const kept = await openai.responses.create({ model: 'sim-chat', input: 'hi' })
  await openai.conversations.create({})
  type Page = { objects: { id: string }[]; next: string | null }
  const list = async (query: string) => (await viewer.get(`/api/objects?${query}`)).body as Page
  const all = await list('')
  t.match(all, {
    objects: [{ kind: 'conversation', key_id: keyId, upstream: 'text', ended: null }, {}, {}],
    next: null,
  })
  const paged: object[] = []
  for (let next: string | null = ''; next !== null; ) {
    const page: Page = await list(`limit=1${next && `&before=${next}`}`)
    paged.push(...page.objects)
    next = page.next
  }
  t.same(paged, all.objects)
  t.equal((await list(`kind=response&key=${keyId}`)).objects.length, 2)
  t.same((await list('key=key_none')).objects, [])
  for (const query of ['kind=item', 'before=x', `before=${Buffer.from('[1,2]').toString('base64url')}`])
    t.match(await viewer.get(`/api/objects?${query}`), { status: 400, code: 'invalid' }, query)

  const body = { key: keyId, kind: 'response', id: made.id, reason: 'requested by its owner' }
  t.equal((await viewer.post('/api/objects/end', body)).status, 403)
  t.equal((await admin.post('/api/objects/end', { ...body, key: 'key_none' })).status, 404)
  t.equal((await admin.post('/api/objects/end', { ...body, reason: '' })).status, 400)
  const ended = await admin.post('/api/objects/end', body)
  t.match(ended, { status: 200, body: { object: { id: made.id, ended: String }, vendor: String } })
  t.match((ended.body as { vendor: string }).vendor, /^(?:deleted|gone)$/)
  t.equal((await admin.post('/api/objects/end', body)).status, 404, 'it is ended already')
  const one = await admin.post('/api/objects/end', { ...body, id: kept.id, keep: true })
  t.match(one, { status: 200, body: { vendor: 'kept', detail: null } })
  const refused = await openai.responses.retrieve(made.id).catch((error: unknown) => error)
  t.match(refused, { status: 404, code: 'object_not_found' })
  t.match(await gateway.storage.trail.list({ action: 'object', limit: 9 }), [
    { actor: 'root', subject: kept.id },
    { actor: 'root', subject: made.id, before: { key: keyId, kind: 'response' }, reason: body.reason },
  ])
})
