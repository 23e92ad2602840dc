import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/index.ts'

const head = `version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "sqlite::memory:"
groups: { default: {} }
upstreams: { text: { url: "http://127.0.0.1:9" } }
pipeline: [auth, token-usage]
families: { chat: { forward: { chat: { all: true } }, token-usage: {} } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
models:
  m:
    family: chat
    upstream: text
`
/** The first line of a model's prices. */
const first = head.split('\n').length

type Case = {
  readonly name: string
  readonly lines: readonly string[]
  /** A finding as its line, the text at its column, its code, message and remedy. */
  readonly expected: readonly [line: number, at: string, code: string, message: RegExp, remedy: RegExp]
}

const prices = '    prices: { input: "1", output: "2" }'

const cases: readonly Case[] = [
  {
    name: 'a unit that no API format reports',
    lines: ['    prices: { input: "1", output: "2", thinking: "3" }'],
    expected: [0, '"3"', 'usage_unit_unknown', /no API format reports 'thinking'/, /^use input, /],
  },
  {
    name: 'such a unit in an override',
    lines: [prices, '    overrides: [{ if: { input_above: 200000 }, thinking: "3" }]'],
    expected: [1, '"3"', 'usage_unit_unknown', /no API format reports 'thinking'/, /^use input, /],
  },
  {
    name: 'a child price without a parent price',
    lines: ['    prices: { output: "2", cached_input: "1" }'],
    expected: [0, '"1"', 'usage_price_missing', /cached_input/, /input/],
  },
  {
    name: 'an override that an earlier one always shadows',
    lines: [
      prices,
      '    overrides:',
      '      - { if: { input_above: 1000 }, input: "2" }',
      '      - { if: { input_above: 2000, service_tier: priority }, input: "3" }',
    ],
    expected: [
      3,
      '{ if',
      'override_shadowed',
      /overrides\[1\] never applies: overrides\[0\] always matches first/,
      /narrower condition first/,
    ],
  },
  {
    name: 'days that are none',
    lines: [prices, '    times: [{ if: { days: someday, zone: UTC }, by: "2" }]'],
    expected: [1, 'someday', 'condition_never_holds', /'someday' is not a list of weekdays/, /mon-fri/],
  },
  {
    name: 'hours that are none',
    lines: [prices, '    times: [{ if: { hours: "8-25", zone: UTC }, by: "2" }]'],
    expected: [1, '"8-25"', 'condition_never_holds', /'8-25' is not a span of hours/, /00:00-08:00/],
  },
  {
    name: 'a time window without a zone',
    lines: [prices, '    times: [{ if: { hours: "00:00-08:00" }, by: "0.5" }]'],
    expected: [1, '{ hours', 'window_without_zone', /need a time zone/, /add zone: UTC/],
  },
  {
    name: 'a zone that is none',
    lines: [prices, '    times: [{ if: { days: mon-fri, zone: Mars/Base }, by: "2" }]'],
    expected: [1, 'Mars', 'condition_never_holds', /there is no time zone 'Mars\/Base'/, /IANA/],
  },
]

t.test('[14] check finds a price that can never be charged, with its place and a remedy', async t => {
  const folder = t.testdir()
  const config = join(folder, 'gateway.yaml')
  for (const { name, lines, expected } of cases) {
    await writeFile(config, `${head}${lines.join('\n')}\n`)
    const loaded = await loadConfig(config, {})
    t.equal(loaded.ok, false, name)
    if (loaded.ok) continue
    const [line, at, code, message, remedy] = expected
    t.match(loaded.findings, [{ line: first + line, code, severity: 'error', message, remedy }], name)
    t.equal(loaded.findings.length, 1, `${name}: nothing else`)
    t.match(
      lines[line]?.slice((loaded.findings[0]?.col ?? 0) - 1),
      new RegExp(`^${RegExp.escape(at)}`),
      `${name}: its column`,
    )
  }
  await writeFile(config, `${head}${prices}\n`)
  const sound = await loadConfig(config, {})
  t.ok(sound.ok, 'the prices alone are valid')
})
