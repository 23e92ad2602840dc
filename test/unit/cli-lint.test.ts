import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type LintFinding, lintConfig, listLintRules, reportFindings } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'

const shipped = await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8')
const folder = await mkdtemp(join(tmpdir(), 'tollgate-lint-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const file = join(folder, 'gateway.yaml')

type Edit = readonly [find: string, put: string]

async function lintOf(edits: readonly Edit[], env: NodeJS.ProcessEnv = {}, unasked: readonly string[] = []) {
  let text = shipped
  for (const [find, put] of edits) {
    if (!text.includes(find)) throw new Error(`the shipped file has no ${find}`)
    text = find === '' ? put : text.replace(find, () => put)
  }
  await writeFile(file, text)
  const linted = await lintConfig(file, unasked, env)
  if (!linted.ok) throw new Error(JSON.stringify(linted.findings))
  const lines = text.split('\n')
  const shown = linted.findings.map(({ code, severity, line }) => ({ code, severity, text: lines[line - 1] ?? '' }))
  return { ...linted, shown }
}

t.test('the shipped gateway.yaml has no findings', async t => {
  t.same(await lintOf([]), { ok: true, findings: [], ignored: 0, shown: [] })
})

const alphaUrl = '"${ALPHA_URL:-simulator:alpha}"'
const alphaCredential = 'credential: { header: authorization, value: "Bearer ${ALPHA_API_KEY:-}" }'
const pool = 'credential: { header: x-key, value: "{key}" }\n    keys: { one: { value: "${ALPHA_KEY:-k1}" } }'
const storage = 'storage: "${TOLLGATE_STORAGE:-sqlite:./data/tollgate.db}"'
const listen = '"${TOLLGATE_LISTEN:-127.0.0.1:8080}"'

/** A file without the usual sections: without `auth` no price is allowed. */
const openToAll = `version: 1
groups: { default: { rpm: 60 } }
upstreams: { text: { url: "simulator:text" } }
pipeline: [multipart-rewrite]
families: { chat: { forward: { chat: { all: true } } } }
models: { sim-chat: { family: chat, upstream: text, price: free } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`

/** A change of the shipped file, the rule that finds it, and the text of the line that the finding names. */
const cases: readonly (readonly [rule: string, severity: string, edits: readonly Edit[], at: string])[] = [
  ['literal-secret', 'error', [['"Bearer ${ALPHA_API_KEY:-}"', '"Bearer sk-live-0123456789"']], 'sk-live'],
  [
    'literal-secret',
    'error',
    [['"Bearer ${ALPHA_API_KEY:-}"', '"Bearer ${ALPHA_API_KEY:-sk-live-0123456789}"']],
    'sk-live',
  ],
  ['literal-secret', 'error', [[storage, 'storage: postgres://me:hunter2hunter2@127.0.0.1/x']], 'storage'],
  ['credential-in-clear', 'error', [[alphaUrl, 'http://api.example.com']], 'api.example'],
  [
    'credential-in-clear',
    'error',
    [
      [alphaUrl, 'http://api.example.com'],
      [alphaCredential, pool],
    ],
    'api.example',
  ],
  [
    'upstream-without-tls',
    'warning',
    [
      [alphaUrl, 'http://10.0.0.7:8000'],
      [alphaCredential, 'reuse: true'],
    ],
    '10.0.0.7',
  ],
  [
    'credential-missing',
    'warning',
    [
      [alphaUrl, 'https://api.example.com'],
      [alphaCredential, 'reuse: true'],
    ],
    'alpha:',
  ],
  [
    'cooldown-off',
    'warning',
    [
      [alphaCredential, 'cooldown: { failures: 100000 }'],
      ['upstream: alpha,', 'upstreams: [{ upstream: alpha }, { upstream: beta }],'],
    ],
    'cooldown',
  ],
  ['proxy-without-effect', 'warning', [[alphaCredential, 'proxy: none']], 'proxy:'],
  [
    'retry-pays-twice',
    'warning',
    [['family: chat, upstream: text,', 'family: chat, upstream: text, retry_on: [500], may_pay_twice: true,']],
    'may_pay_twice',
  ],
  [
    'retry-without-effect',
    'warning',
    [['family: chat, upstream: text,', 'family: chat, upstream: text, may_pay_twice: true,']],
    'may_pay_twice',
  ],
  [
    'retry-attempts-few',
    'warning',
    [['family: chat, upstream: text,', 'family: chat, upstream: text, retry_on: [500], retry: { attempts: 1 },']],
    'retry:',
  ],
  [
    'retry-too-late',
    'warning',
    [['family: chat, upstream: text,', 'family: chat, upstream: text, retry_on: [500], retry: { backoff: 24h },']],
    'retry:',
  ],
  ['timeout-endless', 'warning', [['total: 15m }   # one', 'total: 7d }   # one']], 'total: 7d'],
  ['store-without-tls', 'warning', [[storage, 'storage: postgres://db.example.com/x']], 'storage'],
  ['listen-without-tls', 'warning', [[listen, '0.0.0.0:8080']], 'listen: 0.0.0.0'],
  ['ops-public', 'error', [['"${TOLLGATE_OPS:-127.0.0.1:9464}"', '"[::]:9464"']], 'ops:'],
  ['proxies-any', 'error', [['heartbeat: 15s ', 'trusted_proxies: [10.0.0.0/8, "::/0"] ']], '::/0'],
  ['cors-any', 'warning', [['origins: []', 'origins: ["*"]']], 'cors'],
  ['auth-missing', 'error', [['', openToAll]], 'pipeline'],
  ['simulator-public', 'warning', [[listen, '0.0.0.0:8080']], 'simulator:alpha'],
  ['agent-accepting-102-unknown', 'warning', [['[OpenAI/JS, Anthropic/JS]', '[OpenAI/JS, python]']], 'python'],
  [
    'agents-102-behind-proxy',
    'warning',
    [['heartbeat: 15s ', 'trusted_proxies: [10.0.0.0/8] ']],
    'agents_accepting_102',
  ],
  ['body-unbounded', 'warning', [['body_max: 32MiB ', 'body_max: 2GiB ']], 'body_max'],
  [
    'group-without-limits',
    'warning',
    [['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: {}']],
    'default:',
  ],
  [
    'limits-in-shadow',
    'note',
    [['{ rpm: 60, tpm: 500000, concurrency: 32 }', '{ rpm: 60, tpm: 500000, shadow: [tpm] }']],
    'shadow',
  ],
  ['ratelimit-missing', 'error', [['pipeline: [auth, ratelimit,', 'pipeline: [auth,']], 'pipeline'],
  ['expensive-model-without-limits', 'warning', [['output: "1.50",', 'output: "150.00",']], 'sim-chat:'],
  ['multiplier-zero', 'warning', [['multiplier: "0.9"', 'multiplier: "0"']], 'multiplier'],
  ['counters-apart', 'warning', [[storage, 'storage: postgres://127.0.0.1/x']], 'counters'],
  ['storage-forgets', 'error', [[storage, 'storage: "sqlite::memory:"']], 'storage'],
]

for (const [rule, severity, edits, at] of cases)
  t.test(`${rule} is found at ${at}`, async t => {
    const { shown, findings } = await lintOf(edits)
    const found = shown.find(one => one.code === rule)
    t.match(found, { severity })
    t.ok(found?.text.includes(at), `it is told of the line '${found?.text}'`)
    t.notMatch(JSON.stringify(findings), /sk-live|hunter2/)
  })

t.test('every rule has a case, a reason and a remedy', async t => {
  const rules = await listLintRules()
  t.same(
    rules.map(rule => rule.id).toSorted((a, b) => (a < b ? -1 : 1)),
    [...new Set(cases.map(([rule]) => rule))].toSorted((a, b) => (a < b ? -1 : 1)),
  )
  for (const { description, remedy } of rules)
    t.ok(description.length > 20 && remedy.length > 10, caseName({ description, remedy }))
})

t.test('a comment on a line or above it silences a rule there, with a reason', async t => {
  const ops = '  ops: "${TOLLGATE_OPS:-127.0.0.1:9464}"'
  const open = '  ops: 0.0.0.0:9464'
  const commented = await lintOf([[ops, `${open} # tollgate-ignore: ops-public behind a firewall`]])
  t.match(commented, { findings: [], ignored: 1 })
  const windows = await lintOf([[ops, `${open} # tollgate-ignore: ops-public behind a firewall\r`]])
  t.match(windows, { findings: [], ignored: 1 }, 'with line ends of Windows')
  const above = await lintOf([[ops, `  # tollgate-ignore: ops-public, cors-any behind a firewall\n${open}`]])
  t.match(above, { findings: [{ code: 'ignore-unused', severity: 'note' }], ignored: 1 })
  const bare = await lintOf([[ops, `  # tollgate-ignore: ops-public\n${open}`]])
  t.same(
    bare.findings.map(finding => finding.code),
    ['ignore-without-reason', 'ops-public'],
  )
  const misspelt = await lintOf([[ops, `  # tollgate-ignore: ops-pubic behind a firewall\n${open}`]])
  t.match(misspelt.findings, [
    { code: 'ignore-unknown-rule', remedy: "did you mean 'ops-public'?" },
    { code: 'ops-public' },
  ])
  const elsewhere = await lintOf([
    [ops, open],
    ['currency: USD', 'currency: USD # tollgate-ignore: ops-public no'],
  ])
  t.match(elsewhere.findings, [{ code: 'ignore-unused' }, { code: 'ops-public' }])
  t.match(await lintOf([[ops, open]], {}, ['ops-public']), { findings: [], ignored: 0 })
})

t.test('one key of an upstream with several is checked', async t => {
  const { shown } = await lintOf([
    [alphaUrl, 'https://api.example.com'],
    [alphaCredential, pool],
  ])
  t.same(shown, [])
})

t.test('a rule is still silenced by its old name, and a note gives the new one', async t => {
  const dear: Edit = [
    'output: "1.50", web_search: "10" }, times: [{ if: { service_tier: batch }, by: "0.5" }] }',
    'output: "150.00", web_search: "10" }, times: [{ if: { service_tier: batch }, by: "0.5" }] } # tollgate-ignore: dear-model-without-limits measured',
  ]
  t.match(await lintOf([dear]), {
    ignored: 1,
    findings: [{ code: 'ignore-old-name', severity: 'note', remedy: /write expensive-model-without-limits/ }],
  })
  const unasked = ['output: "1.50",', 'output: "150.00",'] as const
  t.match(await lintOf([unasked], {}, ['dear-model-without-limits']), { ignored: 0, findings: [] })
  t.match(await lintOf([unasked]), { findings: [{ message: /costs 150\.00 USD per million output tokens/ }] })
})

t.test('a listener behind a configured proxy needs no certificate', async t => {
  const { shown } = await lintOf([['heartbeat: 15s ', 'trusted_proxies: [10.0.0.0/8] ']], {
    TOLLGATE_LISTEN: '0.0.0.0:8080',
    ALPHA_URL: 'https://api.example.com',
    ALPHA_API_KEY: 'k',
  })
  t.notOk(shown.some(one => one.code === 'listen-without-tls'))
})

t.test('environment values are checked too', async t => {
  const { shown } = await lintOf([], {
    TOLLGATE_OPS: '0.0.0.0:9464',
    ALPHA_URL: 'http://api.example.com',
    ALPHA_API_KEY: 'k',
  })
  t.match(shown, [{ code: 'ops-public' }, { code: 'credential-in-clear' }])
})

t.test('an invalid file is not linted: its errors are reported', async t => {
  await writeFile(file, shipped.replace('rpm: 60', 'rpm: sixty'))
  t.match(await lintConfig(file, [], {}), { ok: false, findings: [{ code: 'value_type' }] })
})

const sample: LintFinding = {
  severity: 'warning',
  code: 'cors-any',
  file: 'a b/gateway.yaml',
  line: 3,
  col: 7,
  path: 'server.cors',
  message: '100 % of\npages',
  remedy: 'list: some',
  caret: '',
}

t.test('findings as GitHub Actions annotations, one line each, escaped', async t => {
  t.equal(
    await reportFindings([sample, { ...sample, severity: 'note', file: 'a,b:c', path: '' }], 'github'),
    [
      '::warning file=a b/gateway.yaml,line=3,col=7,title=cors-any::server.cors: 100 %25 of%0Apages%0Alist: some',
      '::notice file=a%2Cb%3Ac,line=3,col=7,title=cors-any::100 %25 of%0Apages%0Alist: some',
    ].join('\n'),
  )
})

t.test('findings as SARIF 2.1.0: every result names its rule, level and place', async t => {
  const log = JSON.parse(await reportFindings([sample, { ...sample, code: 'unknown_key', severity: 'error' }], 'sarif'))
  t.match(log, { version: '2.1.0', $schema: /sarif-2\.1\.0/, runs: [{ columnKind: 'utf16CodeUnits' }] })
  const [{ tool, results }] = log.runs
  t.match(tool.driver, { name: 'tollgate', semanticVersion: /^\d+\.\d+\.\d+/ })
  for (const result of results) t.equal(tool.driver.rules[result.ruleIndex].id, result.ruleId, caseName({ result }))
  t.match(results, [
    {
      ruleId: 'cors-any',
      level: 'warning',
      message: { text: /^server\.cors: 100 %/ },
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'a%20b/gateway.yaml' },
            region: { startLine: 3, startColumn: 7 },
          },
        },
      ],
    },
    { ruleId: 'unknown_key', level: 'error' },
  ])
})
