import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import OpenAI, { AuthenticationError, RateLimitError } from 'openai'
import t, { type Test } from 'tap'
import { createSecret, hashSecret, hintOfSecret } from '../../src/index.ts'
import { createLog } from '../../src/observe/index.ts'
import { runCli } from '../harness/cli.ts'
import { HandClock } from '../harness/request-context.ts'
import { picture, png } from '../harness/pictures.ts'
import { type Started, start, type StartOptions } from '../harness/start.ts'
import { openWire, requestHead } from '../harness/wire.ts'
import { caseName } from '../harness/case-name.ts'

const generations = '/v1/images/generations'
const good = { model: 'alpha-image-2', prompt: 'a boat' }
const noLimits = [['rpm: 60,', 'rpm: 100000,']] as const
/** Bad keys are counted by address, and all requests of these tests come from one address. */
const manyBadKeys = [['pipeline: [auth,', 'pipeline: [{ auth: { bad_keys_per_minute: 10000 } },']] as const

async function startWith(t: Test, options: StartOptions = {}): Promise<Started> {
  const started = await start(t, options)
  for (const upstream of Object.values(started.upstreams)) upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  return started
}

function ask(url: string, headers: Record<string, string>, path = generations): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(good),
  })
}

const bearer = (key: string): { authorization: string } => ({ authorization: `Bearer ${key}` })

/**
 * Passes time while no write is in progress: a write in progress during a jump of a minute looks like one that hangs.
 */
async function pass({ settled }: Started, clock: HandClock, ms: number): Promise<void> {
  await settled()
  clock.move(ms)
}

/** Every file of a folder and the folders below it in which the bytes occur. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    if ((await readFile(path)).includes(text)) found.push(path)
  }
  return found
}

t.test('a key is read from either header, in any case of header and scheme, with blanks around it [A1]', async t => {
  const { url, key } = await startWith(t, { edit: noLimits })
  for (const line of [
    `Authorization: Bearer ${key}`,
    `authorization: bearer ${key}`,
    `AUTHORIZATION: BEARER ${key}`,
    `Authorization:   Bearer    ${key}  `,
    `Authorization:\tBearer\t${key}\t`,
    `x-api-key: ${key}`,
    `X-API-KEY:   ${key}  `,
    `Authorization: Bearer ${key}\r\nx-api-key: ${key}`,
  ]) {
    const wire = await openWire(url)
    await wire.write(requestHead('GET', '/v1/models', [line]))
    t.equal((await wire.read()).status, 200, JSON.stringify(line.replace(key, 'KEY')))
    wire.socket.destroy()
  }
})

t.test('an invalid key is 401, without the reason [A1]', async t => {
  const started = await startWith(t, { edit: manyBadKeys })
  const { url, key } = started
  const other = createSecret()
  const rows: readonly (readonly [line: string, message: RegExp])[] = [
    ['X-Nothing: 1', /missing/],
    ['Authorization:', /^Incorrect API key provided/],
    ['Authorization: Bearer', /^Incorrect API key provided/],
    ['Authorization: Bearer ', /^Incorrect API key provided/],
    [`Authorization: ${key}`, /^Incorrect API key provided/],
    [`Authorization: Basic ${key}`, /^Incorrect API key provided/],
    [`Authorization: Token ${key}`, /^Incorrect API key provided/],
    [`Authorization: Bearer${key}`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${key}, Bearer ${key}`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${key},${key}`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${key} x`, /^Incorrect API key provided/],
    [`Authorization: Bearer "${key}"`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${key.toUpperCase()}`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${key.slice(0, -1)}`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${key}0`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${other}`, /^Incorrect API key provided/],
    [`Authorization: Bearer ${hashSecret(key)}`, /^Incorrect API key provided/],
    [`Authorization: Bearer sk-${'a'.repeat(10_240)}`, /^Incorrect API key provided/],
    ['x-api-key:', /^Incorrect API key provided/],
    [`x-api-key: Bearer ${key}`, /^Incorrect API key provided/],
    [`x-api-key: ${key}, ${key}`, /^Incorrect API key provided/],
    [`x-goog-api-key: ${key}`, /missing/],
    [`Cookie: api_key=${key}`, /missing/],
    [`Proxy-Authorization: Bearer ${key}`, /missing/],
  ]
  for (const [line, message] of rows) {
    const wire = await openWire(url)
    await wire.write(
      requestHead('POST', generations, [line, 'Content-Type: application/json', 'Content-Length: 2']) + '{}',
    )
    const answer = await wire.read()
    const name = JSON.stringify(line.replaceAll(key, 'KEY')).slice(0, 80)
    t.equal(answer.status, 401, name)
    const { error } = JSON.parse(answer.body.toString()) as { error: Record<string, unknown> }
    t.match(error, { type: 'invalid_request_error', code: 'invalid_api_key', param: null, message }, name)
    t.notOk(answer.body.includes(key), 'and does not repeat the key')
    wire.socket.destroy()
  }
  const google = await fetch(`${url}/v1beta/models/sim-chat:generateContent?key=wrong`, { method: 'POST', body: '{}' })
  t.match(
    await google.json(),
    { error: { message: /^Incorrect .*"x-goog-api-key: <API_KEY>" or "\?key=<API_KEY>"\.$/ } },
    'each style is told where its own callers put the key',
  )
  t.equal(started.upstream.received.length, 0)
  t.strictSame(await started.charges(), [])
})

t.test('with two keys the known one counts; two known ones are 400, and two unknown ones 401 [A1]', async t => {
  const { url, key, newKey } = await startWith(t, { edit: manyBadKeys })
  const another = (await newKey()).key
  for (const [first, second, status] of [
    [key, another, 400],
    [another, key, 400],
    [key, key, 200],
    [key, createSecret(), 200],
    [key, 'x', 200],
    [key, 'sk-ant-api03-left-over-of-a-vendor', 200],
    [createSecret(), key, 200],
    ['sk-proj-left-over-of-a-vendor', key, 200],
    [createSecret(), createSecret(), 401],
    ['x', 'y', 401],
  ] as const) {
    const answer = await ask(url, { ...bearer(first), 'x-api-key': second })
    t.equal(answer.status, status, caseName({ first, second }))
    if (status !== 400) continue
    t.match(
      await answer.json(),
      { error: { type: 'invalid_request_error', code: 'conflicting_api_keys' } },
      caseName({ first, second }),
    )
  }
  const path = '/v1beta/models/sim-generative:generateContent'
  const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  const send = (headers: Record<string, string>, query: string) =>
    fetch(`${url}${path}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  for (const [headers, query, status] of [
    [{ 'x-goog-api-key': key }, '?key=AIza-left-over', 200],
    [{ 'x-goog-api-key': 'AIza-left-over' }, `?key=${key}`, 200],
    [{ ...bearer('ya29.left-over'), 'x-api-key': 'x', 'x-goog-api-key': 'y' }, `?key=${key}`, 200],
    [{ 'x-goog-api-key': key }, `?key=${another}`, 400],
    [bearer(key), `?key=${another}`, 400],
    [{ 'x-goog-api-key': 'x' }, '?key=y', 401],
    [{ 'x-goog-api-key': key }, '?key=a&key=b&key=c&key=d&key=e', 400],
  ] as const)
    t.equal((await send(headers, query)).status, status, caseName({ headers, query }))
})

t.test('the OpenAI SDK raises its AuthenticationError, and does not retry', async t => {
  const { url, logs } = await startWith(t)
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: createSecret() })
  const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
  t.ok(error instanceof AuthenticationError)
  t.match(error, { status: 401, code: 'invalid_api_key', type: 'invalid_request_error', requestID: /^req_/ })
  t.equal((await logs()).length, 1)
})

t.test('a key with a wrong checksum or length never reaches the storage [A2]', async t => {
  const { url, key, gateway } = await startWith(t, { edit: manyBadKeys })
  const { keys } = gateway.storage
  const find = keys.findByHash.bind(keys)
  const lookups = t.capture(keys, 'findByHash', (hash: string) => find(hash))
  const last = key.at(-1) === '0' ? '1' : '0'
  for (const bad of [key.slice(0, -1) + last, `sk-${'A'.repeat(49)}`, `sk-${'A'.repeat(10_000)}`, 'sk-', 'nonsense'])
    t.equal((await ask(url, bearer(bad))).status, 401, caseName({ bad }))
  t.strictSame(lookups(), [], 'the storage was not queried')
  t.equal((await ask(url, bearer(createSecret()))).status, 401)
  t.equal(lookups().length, 1, 'a well-formed one has to be looked up')
})

t.test("no file contains a key's secret, only its hash and hint [A3, A7]", async t => {
  const started = await startWith(t)
  const { key, keyId, folder, openai, settled } = started
  await openai.images.generate(good)
  await settled()
  t.strictSame(await filesWith(folder, key), [], 'the secret is nowhere')
  t.strictSame(await filesWith(folder, key.slice(3)), [], 'nor without its mark')
  t.not((await filesWith(folder, hashSecret(key))).length, 0, 'its SHA-256 is kept')
  const list = await runCli(started, 'keys', 'list', '--format', 'json')
  t.notOk((list.stdout + list.stderr).includes(key))
  t.match(JSON.parse(list.stdout.split('\n').find(line => line.includes(keyId)) ?? ''), { hint: hintOfSecret(key) })
  const created = await runCli(started, 'keys', 'create', '--name', 'shown once', '--format', 'json')
  const made = JSON.parse(created.stdout) as { id: string; key: string }
  t.equal((await ask(started.url, bearer(made.key))).status, 200, 'a key made by the command line works at once')
  await settled()
  t.strictSame(await filesWith(folder, made.key), [])
})

t.test('a key revoked in this process is refused at its next request [A5]', async t => {
  const { url, gateway, newKey } = await startWith(t)
  const { key, id } = await newKey()
  t.equal((await ask(url, bearer(key))).status, 200)
  await gateway.storage.keys.revoke(id)
  const answer = await ask(url, bearer(key))
  t.equal(answer.status, 401)
  t.match(await answer.json(), { error: { code: 'invalid_api_key' } })
})

t.test('a key revoked by the command line is refused soon after, and others are not [A5]', async t => {
  const started = await startWith(t, { edit: [...noLimits, ...manyBadKeys] })
  const { url, key, newKey } = started
  const { key: doomed, id } = await newKey()
  t.equal((await ask(url, bearer(doomed))).status, 200)
  t.match(await runCli(started, 'keys', 'revoke', id), { code: 0 })
  const since = performance.now()
  while ((await fetch(`${url}/v1/models`, { headers: bearer(doomed) })).status === 200) {
    if (performance.now() - since > 15_000) throw new Error('it still works after 15 s')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  t.comment(`refused ${Math.round(performance.now() - since)} ms after the command had ended; 1000 are promised`)
  t.equal((await ask(url, bearer(doomed))).status, 401)
  t.equal((await ask(url, bearer(key))).status, 200)
})

t.test('a key expires to the millisecond [A5]', async t => {
  const clock = new HandClock()
  const started = await startWith(t, { clock })
  const { url, gateway } = started
  const secret = createSecret()
  await gateway.storage.keys.create({
    name: 'short',
    user: 'local',
    group: null,
    hash: hashSecret(secret),
    hint: hintOfSecret(secret),
    expiresAt: clock.now() + 5_000,
  })
  await pass(started, clock, 4_999)
  t.equal((await ask(url, bearer(secret))).status, 200)
  await pass(started, clock, 1)
  t.equal((await ask(url, bearer(secret))).status, 401)
})

t.test('keys of a group that is removed from the configuration stop working, and return with it [A5]', async t => {
  const { url, newKey, reload } = await startWith(t)
  const { key } = await newKey({ group: 'partner' })
  t.equal((await ask(url, bearer(key))).status, 200)
  const reloaded = await reload([['partner:', 'friends:']])
  t.match(
    reloaded.ok && reloaded.changes.find(change => change.includes('was removed')),
    /^groups.partner was removed, but 0 people and 1 keys are in it/,
  )
  const answer = await ask(url, bearer(key))
  t.equal(answer.status, 403)
  t.match(await answer.json(), { error: { code: 'group_unknown', message: /partner/ } })
  t.match(await reload([['friends:', 'partner:']]), { ok: true })
  t.equal((await ask(url, bearer(key))).status, 200)
})

t.test('a key in the address is refused, and neither logged, stored nor forwarded [A6]', async t => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', pretty: false, destination: { write: line => void lines.push(line) } })
  const { url, key, folder, upstream, settled } = await startWith(t, { log, edit: noLimits })
  for (const name of ['key', 'api_key', 'api-key', 'apikey', 'KEY', '%6bey', 'access_token', 'token']) {
    const path = `${generations}?a=1&${name}=${key}&b=2`
    t.equal((await ask(url, {}, path)).status, 401, name)
    t.equal((await ask(url, bearer(key), path)).status, 200, `${name}, beside a good header`)
    t.equal(upstream.received.at(-1)?.url, `${generations}?a=1&b=2`, `${name}: taken out of the address`)
  }
  await settled()
  t.strictSame(await filesWith(folder, key), [])
  t.notOk(lines.join('').includes(key))
})

t.test(
  '1,000 requests with bad keys: 20 a minute get 401, the rest 429, and a good key is not locked out [A8]',
  async t => {
    const clock = new HandClock()
    const started = await startWith(t, { clock })
    const { url, key } = started
    const seen = new Map<number, number>()
    const guess = async (): Promise<Response> => {
      const answer = await fetch(`${url}/v1/models`, { headers: bearer(createSecret()) })
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
      return answer
    }
    for (let i = 0; i < 999; i++) await (await guess()).arrayBuffer()
    const last = await guess()
    t.strictSame(
      [...seen],
      [
        [401, 20],
        [429, 980],
      ],
    )
    t.match(await last.json(), { error: { code: 'too_many_bad_keys', type: 'requests' } })
    t.equal(last.headers.get('retry-after'), '60')
    t.equal(last.headers.get('x-should-retry'), 'false', 'the same key would be refused again')
    t.equal((await ask(url, bearer(key))).status, 200, 'a good key from the same address')
    await pass(started, clock, 60_000)
    t.equal((await guess()).status, 401, 'a minute later an invalid one gets 401 again')
  },
)

t.test('a bad key is refused before a byte of the body is read, and the connection continues [A9]', async t => {
  const { gateway, key, upstream, url: ownUrl } = await startWith(t)
  // The gateway mounted in the test's own server, which knows how many bytes were read when the answer was sent.
  const taken: number[] = []
  const server = createServer((req, res) => {
    res.once('finish', () => taken.push(req.socket.bytesRead))
    gateway.listener(req, res)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const bytes = 33_554_432
  for (const [path, type] of [
    ['/v1/images/edits', 'multipart/form-data; boundary=x'],
    [generations, 'application/json'],
  ] as const) {
    for (const line of ['X-Nothing: 1', `Authorization: Bearer ${createSecret()}`]) {
      const wire = await openWire(url)
      const head = requestHead('POST', path, [line, `Content-Type: ${type}`, `Content-Length: ${bytes}`])
      await wire.write(head)
      const answer = await wire.read()
      t.equal(answer.status, 401, caseName({ path, type, line }))
      t.equal(taken.at(-1), head.length, 'the head alone was taken')
      t.notOk(answer.headers['connection']?.includes('close'), caseName({ path, type, line }))
      await wire.write(Buffer.alloc(bytes))
      await wire.write(requestHead('GET', '/v1/models', [`x-api-key: ${key}`]))
      t.equal((await wire.read()).status, 200, 'data that the client sent anyway is discarded')
      wire.socket.destroy()
      await wire.ended
    }
  }
  const wire = await openWire(ownUrl)
  await wire.write(
    requestHead('POST', generations, ['Content-Type: application/json', 'Content-Length: 10', 'Expect: 100-continue']),
  )
  t.equal((await wire.readAny()).status, 401, 'no 100 Continue is sent')
  wire.socket.destroy()
  t.equal(upstream.received.length, 0)
})

t.test('the OpenAI SDK sees 401 while it sends 32 MiB [A9]', async t => {
  const { url, logs } = await startWith(t)
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: createSecret() })
  const image = new File([new Uint8Array(png(8, 8)), new Uint8Array(32_000_000)], 'big.png', { type: 'image/png' })
  const error: unknown = await openai.images.edit({ ...good, image }).catch((cause: unknown) => cause)
  t.match(error, { status: 401, code: 'invalid_api_key' })
  t.equal((await logs()).length, 1, 'and does not try again')
})

t.test("a group limits the models of its keys, in addition to a key's own list", async t => {
  const started = await startWith(t, {
    edit: [[/partner: \{ /, 'partner: { models: ["beta-*", alpha-image-2], ']],
  })
  const { url, key, newKey } = started
  const listed = async (secret: string) => {
    const list = (await (await fetch(`${url}/v1/models`, { headers: bearer(secret) })).json()) as {
      data: { id: string }[]
    }
    return list.data.map(({ id }) => id).toSorted()
  }
  const all = await listed(key)
  const { key: ofGroup } = await newKey({ group: 'partner' })
  const allowed = all.filter(name => name.startsWith('beta-') || name === 'alpha-image-2')
  t.ok(allowed.length > 1 && allowed.length < all.length)
  t.strictSame(await listed(ofGroup), allowed)
  const { key: narrow } = await newKey({ group: 'partner', models: ['alpha-image-2', 'sim-chat'] })
  t.strictSame(await listed(narrow), ['alpha-image-2'], 'the models in both lists')
  const { key: pattern } = await newKey({ group: 'partner', models: ['beta-*', 'sim-*'] })
  t.strictSame(
    await listed(pattern),
    allowed.filter(name => name.startsWith('beta-')),
    'what is in both, by the beginnings of names',
  )
  t.equal((await ask(url, bearer(ofGroup))).status, 200)
  const chat = { model: 'sim-chat', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] }
  for (const [secret, status] of [
    [ofGroup, 403],
    [narrow, 403],
    [key, 200],
  ] as const) {
    const headers = { ...bearer(secret), 'content-type': 'application/json' }
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(chat) })
    t.equal(answer.status, status, `sim-chat with ${secret === key ? 'any key' : 'one of the group'}`)
    t.match(await answer.text(), status === 403 ? /model_not_allowed/ : /./, secret === key ? 'any' : 'group')
  }
})

t.test(
  'a model outside the key’s list is 403, a disabled or unknown one 404: no upstream, no charge [A10]',
  async t => {
    const started = await startWith(t, {
      edit: [[/beta-imagine-image: \{ /, 'beta-imagine-image: { enabled: false, ']],
    })
    const { url, key, newKey, openai } = started
    const { key: narrow } = await newKey({ models: ['beta-imagine-image'] })
    const forbidden = await ask(url, bearer(narrow))
    t.equal(forbidden.status, 403)
    t.match(await forbidden.json(), {
      error: { type: 'invalid_request_error', code: 'model_not_allowed', param: 'model' },
    })
    for (const model of ['beta-imagine-image', 'ALPHA-IMAGE-2', 'alpha-image-2 ', 'alpha-image', 'x'.repeat(5_000)]) {
      const error: unknown = await openai.images.generate({ ...good, model }).catch((cause: unknown) => cause)
      t.match(
        error,
        { status: 404, code: 'model_not_found', param: 'model', type: 'invalid_request_error' },
        model.slice(0, 30),
      )
    }
    const list = (await (await fetch(`${url}/v1/models`, { headers: bearer(key) })).json()) as {
      data: { id: string }[]
    }
    t.strictSame(
      list.data.map(({ id }) => id).filter(id => id.includes('image')),
      ['alpha-image-2'],
      'the list names what may be used',
    )
    for (const upstream of Object.values(started.upstreams))
      t.equal(upstream.received.length, 0, caseName({ upstream }))
    t.strictSame(await started.charges(), [])
  },
)

t.test('returns 429 with Retry-After when the per-key RPM is exceeded, and admits after that time', async t => {
  const clock = new HandClock()
  const started = await startWith(t, { clock, edit: [['rpm: 60,', 'rpm: 2,']] })
  const { openai, upstream, charges } = started
  const first = await openai.images.generate(good).asResponse()
  t.equal(first.headers.get('x-ratelimit-limit-requests'), '2')
  t.equal(first.headers.get('x-ratelimit-remaining-requests'), '1')
  t.match(first.headers.get('x-ratelimit-reset-requests'), /^1m0s$/)
  await pass(started, clock, 10_000)
  await openai.images.generate(good)
  const error: unknown = await openai.images.generate(good).catch((cause: unknown) => cause)
  t.ok(error instanceof RateLimitError)
  const { status, code, type, headers, message } = error as RateLimitError
  t.match(
    { status, code, type, message },
    { status: 429, code: 'rate_limit_exceeded', type: 'requests', message: /user_rpm/ },
  )
  t.equal(headers?.get('retry-after'), '50')
  t.equal(headers?.get('retry-after-ms'), '50000')
  t.equal(headers?.get('x-ratelimit-remaining-requests'), '0')
  t.match(headers?.get('x-request-id'), /^req_/)
  await pass(started, clock, 49_999)
  t.match(await openai.images.generate(good).catch((cause: unknown) => cause), { status: 429 }, 'a millisecond early')
  await pass(started, clock, 1)
  t.equal((await openai.images.generate(good).asResponse()).status, 200, 'refused requests have consumed nothing')
  t.equal(upstream.received.length, 3)
  t.equal((await charges()).length, 3)
})

t.test('the OpenAI SDK waits for the time in a 429, and its own retry succeeds', async t => {
  const clock = new HandClock()
  const started = await startWith(t, { clock, edit: [{ 'models/beta-imagine-image/limits/rpm': 1 }] })
  const { url, key, upstreams } = started
  const waits: number[] = []
  const openai = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: key,
    async fetch(input, init) {
      const answer = await fetch(input, init)
      if (answer.status !== 429) return answer
      // The SDK's wait passes for the gateway too.
      const waitMs = Number(answer.headers.get('retry-after-ms'))
      waits.push(waitMs)
      await pass(started, clock, waitMs)
      return answer
    },
  })
  await openai.images.generate({ ...good, model: 'beta-imagine-image' })
  await pass(started, clock, 59_900)
  await openai.images.generate({ ...good, model: 'beta-imagine-image' })
  t.strictSame(waits, [100])
  t.equal(upstreams['beta']?.received.length, 2)
})

t.test("a model's limit applies to that model, and is named in the refusal", async t => {
  const { openai } = await startWith(t, { edit: [{ 'models/beta-imagine-image/limits/rpm': 1 }] })
  await openai.images.generate({ ...good, model: 'beta-imagine-image' })
  const error: unknown = await openai.images
    .generate({ ...good, model: 'beta-imagine-image' })
    .catch((cause: unknown) => cause)
  t.match(error, { status: 429, message: /model_rpm/ })
  t.equal((await openai.images.generate(good).asResponse()).status, 200, 'another model has room')
})

t.test('a key whose limit is used up is refused before its body is read', async t => {
  const { url, key, openai } = await startWith(t, { edit: [['rpm: 60,', 'rpm: 1,']] })
  await openai.images.generate(good)
  const wire = await openWire(url)
  await wire.write(
    requestHead('POST', generations, [
      `x-api-key: ${key}`,
      'Content-Type: application/json',
      'Content-Length: 33554432',
    ]),
  )
  t.equal((await wire.read()).status, 429)
  wire.socket.destroy()
})

t.test("the client's key reaches no upstream, in no header, address or body", async t => {
  const { url, key, upstream } = await startWith(t, { edit: noLimits })
  const trick = {
    ...bearer(key),
    'x-api-key': key,
    'x-goog-api-key': key,
    'api-key': key,
    'proxy-authorization': `Bearer ${key}`,
    cookie: `key=${key}`,
    'x-forwarded-authorization': `Bearer ${key}`,
    'openai-organization': key,
    'openai-project': key,
    referer: `https://example.org/?key=${key}`,
    'user-agent': key,
    'x-request-id': key,
    traceparent: key,
  }
  t.equal((await ask(url, trick, `${generations}?key=${key}`)).status, 200)
  const form = new FormData()
  form.append('model', 'alpha-image-2')
  form.append('prompt', '')
  form.append('image', new Blob([new Uint8Array(png(1, 1))]), `${key}.png`)
  t.equal((await fetch(`${url}/v1/images/edits`, { method: 'POST', headers: trick, body: form })).status, 200)
  t.equal(upstream.received.length, 2)
  for (const { rawHeaders, url, body } of upstream.received) {
    t.notOk([...rawHeaders, url, body.toString('latin1')].join('\n').includes(key), caseName({ rawHeaders, url, body }))
    t.equal(
      rawHeaders[rawHeaders.indexOf('authorization') + 1],
      'Bearer upstream-secret-of-alpha',
      'ours is there instead',
    )
  }
})

t.test("a secret in an upstream's path is removed when the upstream quotes the address", async t => {
  const secret = 'a1b2c3d4e5f6a7b8c9d0e1f2'
  const inPath = ['url: "${ALPHA_URL:-simulator:alpha}"', `url: "\${ALPHA_URL}/hook/${secret}"`] as const
  const { url, key, upstream } = await startWith(t, { edit: [...noLimits, inPath] })
  upstream.answer((res, { url: requested }) => {
    res.writeHead(404, { 'content-type': 'application/json', 'x-echo': requested })
    res.end(JSON.stringify({ error: { message: `Cannot POST ${requested}` } }))
  })
  const answer = await ask(url, bearer(key))
  const { error } = (await answer.json()) as { error: { message: string } }
  t.match(error.message, /^Cannot POST \/hook\/\*{24}\/v1\/images\/generations$/)
})

t.test("the upstream's key reaches no client, log line or file, even if the upstream quotes it", async t => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', pretty: false, destination: { write: line => void lines.push(line) } })
  const { url, key, openai, upstream, folder, settled, opsUrl } = await startWith(t, { log, edit: noLimits })
  const secret = 'upstream-secret-of-alpha'
  const texts: string[] = []
  for (const status of [400, 401, 403, 429, 500, 503]) {
    upstream.answerOnce(res => {
      res.writeHead(status, {
        'content-type': 'application/json',
        'x-echo': secret,
        'www-authenticate': `Bearer ${secret}`,
        'set-cookie': secret,
      })
      // In two pieces, cut in the middle of it.
      res.write(`{"error":{"message":"Incorrect API key provided: ${secret} (sent as Bearer ${secret.slice(0, 9)}`)
      res.end(`${secret.slice(9)}).","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`)
    })
    const answer = await ask(url, bearer(key))
    const text = await answer.text()
    // An error about the gateway's key is replaced by the gateway's own message.
    const isOfKey = status <= 403
    t.equal(answer.status, isOfKey ? 502 : status, caseName({ status }))
    if (isOfKey) t.match(JSON.parse(text), { error: { code: 'upstream_credentials' } }, caseName({ status }))
    else
      t.match(
        JSON.parse(text),
        { error: { message: /^Incorrect API key provided: \*{24} \(sent as Bearer \*{24}\)\.$/ } },
        'the rest of the answer is as it was',
      )
    texts.push(text, JSON.stringify([...answer.headers]))
  }
  upstream.answerOnce(res => void res.writeHead(401, { 'content-length': '24' }).end(secret))
  texts.push(await (await ask(url, bearer(key))).text())
  upstream.answerOnce((_res, _received, req) => void req.socket.destroy())
  texts.push(await (await ask(url, bearer(key))).text())
  texts.push(String(await openai.images.generate({ ...good, size: 'auto' }).catch((cause: unknown) => cause)))
  texts.push(await (await fetch(`${opsUrl}/metrics`)).text())
  await settled()
  for (const text of texts) t.notOk(text.includes(secret), text.slice(0, 60))
  t.not(lines.length, 0)
  t.notOk(lines.join('').includes(secret), 'no log line')
  t.strictSame(await filesWith(folder, secret), [], 'no file')
})

t.test('prompts, pictures and file names are neither logged nor stored', async t => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', pretty: false, destination: { write: line => void lines.push(line) } })
  const { url, openai, upstream, key, folder, settled } = await startWith(t, { log })
  const prompt = 'a very particular harbour'
  const { b64_json: image } = picture(1254, 1254)
  await openai.images.generate({ model: 'alpha-image-2', prompt, user: 'a-particular-user' })
  upstream.answerOnce(res => void res.writeHead(500).end(`{"error":{"message":"${prompt} ${image}"}}`))
  await openai.images.generate({ model: 'alpha-image-2', prompt }).catch(() => undefined)
  upstream.answerOnce(res => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.write(`{"data":[{"b64_json":"${image.slice(0, 2_000)}`, () => res.destroy())
  })
  await openai.images.generate({ model: 'alpha-image-2', prompt }).catch(() => undefined)
  const form = new FormData()
  form.append('model', 'alpha-image-2')
  form.append('prompt', prompt)
  form.append('image', new Blob([new Uint8Array(png(600, 600))]), 'a-particular-name.png')
  await fetch(`${url}/v1/images/edits`, { method: 'POST', headers: bearer(key), body: form })
  await fetch(`${url}${generations}`, { method: 'POST', headers: bearer(key), body: `{"prompt":"${prompt}"` })
  await ask(url, { ...bearer(key), 'content-type': 'application/json' })
  await settled()
  for (const text of [
    prompt,
    image.slice(0, 64),
    image.slice(1_000, 1_064),
    'a-particular-name',
    'a-particular-user',
  ]) {
    t.strictSame(await filesWith(folder, text), [], `no file has ${text.slice(0, 30)}`)
    t.notOk(lines.join('').includes(text), `no log line has ${text.slice(0, 30)}`)
  }
})
