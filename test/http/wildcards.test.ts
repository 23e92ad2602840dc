import { writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { loadConfig, modelsBarred } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { serve } from '../harness/failover.ts'
import { makeFolder } from '../harness/folder.ts'
import { start } from '../harness/start.ts'

const table = `version: 1
source: own
as_of: 2026-11-01
currency: USD
models:
  gpt-4o: { prices: { input: "2", output: "8" }, mode: chat }
  gpt-4o-mini: { prices: { input: "1", output: "4" }, mode: chat }
  gpt-embed: { prices: { input: "0.10" }, mode: embedding }
  gpt-drawn: { prices: { each: "0.10" }, mode: image }
  gpt-exact: { prices: { input: "5", output: "5" }, mode: chat }
  text/far-1: { prices: { input: "3", output: "9" }, mode: chat }
  vendor/deep/one: { prices: { input: "7", output: "7" }, mode: chat }
`
const config = (models: string, more = ''): string => `
version: 1
currency: USD
server: { listen: "\${TOLLGATE_LISTEN}", ops: "\${TOLLGATE_OPS}" }
storage: "\${TOLLGATE_STORAGE}"
counters: "memory:"
groups: { default: { rpm: 6000 } }
upstreams: { text: { url: "\${TEXT_URL}" } }
pipeline: [auth, ratelimit, size-normalize, image-tier-billing, token-usage]
families:
  chat: { streams: [chat], forward: { chat: { all: true } }, token-usage: {} }
  image:
    forward: { image.generate: { all: true } }
    image-tier-billing: { tiers: [{ tier: each }], tier_from: [output], otherwise: each }
${more}
models:
${models}
routes:
  - { match: POST /v1/chat/completions, operation: chat, dialect: openai }
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai }
  - { match: GET /v1/models, operation: models.list, dialect: openai, serve: models }
  - { match: "GET /v1/models/{model}", operation: models.get, dialect: openai, serve: model }
`

async function withTable(t: Test, models: string) {
  const place = await makeFolder(t)
  await writeFile(place.path('prices.yaml'), table)
  const yaml = config(models, `price_tables: [${JSON.stringify(place.path('prices.yaml'))}]`)
  return { place, yaml }
}

const env = { TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: '127.0.0.1:0', TEXT_URL: 'http://127.0.0.1:9' }

async function load(t: Test, models: string) {
  const { place, yaml } = await withTable(t, models)
  await writeFile(place.path('gateway.yaml'), yaml)
  const loaded = await loadConfig(place.path('gateway.yaml'), { ...env, TOLLGATE_STORAGE: 'sqlite::memory:' })
  const found = loaded.ok ? loaded.notes : loaded.findings
  return { loaded, codes: found.map(({ code, path }) => `${code} ${path}`), messages: found.map(one => one.message) }
}

const body = (model: string): object => ({ model, messages: [{ role: 'user', content: 'hi' }] })

t.test('a wildcard serves the names in a price table at their prices, and refuses others', async t => {
  const { yaml } = await withTable(
    t,
    `  "gpt-*": { family: chat, upstream: text, listed: { modes: [chat] } }
  gpt-exact: { family: chat, upstream: text, prices: { input: "1", output: "1" }, send_as: other }`,
  )
  const { upstream, post, get, logs, charges, opsUrl } = await start(t, { yaml, upstreams: ['text'] })
  upstream.answer(serve)
  const answer = await post('/v1/chat/completions', body('gpt-4o'))
  t.equal(answer.status, 200, await answer.text())
  t.match(upstream.received.at(-1)?.json(), { model: 'gpt-4o' })
  const [charge] = await charges()
  t.match(charge, { state: 'settled', lines: [{ tier: 'input', price: /./ }] })
  t.match(charge?.lines[0]?.at, /prices\.yaml:6$/, 'the charge names the row')
  t.match(await logs(), [{ model: 'gpt-4o' }])

  t.equal((await post('/v1/chat/completions', body('gpt-exact'))).status, 200)
  t.match(upstream.received.at(-1)?.json(), { model: 'other' }, 'an exact entry serves its name')
  const before = upstream.received.length
  const refused = await post('/v1/chat/completions', body('gpt-9'))
  t.equal(refused.status, 404)
  t.match(await refused.json(), { error: { code: 'model_unpriced', message: /no price for the model 'gpt-9'/ } })
  const unknown = await post('/v1/chat/completions', body('other-9'))
  t.match(await unknown.json(), { error: { code: 'model_not_found' } })
  t.equal(upstream.received.length, before, 'nothing was sent')

  const { data } = (await (await get('/v1/models')).json()) as { data: readonly { id: string }[] }
  t.same(data.map(({ id }) => id).toSorted(), ['gpt-4o', 'gpt-4o-mini', 'gpt-exact'])
  t.equal((await get('/v1/models/gpt-4o-mini')).status, 200)
  t.equal((await get('/v1/models/gpt-9')).status, 404)
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  t.match(metrics, /tollgate_requests_total\{[^}]*model="gpt-4o"[^}]*\}/)
  t.match(metrics, /tollgate_requests_total\{[^}]*model="none"|model="other"/)
})

t.test("the wildcard's own price applies to names without a row; names for upstreams may be mapped", async t => {
  const { yaml } = await withTable(
    t,
    `  "my/*": { family: chat, upstream: text, send_as: "vendor/*", prices: { input: "10", output: "10" }, limits: { rpm: 4 } }`,
  )
  const { upstream, post, get, charges, opsUrl, newKey, url, folder } = await start(t, { yaml, upstreams: ['text'] })
  upstream.answer(serve)
  const ask = async (model: string, key?: string) => {
    const answer = await post('/v1/chat/completions', body(model), key ? { authorization: `Bearer ${key}` } : {})
    return { status: answer.status, json: (await answer.json()) as { error?: { code: string } } }
  }
  t.equal((await ask('my/deep/one')).status, 200)
  t.match(upstream.received.at(-1)?.json(), { model: 'vendor/deep/one' })
  t.equal((await ask('my/unheard-of')).status, 200)
  t.match(upstream.received.at(-1)?.json(), { model: 'vendor/unheard-of' })
  const priceOf = (one: Awaited<ReturnType<typeof charges>>[number] | undefined) => one?.lines[0]?.why
  const all = await charges()
  t.match(
    all.map(priceOf).toSorted((a = '', b = '') => a.localeCompare(b)),
    [/× 10\.00 \/ 1M/, /× 7\.00 \/ 1M/],
  )
  const pricePage = await (await fetch(`${url}/pricing?lang=en`)).text()
  t.match(pricePage.replaceAll(/<[^>]*>/g, ' '), /my\/\*[^]*10\.00/, 'the price page has the wildcard')
  const place = { folder, env: { ...env, TOLLGATE_STORAGE: `sqlite:${folder}/tollgate.db` } }
  const inUse = await runCli({ ...place, yaml }, 'prices', 'list')
  t.match(inUse.stdout, /^my\/\* +input +10\.00 +USD/m, inUse.stderr)
  const cheaper = `${folder}/cheaper.yaml`
  await writeFile(cheaper, yaml.replace('{ input: "10", output: "10" }', '{ input: "5", output: "5" }'))
  const cost = await runCli({ ...place, yaml }, 'config', 'cost', cheaper, '--since', '1h', '--format', 'json')
  const comparison = JSON.parse(cost.stdout) as {
    charges: number
    before: string
    after: string
    not_comparable: unknown[]
  }
  t.match(comparison, { charges: 2, not_comparable: [] }, 'charges of names that a wildcard serves are computed')
  t.ok(Number(comparison.after) < Number(comparison.before), caseName({ ...comparison }))
  const { data } = (await (await get('/v1/models')).json()) as { data: readonly { id: string }[] }
  t.same(
    data.map(({ id }) => id),
    ['my/deep/one'],
    'only names with a price of their own are listed',
  )

  for (const name of ['my/', 'my/../x', 'my//x', 'my/a b', 'my/x?y', 'my/é', `my/${'x'.repeat(200)}`])
    t.equal((await ask(name)).json.error?.code, 'model_not_found', name)

  const limited = await newKey({ models: ['my/unheard-of'] })
  t.equal((await ask('my/unheard-of', limited.key)).status, 200, 'a key may have a name that only a wildcard serves')
  t.equal((await ask('my/other', limited.key)).json.error?.code, 'model_not_allowed')
  t.equal((await ask('my/a')).status, 200)
  t.match(
    await ask('my/b'),
    { status: 429, json: { error: { code: 'rate_limit_exceeded' } } },
    'all names of a wildcard share its limit',
  )
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  t.match(metrics, /model="my\/\*"/, 'names that callers choose have the label of their wildcard')
  t.notMatch(metrics, /unheard-of/)
})

t.test('the most specific wildcard serves a name: with the longest text before the star, then after it', async t => {
  const price = (input: string) => `prices: { input: "${input}", output: "1" }`
  const { loaded, codes } = await load(
    t,
    `  "*": { family: chat, upstream: text, listed: { modes: [chat] }, ${price('1')} }
  "gpt-*": { family: chat, upstream: text, listed: { modes: [none] }, ${price('2')} }
  "gpt-4*": { family: chat, upstream: text, listed: { modes: [none] }, ${price('3')} }
  "gpt-4*-mini": { family: chat, upstream: text, listed: { modes: [none] }, ${price('4')} }
  "drawn-*": { family: image, upstream: text, prices: { each: "0.50" } }`,
  )
  if (!loaded.ok) throw new Error(codes.join('\n'))
  const { models } = loaded.plan
  const inputOf = (name: string) => (models.get(name)?.prices.get('input')?.micros ?? Number.NaN) / 1e6
  for (const [name, price] of [
    ['other', 1],
    ['gpt-3', 2],
    ['gpt-4', 2],
    ['gpt-4x', 3],
    ['gpt-4x-mini', 4],
    ['gpt-4-mini', 3],
    ['vendor/deep/one', 7],
    ['far-1', 3],
    ['text/far-1', 3],
  ] as const)
    t.equal(inputOf(name), price, name)
  t.match(models.get('drawn-9'), { family: { name: 'image' }, upstreams: [{ sendAs: 'drawn-9' }] })
  t.equal(models.get('gpt-4x'), models.get('gpt-4x'), 'it is made once')
  const first = models.get('gpt-first')
  for (let i = 0; i < 1_000; i++) models.get(`gpt-${i}`)
  t.not(models.get('gpt-first'), first, 'and forgotten after a thousand others')
  t.same([...models.keys()].toSorted(), ['far-1', 'text/far-1', 'vendor/deep/one'], 'only names with a row are listed')
})

t.test(
  'check reports wildcards that are ambiguous, serve nothing or have rows that their family cannot count',
  async t => {
    const price = 'prices: { input: "1", output: "1" }'
    const ambiguous = await load(
      t,
      `  "gpt-*": { family: chat, upstream: text, ${price} }
  "*-mini": { family: chat, upstream: text, ${price} }`,
    )
    t.ok(ambiguous.loaded.ok)
    t.match(ambiguous.codes, [
      'wildcard_uncharged models.gpt-*',
      'wildcard_ambiguous models.*-mini',
      'usage_price_untold models.gpt-embed.prices',
    ])
    t.match(ambiguous.messages.join('\n'), /cannot charge are not offered \(1\): gpt-drawn/)
    const decided = await load(
      t,
      `  "gpt-*": { family: chat, upstream: text, listed: { modes: [chat] }, ${price} }
  "gpt-*-mini": { family: chat, upstream: text, ${price} }
  "*-mini": { family: chat, upstream: text, ${price} }`,
    )
    t.same(decided.codes, [])
    const none = await load(t, `  "x-*": { family: chat, upstream: text }`)
    t.same(none.codes, ['wildcard_unpriced models.x-*'])
    const exact = await load(t, `  x: { family: chat, upstream: text, price: free, listed: { modes: [chat] } }`)
    t.same(exact.codes, ['listed_without_wildcard models.x.listed'])
    t.same((await load(t, `  "x-*-*": { family: chat, upstream: text, price: free }`)).codes, [
      'wildcard_stars models.x-*-*',
    ])
    t.same((await load(t, `  "x-*": { family: chat, upstream: nowhere, price: free }`)).codes, [
      'upstream_unknown models.x-*.upstream',
    ])
    t.same(
      (await load(t, `  "gpt-*": { family: chat, upstream: text, limits: { rpm: none } }`)).codes,
      ['value_type models.gpt-*.limits.rpm'],
      'an error of a wildcard is reported once',
    )
  },
)

t.test("a group's alias serves its keys under another name, which the log shows too", async t => {
  const { yaml } = await withTable(
    t,
    `  claude: { family: chat, upstream: text, prices: { input: "3", output: "3" }, send_as: claude-far }
  gpt-4o: { family: chat, upstream: text }
  "open/*": { family: chat, upstream: text, send_as: "*", listed: { modes: [none] }, prices: { input: "1", output: "1" } }`,
  )
  const aliased =
    'groups: { default: { rpm: 6000 }, team: { aliases: { gpt-4o: claude, best: "open/x" }, models: [claude, "open/*"] } }'
  const withAlias = yaml.replace('groups: { default: { rpm: 6000 } }', aliased)
  const { upstream, post, get, logs, charges, newKey, folder } = await start(t, {
    yaml: withAlias,
    upstreams: ['text'],
  })
  upstream.answer(serve)
  const { key } = await newKey({ group: 'team' })
  const own = { authorization: `Bearer ${key}` }
  const ask = async (model: string, headers = {}) => (await post('/v1/chat/completions', body(model), headers)).status
  const sent = () => (upstream.received.at(-1)?.json() as { model: string } | undefined)?.model
  t.equal(await ask('gpt-4o', own), 200)
  t.equal(sent(), 'claude-far')
  t.equal(await ask('best', own), 200)
  t.equal(sent(), 'x', 'the model may be one that a wildcard serves')
  t.equal(await ask('claude', own), 200, 'the model keeps its own name')
  t.equal(await ask('gpt-4o'), 200)
  t.equal(sent(), 'gpt-4o', 'keys of other groups get the model of that name')
  t.equal(await ask('best'), 404)
  const rows = (await logs()).filter(({ status }) => status === 200).map(({ model, alias }) => `${model} as ${alias}`)
  t.same(rows.toSorted(), ['claude as gpt-4o', 'claude as null', 'gpt-4o as null', 'open/x as best'])
  t.match((await charges()).map(one => one.lines[0]?.why).filter(why => why?.includes('3.00')).length, 2)
  const explain = (...args: string[]) => runCli({ folder, yaml: withAlias, env }, 'explain', ...args)
  t.match(
    (await explain('request', '--model', 'best')).stdout,
    /^alias {6}best means open\/x$/m,
    'no model has the name',
  )
  const explained = JSON.parse(
    (await explain('chat', '--model', 'gpt-4o', '--group', 'team', '--format', 'json')).stdout,
  )
  t.match(explained, { model: 'claude', alias: 'gpt-4o', sent: { model: 'claude-far' } })
  t.match(
    JSON.parse((await explain('request', '--model', 'gpt-4o', '--format', 'json')).stdout),
    { model: 'gpt-4o', alias: null },
    'without a group the model of that name',
  )
  t.match(await explain('request', '--model', 'best', '--group', 'none'), {
    code: 2,
    stderr: /--group none: the configuration has default, team/,
  })
  const listed = async (headers = {}) => {
    const { data } = (await (await get('/v1/models', headers)).json()) as { data: readonly { id: string }[] }
    return data.map(({ id }) => id).toSorted()
  }
  t.same(await listed(own), ['best', 'claude', 'gpt-4o'])
  t.same(await listed(), ['claude', 'gpt-4o'])
  t.equal((await get('/v1/models/best', own)).status, 200)

  const faults = async (aliases: string) => {
    const place = await makeFolder(t)
    await writeFile(
      place.path('gateway.yaml'),
      yaml.replace('default: { rpm: 6000 }', `default: { aliases: ${aliases} }`),
    )
    const loaded = await loadConfig(place.path('gateway.yaml'), {
      TOLLGATE_STORAGE: 'sqlite::memory:',
      TOLLGATE_LISTEN: '127.0.0.1:0',
      TOLLGATE_OPS: '127.0.0.1:0',
      TEXT_URL: 'http://127.0.0.1:9',
    })
    return (loaded.ok ? loaded.notes : loaded.findings).map(({ code }) => code)
  }
  t.same(await faults('{ a: clauded }'), ['alias_model_unknown'])
  t.same(await faults('{ a: "open/*" }'), ['alias_model_unknown'])
  t.same(await faults('{ "a*": claude }'), ['alias_wildcard'])
})

t.test('a pattern of a key is reported as refused only if no model of its group can match it', t => {
  for (const [models, allowed, barred] of [
    [['gpt-5*'], ['gpt-*-mini'], []],
    [['*-mini', 'gpt-*'], ['gpt-*-mini'], []],
    [['gpt-5-mini', 'gpt-5'], ['gpt-*-mini'], ['gpt-5']],
    [['a-*', '*-large'], ['gpt-*-mini'], ['a-*', '*-large']],
  ] as const)
    t.strictSame(modelsBarred(models, { models: allowed }), barred, `${models.join()} in ${allowed.join()}`)
  t.end()
})

t.test("a key's list of models may contain any wildcard, also one with text after its star", async t => {
  const price = 'prices: { input: "1", output: "1" }'
  const yaml = config(`  "a-*-mini": { family: chat, upstream: text, ${price} }
  "*": { family: chat, upstream: text, ${price} }`)
  const { upstream, post, newKey, folder } = await start(t, { yaml, upstreams: ['text'] })
  upstream.answer(serve)
  for (const [models, allowed, refused] of [
    [['a-*-mini'], ['a-1-mini', 'a--mini'], ['a-mini', 'a-1', 'b-1-mini', 'a-1-mini-2', '__proto__']],
    [['*-mini'], ['a-1-mini', 'b-mini'], ['a-mini-2', 'a']],
    [['a-*'], ['a-1-mini', 'a-1'], ['b-1-mini']],
    [['*'], ['__proto__', 'constructor', 'a/b'], []],
  ] as const) {
    const { key } = await newKey({ models: [...models] })
    for (const [names, status] of [
      [allowed, 200],
      [refused, 403],
    ] as const)
      for (const name of names) {
        const answer = await post('/v1/chat/completions', body(name), { authorization: `Bearer ${key}` })
        t.equal(answer.status, status, `${models.join()}: ${name}`)
        await answer.text()
      }
  }
  const create = (models: string) =>
    runCli(
      { folder, yaml, env: { ...env, TOLLGATE_STORAGE: `sqlite:${folder}/tollgate.db` } },
      'keys',
      'create',
      '--name',
      'k',
      '--models',
      models,
    )
  t.equal((await create('a-*-mini')).code, 0)
  t.equal((await create('a-*-*')).code, 2, 'no name has two stars')
  for (const [models, codes] of [
    ['[a-1-mini, "a-*-mini"]', ''],
    ['["*"]', ''],
    ['[b-1]', 'vendor_key_model_unknown upstreams.text.keys.one.models[0]'],
  ] as const) {
    const keys = `upstreams: { text: { url: "\${TEXT_URL}", credential: { header: authorization, value: "{key}" }, keys: { one: { value: secret-word, models: ${models} } } } }`
    const place = await makeFolder(t)
    const only = config(`  "a-*-mini": { family: chat, upstream: text, ${price} }`)
    await writeFile(place.path('gateway.yaml'), only.replace(/upstreams: .*/, keys))
    const loaded = await loadConfig(place.path('gateway.yaml'), { ...env, TOLLGATE_STORAGE: 'sqlite::memory:' })
    const found = (loaded.ok ? loaded.notes : loaded.findings).map(({ code, path }) => `${code} ${path}`)
    t.match(found.join(), codes === '' ? /^$/ : codes, models)
  }
})

t.test('unusual names are served or refused, in paths and in bodies, and never cause an error', async t => {
  const yaml = config('  "*": { family: chat, upstream: text, prices: { input: "1", output: "1" } }').replace(
    'chat: { all: true }',
    'chat: { all: true }, generate: { all: true }',
  )
  const route = '  - { match: "POST /v1beta/models/{model}:generateContent", operation: generate, dialect: google }\n'
  const { upstream, url, key, post, logs, opsUrl } = await start(t, { yaml: yaml + route, upstreams: ['text'] })
  upstream.answer(serve)
  for (const [name, isServed] of [
    ['__proto__', true],
    ['constructor', true],
    ['hasOwnProperty', true],
    ['none', true],
    ['a/b', true],
    ['a:b@c+d', true],
    ['x'.repeat(200), true],
    ['x'.repeat(201), false],
    ['x'.repeat(10_000), false],
    ['*', false],
    ['a*', false],
    ['a%2fb', false],
    ['%2e%2e', false],
    ['..', false],
    ['a/../b', false],
    ['a//b', false],
    ['/a', false],
    ['a/', false],
    ['a?b', false],
    ['a#b', false],
    ['a\\b', false],
    ['a b', false],
    ['a\u0000b', false],
    ['a\r\nx: y', false],
    ['\u202e', false],
    ['\ud83d\ude00', false],
    ['ａ', false],
  ] as const) {
    const shown = JSON.stringify(name).slice(0, 30)
    const before = upstream.received.length
    const answer = await post('/v1/chat/completions', body(name))
    t.equal(answer.status, isServed ? 200 : 404, shown)
    t.ok((await answer.text()).length < 2_000, `${shown}: the error does not repeat all of it`)
    if (isServed) t.equal(upstream.received.at(-1)?.json()['model'], name, shown)
    const path = `/v1beta/models/${encodeURIComponent(name)}:generateContent`
    const headers = { 'x-goog-api-key': key, 'content-type': 'application/json' }
    const byPath = await fetch(url + path, {
      method: 'POST',
      headers,
      body: '{"contents":[{"parts":[{"text":"hi"}]}]}',
    })
    await byPath.text()
    t.ok(isServed ? byPath.status === 200 : [400, 404].includes(byPath.status), `${shown}: ${byPath.status}`)
    if (isServed)
      t.equal(decodeURIComponent(upstream.received.at(-1)?.url ?? ''), `/v1beta/models/${name}:generateContent`, shown)
    t.equal(upstream.received.length - before, isServed ? 2 : 0, `${shown}: sent`)
  }
  const rows = await logs(200)
  t.ok(rows.every(({ status, model }) => (status ?? 0) < 500 && (model?.length ?? 0) <= 200))
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  const labels = new Set([...metrics.matchAll(/[{,]model="([^"]*)"/g)].map(([, label = '']) => label))
  t.strictSame(labels, new Set(['*', 'none']))
})

t.test('a reload without the wildcard refuses new requests; a running one is answered and charged', async t => {
  const models = '  "a-*": { family: chat, upstream: text, prices: { input: "1", output: "1" } }'
  const started = await start(t, { yaml: config(models), upstreams: ['text'] })
  const { upstream, post, charges, reload, newKey } = started
  let finish = (): void => undefined
  upstream.answerOnce((res, received) => {
    finish = () => void serve(res, received, res.req)
  })
  upstream.answer(serve)
  const { key } = await newKey({ budget: 1_000_000, models: ['a-1'] })
  const running = post('/v1/chat/completions', body('a-1'), { authorization: `Bearer ${key}` })
  while (upstream.received.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  t.match(await reload([['"a-*"', 'b']]), { ok: true })
  t.equal((await post('/v1/chat/completions', body('a-1'))).status, 404)
  finish()
  t.equal((await running).status, 200)
  t.match(await charges(), [{ state: 'settled', lines: [{ tier: 'input' }, { tier: 'output' }] }])
  t.same((await started.gateway.storage.books.verify()).problems, [])
})
