import { readFileSync } from 'node:fs'
import t from 'tap'
import { TableRows } from '../../src/domain/index.ts'
import {
  multiply,
  readDecimal,
  readSourceTable,
  type PriceSource,
  shiftPoint,
  withoutNoise,
  withoutUndercharging,
} from '../../src/tools/prices/index.ts'
import { caseName } from '../harness/case-name.ts'
import { costingFields, unchargedFields } from '../harness/walk-price-fields.ts'

function read(from: PriceSource) {
  const text = readFileSync(new URL(`../fixtures/prices/${from}.json`, import.meta.url), 'utf8')
  const table = readSourceTable(from, text)
  if (!table) throw new Error(`no table of ${from}`)
  return {
    ...table,
    of: (id: string) => table.rows.find(row => row.id === id),
    why: (id: string) => table.left.find(one => one.id === id)?.why,
  }
}

t.test('a LiteLLM table: exact prices per million, by the unit of the mode', t => {
  const { of } = read('litellm')
  t.same(of('gpt-4o'), {
    id: 'gpt-4o',
    mode: 'chat',
    provider: 'openai',
    prices: { input: '2.50', cached_input: '1.25', output: '10.00', web_search: '25.00' },
    overrides: [
      { if: { service_tier: ['priority', 'fast'] }, prices: { input: '4.25' } },
      { if: { service_tier: 'batch' }, prices: { input: '1.25', output: '5.00' } },
    ],
  })
  t.same(of('claude-sonnet-4-5'), {
    id: 'claude-sonnet-4-5',
    mode: 'chat',
    provider: 'anthropic',
    prices: { input: '3.00', cached_input: '0.30', cache_write: '3.75', cache_write_1h: '6.00', output: '15.00' },
    overrides: [{ if: { input_above: 200_000 }, prices: { input: '6.00' } }],
  })
  t.same(
    of('deepseek/deepseek-chat'),
    {
      id: 'deepseek/deepseek-chat',
      mode: 'chat',
      provider: 'deepseek',
      ends: '2027-01-31',
      prices: { input: '0.28', output: '0.42' },
    },
    'noise of floating point is none of the price, a cached price of 0 is not known, reasoning at the price of answers is said',
  )
  t.same(of('text-embedding-3-small')?.prices, { input: '0.02' })
  t.same(of('whisper-1')?.prices, { second: '0.0001' })
  t.same(of('tts-1')?.prices, { character: '15.00' })
  t.same(of('rerank-v3.5')?.prices, { search_unit: '0.002' })
  t.same(of('fal_ai/fal-ai/nano-banana-2')?.prices, { '1K': '0.08', '2K': '0.12', '4K': '0.16' })
  t.same(of('fal_ai/flux-pro')?.prices, { each: '0.05' })
  t.equal(of('sample_spec'), undefined)
  t.end()
})

t.test('a price of 0 is unknown, unless the name says free or the model runs locally', t => {
  const { of, why } = read('litellm')
  t.match(of('openrouter/z-ai/glm-4.5-air:free'), { prices: {}, free: true })
  t.match(of('ollama/llama3'), { prices: {}, free: true })
  t.match(why('volcengine/glm-4-7'), /may mean unknown/)
  t.match(why('input-only-chat'), /output_cost_per_token/)
  t.end()
})

t.test('a model is left out, with the reason, if its answers have an uncountable price', t => {
  const { why, rows, left } = read('litellm')
  t.match(why('tiny-embedding'), /six decimal places/)
  t.match(why('1024-x-1024/dall-e-3'), /one size/)
  t.match(why('dall-e-3'), /depends on the size/)
  t.match(why('stability/sd3'), /of input or of output images/)
  t.match(why('veo-3'), /video_generation/)
  t.equal(rows.length + left.length, 22, 'nothing is lost without a word')
  t.end()
})

t.test('a mode with the name of a member of every object is unknown', t => {
  const row = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
  const table = readSourceTable(
    'litellm',
    JSON.stringify({ odd: { mode: 'toString', ...row }, plain: { mode: 'chat', ...row } }),
  )
  t.match(table?.left, [{ id: 'odd', why: "the mode 'toString' is priced by a unit that is not supported" }])
  t.match(table?.rows, [{ id: 'plain' }])
  t.end()
})

t.test('an OpenRouter answer: decimals as text; a variable price and 0 are unknown', t => {
  const { of, why } = read('openrouter')
  t.same(of('openai/gpt-4o'), {
    id: 'openai/gpt-4o',
    provider: 'openrouter',
    prices: { input: '2.50', cached_input: '1.25', output: '10.00' },
    unmapped: ['image (no response reports it)'],
  })
  t.same(of('anthropic/claude-sonnet-4.5'), {
    id: 'anthropic/claude-sonnet-4.5',
    provider: 'openrouter',
    prices: { input: '3.00', cached_input: '0.30', cache_write: '3.75', output: '15.00' },
  })
  t.match(of('z-ai/glm-4.5-air:free'), { free: true })
  t.same(of('some/by-request')?.prices, { request: '0.005' })
  t.match(why('openrouter/auto'), /varies/)
  t.match(why('some/unknown'), /may mean unknown/)
  t.match(why('some/half'), /completion/)
  t.match(of('google/gemini-2.5-flash-image')?.unmapped, [/^image_output/])
  t.end()
})

t.test('new-api ratios: 1 is 2 USD a million, a price per call comes first, and built-in ratios are not guessed', t => {
  const { of, why } = read('new-api')
  t.same(of('gpt-4o')?.prices, { input: '2.50', cached_input: '1.25', output: '10.00' })
  t.same(of('claude-sonnet-4-5'), {
    id: 'claude-sonnet-4-5',
    provider: 'new-api',
    prices: { input: '3.00', cached_input: '0.30', cache_write: '3.75', cache_write_1h: '6.00', output: '15.00' },
  })
  t.same(of('mj_imagine')?.prices, { request: '0.10' })
  t.match(why('no-completion'), /CompletionRatio/)
  t.match(why('unknown'), /may mean unknown/)
  t.match(why('gpt-4-gizmo-*'), /pattern/)
  const options = readSourceTable('new-api', '{ "ModelRatio": { "a": 0.075 }, "CompletionRatio": { "a": 3.3333 } }')
  t.same(
    options?.rows,
    [{ id: 'a', provider: 'new-api', prices: { input: '0.15', output: '0.499995' } }],
    'its options',
  )
  const pricing = {
    data: [
      { model_name: 'a', quota_type: 0, model_ratio: 0.5, completion_ratio: 4 },
      { model_name: 'b', quota_type: 1, model_price: 0.02 },
    ],
  }
  t.same(
    readSourceTable('new-api', JSON.stringify(pricing))?.rows.map(row => [row.id, row.prices]),
    [
      ['a', { input: '1.00', output: '4.00' }],
      ['b', { request: '0.02' }],
    ],
    'what its page of prices is made of',
  )
  const config = { data: { model_ratio: { a: 0.5 }, completion_ratio: { a: 4 }, model_price: { b: 0.02 } } }
  t.same(
    readSourceTable('new-api', JSON.stringify(config))?.rows.map(row => [row.id, row.prices]),
    [
      ['a', { input: '1.00', output: '4.00' }],
      ['b', { request: '0.02' }],
    ],
    'the ratios that it shares',
  )
  t.end()
})

const fieldsText = readFileSync(new URL('../fixtures/prices/litellm-fields.json', import.meta.url), 'utf8')
const fieldRows = JSON.parse(fieldsText) as { readonly [id: string]: { readonly [name: string]: unknown } }

t.test('every imported LiteLLM price is charged, and a refused one has a reason', t => {
  const { rows = [], left = [] } = readSourceTable('litellm', fieldsText) ?? {}
  t.equal(rows.length + left.length, Object.keys(fieldRows).length)
  const out = rows.filter(row => !row.unmapped)
  t.ok(out.length >= 25, `${out.length} rows`)
  for (const row of out) t.same(unchargedFields(fieldRows[row.id] ?? {}, row), [], row.id)
  const fields = new Set(out.flatMap(row => costingFields(fieldRows[row.id] ?? {})))
  t.ok(fields.size >= 120, `${fields.size} kinds of prices are charged`)
  for (const { id, unmapped = [] } of rows.filter(row => row.unmapped))
    for (const reason of unmapped) t.match(reason, /^[\w.]+ \(.+\)$/, `${id}: ${reason}`)
  t.end()
})

t.test('the price walk notices a missing one', t => {
  const { rows = [] } = readSourceTable('litellm', fieldsText) ?? {}
  for (const row of rows.filter(one => !one.unmapped)) {
    const own = fieldRows[row.id] ?? {}
    for (const label of Object.keys(row.prices)) {
      const { [label]: _gone, ...prices } = row.prices
      // A kind with the same price as the count that includes it needs no price of its own.
      const changed = { ...row, prices: { ...prices, [label]: '777.00' } }
      t.not(unchargedFields(own, changed).length, 0, `${row.id} with another price for ${label}`)
    }
    const { overrides, times, ...plain } = row
    if (overrides || times) t.not(unchargedFields(own, plain).length, 0, `${row.id} without its conditions`)
  }
  t.end()
})

t.test('LiteLLM conditions: tiers before sizes, hours in the zone of the days, token factors', t => {
  const row = (id: string) => readSourceTable('litellm', fieldsText)?.rows.find(one => one.id === id)
  t.same(row('gpt-5.4')?.overrides, [
    {
      if: { service_tier: ['priority', 'fast'] },
      prices: { input: '5.00', cached_input: '0.50', output: '30.00' },
    },
    { if: { service_tier: 'flex', input_above: 272_000 }, prices: { output: '11.25' } },
    { if: { service_tier: 'flex' }, prices: { input: '1.25', cached_input: '0.13', output: '7.50' } },
    { if: { service_tier: 'batch', input_above: 272_000 }, prices: { output: '11.25' } },
    { if: { service_tier: 'batch' }, prices: { input: '1.25', cached_input: '0.13', output: '7.50' } },
    { if: { input_above: 272_000 }, prices: { input: '5.00', cached_input: '0.50', output: '22.50' } },
  ])
  t.same(row('claude-opus-5')?.times, [
    { if: { region: 'us' }, by: '1.1' },
    { if: { speed: 'fast' }, by: '2' },
  ])
  const offPeak = { input: '0.66', cached_input: '0.022', output: '1.98' }
  t.same(row('deepseek/deepseek-v4-pro')?.overrides, [
    {
      if: { days: 'mon-fri', hours: ['00:00-01:00', '04:00-06:00', '10:00-24:00'], zone: 'UTC' },
      prices: offPeak,
    },
    { if: { days: 'sat-sun', zone: 'UTC' }, prices: offPeak },
  ])
  t.same(row('tencent/deepseek-v4-pro-0813')?.overrides?.[0]?.if, {
    days: 'mon-fri',
    hours: ['08:00-09:00', '12:00-14:00', '18:00-08:00'],
    zone: 'Asia/Shanghai',
  })
  t.same(row('xai/grok-4.5')?.overrides, [
    { if: { input_from: 200_000 }, prices: { input: '4.00', cached_input: '0.60', output: '12.00' } },
  ])
  t.same(row('gemini/gemini-2.5-pro')?.prices, {
    input: '1.25',
    cached_input: '0.125',
    output: '10.00',
    grounding: '35.00',
    maps: '25.00',
  })
  t.same(row('gpt-image-1')?.prices, {
    input: '5.00',
    cached_input: '1.25',
    cached_input_image: '2.50',
    input_image: '10.00',
    output: '40.00',
  })
  t.same(row('cloudflare/@cf/openai/whisper')?.prices, { minute: '0.00045' }, 'a second has more than six places')
  t.end()
})

t.test('a table without undercharged rows', t => {
  const table = readSourceTable('litellm', fieldsText) ?? { rows: [], left: [] }
  const strict = withoutUndercharging(table)
  t.ok(strict.rows.every(row => !row.unmapped))
  t.equal(strict.rows.length + strict.left.length, table.rows.length + table.left.length)
  t.match(
    strict.left.find(one => one.id === 'perplexity/sonar')?.why,
    /of its use would not be charged: search_context_cost_per_query \(it depends on the size/,
  )
  t.ok(withoutUndercharging(table, true).rows.some(row => row.id === 'perplexity/sonar'))
  t.end()
})

t.test('OpenRouter: prices by the size of the prompt', t => {
  const read = (overrides: unknown) => {
    const pricing = { prompt: '0.000003', completion: '0.000015', web_search: '0.01', overrides }
    return readSourceTable('openrouter', JSON.stringify({ data: [{ id: 'a/b', pricing }] }))
  }
  t.same(read([{ min_prompt_tokens: 200_000, prompt: '0.000006', completion: '0.0000225' }])?.rows, [
    {
      id: 'a/b',
      provider: 'openrouter',
      prices: { input: '3.00', output: '15.00', web_search: '10.00' },
      overrides: [{ if: { input_from: 200_000 }, prices: { input: '6.00', output: '22.50' } }],
    },
  ])
  t.match(read([{ utc_start: 1200, prompt: '0.1' }])?.left, [{ why: /a condition that is not supported/ }])
  t.match(read([{ min_prompt_tokens: 10, image: '0.1' }])?.left, [{ why: /image, which is not supported/ }])
  t.end()
})

t.test('new-api: an expression is translated, or refused with the reason; its ratios then do not apply', t => {
  const read = (expression: string) =>
    readSourceTable(
      'new-api',
      JSON.stringify({
        data: [
          {
            model_name: 'a',
            quota_type: 0,
            model_ratio: 1,
            completion_ratio: 1,
            billing_mode: 'tiered_expr',
            billing_expr: expression,
          },
        ],
      }),
    )
  const row = (expression: string) => read(expression)?.rows[0]
  t.same(row('tier("base", p * 3 + c * 15 + cr * 0.3 + cc * 3.75 + cc1h * 6)'), {
    id: 'a',
    provider: 'new-api',
    prices: { input: '3.00', cached_input: '0.30', cache_write: '3.75', cache_write_1h: '6.00', output: '15.00' },
  })
  t.same(
    row('len <= 200000 ? tier("standard", p*3 + c*15 + cr*0.3) : tier("long_context", p * 6 + c * 22.5)'),
    {
      id: 'a',
      provider: 'new-api',
      prices: { input: '3.00', cached_input: '0.30', output: '15.00' },
      overrides: [{ if: { input_above: 200_000 }, prices: { input: '6.00', cached_input: '6.00', output: '22.50' } }],
    },
    'what has no price there costs what includes it',
  )
  t.same(
    row('v1:len < 32000 ? tier("a", p*1+c*2) : len < 128000 ? tier("b", p*2+c*4) : tier("c", p*3+c*6)')?.overrides,
    [
      { if: { input_from: 128_000 }, prices: { input: '3.00', output: '6.00' } },
      { if: { input_from: 32_000 }, prices: { input: '2.00', output: '4.00' } },
    ],
  )
  t.same(row('tier("request", fixed(0.01))')?.prices, { request: '0.01' })
  t.same(row('(tier("base", p * 5 + c * 25)) * (param("service_tier") == "fast" ? 2 : 1)')?.times, [
    { if: { service_tier: 'fast' }, by: '2' },
  ])
  for (const [expression, why] of [
    ['', /is not expected|not known/],
    ['tier("base", p * 3)', /p and c are not both priced/],
    ['tier("base", max(p, 10) * 3 + c * 2)', /not known|not expected/],
    ['p <= 1000 ? tier("a", p * 1 + c * 1) : tier("b", p * 2 + c * 2)', /not expected/],
    ['len <= 10 ? tier("a", fixed(1)) : tier("b", p * 2 + c * 2)', /combined with others/],
    ['len <= 10 ? tier("a", p*1+c*1) : len < 20 ? tier("b", p*2+c*2) : tier("c", p*3+c*3)', /compared inconsistently/],
    ['len > 10 ? tier("a", p*1+c*1) : len > 20 ? tier("b", p*2+c*2) : tier("c", p*3+c*3)', /not in ascending order/],
    ['tier("base", p * 5 + c * 25)|||when(header("x") has "y") * 6', /not supported/],
    ['tier("base", p * 5 + c * 25) * (param("n") == "2" ? 2 : 1)', /depends on the field n/],
    ['tier("base", p * 5 + c * 25) * (hour("UTC") == "2" ? 2 : 1)', /not expected/],
    ['tier("base", p * 0.1234567 + c * 25)', /six decimal places/],
  ] as const)
    t.match(read(expression)?.left, [{ id: 'a', why }], expression)
  t.end()
})

t.test('other texts are not mistaken for such a table', t => {
  for (const from of ['litellm', 'openrouter', 'new-api'] as const)
    for (const text of ['', '[', '{}', '[]', 'null', '7', '{"data": {}}', '{"a": {"b": 1}}', '{"data": [{"id": "x"}]}'])
      t.equal(readSourceTable(from, text), undefined, `${from}: ${text}`)
  t.equal(readSourceTable('new-api', '{"ModelRatio": {"a": 1}, "QuotaPerUnit": "1000000"}'), undefined, 'another unit')
  t.end()
})

t.test('decimals are moved and multiplied digit by digit', t => {
  t.equal(shiftPoint('2.5e-07', 6), '0.25')
  t.equal(multiply('2', '1.25', '0.1'), '0.25')
  t.equal(multiply('0.1', '0.2'), '0.02')
  t.equal(multiply('2', '12345678901234567890.5'), '24691357802469135781')
  for (const [given, settled] of [
    ['0.24999999999999997', '0.25'],
    ['0.30000000000000004', '0.3'],
    ['9.99999999999', '10'],
    ['0.1234567', '0.1234567'],
    ['3', '3'],
  ] as const)
    t.equal(withoutNoise(given), settled, caseName({ given, settled }))
  for (const wrong of ['', '-1', 'x', '1e999', '0x10', '1_000', 'Infinity'])
    t.equal(readDecimal(wrong), undefined, wrong)
  t.end()
})

t.test(
  'a row is found under its provider, its own name, or the name without prefixes; others only if they agree',
  t => {
    const row = (id: string, input: string) => ({ id, prices: { input } })
    const rows = new TableRows([
      row('a/m', '1'),
      row('m', '2'),
      row('b/n', '3.0'),
      row('c/d/n', '3'),
      row('b/o', '4'),
      row('c/o', '5'),
    ])
    const foundBy = (id: string, options = {}) => {
      const found = rows.find(id, options)
      return found.kind === 'found'
        ? [found.by, found.row.id, ...found.differing]
        : [found.kind, ...(found.kind === 'several' ? found.ids : [])]
    }
    t.same(foundBy('m', { provider: 'a' }), ['provider', 'a/m', 'm'])
    t.same(foundBy('m', { provider: 'z' }), ['id', 'm', 'a/m'])
    t.same(foundBy('a/m'), ['id', 'a/m', 'm'])
    t.same(foundBy('x/y/m'), ['bare', 'm', 'a/m'])
    t.same(foundBy('n'), ['none'])
    t.same(foundBy('n', { others: true }), ['last', 'b/n'])
    t.same(foundBy('z/o', { others: true }), ['several', 'b/o', 'c/o'])
    t.same(foundBy('nothing', { others: true }), ['none'])
    t.end()
  },
)
