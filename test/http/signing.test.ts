import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { probe, Transport } from '../../src/engine/index.ts'
import { ConfigSource } from '../../src/gateway/config-source.ts'
import type { VendorKey } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { picture, png } from '../harness/pictures.ts'
import { start, type StartOptions } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'

const vectors = JSON.parse(readFileSync(new URL('../fixtures/signing/vectors.json', import.meta.url), 'utf8')) as {
  readonly google: { readonly file: { readonly [name: string]: string } }
}

const yaml = (credential: string): string => `version: 1
server: { listen: "127.0.0.1:0", ops: off }
storage: "sqlite::memory:"
upstreams:
  one: { url: "\${ONE_URL}", credential: ${credential} }
pipeline: [auth, token-usage]
families: { talk: { forward: { chat: [model, messages] }, token-usage: {} } }
models: { m: { family: talk, upstream: one, prices: { input: "1", output: "2" } } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`
const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const chatAnswer = { id: 'x', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }

t.test('a token is minted once for many requests, kept over a reload, and minted again after a 401', async t => {
  const mint = await startUpstream()
  t.teardown(() => mint.close())
  let minted = 0
  mint.answer(res => void res.end(JSON.stringify({ access_token: `token-${++minted}-abcdef`, expires_in: 3600 })))
  let now = Date.parse('2026-11-22T18:15:00Z')
  const clock: NonNullable<StartOptions['clock']> = { now: () => now, tick: () => performance.now() }
  const credential = `{ sign: oauth-client, with: { token_url: "${mint.url}/token", client_id: me, client_secret: "\${SECRET}" } }`
  const one = await start(t, {
    yaml: yaml(credential),
    upstreams: ['one'],
    env: { SECRET: 'the-client-secret' },
    clock,
  })
  one.upstream.answer(chatAnswer)
  const answers = await Promise.all(Array.from({ length: 20 }, () => one.post('/v1/chat/completions', ask)))
  t.ok(answers.every(({ status }) => status === 200))
  t.equal(minted, 1)
  t.ok(one.upstream.received.every(({ headers }) => headers['authorization'] === 'Bearer token-1-abcdef'))
  t.match(mint.received[0], { method: 'POST', url: '/token' })
  t.notMatch(String(mint.received[0]?.headers['authorization']), /sk-/)

  t.match(await one.reload([['output: "2"', 'output: "3"']]), { ok: true })
  await one.post('/v1/chat/completions', ask)
  t.equal(minted, 1, 'a reload that changes something else')

  now += 61_000
  one.upstream.answerOnce(res => void res.writeHead(401).end('{"error":"token-1-abcdef is over"}'))
  const again = await one.post('/v1/chat/completions', ask)
  t.equal(again.status, 200, 'the same request, with a new one')
  t.equal(one.upstream.received.at(-1)?.headers['authorization'], 'Bearer token-2-abcdef')
})

t.test('a token that expires early fails no request, and suspends no key', async t => {
  const mint = await startUpstream()
  t.teardown(() => mint.close())
  let minted = 0
  let good = 1
  mint.answer(res => void res.end(JSON.stringify({ access_token: `token-${++minted}-abcdef`, expires_in: 3600 })))
  let now = Date.parse('2026-11-22T18:15:00Z')
  const clock: NonNullable<StartOptions['clock']> = { now: () => now, tick: () => performance.now() }
  const credential = `{ sign: oauth-client, with: { token_url: "${mint.url}/token", client_id: me, client_secret: "{key}" } }\n    keys: { first: { value: "\${SECRET}" } }\n    probe: { path: /look }`
  const one = await start(t, {
    yaml: yaml(credential).replace(
      /one: \{ url: ("[^"]*"), credential: ([^]*?) \}\npipeline/,
      'one:\n    url: $1\n    credential: $2\npipeline',
    ),
    upstreams: ['one'],
    env: { SECRET: 'the-client-secret' },
    clock,
  })
  const waiting: (() => void)[] = []
  /** Refuses requests with an old token together: each may find that another has already renewed it. */
  const refuseTogether = (count: number): void =>
    one.upstream.answer((res, { headers }) => {
      if (headers.authorization === `Bearer token-${good}-abcdef`) {
        res.end(JSON.stringify(chatAnswer))
        return
      }
      waiting.push(() => void res.writeHead(401).end('{"error":{"code":"invalid_token"}}'))
      if (waiting.length >= count) for (const refuse of waiting.splice(0)) refuse()
    })
  const standing = () => one.gateway.status().upstream_keys['one']?.[0]
  refuseTogether(1)
  t.equal((await one.post('/v1/chat/completions', ask)).status, 200)

  now += 61_000
  good = 2
  refuseTogether(5)
  const answers = await Promise.all(Array.from({ length: 5 }, () => one.post('/v1/chat/completions', ask)))
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  t.equal(minted, 2, 'one new token for all of them')
  t.match(standing(), { state: 'active', reason: null })

  now += 61_000
  good = 99
  refuseTogether(1)
  const before = one.upstream.received.length
  const refused = await one.post('/v1/chat/completions', ask)
  t.equal(refused.status, 502, 'a new one that is refused too is judged')
  t.match(await refused.json(), { error: { code: 'upstream_credentials' } })
  t.equal(one.upstream.received.length, before + 2)
  t.match(standing(), { state: 'suspended', reason: 'invalid' })

  const [key] = one.plan.upstreams.get('one')?.keys ?? []
  let signed = 0
  const signer = {
    sign: () => ({ headers: { authorization: `Bearer token-${signed}-abcdef` } }),
    refused: () => ++signed > 0,
  }
  const transport = new Transport(
    url => url,
    systemClock,
    undefined,
    () => signer,
  )
  t.teardown(() => transport.close())
  const look = () => probe(key as VendorKey, { clock: systemClock, send: request => transport.send(request) })
  good = 1
  t.match(await look(), { result: 'good' }, 'a look has a new one made, too')
  good = 99
  t.match(await look(), { result: 'bad' })
  t.equal(signed, 3)
})

t.test('without a token nothing is sent and nothing is billed', async t => {
  const mint = await startUpstream()
  t.teardown(() => mint.close())
  mint.answer(
    res =>
      void res.writeHead(400).end(JSON.stringify({ error: 'invalid_client', error_description: 'the-client-secret' })),
  )
  const credential = `{ sign: oauth-client, with: { token_url: "${mint.url}/token", client_id: me, client_secret: "\${SECRET}" } }`
  const logged: string[] = []
  const write = (facts: object, text: string): void => void logged.push(JSON.stringify(facts) + text)
  const log = {
    debug: write,
    info: write,
    warn: write,
    error: write,
    request: () => undefined,
    hide: () => undefined,
    flush: () => Promise.resolve(),
  }
  const one = await start(t, { yaml: yaml(credential), upstreams: ['one'], env: { SECRET: 'the-client-secret' }, log })
  const answer = await one.post('/v1/chat/completions', ask)
  t.equal(answer.status, 502)
  const { error } = (await answer.json()) as { readonly error: { readonly code: string; readonly message: string } }
  t.equal(error.code, 'upstream_unsigned')
  t.match(error.message, /refused to issue a token, with status 400 \(invalid_client\)/)
  t.equal(one.upstream.received.length, 0)
  const charges = await one.charges()
  t.ok(
    charges.every(({ state }) => state === 'voided'),
    JSON.stringify(charges.map(({ state }) => state)),
  )
  t.ok(logged.some(line => line.includes('could not be signed')))
  t.notMatch(logged.join('\n'), /the-client-secret/)
})

t.test("a service account's key is a file, and its tokens come from the key's address", async t => {
  const mint = await startUpstream()
  t.teardown(() => mint.close())
  mint.answer({ access_token: 'ya29.a-token', expires_in: 3599, token_type: 'Bearer' })
  const one = await start(t, { yaml: yaml('{ header: x-key, value: k }'), upstreams: ['one'] })
  const key = join(one.folder, 'key.json')
  await writeFile(key, JSON.stringify({ ...vectors.google.file, token_uri: `${mint.url}/token` }, null, 2))
  const changed = await one.reload([
    ['{ header: x-key, value: k }', `{ sign: google-token, with: { key: "\${file:${key}}" } }`],
  ])
  t.match(changed, { ok: true })
  one.upstream.answer(chatAnswer)
  t.equal((await one.post('/v1/chat/completions', ask)).status, 200)
  t.equal(one.upstream.received[0]?.headers['authorization'], 'Bearer ya29.a-token')
  t.notOk(one.upstream.received[0]?.headers['x-key'])
  t.equal(mint.received.length, 1)
})

t.test('a signed body arrives unchanged', async t => {
  const with_ = 'access_key: AKIAEXAMPLE, secret_key: "${SECRET}", region: us-east-1, service: bedrock'
  const one = await start(t, {
    yaml: yaml(`{ sign: aws-sigv4, with: { ${with_} } }`),
    upstreams: ['one'],
    env: { SECRET: 's' },
  })
  one.upstream.answer(chatAnswer)
  t.equal((await one.post('/v1/chat/completions', ask)).status, 200)
  const [received] = one.upstream.received
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', new Uint8Array(received?.body ?? Buffer.alloc(0))))
  t.equal(received?.headers['x-amz-content-sha256'], digest.toString('hex'))
  t.match(
    received?.headers['authorization'],
    /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE\/\d{8}\/us-east-1\/bedrock\/aws4_request, /,
  )
})

t.test('a reload whose signer cannot be created changes nothing', async t => {
  const one = await start(t, { yaml: yaml('{ header: x-key, value: k }'), upstreams: ['one'] })
  const key = JSON.stringify({
    ...vectors.google.file,
    private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
  })
  const path = join(one.folder, 'bad.json')
  await writeFile(path, key)
  const changed = await one.reload([
    ['{ header: x-key, value: k }', `{ sign: google-token, with: { key: "\${file:${path}}" } }`],
  ])
  t.match(changed, { ok: false, findings: [{ code: 'plugin_failed', line: 5 }] })
  one.upstream.answer(chatAnswer)
  t.equal((await one.post('/v1/chat/completions', ask)).status, 200)
  t.equal(one.upstream.received[0]?.headers['x-key'], 'k')
})

t.test('a form is read once for its signature, and sent as signed', async t => {
  const with_ = 'access_key: AKIAEXAMPLE, secret_key: "${SECRET}", region: us-east-1, service: bedrock'
  const sign = `credential: { sign: aws-sigv4, with: { ${with_} } }`
  const one = await start(t, {
    edit: [[/credential: \{ header: authorization, value: "Bearer \$\{ALPHA_API_KEY:-\}" \}/, sign]],
    env: { SECRET: 's' },
  })
  const alpha = one.upstreams['alpha']
  alpha?.answer({ created: 1, data: [picture(1024, 1024)] })
  for (const bytes of [2_000, 3_000_000]) {
    const form = new FormData()
    form.set('model', 'alpha-image-2')
    form.set('prompt', 'a boat')
    form.set('image', new Blob([new Uint8Array(png(64, 64)), new Uint8Array(bytes)], { type: 'image/png' }), 'a.png')
    const answer = await fetch(`${one.url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${one.key}` },
      body: form,
    })
    t.equal(answer.status, 200, `${bytes} bytes: ${await answer.text()}`.slice(0, 120))
    const received = alpha?.received.at(-1)
    t.ok(Number(received?.body.length) > bytes, caseName({ bytes }))
    const digest = createHash('sha256')
      .update(received?.body ?? '')
      .digest('hex')
    t.equal(received?.headers['x-amz-content-sha256'], digest, caseName({ bytes }))
  }
})

t.test('a pasted text does not load code that the current configuration does not use', async t => {
  const folder = t.testdir({ 'signs.js': 'globalThis.wasLoaded = true\nexport default {}\n' })
  const file = join(folder, 'gateway.yaml')
  const env = { ONE_URL: 'https://vendor.example' }
  const source = new ConfigSource({ file, text: yaml('{ header: x-key, value: k }') }, env, undefined)
  const plan = await source.readPlan()
  const result = await source.check(yaml('{ sign: ./signs.js }'), plan)
  t.match(result, { ok: false, findings: [{ code: 'plugin_unknown' }] })
  t.notOk('wasLoaded' in globalThis)
  t.match(await source.check(yaml('{ sign: jwt-hs256, with: { access_key: a, secret_key: b } }'), plan), { ok: true })
})
