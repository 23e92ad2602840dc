import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadConfig } from '../../src/index.ts'
import { makeFolder } from '../harness/folder.ts'

const shipped = readFileSync(new URL('../../gateway.yaml', import.meta.url), 'utf8')

/** The findings about prices in the shipped configuration with one more model. */
async function findingsOf(family: string, prices: string, from = shipped): Promise<readonly string[]> {
  const text = withModel(family, prices, from)
  const loaded = await loadConfig({ text, file: 'gateway.yaml' }, {})
  const findings = loaded.ok ? loaded.notes : loaded.findings
  return findings.flatMap(({ severity, path, message }) =>
    path.startsWith('models.probe') ? [`${severity} ${/price for (\w+)/.exec(message)?.[1] ?? message}`] : [],
  )
}

function withModel(family: string, prices: string, from = shipped): string {
  return from.replace('\nmodels:\n', `\nmodels:\n  probe: { family: ${family}, upstream: text, ${prices} }\n`)
}

t.test('a model that answers with tokens has a price for them, and one for its input', async t => {
  const rows: readonly (readonly [string, string, readonly string[]])[] = [
    ['chat', 'prices: { input: "1" }', ['warning output']],
    ['chat', 'prices: { output: "1" }', ['warning input']],
    ['chat', 'prices: { input: "1", cached_input: "0.1" }', ['warning output']],
    ['chat', 'prices: { request: "1", input: "1" }', ['warning output']],
    ['chat', 'prices: { second: "1" }', ['warning output', 'warning input', 'note second']],
    ['chat', 'prices: { search_unit: "1" }', ['warning output', 'warning input']],
    ['messages', 'prices: { input: "1" }', ['warning output']],
    ['generative', 'prices: { input: "1" }', ['warning output']],
    ['embedding', 'prices: { output: "1" }', ['warning input']],
    ['transcription', 'prices: { input: "1" }', ['warning output']],
    ['chat', 'prices: { input: "1", output: "2" }', []],
    ['chat', 'prices: { input: "1", output: "0" }', []],
    ['chat', 'prices: { input: "0", output: "2" }', []],
    ['chat', 'prices: { request: "1" }', []],
    ['chat', 'price: free', []],
    ['chat', 'prices: { input: "1" }, enabled: false', []],
    ['embedding', 'prices: { input: "1" }', []],
    ['rerank', 'prices: { search_unit: "1" }', []],
    ['rerank', 'prices: { input: "1" }', []],
    ['speech', 'prices: { character: "1" }', []],
    ['transcription', 'prices: { request: "1" }', []],
  ]
  for (const [family, prices, expected] of rows) {
    const found = (await findingsOf(family, prices)).map(one => (one.startsWith('note') ? 'note second' : one))
    t.same(found, expected, `${family}: ${prices}`)
  }
})

t.test('an operation that the family makes free needs no price for its answers', async t => {
  const family = 'given: { forward: { chat: { all: true } }, token-usage: { free_operations: [chat] } }'
  const from = shipped.replace('\nfamilies:\n', `\nfamilies:\n  ${family}\n`)
  t.same(await findingsOf('given', 'prices: { input: "1" }', from), [])
})

t.test('a gateway with such a model starts; check reports place and remedy, and refuses it with --strict', async t => {
  const text = withModel('chat', 'prices: { input: "1" }')
  const line = text.split('\n').findIndex(one => one.includes('probe')) + 1
  const loaded = await loadConfig({ text, file: 'gateway.yaml' }, {})
  t.equal(loaded.ok, true)
  t.match(loaded.ok && loaded.plan.warnings, [new RegExp(`^gateway.yaml:${line}:.*add output, per million tokens`)])
  const place = await makeFolder(t)
  await place.write('gateway.yaml', { 'models/probe': { family: 'chat', upstream: 'text', prices: { input: '1' } } })
  t.match(await place.run('check'), { code: 0, stderr: /warning: .*no price for output[\s\S]*add output/ })
  t.match(await place.run('check', '--strict'), { code: 3, stderr: /1 warning, treated as errors by --strict/ })
})
