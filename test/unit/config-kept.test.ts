import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { shownTextsOf } from '../../src/config/index.ts'
import { diffConfigs, describeTaken, isSameMark, markOf } from '../../src/gateway/compare-configs.ts'
import { ConfigHistorian } from '../../src/gateway/config-history.ts'
import { ConfigSource } from '../../src/gateway/config-source.ts'
import type { CompiledConfig } from '../../src/domain/index.ts'

const ours = { credential: 'credential: { header: authorization, value: "Bearer ${KEY:-}" }', more: '', model: '' }
const main = ({ credential, more, model } = ours): string => `version: 1
currency: USD
groups: { default: { rpm: 60 }, partner: { multiplier: "\${MULT:-0.9}" } }
upstreams:
  ollama:
    url: https://api.example/v1
    ${credential}
pipeline: [auth, ratelimit, token-usage]
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
${more}
models:
  llama3: { family: chat, upstream: ollama${model} }
`
const prices = (input: string): string => `, prices: { input: "${input}", output: "1.00" }`
const family =
  'families: { chat: { forward: { chat: { all: true } }, token-usage: { estimate: { bytes_per_token: 3 } } } }'
const folder = '/nowhere'

type Env = { readonly [name: string]: string }
type Parts = { readonly [file: string]: string }

async function take(text: string, env: Env = {}, parts: Parts = {}) {
  const byPath = Object.fromEntries(Object.entries(parts).map(([file, part]) => [`${folder}/${file}`, part]))
  const source = new ConfigSource({ text, file: `${folder}/gateway.yaml`, parts: byPath }, env, undefined)
  const plan = await source.readPlan()
  return { source, plan, kept: { files: shownTextsOf(plan), settings: plan.settings } }
}

type Taken = Awaited<ReturnType<typeof take>>

/** Loads a kept configuration again: returns its prices, or the findings that prevent it. */
async function again({ kept }: Pick<Taken, 'kept'>, { source, plan }: Taken) {
  const loaded = await source.judgeKept(kept, plan)
  if (!loaded?.ok) return loaded?.findings.map(({ code, path }) => `${code} ${path}`) ?? 'not kept'
  return termsOf(loaded.plan)
}

const termsOf = ({ settings }: CompiledConfig) =>
  Object.fromEntries(Object.entries(settings).filter(([path]) => /prices|multiplier/.test(path)))

const json = JSON.stringify({
  type: 'service_account',
  client_email: 'a@b.example',
  token_uri: 'https://id.example/token',
  private_key: generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  }).privateKey,
})
const keys = (one: string, two: string): string =>
  `credential: { header: authorization, value: "Bearer {key}" }\n    keys: { a: { value: ${one} }, b: { value: ${two} } }`
const hook = (own: string): string => `${family}\nevents: { webhooks: { h: { ${own}, kinds: [budget.*] } } }`
const mail = 'format: email, from: a@x.example, to: [b@x.example]'

t.test('a configuration with redacted secrets can be read again', async t => {
  const cases: { readonly [name: string]: Partial<typeof ours> } = {
    plain: {},
    'a default': { credential: ours.credential.replace(':-', ':-ollama') },
    'two keys': { credential: keys('key-one', 'key-two') },
    'two keys of variables': { credential: keys('"${K1}"', '"${K2}"') },
    'a key of more lines': {
      credential:
        'credential:\n      header: authorization\n      value: >-\n        Bearer\n        key-one\n    timeouts: { total: 5m }',
    },
    'a receiver': {
      more: hook('url: "https://hooks.example/x", secret: "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="'),
    },
    'a receiver of a variable': { more: hook('url: "${HOOK}", format: slack') },
    'a receiver of mail': { more: hook(`url: "smtps://me:hunter2@mail.example:465", ${mail}`) },
    'a receiver of mail, of a variable': { more: hook(`url: "\${MAIL}", ${mail}`) },
    'a key in JSON': {
      credential: `credential: { sign: google-token, with: { key: '${json.replaceAll('\\n', '\\n')}' } }`,
    },
    'a key in JSON of a variable': { credential: 'credential: { sign: google-token, with: { key: "${JSON}" } }' },
    'an issuer': {
      more: `${family}\nserver: { public_url: https://ai.example }\nsign_in: { issuers: { us: { issuer: https://id.example, client_id: x, client_secret: hunter2 } } }`,
    },
    'what it tells': {
      more: `${family}\nobservability: { otlp: { endpoint: https://otlp.example, headers: { a: "hunter2" } } }`,
    },
  }
  const env = { K1: 'one', K2: 'two', HOOK: 'https://hooks.example/x', MAIL: 'smtps://m:p@mail.example', JSON: json }
  const other = await take(main({ ...ours, more: family, model: prices('9.00') }))
  for (const [name, own] of Object.entries(cases)) {
    const taken = await take(main({ ...ours, more: family, model: prices('1.00'), ...own }), env)
    t.notMatch(JSON.stringify(taken.kept), /hunter2|key-one|BEGIN/, `${name}: covered`)
    t.strictSame(await again(taken, taken), termsOf(taken.plan), name)
    t.strictSame(await again(taken, other), termsOf(taken.plan), `${name}, when another is in use`)
  }
})

t.test('the current value of a variable does not replace its former value', async t => {
  const text = main({ ...ours, more: family, model: prices('${PRICE:-1.00}') })
  const then = await take(text, { MULT: '0.5', PRICE: '2.00' })
  t.strictSame(await again(then, then), termsOf(then.plan))
  t.equal(await again(then, await take(text, { MULT: '0.7', PRICE: '2.00' })), 'not kept', 'a multiplier')
  t.equal(await again(then, await take(text, { MULT: '0.5', PRICE: '3.00' })), 'not kept', 'a price')
  const without = await take(main({ ...ours, more: family, model: prices('3.00') }).replace('${MULT:-0.9}', '1'))
  t.equal(await again(then, without), 'not kept', 'its default')
  const tripled = {
    ...then.kept,
    settings: { ...then.plan.settings, 'groups.default.rpm': '7', 'groups.default.new': '1' },
  }
  t.equal(await again({ kept: tripled }, then), 'not kept', 'another setting')
})

t.test('a key equal to a name redacts no name and no price', async t => {
  const parts = {
    'families.yaml': `# once ollama or api_key: hunter2hunter2\n${family}\n`,
    'keys.yaml':
      'upstreams:\n  own:\n    url: https://own.example\n    credential:\n      header: a\n      value: >-\n        Bearer\n        hunter2\n    query: { a: b }\n',
    'prices.yaml': `version: 1
source: own
as_of: 2026-11-23
currency: USD
models:
  ollama/llama3: { prices: { input: "5.00", output: "5.00" }, mode: chat }
  llama3: { prices: { input: "1.00", output: "1.00" }, mode: chat }
`,
  }
  const more = 'include: [families.yaml, keys.yaml]\nprice_tables: [prices.yaml]'
  for (const KEY of ['ollama', '1.00', 'chat', 'llama3']) {
    const taken = await take(main({ ...ours, more }), { KEY }, parts)
    t.strictSame(await again(taken, taken), termsOf(taken.plan), KEY)
    const [, families, other, table] = taken.kept.files
    t.notMatch(other?.text, 'hunter2', KEY)
    t.match(families?.text, 'bytes_per_token: 3', KEY)
    t.notMatch(families?.text, 'hunter2', KEY)
    t.equal(table?.text, parts['prices.yaml'], KEY)
  }
  const KEY = 'a-long-secret-0'
  const commented = { ...parts, 'prices.yaml': `# ${KEY}, x${KEY}y\n${parts['prices.yaml']}` }
  const taken = await take(main({ ...ours, more }), { KEY }, commented)
  t.match(taken.kept.files[3]?.text, `# ***, x${KEY}y\n`, 'a long one is covered where it is a word')
})

const markFor = async (text: string) => {
  const { plan, kept } = await take(text)
  return markOf(plan, kept.files)
}

t.test('redacted values count, and the address of a replica does not', async t => {
  const text = main({ ...ours, more: family, model: prices('1.00') })
  const mark = await markFor(text)
  t.equal(await markFor(text), mark)
  const withHeader = (value: string) =>
    text.replace(ours.credential, `${ours.credential}\n    headers: { x-plan: "${value}" }\n    query: { a: ${value} }`)
  t.not(await markFor(withHeader('one')), await markFor(withHeader('two')), 'a header without a name of secrets')
  const swapped = (one: string, two: string): string =>
    text
      .replace('pipeline:', `  b: { url: https://b.example, credential: { header: a, value: ${two} } }\npipeline:`)
      .replace('${KEY:-}', one)
  t.not(await markFor(swapped('one', 'two')), await markFor(swapped('two', 'one')), 'two that changed places')
  const placed = text.replace('version: 1', 'version: 1\nserver: { listen: "${AT:-127.0.0.1:1}" }')
  const [one, two] = [await take(placed, { AT: '10.0.0.1:80' }), await take(placed, { AT: '10.0.0.2:80' })]
  t.not(one.plan.revision, two.plan.revision)
  t.equal(markOf(one.plan, one.kept.files), markOf(two.plan, two.kept.files))
  t.not(await markFor(text.replace('rpm: 60', 'rpm: 61')), mark)
})

t.test("swapped keys are reported by their positions, and no mark contains a key's text", async t => {
  const text = (one: string, two: string) => main({ model: prices('1.00'), more: family, credential: keys(one, two) })
  const [a, b] = [await take(text('key-one', 'key-two')), await take(text('key-two', 'key-one'))]
  const [before, after] = [a, b].map(({ plan, kept }) => ({ settings: plan.settings, mark: markOf(plan, kept.files) }))
  if (!before || !after) throw new Error('both are there')
  t.notMatch(before.mark, /key-one|key-two/)
  t.equal(isSameMark(before.mark, after.mark), false)
  t.equal(isSameMark(before.mark, before.mark), true)
  t.strictSame(describeTaken(before, after), [
    'upstreams.ollama.keys.a.value: changed',
    'upstreams.ollama.keys.b.value: changed',
  ])
  const headers = `${ours.credential}\n    headers: { x-one: same-value, x-two: same-value }`
  const both = await take(main({ model: prices('1.00'), more: family, credential: headers }))
  const prints = new Set(Object.values(JSON.parse(markOf(both.plan, both.kept.files).split(' ')[2] ?? '') as object))
  t.ok(prints.size > 2, 'two that are the same do not look so')
  // The mark of an earlier version has fewer parts: an update of the gateway is not a change of the configuration.
  const old = before.mark.split(' ').slice(0, 2).join(' ')
  t.equal(isSameMark(old, before.mark), true)
  t.strictSame(describeTaken({ ...before, mark: old }, after), [])
  t.strictSame(describeTaken({ ...before, mark: 'x y' }, after), ['secrets: changed'])
})

t.test('too many changed lines are reported as too long', async t => {
  const files = (seed: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      file: `${i}.yaml`,
      text: `same\n${Array.from({ length: 1_000 }, (_, n) => `${seed}${n % 97}`).join('\n')}\nsame`,
    }))
  const { kept } = await take(main({ ...ours, more: family, model: prices('1.00') }))
  const row = {
    ...kept,
    changes: [],
    changeCount: 0,
    mark: 'a b',
    at: 0,
    how: 'start' as const,
    by: null,
    version: '1',
    revision: 'x',
  }
  const compared = diffConfigs({ ...row, id: 1, files: files('a', 12) }, { ...row, id: 2, files: files('b', 12) }).files
  t.strictSame(
    compared.map(one => one.kept),
    [...Array<boolean>(10).fill(true), false, false],
  )
})

t.test('superseded configurations that waited for the storage are dropped', async t => {
  const takens = await Promise.all(
    ['60', '61', '62'].map(rpm =>
      take(main({ ...ours, more: family, model: prices('1.00') }).replace('rpm: 60', `rpm: ${rpm}`)),
    ),
  )
  type Row = { readonly id: number; readonly at: number; readonly mark: string; readonly revision: string }
  const rows: Row[] = []
  const storage = (isAway: () => boolean) => ({
    configs: {
      newest: async () => (isAway() ? Promise.reject(new Error('away')) : rows.at(-1)),
      list: async () => rows.slice(-1),
      find: async (id: number) => ({ ...takens[0]?.kept, ...rows[id - 1] }),
      keep: async (row: Row) => rows.push({ ...row, id: rows.length + 1 }) > 0,
    },
  })
  let now = 0
  const retries: (() => void)[] = []
  const clock = { now: () => ++now, after: (_: number, run: () => void) => (retries.push(run), { cancel: () => {} }) }
  const historian = (isAway: () => boolean) =>
    new ConfigHistorian({
      storage: storage(isAway),
      clock,
      log: { warn: () => {} },
    } as unknown as ConstructorParameters<typeof ConfigHistorian>[0])
  let away = true
  const [lame, sound] = [historian(() => away), historian(() => false)]
  const cause = { how: 'file', by: null } as const
  for (const { plan } of takens) {
    lame.took(plan, cause)
    sound.took(plan, cause)
  }
  const end = performance.now() + 30_000
  while ((rows.length < 3 || retries.length === 0) && performance.now() < end)
    await new Promise(resolve => setTimeout(resolve, 5))
  away = false
  retries.at(-1)?.()
  lame.took((takens[2] as Taken).plan, cause)
  await lame.close()
  t.strictSame(
    rows.map(row => row.revision),
    takens.map(({ plan }) => plan.revision),
  )
})
