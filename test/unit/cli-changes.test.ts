import { readFile } from 'node:fs/promises'
import t from 'tap'
import { describeChanges, loadConfig, type CompiledConfig } from '../../src/index.ts'

const shipped = await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8')

async function planOf(find: string | RegExp, put: string): Promise<CompiledConfig> {
  const loaded = await loadConfig({ file: 'gateway.yaml', text: shipped.replace(find, put) }, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  return loaded.plan
}

const cases: readonly (readonly [find: string | RegExp, put: string, wanted: readonly string[]])[] = [
  ['version: 1\n', 'version: 1   # the same\n', []],
  ['body_max: 32MiB', 'body_max: 32768KiB', []],
  ['currency: USD', 'currency: EUR', ['currency: USD → EUR']],
  [/(sim-chat: .*)"0\.50"/, '$1"0.60"', ['price of sim-chat input: 0.50 USD → 0.60 USD']],
  [/(sim-chat: .*)cached_input: "0\.05", /, '$1', ['price of sim-chat cached_input: 0.05 USD → none']],
  [
    /(sim-rerank: .*)prices: \{ search_unit: "0\.002" \}/,
    '$1price: free',
    ['price of sim-rerank search_unit: 0.002 USD → none', 'price of sim-rerank: now free'],
  ],
  [
    'sim-rerank: { family: rerank, upstream: text, prices: { search_unit: "0.002" } }',
    '"v1.5/rank": { family: rerank, upstream: text, price: free }',
    ['model v1.5/rank added (free)', 'model sim-rerank removed'],
  ],
  ['heartbeat: 15s', 'heartbeat: off', ['server.heartbeat: 15s → off']],
  ['limits: { rpm: 300 }', 'limits: { rpm: 200 }', ['models.beta-imagine-image.limits.rpm: 300 → 200']],
  ['partner: { rpm: 600,', 'partner: {', ['groups.partner.rpm: 600 → absent']],
]

for (const [find, put, wanted] of cases)
  t.test(`a change is reported: ${wanted[0] ?? `none (${put.trim()})`}`, async t => {
    t.same(await describeChanges(await planOf('', ''), await planOf(find, put)), wanted)
  })
