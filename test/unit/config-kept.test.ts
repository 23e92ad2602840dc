import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { shownTextsOf } from '../../src/config/index.ts'
import { ConfigSource } from '../../src/gateway/config-source.ts'
import type { Plan } from '../../src/kit/index.ts'

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

/** The prices that it is read again with, or why not. */
async function again({ kept }: Pick<Taken, 'kept'>, { source, plan }: Taken) {
  const loaded = await source.judgeKept(kept, plan)
  if (!loaded?.ok) return loaded?.findings.map(({ code, path }) => `${code} ${path}`) ?? 'not kept'
  return termsOf(loaded.plan)
}

const termsOf = ({ settings }: Plan) =>
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

t.test('one whose secrets are covered is read again', async t => {
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

t.test('what a variable holds now is not taken for what it held', async t => {
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

t.test('a key that is the name of something covers no name and no price', async t => {
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
  const told = { ...parts, 'prices.yaml': `# ${KEY}, x${KEY}y\n${parts['prices.yaml']}` }
  const taken = await take(main({ ...ours, more }), { KEY }, told)
  t.match(taken.kept.files[3]?.text, `# ***, x${KEY}y\n`, 'a long one is covered where it is a word')
})
