import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig, type CompiledConfig } from '../../src/index.ts'
import { makeFolder, root } from '../harness/folder.ts'
import { caseName } from '../harness/case-name.ts'

const shipped = await readFile(join(root, 'gateway.yaml'), 'utf8')

/** The shipped configuration with more lines, and price tables next to it. */
async function read(t: Test, lines: string, tables: { readonly [name: string]: string } = {}) {
  const place = await makeFolder(t)
  const path = place.path('gateway.yaml')
  await writeFile(path, shipped.replace('\nmodels:\n', `\n${lines}\nmodels:\n`))
  for (const [name, text] of Object.entries(tables)) await writeFile(place.path(name), text)
  const loaded = await loadConfig(path, {})
  return { place, path, loaded }
}

async function planOf(...given: Parameters<typeof read>): Promise<CompiledConfig> {
  const { loaded } = await read(...given)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  return loaded.plan
}

async function findingsOf(...given: Parameters<typeof read>): Promise<readonly string[]> {
  const { loaded, place } = await read(...given)
  return (loaded.ok ? loaded.notes : loaded.findings).map(({ file, line, code, path }) => {
    return `${file.replace(`${place.folder}/`, '')}:${file.endsWith('gateway.yaml') ? '' : line} ${code} ${path}`
  })
}

const prices = (plan: CompiledConfig, name: string) => {
  const model = plan.models.get(name)
  return model && Object.fromEntries([...model.prices].map(([label, { micros }]) => [label, micros / 1e6]))
}

t.test("defaults apply to every entry, also in mappings, and an entry's own values win", async t => {
  const plan = await planOf(
    t,
    `defaults:
  upstreams: { timeouts: { connect: 1s, idle: 7s }, headers: { x-own: here } }
  models: { family: chat, upstream: text, limits: { rpm: 9 }, price: free }
  groups: { rpm: 11 }
model_lists:
  more: { models: { listed: free } }
`,
  )
  t.match(plan.upstreams.get('alpha')?.timeouts, { connectMs: 5_000, idleMs: 120_000 })
  t.match(plan.upstreams.get('text')?.timeouts, { connectMs: 1_000, idleMs: 7_000, totalMs: 900_000 })
  t.match(plan.upstreams.get('text')?.headers, { 'x-own': 'here' })
  t.match(plan.models.get('listed'), { free: true, limits: { rpm: 9 }, family: { name: 'chat' } })
  t.match(
    plan.models.get('sim-chat'),
    { free: false, limits: { rpm: 9 } },
    'prices of its own stand in place of price: free',
  )
  t.equal(plan.models.get('beta-imagine-image')?.limits.rpm, 300)
  t.match(plan.groups.get('default')?.limits, { rpm: 60 })
})

t.test('models name a set of upstreams, and a missing one is reported', async t => {
  const lines = `route_sets: { cheap: [{ upstream: text, weight: 3 }, { upstream: beta, send_as: other }] }
model_lists:
  a: { family: chat, routes: cheap, models: { one: { input: "1", output: "2" }, two: free } }
`
  const plan = await planOf(t, lines)
  for (const name of ['one', 'two'])
    t.match(
      plan.models.get(name)?.upstreams,
      [
        { upstream: { name: 'text' }, weight: 3, sendAs: name },
        { upstream: { name: 'beta' }, weight: 1, sendAs: 'other' },
      ],
      caseName({ name }),
    )
  t.same(prices(plan, 'one'), { input: 1, output: 2 })
  t.same(await findingsOf(t, lines.replace('routes: cheap', 'routes: cheep')), [
    'gateway.yaml: route_set_unknown models.one.routes',
  ])
  t.same(await findingsOf(t, lines.replace('routes: cheap', 'routes: cheap, upstreams: [{ upstream: text }]')), [
    'gateway.yaml: upstream_twice models.one.routes',
  ])
  t.same(await findingsOf(t, lines.replace('two: free', 'sim-chat: free')), [
    'gateway.yaml: name_twice models.sim-chat',
  ])
  t.same(await findingsOf(t, lines.replace('two: free', 'two: 7')), [
    'gateway.yaml: value_type model_lists.a.models.two',
  ])
})

const table = `version: 1
source: by hand
as_of: 2026-11-23
currency: USD
models:
  text/listed: { prices: { input: "1.00", output: "2.00" } }
  bare: { prices: { input: "3.00", output: "4.00" }, as_of: 2026-11-20, unmapped: [audio] }
  "given:free": { price: free }
`

t.test("a model without prices uses the table's price for its upstream's name", async t => {
  const lines = `price_tables: [own.yaml, prices.yaml]
model_lists:
  a: { family: chat, upstream: text, models: [listed, bare] }
  b: { family: chat, upstream: beta, models: { elsewhere: { from: text/listed }, own: { input: "9", output: "9" } } }
defaults: { models: { limits: { rpm: 5 } } }
`
  const { loaded, place } = await read(t, lines.replace('price_tables', 'include: [more.yaml]\nprice_tables'), {
    'prices.yaml': table,
    'own.yaml': table.replace('3.00', '3.50').replace('text/listed', 'unused'),
    'more.yaml': `models:\n  nothing: { family: chat, upstream: text, send_as: "given:free" }\n`,
  })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const { plan } = loaded
  t.same(prices(plan, 'listed'), { input: 1, output: 2 })
  t.same(prices(plan, 'bare'), { input: 3.5, output: 4 }, 'of two tables the first counts')
  t.same(prices(plan, 'elsewhere'), { input: 1, output: 2 })
  t.same(prices(plan, 'own'), { input: 9, output: 9 })
  t.equal(plan.models.get('nothing')?.free, true)
  t.same(plan.models.get('listed')?.prices.get('output')?.origin, { file: place.path('prices.yaml'), line: 6, col: 51 })
  t.equal(plan.settings['models.listed.prices.output'], '2.00')
  t.notOk(Object.keys(plan.settings).some(path => /^(?:include|defaults|model_lists|price_tables)/.test(path)))
  t.same(plan.files?.named, ['more.yaml', 'own.yaml', 'prices.yaml'].map(place.path))
})

t.test(
  'a price that is missing, contradictory between upstreams, or from a broken table is refused at its place',
  async t => {
    const lines = (model: string): string =>
      `price_tables: [prices.yaml]\nmodel_lists:\n  a: { family: chat, ${model} }\n`
    const find = (model: string, text = table) => findingsOf(t, lines(model), { 'prices.yaml': text })
    t.same(await find('upstream: text, models: [unknown]'), ['gateway.yaml: price_missing models.unknown'])
    t.same(await find('upstream: text, models: { x: { from: lister } }'), [
      'gateway.yaml: price_row_unknown models.x.prices.from',
    ])
    t.same(await find('upstream: text, models: { x: { from: bare, input: "1" } }'), [
      'gateway.yaml: price_from_beside models.x.prices.from',
    ])
    const both = 'upstreams: [{ upstream: text, send_as: listed }, { upstream: beta, send_as: bare }], models: [x]'
    t.same(await find(both), ['gateway.yaml: price_row_several models.x'])
    t.same(await find(both, table.replace('3.00', '1').replace('4.00', '2.0')), [])
    const rows: readonly (readonly [string, string, string])[] = [
      ['USD', 'EUR', 'prices.yaml:4 price_table_currency price_tables[0].currency'],
      ['"4.00"', '4.00', 'prices.yaml:7 money_unquoted price_tables[0].models.bare.prices.output'],
      ['2026-11-23', 'yesterday', 'prices.yaml:3 value_malformed price_tables[0].as_of'],
      ['as_of: 2026-11-20', 'asof: 2026-11-20', 'prices.yaml:7 unknown_key price_tables[0].models.bare.asof'],
      ['version: 1\n', '', 'prices.yaml:1 key_missing price_tables[0].version'],
      ['models:', 'models: [', 'prices.yaml:7 yaml_syntax price_tables[0]'],
    ]
    for (const [find, put, expected] of rows)
      t.match(
        (await findingsOf(t, lines('upstream: text, models: [bare]'), { 'prices.yaml': table.replace(find, put) }))[0],
        expected,
        expected,
      )
    t.match(
      (await findingsOf(t, lines('upstream: text, models: [bare]')))[0],
      /gateway.yaml: file_unreadable price_tables\[0\]/,
    )
  },
)

t.test("a row also gives a model conditions and an end; the model's own values win", async t => {
  const rows = `version: 1
currency: USD
models:
  bare:
    prices: { input: "3.00", output: "4.00" }
    overrides: [{ if: { input_above: 200000 }, input: "6.00" }]
    times: [{ if: { speed: fast }, by: "2" }]
    ends: 2020-01-01
    unmapped: ["audio (no response reports it)"]
`
  const lines = 'price_tables: [prices.yaml]\nmodel_lists:\n  a: { family: chat, upstream: text, models: [bare] }\n'
  const { loaded, place } = await read(t, lines, { 'prices.yaml': rows })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const model = loaded.plan.models.get('bare')
  t.match(model?.overrides, [{ if: { input_above: 200_000 }, origin: { file: place.path('prices.yaml'), line: 6 } }])
  t.equal(model?.overrides?.[0]?.prices.get('input')?.micros, 6_000_000)
  t.match(model?.times, [{ if: { speed: 'fast' }, by: '2', origin: { line: 7 } }])
  t.equal(model?.ends?.date, '2020-01-01')
  t.equal(loaded.plan.settings['models.bare.ends'], '2020-01-01')
  const notes = loaded.notes.map(({ severity, code, file, line }) => [severity, code, file, line])
  t.same(
    notes.filter(([, code]) => /price_row|model_end/.test(String(code))),
    [
      ['warning', 'price_row_undercharges', place.path('prices.yaml'), 5],
      ['note', 'model_ended', place.path('prices.yaml'), 8],
    ],
  )
  const again = await read(
    t,
    `${lines}defaults: { models: { ends: 2030-01-01, times: [{ if: { speed: slow }, by: "0.5" }] } }\n`,
    {
      'prices.yaml': rows,
    },
  )
  if (!again.loaded.ok) throw new Error(JSON.stringify(again.loaded.findings))
  t.equal(again.loaded.plan.models.get('bare')?.ends?.date, '2030-01-01')
  t.match(again.loaded.plan.models.get('bare')?.times, [{ by: '0.5' }])
  t.match(await findingsOf(t, lines, { 'prices.yaml': rows.replace('input_above: 200000', 'input_over: 7') }), [
    /^prices\.yaml:6 unknown_key price_tables\[0\]\.models\.bare\.overrides/,
  ])
})

t.test('fifty models of five vendors are at most sixty lines', async t => {
  const folder = new URL('../fixtures/fleet/', import.meta.url)
  const text = await readFile(new URL('gateway.yaml', folder), 'utf8')
  const loaded = await loadConfig(new URL('gateway.yaml', folder).pathname, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const { models, upstreams } = loaded.plan
  t.equal(models.size, 50)
  t.equal(upstreams.size, 5)
  t.ok([...models.values()].every(model => model.prices.size >= 2 && model.limits.rpm === 600))
  t.equal(new Set([...models.values()].map(model => model.upstreams[0]?.upstream.name)).size, 5)
  const lines = text.trimEnd().split('\n').length
  t.ok(lines <= 60, `${lines} lines`)
  t.equal(loaded.notes.filter(one => one.severity === 'warning').length, 0)
})
