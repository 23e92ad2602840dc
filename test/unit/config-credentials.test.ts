import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import {
  checkConfig,
  configSchema,
  describeChanges,
  findConfigKey,
  type Finding,
  lintConfig,
  loadConfig,
  type CompiledConfig,
} from '../../src/index.ts'
import { secretsOf } from '../../src/gateway/secrets-of.ts'
import { showConfig } from '../../src/config/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeFolder } from '../harness/folder.ts'

const vectors = JSON.parse(readFileSync(new URL('../fixtures/signing/vectors.json', import.meta.url), 'utf8')) as {
  readonly google: { readonly file: { readonly [name: string]: string } }
}

/** A file whose one upstream has this text. */
function withUpstream(upstream: string): string {
  return `version: 1
upstreams:
${upstream.replaceAll(/^/gm, '  ')}
pipeline: [auth, token-usage]
families: { talk: { forward: { chat: [model, messages] } } }
models: { m: { family: talk, upstream: one, price: free } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`
}

async function findingsOf(
  upstream: string,
  env: { readonly [name: string]: string } = {},
): Promise<readonly Finding[]> {
  const loaded = await loadConfig({ text: withUpstream(upstream) }, env)
  return loaded.ok ? loaded.notes : loaded.findings
}

async function planOf(upstream: string, env: { readonly [name: string]: string } = {}): Promise<CompiledConfig> {
  const loaded = await loadConfig({ text: withUpstream(upstream) }, env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  return loaded.plan
}

const url = 'url: https://vendor.example'
const sigv4 = 'access_key: "${ID}", secret_key: "${SECRET}", region: us-east-1, service: bedrock'

t.test('one credential is a list of one', async t => {
  const env = { KEY: 'a-key', ID: 'AKIA-id', SECRET: 'sig-secret' }
  const single = await planOf(`one: { ${url}, credential: { header: X-Key, value: "\${KEY}" } }`, env)
  t.same(single.upstreams.get('one')?.credential, [{ kind: 'header', header: 'x-key', value: 'a-key' }])
  t.same((await planOf(`one: { ${url} }`)).upstreams.get('one')?.credential, [])
  const several = await planOf(
    `one:
  ${url}
  query: { api-version: 2025-04-01-preview }
  credential:
    - { header: x-api-key, value: "\${KEY}" }
    - { query: key, value: "\${KEY}" }
    - { sign: aws-sigv4, with: { ${sigv4} } }`,
    env,
  )
  const upstream = several.upstreams.get('one')
  t.same(upstream?.query, { 'api-version': '2025-04-01-preview' })
  t.match(upstream?.credential, [
    { kind: 'header', header: 'x-api-key', value: 'a-key' },
    { kind: 'query', name: 'key', value: 'a-key' },
    {
      kind: 'sign',
      signer: 'aws-sigv4',
      options: { access_key: 'AKIA-id', secret_key: 'sig-secret', region: 'us-east-1', service: 'bedrock' },
      secrets: ['AKIA-id', 'sig-secret'],
      origin: { line: 9, col: 17 },
    },
  ])
})

t.test('an error in a credential is reported at its place, with the remedy', async t => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['{ value: k }', ['key_missing header']],
    ['{ header: x-key }', ['key_missing value']],
    ['[{ query: key }]', ['key_missing value']],
    ['{ header: x-key, query: key, value: k }', ['credential_ambiguous query']],
    ['{ header: x-key, sign: aws-sigv4, value: k }', ['credential_ambiguous sign']],
    ['{ header: x-key, value: k, with: { a: 1 } }', ['unknown_key with']],
    [`{ sign: aws-sigv4, value: k, with: { ${sigv4} } }`, ['unknown_key value']],
    ['{ headr: x-key, value: k }', ['unknown_key headr']],
    ['[]', ['list_short credential']],
    ['[{ header: a, value: k }, { header: A, value: k }]', ['credential_repeated header']],
    ['[{ query: v, value: k }]', ['credential_repeated query']],
    ['{ sign: aws-sigv5 }', ['plugin_unknown sign']],
    ['{ sign: ./no-such-file.ts }', ['plugin_failed sign']],
    [
      '{ sign: aws-sigv4 }',
      ['key_missing access_key', 'key_missing secret_key', 'key_missing region', 'key_missing service'],
    ],
    [`{ sign: aws-sigv4, with: { ${sigv4}, regio: x } }`, ['unknown_key regio']],
    ['{ sign: jwt-hs256, with: { access_key: a, secret_key: b, lifetime: 5 } }', ['value_type lifetime']],
    ['{ sign: google-token, with: { key: "{}" } }', ['key_unusable key']],
    [
      '{ sign: oauth-client, with: { token_url: login.example, client_id: a, client_secret: b } }',
      ['value_malformed token_url'],
    ],
  ]
  for (const [credential, expected] of rows) {
    const found = await findingsOf(`one: { ${url}, query: { v: "1" }, credential: ${credential} }`, {
      ID: 'id',
      SECRET: 's',
    })
    t.same(
      found.map(({ code, path }) => `${code} ${path.split('.').at(-1)}`),
      expected,
      credential,
    )
    t.ok(
      found.every(({ remedy, line, code }) => line === 3 && (remedy !== undefined || code === 'plugin_failed')),
      credential,
    )
  }
})

t.test("a signing plugin's defaults are filled in, and a similar name is suggested", async t => {
  const plan = await planOf(`one: { ${url}, credential: { sign: jwt-hs256, with: { access_key: a, secret_key: b } } }`)
  t.match(plan.upstreams.get('one')?.credential, [{ options: { lifetime: '30m' } }])
  t.equal(plan.settings['upstreams.one.credential.with.lifetime'], '30m')
  t.match(await findingsOf(`one: { ${url}, credential: { sign: google-tokn } }`), [
    { code: 'plugin_unknown', remedy: "did you mean 'google-token'?" },
  ])
})

t.test('check creates the signer, and reports a failure at its line', async t => {
  const key = { ...vectors.google.file, private_key: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n' }
  const text = withUpstream(`one: { ${url}, credential: { sign: google-token, with: { key: "\${KEY}" } } }`)
  const bad = await checkConfig({ text }, { KEY: JSON.stringify(key) })
  t.match(bad, { ok: false, findings: [{ code: 'plugin_failed', line: 3, path: 'upstreams.one.credential' }] })
  t.equal((await checkConfig({ text }, { KEY: JSON.stringify(vectors.google.file) })).ok, true)
})

t.test('no view of a configuration shows the parts of a credential', async t => {
  const key = JSON.stringify(vectors.google.file)
  const env = {
    KEY: 'header-secret',
    PARAM: 'query-secret',
    ID: 'an-access-key-id',
    SECRET: 'the-signing-secret',
    GOOGLE: key,
  }
  const upstreams = `one:
  ${url}
  query: { api-version: hidden-version, code: fixed-code-secret }
  calls: { chat: { path: /x, query: { key: "called-query-secret", v: shown-one }, headers: { x-api-key: called-header-secret } } }
  credential:
    - { header: x-api-key, value: "\${KEY}" }
    - { query: key, value: "\${PARAM}" }
    - { sign: aws-sigv4, with: { ${sigv4} } }
two: { ${url}, credential: { sign: google-token, with: { key: '\${GOOGLE}' } } }`
  const text = withUpstream(upstreams)
  const plan = await planOf(upstreams, env)
  const loaded = await loadConfig({ text }, env)
  const shown = await showConfig('gateway.yaml', text, env)
  const printed = JSON.stringify([plan.settings, loaded.ok && loaded.trace(), shown])
  for (const secret of [
    'header-secret',
    'query-secret',
    'an-access-key-id',
    'the-signing-secret',
    'fixed-code-secret',
    'called-query-secret',
    'called-header-secret',
    'private_key',
  ])
    t.notMatch(printed, secret, caseName({ secret }))
  t.equal(plan.settings['upstreams.one.credential[2].with.region'], 'us-east-1', 'parts that are not secret are shown')
  t.equal(plan.settings['upstreams.one.credential[2].sign'], 'aws-sigv4')
  const hidden = [...secretsOf(plan)]
  for (const secret of [
    'header-secret',
    'query-secret',
    'an-access-key-id',
    'the-signing-secret',
    'called-query-secret',
    'called-header-secret',
  ])
    t.ok(hidden.includes(secret), caseName({ secret }))
  const [line = ''] = vectors.google.file['private_key']?.split('\n').slice(1) ?? []
  t.ok(hidden.includes(line), 'each line of a private key')
  t.notOk(
    hidden.some(one => one.includes('"') || one === 'service_account'),
    'and no words of a key file',
  )
})

t.test('a changed secret is reported as changed, and not shown', async t => {
  const upstream = `one:
  ${url}
  query: { code: "\${CODE}" }
  credential: [{ header: x-key, value: "\${KEY}" }, { sign: jwt-hs256, with: { access_key: a, secret_key: "\${SECRET}" } }]`
  const before = await planOf(upstream, { CODE: 'c1', KEY: 'k1', SECRET: 's1' })
  const after = await planOf(upstream, { CODE: 'c2', KEY: 'k2', SECRET: 's2' })
  t.same(await describeChanges(before, after), [
    'upstreams.one.credential[0].value: changed',
    'upstreams.one.credential[1].with: changed',
    'upstreams.one.query.code: changed',
  ])
})

t.test('lint finds a secret at every place of a credential in the file', async t => {
  const { path: pathIn } = await makeFolder(t)
  const rows = [
    ['credential: [{ query: key, value: a-literal-secret }]', 'upstreams.one.credential[0].value'],
    [
      'credential: { sign: jwt-hs256, with: { access_key: "${A}", secret_key: a-literal-secret } }',
      'upstreams.one.credential.with.secret_key',
    ],
    ['query: { code_token: a-literal-secret, api-version: 2025-04-01-preview }', 'upstreams.one.query.code_token'],
  ] as const
  for (const [i, [written, path]] of rows.entries()) {
    const file = pathIn(`gateway-${i}.yaml`)
    await writeFile(file, withUpstream(`one: { ${url}, ${written} }`))
    const linted = await lintConfig(file, [], { A: 'id' })
    const found = linted.ok ? linted.findings : []
    t.same(
      found.flatMap(({ code, path: place }) => (code === 'literal-secret' ? place : [])),
      [path],
      written,
    )
  }
})

t.test('lint finds the URL of a webhook only where it contains a secret', async t => {
  const { path: pathIn } = await makeFolder(t)
  const plain = ['http://127.0.0.1:9999/hook', 'http://localhost:9999/', 'https://hooks.example.com/tollgate/events']
  const secret = [
    'https://hooks.example.com/services/T0000/B0000/abcdefghijklmnopqrstuvwx',
    'https://hooks.example.com/hook?token=abcd1234',
    'https://user:abcd1234@hooks.example.com/hook',
  ]
  for (const [i, webhook] of [...plain, ...secret].entries()) {
    const file = pathIn(`webhook-${i}.yaml`)
    const events = `events: { webhooks: { one: { url: "${webhook}", secret: "\${S}", kinds: ["*"], allow_private: true } } }`
    await writeFile(file, `${withUpstream(`one: { ${url} }`)}\n${events}\n`)
    const linted = await lintConfig(file, [], { S: `whsec_${Buffer.alloc(32, 7).toString('base64')}` })
    const found = linted.ok ? linted.findings.filter(({ code }) => code === 'literal-secret') : linted.findings
    t.same(
      found.map(({ path }) => path),
      secret.includes(webhook) ? ['events.webhooks.one.url'] : [],
      caseName({ webhook }),
    )
  }
})

t.test('an editor knows the options of each signing plugin, and so does docs', async t => {
  const fits = new Ajv({ strict: false }).compile(await configSchema())
  const valid = (credential: string): boolean => fits(parse(withUpstream(`one: { ${url}, credential: ${credential} }`)))
  t.ok(valid(`{ sign: aws-sigv4, with: { ${sigv4} } }`))
  t.ok(valid(`[{ sign: aws-sigv4, with: { ${sigv4} } }, { header: x-key, value: "\${K}" }]`))
  t.notOk(valid('{ sign: aws-sigv4, with: { access_key: a, secret_key: b, region: c } }'))
  t.notOk(valid(`[{ sign: jwt-hs256, with: { ${sigv4} } }]`))
  t.ok(valid('{ sign: "./mine.ts", with: { anything: 1 } }'))
  t.match(await findConfigKey('credential.with.token_url'), {
    ok: true,
    facts: { description: /^google-token: .* oauth-client: / },
  })
  t.match(await findConfigKey('upstreams.query'), { ok: true })
})

t.test('lint finds an address to which our secret is sent unencrypted', async t => {
  const { path: pathIn } = await makeFolder(t)
  const file = pathIn('gateway.yaml')
  const sign = (where: string): string =>
    `{ sign: oauth-client, with: { token_url: "${where}/token", client_id: "\${A}", client_secret: "\${A}" } }`
  const foundAt = async (credential: string): Promise<readonly string[]> => {
    await writeFile(file, withUpstream(`one: { ${url}, credential: ${credential} }`))
    const linted = await lintConfig(file, [], { A: 'an-id' })
    if (!linted.ok) throw new Error(JSON.stringify(linted.findings))
    return linted.findings.flatMap(({ code, path }) => (code === 'credential-in-clear' ? path : []))
  }
  t.same(await foundAt(sign('http://login.example')), ['upstreams.one.credential.with.token_url'])
  t.same(await foundAt(`[${sign('http://login.example')}, { header: a, value: "\${A}" }]`), [
    'upstreams.one.credential[0].with.token_url',
  ])
  t.same(await foundAt(sign('http://127.0.0.1:9')), [])
  t.same(await foundAt(sign('https://login.example')), [])
})
