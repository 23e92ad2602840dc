import t from 'tap'
import { secretsOf } from '../../src/gateway/secrets-of.ts'
import { showConfig } from '../../src/config/index.ts'
import { describeChanges, loadConfig, type CompiledConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'

const env = { ONE: 'vendor-secret-one', TWO: 'vendor-secret-two' }
const mark = 'credential: { header: authorization, value: "Bearer {key}" }'

/** A file whose one upstream has this text. */
function textOf(upstream: string): string {
  return `version: 1
upstreams:
  one: { url: https://vendor.example, ${upstream} }
pipeline: [auth, token-usage]
families: { talk: { forward: { chat: [model, messages] } } }
models:
  m: { family: talk, upstream: one, price: free }
  m-large: { family: talk, upstreams: [{ upstream: one }], price: free }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`
}

async function findingsOf(upstream: string, more: { readonly [name: string]: string } = {}) {
  const loaded = await loadConfig({ text: textOf(upstream) }, { ...env, ...more })
  return loaded.ok ? loaded.notes : loaded.findings
}

async function planOf(upstream: string, more: { readonly [name: string]: string } = {}): Promise<CompiledConfig> {
  const loaded = await loadConfig({ text: textOf(upstream) }, { ...env, ...more })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  return loaded.plan
}

const first = 'first: { value: "${ONE}" }'

t.test('each key is the upstream with that key; the upstream itself has none', async t => {
  const plan = await planOf(
    `${mark}, keys: { ${first}, second: { value: "\${TWO}", weight: 2, models: [m-*], rpm: 5, tpm: 6, concurrency: 7, budget: { amount: "1.50", per: month } } }, on_unknown: pay_twice, probe: { path: /v1/key }, outcomes: [{ status: 403, codes: [DEAD], class: not_sold, key: invalid }]`,
  )
  const upstream = plan.upstreams.get('one')
  t.same(upstream?.credential, [])
  t.match(upstream?.keys, [
    { name: 'first', id: 'one/first', weight: 1, upstream: { name: 'one', key: 'first' } },
    {
      name: 'second',
      weight: 2,
      models: ['m-*'],
      rpm: 5,
      tpm: 6,
      concurrency: 7,
      budget: { amount: 1_500_000, per: 'month' },
      upstream: {
        key: 'second',
        credential: [{ kind: 'header', header: 'authorization', value: 'Bearer vendor-secret-two' }],
        paysTwice: true,
        probePath: '/v1/key',
        outcomes: [{ status: [403], codes: ['DEAD'], class: 'not_sold', key: 'invalid' }],
      },
    },
  ])
  t.not(upstream?.keys?.[0]?.hash, upstream?.keys?.[1]?.hash)
  const signed = await planOf(
    'credential: { sign: jwt-hs256, with: { access_key: id, secret_key: "s-{key}" } }, keys: { first: { value: "${ONE}" } }',
  )
  t.match(signed.upstreams.get('one')?.keys?.[0]?.upstream.credential, [
    { options: { secret_key: 's-vendor-secret-one' } },
  ])
})

t.test('without keys its credential is the only one; without a secret it has no key', async t => {
  const keyed = await planOf('credential: { header: authorization, value: "Bearer ${ONE}" }')
  const alone = keyed.upstreams.get('one')
  t.match(alone, { credential: [{ value: 'Bearer vendor-secret-one' }], probePath: '/v1/models' })
  t.match(alone?.keys, [{ name: 'credential', id: 'one/credential', weight: 1, isOnly: true }])
  t.match(alone?.keys?.[0]?.upstream, { key: 'credential', credential: [{ value: 'Bearer vendor-secret-one' }] })
  const plan = await planOf('credential: { header: authorization, value: "Bearer ${NONE:-}" }')
  const upstream = plan.upstreams.get('one') ?? {}
  for (const name of ['keys', 'key', 'outcomes', 'paysTwice', 'probePath']) t.notOk(name in upstream, name)
  t.notOk(Object.keys(plan.settings).some(path => /^upstreams\.one\.(?:keys|probe|on_unknown|outcomes)/.test(path)))
})

t.test("a key's secret is never shown, removed everywhere, and reported as changed", async t => {
  const plan = await planOf(`${mark}, keys: { ${first} }`)
  t.equal(plan.settings['upstreams.one.keys.first.value'], '***')
  t.ok([...secretsOf(plan)].includes('vendor-secret-one'))
  t.notMatch(JSON.stringify(plan.settings), 'vendor-secret')
  const other = await planOf(`${mark}, keys: { ${first} }`, { ONE: 'vendor-secret-new' })
  t.equal(plan.revision, other.revision)
  t.same(await describeChanges(plan, other), ['upstreams.one.keys.first.value: changed'])
  const written = textOf(`${mark}, keys: { first: { value: written-in-it } }`)
  t.notMatch(JSON.stringify(await showConfig('gateway.yaml', written, env)), 'written-in-it')
})

t.test('meaningless settings are reported with place and remedy', async t => {
  const rows: readonly (readonly [string, string, string, string])[] = [
    [mark, 'keys_missing', 'upstreams.one.credential.value', 'error'],
    [`credential: { header: a, value: x }, keys: { ${first} }`, 'key_mark_missing', 'upstreams.one.keys', 'error'],
    [`keys: { ${first} }`, 'key_mark_missing', 'upstreams.one.keys', 'error'],
    [
      `${mark}, keys: { ${first}, second: { value: "\${ONE}" } }`,
      'vendor_key_repeated',
      'upstreams.one.keys.second.value',
      'error',
    ],
    [
      `${mark}, keys: { first: { value: "\${ONE}", weight: 0 } }`,
      'vendor_keys_weightless',
      'upstreams.one.keys',
      'error',
    ],
    [
      `${mark}, keys: { first: { value: "\${ONE}", models: [n] } }`,
      'vendor_key_model_unknown',
      'upstreams.one.keys.first.models[0]',
      'error',
    ],
    [
      `${mark}, keys: { first: { value: "\${ONE}", models: [m-large] } }`,
      'vendor_key_model_unserved',
      'upstreams.one.keys',
      'note',
    ],
    [`${mark}, keys: { first: { value: "\${NONE:-}" } }`, 'credential_empty', 'upstreams.one.keys.first.value', 'note'],
    ['on_unknown: pay_twice', 'keys_missing', 'upstreams.one.on_unknown', 'note'],
    [`${mark}, keys: {}`, 'too_few', 'upstreams.one.keys', 'error'],
    [`${mark}, keys: { first: { weight: 1 } }`, 'key_missing', 'upstreams.one.keys.first', 'error'],
  ]
  for (const [upstream, code, path, severity] of rows) {
    const findings = await findingsOf(upstream)
    const found = findings.find(one => one.path.startsWith(path) && (code === 'too_few' || one.code === code))
    t.match(
      found,
      { severity },
      `${caseName({ upstream })} ${JSON.stringify(findings.map(({ code, path }) => [code, path]))}`,
    )
    t.ok(found?.remedy, code)
    t.notMatch(JSON.stringify(findings), 'vendor-secret', caseName({ upstream, code, path, severity }))
  }
})
