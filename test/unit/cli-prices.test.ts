import { existsSync } from 'node:fs'
import { chmod, open, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import { importPrices, listPricesInUse, loadConfig, ownershipOf } from '../../src/index.ts'
import { priceSources } from '../../src/cli/program.ts'
import { priceSources as known } from '../../src/tools/prices/index.ts'
import { caseName } from '../harness/case-name.ts'
import { bin, makeFolder, root } from '../harness/folder.ts'

const sourceOf = (from: string): Promise<string> => readFile(join(root, `test/fixtures/prices/${from}.json`), 'utf8')
const options = { from: 'litellm', source: 'litellm', asOf: '2026-11-23' } as const

/** A LiteLLM table with a price for one model. */
const oneRow = (fields: string, id = '"m"'): string =>
  `{ "sure": { "mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6 }, ${id}: { "mode": "chat", ${fields} } }`

const config = `version: 1
currency: USD
groups: { default: { rpm: 60 } }
upstreams: { openai: { url: https://one.example }, anthropic: { url: https://two.example } }
pipeline: [auth, token-usage]
families: { chat: { streams: [chat], forward: { chat: { all: true } }, token-usage: {} } }
price_tables: [prices.yaml]
models:
  gpt-4o: { family: chat, upstream: openai }
  ours: { family: chat, upstream: openai, prices: { input: "9.00", output: "9.00" } }
  sonnet: { family: chat, upstream: anthropic, prices: { from: claude-sonnet-4-5 } }
  llama: { family: chat, upstream: openai, prices: { from: ollama/llama3 } }
  own-free: { family: chat, upstream: openai, price: free }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`

t.test('the command knows every table with a reader', t => {
  t.same(priceSources, known)
  t.end()
})

t.test('tables of three sources become files that a configuration accepts, always the same bytes', async t => {
  const place = await makeFolder(t)
  for (const from of known) {
    const text = await sourceOf(from)
    const imported = await importPrices(text, { ...options, from })
    const again = await importPrices(text, { ...options, from })
    t.equal(again.text, imported.text, caseName({ from }))
    t.match(imported.text, /^digest: "sha256:[0-9a-f]{64}"$/m, caseName({ from }))
    const ids = [...imported.text.matchAll(/^ {2}("[^"]+"|[\w./-]+): \{/gm)].map(([, id = '']) =>
      id.replaceAll('"', ''),
    )
    t.same(
      ids,
      imported.rows.map(row => row.id),
      caseName({ from }),
    )
    t.same(ids, ids.toSorted(), caseName({ from }))
    await writeFile(place.path('prices.yaml'), imported.text)
    await writeFile(place.path('gateway.yaml'), config.replaceAll(/^ {2}(?:gpt-4o|sonnet|llama): .*\n/gm, ''))
    t.match(await loadConfig(place.path('gateway.yaml'), {}), { ok: true }, caseName({ from }))
    t.match(await place.run('fmt', 'prices.yaml', '--check'), { code: 0 }, caseName({ from }))
  }
})

t.test('omitted rows are counted by reason, with names; nothing is lost', async t => {
  const place = await makeFolder(t)
  await writeFile(place.path('table.json'), `\uFEFF${(await sourceOf('litellm')).replaceAll('\n', '\r\n')}`)
  const result = await place.run('prices', 'import', 'table.json', '--from', 'litellm', '--as-of', '2026-11-23')
  t.equal(result.code, 0, result.stderr)
  t.match(result.stderr, "left out 1: the mode 'video_generation' is priced by a unit that is not supported: veo-3")
  t.match(result.stderr, /left out \d+: its price is missing or 0, which may mean unknown: volcengine\/glm-4-7/)
  t.match(result.stderr, /^table\.json: 14 rows, 8 left out, 0 not selected$/m)
  const some = await place.run(
    'prices',
    'import',
    'table.json',
    '--from',
    'litellm',
    '--only',
    'gpt-*,*sonnet*',
    '--format',
    'json',
  )
  const record = JSON.parse(some.stdout) as { rows: number; left: { id: string }[]; unasked: number; text: string }
  t.match(record, { rows: 3, left: [], unasked: 19, written: null })
  const azure = await place.run(
    'prices',
    'import',
    'table.json',
    '--from',
    'litellm',
    '--provider',
    'azure,ollama',
    '--format',
    'json',
  )
  t.match(JSON.parse(azure.stdout), { rows: 2, left: [] })
  t.match(await place.run('prices', 'import', 'table.json', '--from', 'litellm', '--only', 'none'), {
    code: 1,
    stderr: /0 rows, .*nothing was written/,
  })
})

t.test('a row that omits a cost is accepted on request, and check reports it each time', async t => {
  const place = await makeFolder(t)
  await writeFile(place.path('table.json'), await sourceOf('openrouter'))
  const run = (...more: readonly string[]) =>
    place.run('prices', 'import', 'table.json', '--from', 'openrouter', '--only', 'openai/gpt-4o', ...more)
  t.match(await run('-o', 'prices.yaml'), {
    code: 1,
    stderr: /left out 1: some of its use would not be charged: image \(no response reports it\).*nothing was written/s,
  })
  t.match(await run('-o', 'prices.yaml', '--allow-undercharge'), { code: 0 })
  t.match(await readFile(place.path('prices.yaml'), 'utf8'), /unmapped: \["image \(no response reports it\)"\]/)
  await writeFile(place.path('gateway.yaml'), config.replaceAll(/^ {2}(?:sonnet|llama|gpt-4o): .*\n/gm, ''))
  const text = await readFile(place.path('gateway.yaml'), 'utf8')
  await writeFile(
    place.path('gateway.yaml'),
    text.replace(
      'models:\n',
      'models:\n  gpt-4o: { family: chat, upstream: openai, prices: { from: openai/gpt-4o } }\n',
    ),
  )
  const result = await place.run('check')
  t.equal(result.code, 0, result.stderr)
  t.match(result.stdout + result.stderr, /prices\.yaml:\d+.*'gpt-4o' uses the prices of row openai\/gpt-4o, .*image/)
})

t.test('a table comes from standard input, and is not fetched', async t => {
  const place = await makeFolder(t)
  const child = spawn(process.execPath, [bin, 'prices', 'import', '-', '--from', 'openrouter', '-o', 'made.yaml'], {
    cwd: place.folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(await sourceOf('openrouter'))
  const [err, [code]] = await Promise.all([textOf(child.stderr), once(child, 'close')])
  t.equal(code, 0, err)
  t.match(await readFile(place.path('made.yaml'), 'utf8'), /^source: openrouter$/m)
  const endless = spawn(process.execPath, [bin, 'prices', 'import', '-', '--from', 'openrouter'])
  const more = (): void => void endless.stdin.write(' '.repeat(1024 ** 2))
  endless.stdin.on('drain', more).on('error', () => undefined)
  more()
  const [refusal, [exit]] = await Promise.all([textOf(endless.stderr), once(endless, 'close')])
  t.match(refusal, /^- is larger than 64 MiB/)
  t.equal(exit, 1)
  t.match(await place.run('prices', 'import', 'https://openrouter.ai/api/v1/models', '--from', 'openrouter'), {
    code: 2,
    stderr: /curl -sSf https:\/\/openrouter\.ai/,
  })
})

t.test('a full disk behind standard output is one sentence', { skip: !existsSync('/dev/full') }, async t => {
  const place = await makeFolder(t)
  await writeFile(place.path('table.json'), await sourceOf('openrouter'))
  const full = await open('/dev/full', 'w')
  t.teardown(() => full.close())
  const child = spawn(process.execPath, [bin, 'prices', 'import', 'table.json', '--from', 'openrouter'], {
    cwd: place.folder,
    stdio: ['ignore', full.fd, 'pipe'],
  })
  if (!child.stderr) throw new Error('there is no stderr')
  const [err, [code]] = await Promise.all([textOf(child.stderr), once(child, 'close')])
  t.match(err, /^standard output cannot be written, so it is incomplete: ENOSPC: no space left on device, write$/m)
  t.notMatch(err, /node:fs|\n +at /)
  t.equal(code, 1)
})

t.test('an import overwrites only files of an import', async t => {
  const place = await makeFolder(t)
  await writeFile(place.path('a.json'), await sourceOf('litellm'))
  await writeFile(place.path('b.json'), oneRow('"input_cost_per_token": 3e-6, "output_cost_per_token": 1e-7'))
  const run = (file: string, ...more: readonly string[]) =>
    place.run('prices', 'import', file, '--from', 'litellm', '-o', 'prices.yaml', ...more)
  t.match(await run('a.json'), { code: 0 })
  await chmod(place.path('prices.yaml'), 0o640)
  const first = await readFile(place.path('prices.yaml'), 'utf8')
  t.match(await run('b.json'), { code: 0 })
  const second = await readFile(place.path('prices.yaml'), 'utf8')
  t.not(second, first)
  t.equal((await stat(place.path('prices.yaml'))).mode & 0o777, 0o640, 'it keeps its mode')
  t.equal(await ownershipOf(second.replaceAll('\n', '\r\n')), 'own', 'as git may check it out')
  await writeFile(place.path('prices.yaml'), second.replace('"3.00"', '"4.00"'))
  t.match(await run('a.json'), { code: 1, stderr: /was edited after its import/ })
  t.match(await readFile(place.path('prices.yaml'), 'utf8'), '"4.00"')
  await writeFile(place.path('prices.yaml'), 'version: 1\n')
  t.match(await run('a.json'), { code: 1, stderr: /was not written by an import; use --force/ })
  t.match(await run('a.json', '--force'), { code: 0 })
  await symlink(place.path('prices.yaml'), place.path('link.yaml'))
  t.match(await place.run('prices', 'import', 'b.json', '--from', 'litellm', '-o', 'link.yaml'), { code: 0 })
  t.match(await readFile(place.path('prices.yaml'), 'utf8'), '"3.00"', 'the target of a link')
  t.same(
    (await readdir(place.folder)).toSorted(),
    ['a.json', 'b.json', 'link.yaml', 'prices.yaml'],
    'nothing is left beside it',
  )
})

t.test('prices are exact to the micro-unit, and an unreadable value is no price', async t => {
  const input = async (value: string): Promise<string> => {
    const { rows, left } = await importPrices(
      oneRow(`"input_cost_per_token": ${value}, "output_cost_per_token": 1e-6`),
      options,
    )
    return rows.find(row => row.id === 'm')?.prices['input'] ?? left.find(one => one.id === 'm')?.why ?? 'lost'
  }
  const cases: readonly (readonly [value: string, wanted: string | RegExp])[] = [
    ['1e-7', '0.10'],
    ['1E-7', '0.10'],
    ['"1e-12"', '0.000001'],
    ['1.5e-07', '0.15'],
    ['0.00000015', '0.15'],
    ['7.499999999999999e-07', '0.75'],
    ['1.0000000000000001e-7', '0.10'],
    ['1e-13', /not an amount with at most six/],
    ['1.2345678e-6', /not an amount with at most six/],
    ['999', '999000000.00'],
    ['1000', /not an amount/],
    ['1e400', /not an amount/],
    ['-1e-6', /is not an amount/],
    ['"-1"', /is not an amount/],
    ['"NaN"', /is not an amount/],
    ['"Infinity"', /is not an amount/],
    ['"1,5"', /is not an amount/],
    ['"0x10"', /is not an amount/],
    ['true', /it has no input_cost_per_token/],
    ['null', /it has no input_cost_per_token/],
    ['[1e-6]', /not an amount/],
    ['1e-6, "cache_read_input_token_cost": -2e-7', /cache_read_input_token_cost is not an amount/],
    ['1e-6, "input_cost_per_token": 2e-6', /twice/],
  ]
  for (const [value, wanted] of cases) t.match(await input(value), wanted, value)
})

t.test('a duplicate or impossible name is left out with a note', async t => {
  const good = '"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6'
  for (const id of [
    '"sure"',
    '"${HOME}"',
    '"__proto__"',
    '"<<"',
    '" "',
    String.raw`"a\nb"`,
    JSON.stringify('x'.repeat(300)),
  ]) {
    const { rows, left } = await importPrices(oneRow(good, id), options)
    t.same(
      left.map(one => one.id),
      [JSON.parse(id)],
      id,
    )
    t.equal(rows.length, id === '"sure"' ? 0 : 1, id)
  }
  const odd = ['constructor', 'a: b # c', "it's", 'true', '1e5', '模型', '-', '? x', '*a', '&b', '!c', '"q"', '\\']
  const table = `{ ${odd.map(id => `${JSON.stringify(id)}: { "mode": "chat", ${good} }`).join(',')} }`
  const { text } = await importPrices(table, options)
  const place = await makeFolder(t)
  await writeFile(place.path('prices.yaml'), text)
  await writeFile(
    place.path('gateway.yaml'),
    `${config.replaceAll(/^ {2}(?:gpt-4o|sonnet|llama): .*\n/gm, '')}model_lists: { odd: { family: chat, upstream: openai, models: ${JSON.stringify(odd)} } }\n`,
  )
  const listed = await listPricesInUse(place.path('gateway.yaml'), {})
  if (!listed.ok) throw new Error(JSON.stringify(listed.findings))
  t.same(
    listed.prices.flatMap(one => (one.unit === 'input' && one.row !== null ? one.row : [])).toSorted(),
    odd.toSorted(),
    'names that are hard to write are read back',
  )
  const openrouter = {
    data: [
      { id: 'a', pricing: { prompt: '0.1', completion: '0.1' } },
      { id: 'a', pricing: { prompt: '0.2', completion: '0.2' } },
      { id: 'b', pricing: { prompt: 'NaN', completion: '1' } },
    ],
  }
  t.same(
    (await importPrices(JSON.stringify(openrouter), { ...options, from: 'openrouter' })).left.map(one => [
      one.id,
      one.why.slice(0, 16),
    ]),
    [
      ['a', 'it, or a part of'],
      ['b', 'prompt is not an'],
    ],
  )
  const ratios = '{ "ModelRatio": { "a": 1, "b": -1, "a": 2 }, "CompletionRatio": { "a": 1, "b": 1 } }'
  t.same(
    (await importPrices(ratios, { ...options, from: 'new-api' })).left.map(one => one.id),
    ['a', 'b'],
  )
})

t.test('a day that does not exist is not the end of a model', async t => {
  const price = { mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
  const table = { a: { ...price, deprecation_date: '2026-02-31' }, b: { ...price, deprecation_date: '2028-02-29' } }
  const { rows } = await importPrices(JSON.stringify(table), options)
  t.same(
    rows.map(row => row.ends),
    [undefined, '2028-02-29'],
  )
})

t.test('long texts and deep lists are read, or refused, in linear time', async t => {
  const cost = '"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6'
  for (const filler of ['x'.repeat(4e6), String.raw`\"`.repeat(1e6), String.raw`\\`.repeat(1e6)]) {
    const { rows } = await importPrices(oneRow(`${cost}, "note": "${filler}"`), options)
    t.equal(rows.length, 2, filler.slice(0, 4))
  }
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  await t.rejects(importPrices(oneRow(`${cost}, "some_cost": ${deep}`), options), /not valid JSON, or is truncated/)
})

t.test('an invalid or truncated table is refused whole', async t => {
  const place = await makeFolder(t)
  const text = await sourceOf('litellm')
  const cases: readonly (readonly [text: string, why: RegExp])[] = [
    [text.slice(0, -400), /not valid JSON, or is truncated/],
    [text.replace('2.5e-6', 'NaN'), /not valid JSON/],
    ['{}', /not a price list of litellm/],
    ['', /not valid JSON/],
  ]
  for (const [given, why] of cases) {
    await writeFile(place.path('table.json'), given)
    const ran = await place.run('prices', 'import', 'table.json', '--from', 'litellm', '-o', 'made.yaml')
    t.match(ran, { code: 1, stderr: why }, why.source)
  }
  t.same(await readdir(place.folder), ['table.json'])
  t.match(await place.run('prices', 'import', 'table.json'), { code: 2, stderr: /--from/ })
  for (const day of ['yesterday', '2026-02-31'])
    t.match(await place.run('prices', 'import', 'table.json', '--from', 'litellm', '--as-of', day), { code: 2 }, day)
})

t.test('list shows the prices of every model, with their file and line', async t => {
  const place = await makeFolder(t)
  await writeFile(place.path('prices.yaml'), (await importPrices(await sourceOf('litellm'), options)).text)
  await writeFile(place.path('gateway.yaml'), config)
  const result = await place.run('prices', 'list', '--format', 'json')
  t.equal(result.code, 0, result.stderr)
  const records = result.stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { model: string; unit: string; file: string; line: number; row: string | null })
  const lines = async (file: string) => (await readFile(place.path(file), 'utf8')).split('\n')
  for (const { model, unit, file, line, row } of records) {
    const text = (await lines(file.endsWith('prices.yaml') ? 'prices.yaml' : 'gateway.yaml'))[line - 1]
    t.ok(text?.includes(`${row ?? model}: {`), caseName({ model, unit, line }))
  }
  t.match(records, [
    {
      model: 'gpt-4o',
      unit: 'input',
      price: '2.50',
      per: 1_000_000,
      currency: 'USD',
      row: 'gpt-4o',
      source: 'litellm',
      asOf: '2026-11-23',
    },
    { model: 'gpt-4o', unit: 'cached_input', price: '1.25' },
    { model: 'gpt-4o', unit: 'output', price: '10.00' },
    { model: 'gpt-4o', unit: 'web_search', price: '25.00', per: 1_000 },
    { model: 'gpt-4o', unit: 'input where service_tier priority,fast', price: '4.25' },
    { model: 'gpt-4o', unit: 'input where service_tier batch', price: '1.25' },
    { model: 'gpt-4o', unit: 'output where service_tier batch', price: '5.00' },
    { model: 'ours', unit: 'input', price: '9.00', row: null, source: null },
    { model: 'ours', unit: 'output' },
    { model: 'sonnet', unit: 'input', price: '3.00', row: 'claude-sonnet-4-5' },
    { model: 'sonnet', unit: 'cached_input' },
    { model: 'sonnet', unit: 'cache_write' },
    { model: 'sonnet', unit: 'cache_write_1h' },
    { model: 'sonnet', unit: 'output' },
    { model: 'sonnet', unit: 'input where input_above 200000', price: '6.00' },
    { model: 'llama', unit: 'free', price: '0.00', per: null, row: 'ollama/llama3' },
    { model: 'own-free', unit: 'free', price: '0.00', row: null },
  ])
  t.equal(records.length, 17)
  t.match(
    (await place.run('prices', 'list')).stdout,
    /^gpt-4o +input +2\.50 +USD +1000000 +.*prices\.yaml:\d+ +gpt-4o +2026-11-23$/m,
  )
  const shipped = await place.write('gateway.yaml').then(() => place.run('prices', 'list'))
  t.match(shipped.stdout, /^alpha-image-2 +4K +\S+ +USD +1 +gateway\.yaml:\d+$/m)
})

t.test('diff reports what a newer table changes, and exits like diff', async t => {
  const place = await makeFolder(t)
  const old = await sourceOf('litellm')
  const newer = old
    .replace('"input_cost_per_token": 2.5e-6', '"input_cost_per_token": 3e-6')
    .replace('"cache_read_input_token_cost": 1.25e-6,', '')
    .replace('"claude-sonnet-4-5"', '"claude-sonnet-5"')
  await writeFile(place.path('prices.yaml'), (await importPrices(old, options)).text)
  await writeFile(place.path('newer.yaml'), (await importPrices(newer, { ...options, asOf: '2026-12-01' })).text)
  await writeFile(place.path('gateway.yaml'), config)
  t.match(await place.run('prices', 'diff', 'prices.yaml', '--from-tables'), {
    code: 0,
    stdout: '',
    stderr: /0 differences in 3 models/,
  })
  t.match(await place.run('prices', 'diff', 'prices.yaml', 'prices.yaml'), { code: 0, stdout: '' })
  const result = await place.run('prices', 'diff', 'newer.yaml', '--format', 'json')
  t.equal(result.code, 1)
  const rows = result.stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { model: string; unit: string; before: string; after: string; percent: number })
  t.same(
    rows.map(one => [one.model, one.unit, one.before, one.after, one.percent]),
    [
      ['gpt-4o', 'input', '2.50', '3.00', 20],
      ['gpt-4o', 'cached_input', '1.25', null, null],
      ['sonnet', 'input', '3.00', null, null],
      ['sonnet', 'cached_input', '0.30', null, null],
      ['sonnet', 'cache_write', '3.75', null, null],
      ['sonnet', 'cache_write_1h', '6.00', null, null],
      ['sonnet', 'output', '15.00', null, null],
      ['sonnet', 'input where input_above 200000', '6.00', null, null],
    ],
  )
  t.match(result.stderr, 'ours: it has its own prices, and the table has no row for it')
  t.match(
    (await place.run('prices', 'diff', 'newer.yaml', '--only', 'gpt-*')).stdout,
    /^gpt-4o +input +2\.50 +3\.00 +\+20\.0 +.*prices\.yaml:\d+ +newer\.yaml:\d+$/m,
  )
  const tables = await place.run('prices', 'diff', 'prices.yaml', 'newer.yaml', '--only', '*sonnet*')
  t.match(tables, { code: 1, stdout: /^claude-sonnet-4-5 +input +3\.00 +none/m })
  t.match(tables.stdout, /^claude-sonnet-5 +input +none +3\.00/m)
  await writeFile(
    place.path('own.yaml'),
    'version: 1\ncurrency: USD\nmodels: { ours: { prices: { input: "10.00", output: "9.000" } } }\n',
  )
  t.match(
    (await place.run('prices', 'diff', 'own.yaml', '--only', 'ours')).stdout,
    /^ours +input +9\.00 +10\.00 +\+11\.1 +gateway\.yaml:10 +own\.yaml:3$/m,
  )
  await writeFile(place.path('euros.yaml'), 'version: 1\ncurrency: EUR\nmodels: {}\n')
  t.match(await place.run('prices', 'diff', 'euros.yaml'), {
    code: 2,
    stderr: /in USD cannot be compared with prices in EUR/,
  })
  for (const [name, row] of [
    ['priced.yaml', '{ prices: { input: "1.00", output: "2.00" } }'],
    ['both.yaml', '{ price: free, prices: { input: "1.00", output: "2.00" } }'],
  ] as const)
    await writeFile(place.path(name), `version: 1\ncurrency: USD\nmodels: { ours: ${row} }\n`)
  t.match(await place.run('prices', 'diff', 'priced.yaml', 'both.yaml'), { code: 0, stdout: '' }, 'its prices count')
  t.match(await place.run('prices', 'diff', '.'), { code: 2, stderr: /^\. is a folder; expected a file\n$/ })
  t.match(await place.run('prices', 'diff', 'none.yaml'), { code: 2, stderr: /^none\.yaml does not exist\n$/ })
  await writeFile(place.path('bad.yaml'), 'version: 1\ncurrency: USD\nmodels: { a: { prices: { input: 1.5 } } }\n')
  t.match(await place.run('prices', 'diff', 'bad.yaml'), { code: 3, stderr: /bad\.yaml:3:\d+/ })
  await writeFile(place.path('gateway.yaml'), 'version: 2\n')
  t.match(await place.run('prices', 'diff', 'newer.yaml'), { code: 3, stderr: /gateway\.yaml:1/ })
})
