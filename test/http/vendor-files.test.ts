import Anthropic, { toFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { createKey, rotateKey } from '../../src/index.ts'
import { type Started, start } from '../harness/start.ts'

const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

type Clients = { readonly anthropic: Anthropic; readonly google: GoogleGenAI; readonly key: string }

async function open(
  t: Test,
  edit: NonNullable<Parameters<typeof start>[1]>['edit'] = [],
): Promise<Started & { readonly mine: Clients; readonly other: Clients }> {
  const wide = [/default: { rpm: 60, tpm: 500000, concurrency: 32 }/, 'default: { rpm: 60000 }'] as const
  const started = await start(t, { simulated: true, edit: [wide, ...edit] })
  const clientsOf = (key: string): Clients => ({
    key,
    anthropic: new Anthropic({ baseURL: started.url, apiKey: key, maxRetries: 0 }),
    google: new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: started.url } }),
  })
  const { key } = await started.newKey({ name: 'other' })
  return { ...started, mine: clientsOf(started.key), other: clientsOf(key) }
}

const betas = ['files-api-2025-04-14'] as const
const uploadMessage = async ({ anthropic }: Clients, text = 'hello', name = 'a.txt') =>
  anthropic.beta.files.upload({
    file: await toFile(Buffer.from(text), name, { type: 'text/plain' }),
    betas: [...betas],
  })
const uploadGenerate = ({ google }: Clients, text = 'hello') =>
  google.files.upload({ file: new Blob([text], { type: 'text/plain' }), config: { mimeType: 'text/plain' } })

t.test('lets only its key use a file that it uploaded in the messages format', async t => {
  const { mine, other, charges, openai, url } = await open(t)
  const [one, two] = [await uploadMessage(mine), await uploadMessage(mine, 'second', 'b.txt')]
  t.match(one, { type: 'file', filename: 'a.txt', size_bytes: 5, mime_type: 'text/plain' })
  const { anthropic } = mine
  t.match(await anthropic.beta.files.retrieveMetadata(one.id), { id: one.id })
  t.equal(await (await anthropic.beta.files.download(one.id)).text(), 'hello')
  const first = await anthropic.beta.files.list({ limit: 1 })
  t.same(
    first.data.map(({ id }) => id),
    [two.id],
  )
  const second = await first.getNextPage()
  t.same(
    second.data.map(({ id }) => id),
    [one.id],
  )
  const headers = { 'anthropic-version': '2023-06-01', 'x-api-key': mine.key }
  const back = await fetch(`${url}/v1/files?limit=1&before_id=${one.id}`, { headers })
  t.match(await back.json(), { data: [{ id: two.id }], first_id: two.id, has_more: false }, 'the page before')
  t.same((await other.anthropic.beta.files.list()).data, [], 'another key has none')
  const ask = {
    model: 'sim-messages',
    max_tokens: 8,
    betas: [...betas],
    messages: [
      {
        role: 'user' as const,
        content: [{ type: 'document' as const, source: { type: 'file' as const, file_id: one.id } }],
      },
    ],
  }
  t.match(await anthropic.beta.messages.create(ask), { type: 'message' })
  t.match(await refusalOf(other.anthropic.beta.messages.create(ask)), {
    status: 404,
    error: { type: 'error', error: { type: 'not_found_error' } },
  })
  t.match(await anthropic.beta.files.delete(one.id), { type: 'file_deleted' })
  t.match(await refusalOf(anthropic.beta.files.retrieveMetadata(one.id)), { status: 404 })
  t.match(await refusalOf(anthropic.beta.messages.create(ask)), { status: 404 })
  t.match((await openai.files.list()).data.length, 1, 'the other format lists the rest')
  t.equal((await charges()).length, 1, 'only the answer is charged')
})

t.test('lets only its key use a file that it uploaded in the generative format', async t => {
  const { mine, other, charges, url, key } = await open(t)
  const one = await uploadGenerate(mine)
  t.match(one, { name: /^files\//, sizeBytes: '5', mimeType: 'text/plain', state: 'ACTIVE' })
  const name = one.name as string
  t.match(await mine.google.files.get({ name }), { name })
  const two = await uploadGenerate(mine, 'x'.repeat(100_000))
  const names = []
  for await (const file of await mine.google.files.list({ config: { pageSize: 1 } })) names.push(file.name)
  t.same(new Set(names), new Set([name, two.name]), 'both pages')
  const theirs = []
  for await (const file of await other.google.files.list()) theirs.push(file)
  t.same(theirs, [])
  const ask = (file: string) => ({
    model: 'sim-generative',
    contents: [{ role: 'user', parts: [{ fileData: { fileUri: file, mimeType: 'text/plain' } }, { text: 'hi' }] }],
  })
  const uri = one.uri as string
  t.ok((await mine.google.models.generateContent(ask(uri))).text)
  for (const file of [uri, name, `${uri}?alt=media`, `${uri}/`, `${uri}#x`, uri.replace('files', '%66iles'), ` ${uri}`])
    t.match(
      await refusalOf(other.google.models.generateContent(ask(file))),
      { status: 404 },
      caseName({ file: file.replace(url, '') }),
    )
  await mine.google.files.delete({ name })
  t.match(await refusalOf(mine.google.files.get({ name })), { status: 404 })
  t.match(await refusalOf(mine.google.models.generateContent(ask(uri))), { status: 404 })
  t.equal((await charges()).length, 1)
  t.ok(key)
})

/** Starts an upload and returns the gateway's link. */
async function startUpload(url: string, key: string, bytes: number): Promise<{ link: string; headers: Headers }> {
  const response = await fetch(`${url}/upload/v1beta/files`, {
    method: 'POST',
    headers: {
      'x-goog-api-key': key,
      'content-type': 'application/json',
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
      'x-goog-upload-header-content-length': String(bytes),
      'x-goog-upload-header-content-type': 'text/plain',
    },
    body: JSON.stringify({ file: { displayName: 'a' } }),
  })
  return { link: response.headers.get('x-goog-upload-url') ?? '', headers: response.headers }
}

const send = (link: string, command: string, offset: number, body: string, headers: Record<string, string> = {}) =>
  fetch(link, {
    method: 'POST',
    headers: { 'x-goog-upload-command': command, 'x-goog-upload-offset': String(offset), ...headers },
    ...(body !== '' && { body }),
  })

t.test('continues an upload at a link of the gateway, also without a key, and only for its owner', async t => {
  const { url, mine, other, gateway } = await open(t)
  const { link, headers } = await startUpload(url, mine.key, 10)
  t.ok(link.startsWith(`${url}/upload/v1beta/files?`), link)
  t.equal(headers.get('x-goog-upload-control-url'), null, 'no link of the upstream leaves')
  t.match(await (await send(link, 'upload', 0, 'hello')).text(), '')
  const bare = link.replace(/&key=[^&]+/, '')
  t.not(bare, link)
  t.equal((await send(bare, 'query', 0, '')).status, 401, 'the link without its secret needs a key')
  t.equal((await send(bare, 'upload, finalize', 5, 'world', { 'x-goog-api-key': other.key })).status, 404)
  t.equal((await send(`${bare}&key=${other.key}`, 'upload, finalize', 5, 'world')).status, 404)
  t.equal((await send(`${link}&upload_id=x`, 'query', 0, '')).status, 404, 'two ids')
  t.equal((await send(link.replace('upload_id', 'Upload_Id'), 'query', 0, '')).status, 401)
  const state = await send(bare, 'query', 0, '', { 'x-goog-api-key': mine.key })
  t.equal(state.headers.get('x-goog-upload-size-received'), '5')
  const done = await send(link, 'upload, finalize', 5, 'world')
  t.equal(done.headers.get('x-goog-upload-status'), 'final')
  const { file } = (await done.json()) as { file: { name: string } }
  t.match(file, { sizeBytes: '10' })
  t.match(await mine.google.files.get({ name: file.name }), { name: file.name })
  const secret = /&key=([^&]+)/.exec(link)?.[1] ?? ''
  for (const path of ['/v1beta/files', `/v1beta/${file.name}`, '/v1beta/models'])
    t.equal((await fetch(`${url}${path}?key=${secret}`)).status, 401, caseName({ path }))
  t.equal((await send(`${url}/upload/v1beta/files?key=${secret}`, 'start', 0, '')).status, 401, 'no new upload')
  const kept = await gateway.storage.objects.list({ limit: 9 })
  t.same(new Set(kept.map(({ kind }) => kind)), new Set(['file', 'upload']))
  t.equal(kept.find(({ kind }) => kind === 'file')?.bytes, 10)
})

t.test("accepts an upload in one request, and ends another key's earlier record with the same name", async t => {
  const { url, mine, other, gateway } = await open(t)
  const body = (name: string): string =>
    `--b\r\ncontent-type: application/json\r\n\r\n${JSON.stringify({ file: { name } })}\r\n--b\r\ncontent-type: text/plain\r\n\r\nhello\r\n--b--\r\n`
  const upload = (key: string, name: string) =>
    fetch(`${url}/upload/v1beta/files`, {
      method: 'POST',
      headers: {
        'x-goog-api-key': key,
        'content-type': 'multipart/related; boundary=b',
        'x-goog-upload-protocol': 'multipart',
      },
      body: body(name),
    })
  t.match(await (await upload(mine.key, 'files/chosen')).json(), { file: { name: 'files/chosen', sizeBytes: '5' } })
  t.equal((await upload(other.key, 'files/chosen')).status, 409, 'the vendor has one of that name')
  t.match(await mine.google.files.get({ name: 'files/chosen' }), { name: 'files/chosen' })
  // The vendor has lost the first file in the meantime, and the records do not show it.
  await mine.google.files.delete({ name: 'files/chosen' })
  const [row] = await gateway.storage.objects.list({ limit: 1 })
  if (row) await gateway.storage.objects.put([{ ...row, deletedAt: null, expiresAt: null }])
  t.match(await (await upload(other.key, 'files/chosen')).json(), { file: { name: 'files/chosen' } })
  t.match(await refusalOf(mine.google.files.get({ name: 'files/chosen' })), { status: 404 })
  t.match(await other.google.files.get({ name: 'files/chosen' }), { name: 'files/chosen' })
})

t.test('limits the objects and bytes of a key in every format', async t => {
  const { mine, other, url, reload } = await open(t, [
    ['default: { rpm: 60000 }', 'default: { rpm: 60000, stored_objects: { max: 2 } }'],
  ])
  await uploadMessage(mine)
  await uploadGenerate(mine)
  t.match(await refusalOf(uploadMessage(mine)), { status: 429 })
  t.match(
    await (
      await fetch(`${url}/upload/v1beta/files`, {
        method: 'POST',
        headers: {
          'x-goog-api-key': mine.key,
          'x-goog-upload-protocol': 'resumable',
          'x-goog-upload-command': 'start',
        },
      })
    ).json(),
    { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } },
  )
  t.match(await uploadGenerate(other), { state: 'ACTIVE' }, 'another key has a separate limit')
  await reload([['{ max: 2 }', '{ bytes: 100B }']])
  t.equal((await startUpload(url, mine.key, 50)).link === '', false, 'there is room')
  t.equal((await startUpload(url, mine.key, 95)).link, '', 'the announced size counts')
})

t.test("keeps a key's objects after a rotation of its secret, and deletes them with the user", async t => {
  const { mine, keyId, url, gateway } = await open(t)
  const made = await uploadMessage(mine)
  const file = await uploadGenerate(mine)
  const { link } = await startUpload(url, mine.key, 5)
  const secret = (await rotateKey(gateway.storage, keyId, 0, 'test'))?.secret ?? ''
  const headers = { 'x-api-key': secret, 'anthropic-version': '2023-06-01' }
  t.equal((await fetch(`${url}/v1/files/${made.id}`, { headers })).status, 200, 'the new secret')
  t.equal((await fetch(`${url}/v1beta/${file.name}`, { headers: { 'x-goog-api-key': secret } })).status, 200)
  t.equal((await send(link, 'upload, finalize', 0, 'hello')).status, 200, 'a link from before belongs to the key')
  t.match(await refusalOf(mine.anthropic.beta.files.retrieveMetadata(made.id)), { status: 401 }, 'the old secret')
})

t.test('deletes the records of every kind with their user', async t => {
  const { url, gateway } = await open(t)
  await gateway.storage.users.create({ name: 'anna', group: 'default', role: 'user', passwordHash: 'x' })
  const { key, secret } = await createKey(gateway.storage, { name: 'annas', user: 'anna' })
  const anna = { key: secret, anthropic: new Anthropic({ baseURL: url, apiKey: secret, maxRetries: 0 }) }
  await uploadMessage(anna as Clients)
  await startUpload(url, secret, 5)
  t.equal((await gateway.storage.objects.list({ keyId: key.id, limit: 9 })).length, 2)
  t.ok(await gateway.storage.users.erase('anna', 'test'))
  t.same(await gateway.storage.objects.list({ keyId: key.id, limit: 9 }), [])
})

t.test('lets a key use objects older than the records while the family shares them', async t => {
  const { url, mine, reload } = await open(t)
  const ask = () =>
    fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': mine.key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-messages',
        max_tokens: 8,
        messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'file_old' } }] }],
      }),
    })
  t.equal((await ask()).status, 404)
  await reload([['  messages:\n', '  messages:\n    shared_objects: ["file_*"]\n']])
  t.equal((await ask()).status, 200)
  await reload([['    shared_objects: ["file_*"]\n', '']])
  t.equal((await ask()).status, 404)
})

t.test('refuses 40 attempts to reach the files, uploads and cached content of another key', async t => {
  const { url, mine, other } = await open(t)
  const message = await uploadMessage(mine)
  const file = await uploadGenerate(mine)
  const cache = await mine.google.caches.create({
    model: 'sim-generative',
    config: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  })
  const { link } = await startUpload(url, mine.key, 5)
  const upload = new URLSearchParams(new URL(link).search).get('upload_id') ?? ''
  const [name, uri, cached] = [file.name as string, file.uri as string, cache.name as string]
  const anthropic = { 'anthropic-version': '2023-06-01', 'x-api-key': other.key }
  const google = { 'x-goog-api-key': other.key }
  const openai = { authorization: `Bearer ${other.key}` }
  const use = (part: object) => ({ contents: [{ role: 'user', parts: [part] }] })
  const requests: (readonly [Record<string, string>, string, string, object?])[] = []
  for (const headers of [anthropic, openai])
    for (const prefix of ['/v1', '/v1/v1'])
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/content'],
        ['DELETE', ''],
      ] as const)
        requests.push([headers, method, `${prefix}/files/${message.id}${path}`])
  for (const prefix of ['/v1beta', '/v1', '/v1/v1beta', '/v1/v1'])
    for (const id of [name, cached])
      for (const method of ['GET', 'DELETE']) requests.push([google, method, `${prefix}/${id}`])
  for (const prefix of ['/v1beta', '/v1']) {
    requests.push([google, 'PATCH', `${prefix}/${cached}`, { ttl: '9000s' }])
    const model = `${prefix}/models/sim-generative`
    for (const method of ['generateContent', 'streamGenerateContent', 'countTokens']) {
      requests.push([google, 'POST', `${model}:${method}`, { ...use({ text: 'x' }), cachedContent: cached }])
      requests.push([google, 'POST', `${model}:${method}`, use({ fileData: { fileUri: uri } })])
      requests.push([google, 'POST', `${model}:${method}`, use({ file_data: { file_uri: name } })])
    }
  }
  for (const path of ['/upload/v1beta/files', '/upload/v1/files'])
    requests.push([google, 'POST', `${path}?upload_id=${upload}&upload_protocol=resumable`])
  const source = { type: 'file', file_id: message.id }
  for (const type of ['document', 'image', 'container_upload']) {
    const content = [{ type, source, ...(type === 'container_upload' && { file_id: message.id }) }]
    const body = { model: 'sim-messages', max_tokens: 8, messages: [{ role: 'user', content }] }
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) requests.push([anthropic, 'POST', path, body])
  }
  for (const [headers, method, path, body] of requests) {
    const sent = { ...headers, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(url + path, { method, headers: sent, ...(body && { body: JSON.stringify(body) }) })
    const text = await response.text()
    t.equal(response.status, 404, caseName({ method, path, text: text.slice(0, 200) }))
  }
  t.ok(requests.length >= 40, `${requests.length} attempts`)
  t.match(await mine.google.files.get({ name }), { name }, 'their owner still reaches them')
  t.match(await mine.google.caches.get({ name: cached }), { name: cached })
  t.equal((await send(link, 'upload, finalize', 0, 'hello')).status, 200)
})
