import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { formatGithub } from '../../src/config/format-github.ts'
import { formatSarif } from '../../src/config/format-sarif.ts'
import { formatFindings, showConfig } from '../../src/config/index.ts'
import { shownLines } from '../../src/config/edit/shown-lines.ts'
import { withoutSecrets } from '../../src/config/secrets.ts'
import { secretsOf } from '../../src/gateway/secrets-of.ts'
import { lintConfig, loadConfig, traceConfig } from '../../src/index.ts'
import { makeFolder } from '../harness/folder.ts'
import { caseName } from '../harness/case-name.ts'

const file = (url: string, more = ''): string => `version: 1
${more}upstreams: { one: { url: "${url}" } }
pipeline: [auth, token-usage]
families: { talk: { forward: { chat: [model, messages] } } }
models: { m: { family: talk, upstream: one, price: free } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`

/** Addresses with a secret, and the secret. */
const addresses = [
  ['https://vendor.example/v1?key=hunter2hunter2', 'hunter2hunter2'],
  ['https://vendor.example/v1?a=1&api-key=q9-q9-q9&b=2', 'q9-q9-q9'],
  ['https://vendor.example/v1?sig=ab%2Fcd%3D', 'ab%2Fcd%3D'],
  ['https://vendor.example/v1?x=AbCdEfGh0123456789', 'AbCdEfGh0123456789'],
  ['https://hooks.example/services/T0123/B0456/aBcDeFgHiJkLmNoPqRsT1234', 'aBcDeFgHiJkLmNoPqRsT1234'],
  ['https://api.example/bot123456:AAE_x-yzAAE_x-yzAAE/send', 'AAE_x-yzAAE_x-yzAAE'],
  ['https://me:hunter2@hunter3@vendor.example/v1', 'hunter2@hunter3'],
] as const

t.test('secrets in an address are in no finding, from any source', async t => {
  const { path: pathIn } = await makeFolder(t)
  for (const [i, [address, secret]] of addresses.entries()) {
    const written = pathIn(`${i}.yaml`)
    // The address is invalid, its scheme is unencrypted, and it is also the value of an unknown key.
    const text = file(address.replace('https:', 'ftp:'), `notes: "${address}"\n`)
    await writeFile(written, text)
    const loaded = await loadConfig({ text, file: written }, {})
    const findings = loaded.ok ? [] : loaded.findings
    t.not(findings.length, 0, address)
    const texts = [
      JSON.stringify(findings),
      formatFindings(findings, { color: false }),
      formatGithub(findings),
      formatSarif(findings, { version: '1.0.0' }),
    ]
    for (const one of texts) t.notMatch(one, secret, address)
    const shown = await showConfig(written, text, {})
    t.notMatch(JSON.stringify(shown), secret, `${address}, shown`)
    t.match(shown.text, 'version: 1', caseName({ i, address, secret }))
  }
})

t.test('lint, the effective values and their origins do not show them either', async t => {
  const { path: pathIn } = await makeFolder(t)
  const written = pathIn('gateway.yaml')
  const storage = 'postgres://me:hunter2@127.0.0.1/db?sslmode=disable&password=hunter3hunter3'
  const text = file('http://vendor.example/hooks/AbCdEfGh0123456789', `storage: ${storage}\n`)
  await writeFile(written, text)
  const linted = await lintConfig(written, [], {})
  t.ok(linted.ok)
  t.match(JSON.stringify(linted), 'literal-secret')
  t.match(JSON.stringify(linted), 'is called without encryption')
  const loaded = await loadConfig(written, {})
  const settings = loaded.ok ? loaded.plan.settings : {}
  t.equal(settings['storage'], 'postgres://me:***@127.0.0.1/db?sslmode=disable&password=***')
  t.equal(settings['upstreams.one.url'], 'http://vendor.example/hooks/***')
  const traced = await traceConfig(written, {})
  for (const output of [linted, settings, traced, await showConfig(written, text, {})])
    for (const secret of ['hunter2', 'hunter3', 'AbCdEfGh0123456789'])
      t.notMatch(JSON.stringify(output), secret, caseName({ secret }))
})

t.test('a value that is not used, because its key is there twice, is redacted too', async t => {
  const { path: pathIn } = await makeFolder(t)
  const written = pathIn('gateway.yaml')
  const twice = `    headers: { x-a: secret-111 }
    headers: { x-a: secret-222 }
  one: { url: "https://vendor.example", headers: { x-a: secret-333, <<: { x-b: secret-444 } } }
`
  const text = `include: [more.yaml]\n${file('https://vendor.example')}`.replace(
    /^upstreams: .*\n/m,
    `upstreams:\n  one:\n    url: https://vendor.example\n${twice}`,
  )
  await writeFile(pathIn('more.yaml'), `upstreams:\n  two:\n${twice}`)
  const loaded = await loadConfig({ text, file: written }, {})
  const findings = loaded.ok ? [] : loaded.findings
  const twiceAt = findings.filter(({ code }) => code === 'duplicate_key' || code === 'name_twice')
  t.equal(twiceAt.length, 4)
  t.notMatch(formatFindings(findings, { color: false }), /secret-\d/)
  t.notMatch((await showConfig(written, text, {})).text, /secret-\d/)
  for (const [path, lines] of await shownLines({ file: written, text }, {}))
    t.notMatch(JSON.stringify(lines), /secret-\d/, caseName({ path }))
})

t.test('other values stay readable, and a reference names its place', async t => {
  const plain = [
    'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash-image-preview:generateContent',
    'https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-4-20250514-v1:0/invoke',
    'https://x.example/v1?api-version=2025-04-01-preview&model=a',
    'redis://h:6379?cluster=spread',
    'https://x.example/accounts/8b9c7a52-1f2e-4c55-9b0a-7e2f6c1d3a4b/run',
    'postgres://u:${DB_PASSWORD}@h/db?password=${OTHER}'.replace(/u:[^@]*@/, 'u@'),
  ]
  for (const one of plain) t.equal(withoutSecrets(one), one, caseName({ one }))
  const shown = await showConfig('a.yaml', file('https://x', 'storage: postgres://u:${PW}@h/d?password=${P2}\n'), {})
  t.match(shown.text, 'postgres://u:${PW}@h/d?password=${P2}')
})

t.test('a key in a comment is redacted by its prefix, and words are not', async t => {
  const made = 'Ab3dEf6hIj9lMn2p'
  const kinds = ['sk-', 'AIza', 'AKIA', 'xai-', 'gsk_', 'hf_', 'r8_', 'pplx-', 'ghp_', 'glpat-', 'whsec_', 'eyJ']
  const keys = kinds.map(kind => kind + made)
  const words = 'hf_hub and gsk_x are short; r8_models is a name, see https://x.example/eyJust'
  const lines = [...keys.map(key => `# was ${key} until May\n`), `# ${words}\n`].join('')
  const { text } = await showConfig('a.yaml', file('https://x', lines), {})
  for (const key of keys) t.notMatch(text, key, key.slice(0, 6))
  t.equal(text.match(/^# was \S+ until May$/gm)?.length, keys.length, 'and the words next to them stay')
  t.match(text, words)
})

t.test('a default in an address, and text next to a reference, is as secret as the rest', async t => {
  const cases = [
    ['"postgres://u:${PW:-hunter2}@h/db"', 'postgres://u:•••@h/db'],
    ['"postgres://u:${PW:-hun hunter2}@h/db"', 'storage: "•••"'],
    ['"redis://:${PW:-hunter2}@h:1"', 'redis://:•••@h:1'],
    ['"postgres://u:${A}hunter2@h/db"', 'postgres://u:•••@h/db'],
    ['"postgres://${U:-u}:hunter2@h/db"', 'postgres://${U:-u}:•••@h/db'],
    ['"postgres://u:$${hunter2@h/x}y"', 'postgres://u:•••@h/x}y'],
    ['"${URL:-postgres://u:hunter2@h/db}"', '${URL:-postgres://u:•••@h/db}'],
    ['"postgres://h/db?password=${PW:-hunter2}"', 'postgres://h/db?password=•••'],
    ['"postgres://h/db?password=${PW}hunter2"', 'postgres://h/db?password=•••'],
    ['"postgres://u:${A}@h/db"', 'postgres://u:${A}@h/db'],
    ['"postgres://u:${file:/run/pw}@h/db"', 'postgres://u:${file:/run/pw}@h/db'],
    ['>-\n  postgres://u:hunter2\n  @h/db', 'storage: '],
    ['"postgres://u:hunt\\\n  er2hunter2@h/db"', 'storage: '],
    ['"postgres:\\/\\/u:hunter2@h/db"', 'storage: '],
    ['"postgres://u:a hunter2@h/db"', 'storage: '],
  ] as const
  const { path: pathIn } = await makeFolder(t)
  for (const [written, wanted] of cases) {
    const text = file('https://x.example', `storage: ${written}\n`)
    const env = { A: 'part-of-it' }
    const { text: shown, origins } = await showConfig('a.yaml', text, env)
    t.ok(shown.includes(wanted), `${written}: ${shown.split('\n')[1]}`)
    t.notMatch(shown, 'hunter2', caseName({ written }))
    t.match(shown, 'pipeline: [auth', `${written}: the rest stays`)
    t.notMatch(JSON.stringify(origins), 'hunter2', `${written}, traced`)
    const lines = await shownLines({ file: pathIn('a.yaml'), text }, env)
    t.notMatch(JSON.stringify([...lines.values()]), /hunter2/, `${written}, in lines`)
  }
})

t.test('a secret in defaults is redacted once, and the text after it stays', async t => {
  const own = 'one: { url: "https://x.example" }, two: { url: "https://y.example" }'
  const text = file('https://z.example', 'defaults: { upstreams: { headers: { x-a: hunter2hunter2 }, region: eu } }\n')
  const several = text.replace('upstreams: { one:', `upstreams: { ${own}, three:`)
  const covered = several.replace('hunter2hunter2', '•••')
  t.equal((await showConfig('a.yaml', several, {})).text, covered)
  const [lines = []] = (await shownLines({ file: 'a.yaml', text: several }, {})).values()
  t.equal(lines.map(line => line.text).join('\n'), covered)
})

t.test("a call's secret-named parameters are never shown", async t => {
  const call =
    'calls: { chat: { path: /x, query: { sig: S-sig, code: S-code, pw: S-pw, jwt: S-jwt, sas: S-sas, a: open } } }'
  const text = file('https://x.example').replace('" } }', `", ${call} } }`)
  const loaded = await loadConfig({ text, file: 'a.yaml' }, {})
  t.ok(loaded.ok, JSON.stringify(unset(loaded)))
  const settings = loaded.ok ? loaded.plan.settings : {}
  t.equal(settings['upstreams.one.calls.chat.query.a'], 'open')
  const { text: shown } = await showConfig('a.yaml', text, {})
  t.match(shown, 'a: open')
  for (const output of [JSON.stringify(settings), shown]) t.notMatch(output, 'S-', caseName({ output }))
  const secrets = loaded.ok ? [...secretsOf(loaded.plan)] : []
  t.equal(new Set(secrets.filter(one => one.startsWith('S-'))).size, 5, 'and the log hides them')
})

t.test('names that operators choose, and settings about secrets, redact nothing', async t => {
  const text = `version: 1
upstreams:
  my-secret:
    url: https://x.example
    credential: { header: authorization, value: "\${KEY}" }
    headers: { X-Beta: "true", x-v: "4" }
    query: { plan: free-tier }
groups: { default: { rpm: 4 } }
pipeline: [auth, ratelimit, token-usage]
families: { alpha-credential: { n_max: 4, forward: { chat: [model, messages] }, token-usage: { estimate: { bytes_per_token: 4 } } } }
models: { free-tier: { family: alpha-credential, upstream: my-secret, prices: { input: "4", output: "4" } } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`
  const loaded = await loadConfig({ text, file: 'a.yaml' }, { KEY: '4' })
  t.ok(loaded.ok, JSON.stringify(unset(loaded)))
  const settings = loaded.ok ? loaded.plan.settings : {}
  t.match(settings, {
    'upstreams.my-secret.url': 'https://x.example',
    'upstreams.my-secret.credential.value': '***',
    'upstreams.my-secret.headers.x-beta': '***',
    'upstreams.my-secret.headers.x-v': '***',
    'upstreams.my-secret.query.plan': '***',
    'groups.default.rpm': '4',
    'families.alpha-credential.n_max': '4',
    'families.alpha-credential.token-usage.estimate.bytes_per_token': '4',
    'models.free-tier.prices.input': '4',
  })
  const { text: shown } = await showConfig('a.yaml', text, { KEY: '4' })
  t.match(shown, 'bytes_per_token: 4')
  t.match(shown, 'family: alpha-credential, upstream: my-secret')
  const long = text.replace('family: alpha-credential', 'price: x, family: alpha-credential')
  const refused = await loadConfig({ text: long, file: 'a.yaml' }, { KEY: '4' })
  t.match(refused.ok ? '' : JSON.stringify(refused.findings), 'input: \\"4\\"', 'nor in findings')
})

t.test('a finding shows a plain reference as written, and hides text next to one', async t => {
  const cases = [
    ['value: "${ONE}"', 'value: "${ONE}"'],
    ["value: '${file:/no/such}'", "value: '${file:/no/such}'"],
    ['value: ${ONE}', 'value: ${ONE}'],
    ['value: "Bearer ${ONE}"', 'value: ********${ONE}*'],
    ['value: "${ONE}hunter2"', 'value: *${ONE}********'],
    ['value: "${ONE:-hunter2}"', 'value: *${ONE:-********'],
  ] as const
  for (const [written, wanted] of cases) {
    const text = file('https://x.example').replace(
      '" } }',
      `", query: { a: "\${GONE}" }, nothing: 1, credential: { header: x-a, ${written} } } }`,
    )
    const loaded = await loadConfig({ text, file: 'a.yaml' }, {})
    const carets = loaded.ok ? [] : loaded.findings.map(({ caret }) => caret)
    t.ok(
      carets.some(caret => caret.includes(wanted)),
      `${written}: ${carets[0]}`,
    )
    for (const caret of carets) t.notMatch(caret, 'hunter2', caseName({ written }))
  }
})

/** A configuration whose secrets all come from outside the file. */
const fromOutside = `version: 1
storage: "\${BOOKS:-sqlite:./data/books.db}"
server: { public_url: https://ai.example }
upstreams:
  one: { url: "https://\${ACCOUNT:?}.vendor.example", credential: { header: authorization, value: "Bearer \${ONE}" } }
  two:
    url: "\${TWO_URL}"
    credential: [{ header: authorization, value: "Bearer {key}" }, { header: x-org, value: "\${ORG}" }]
    headers: { x-extra: "\${EXTRA}" }
    keys: { first: { value: "\${KEY_1}" }, second: { value: "\${KEY_2:?}" }, third: { value: "\${file:./no-such-file}" } }
events:
  webhooks:
    ours: { url: "\${HOOK_URL:?}", secret: "\${HOOK_SECRET:?}", kinds: [budget.*] }
    chat: { url: "https://hooks.example/\${CHAT}", format: slack, kinds: [budget.*] }
    mail: { url: "\${MAIL_URL}", format: email, from: a@one.example, to: [b@one.example], kinds: [budget.*] }
sign_in: { issuers: { us: { issuer: https://id.example, client_id: x, client_secret: "\${CLIENT_SECRET}" } } }
pipeline: [auth, token-usage]
families: { talk: { forward: { chat: [model, messages] } } }
models: { m: { family: talk, upstream: one, price: free }, n: { family: talk, upstream: two, price: free } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`
const unset = (loaded: Awaited<ReturnType<typeof loadConfig>>): readonly string[] =>
  loaded.ok ? [] : loaded.findings.map(({ code, path }) => `${code} ${path}`)

t.test('commands on the storage need no secrets of vendors, receivers and issuers', async t => {
  const config = { text: fromOutside, file: 'gateway.yaml' }
  const books = await loadConfig(config, {}, { booksOnly: true })
  t.strictSame(unset(books), [])
  t.ok(books.ok)
  t.equal(books.ok && books.plan.storage, 'sqlite:./data/books.db')
  const missing = unset(await loadConfig(config, {}))
  t.equal(missing.length, 13, 'serving requires every one')
  t.equal(missing.filter(one => one.startsWith('variable_unset ')).length, 12)
})

t.test('a key in JSON, similarly named files, and headers of calls are not required either', async t => {
  const call = 'calls: { chat: { path: /x, headers: { x-api-key: "${A}", x-org: "${B}" } } }'
  const cases = [
    [
      'credential: { header: authorization, value: "Bearer ${ONE}" }',
      'credential: { sign: google-token, with: { key: "${JSON}" } }',
    ],
    [
      'credential: { header: authorization, value: "Bearer ${ONE}" }',
      'credential: { sign: google-token, with: { key: "${file:/no/such}" } }',
    ],
    ['"${KEY_1}" }, second: { value: "${KEY_2:?}"', '"${file:a/b}" }, second: { value: "${file:a-b}"'],
    ['value: "Bearer {key}"', 'value: "${TEMPLATE}"'],
    ['families: { talk: { ', `families: { talk: { ${call}, `],
    ['one: { url:', `one: { ${call}, url:`],
  ] as const
  for (const [from, to] of cases) {
    const text = fromOutside.replace(from, to)
    const loaded = await loadConfig({ text, file: 'gateway.yaml' }, {}, { booksOnly: true })
    t.not(text, fromOutside, to)
    t.strictSame(unset(loaded), [], to)
  }
})

t.test('missing storage settings are reported, and so are other missing values', async t => {
  const cases = [
    ['storage', '"${BOOKS:-sqlite:./data/books.db}"', '"${BOOKS}"'],
    ['server.public_url', 'https://ai.example', '"${PUBLIC_URL}"'],
    ['models.m.price', 'upstream: one, price: free', 'upstream: one, price: "${PRICE}"'],
    ['sign_in.issuers.us.client_id', 'client_id: x', 'client_id: "${CLIENT_ID}"'],
  ] as const
  for (const [path, from, to] of cases) {
    const text = fromOutside.replace(from, to)
    const loaded = await loadConfig({ text, file: 'gateway.yaml' }, {}, { booksOnly: true })
    t.strictSame(unset(loaded), [`variable_unset ${path}`], path)
  }
  const broken = fromOutside.replace('${KEY_1}', '${KEY 1}')
  const loaded = await loadConfig({ text: broken, file: 'gateway.yaml' }, {}, { booksOnly: true })
  t.strictSame(unset(loaded), ['reference_malformed upstreams.two.keys.first.value'], 'and an unreadable one')
})
