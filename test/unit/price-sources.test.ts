import { readFileSync } from 'node:fs'
import t from 'tap'
import { TableRows } from '../../src/kit/index.ts'
import {
  multiply,
  readDecimal,
  readSourceTable,
  type PriceSource,
  shiftPoint,
  withoutNoise,
} from '../../src/tools/prices/index.ts'
import { caseName } from '../harness/case-name.ts'

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

t.test('a table of LiteLLM: exact prices per million, by what the mode is priced by', t => {
  const { of } = read('litellm')
  t.same(of('gpt-4o'), {
    id: 'gpt-4o',
    mode: 'chat',
    provider: 'openai',
    prices: { input: '2.50', cached_input: '1.25', output: '10.00' },
    unmapped: ['input_cost_per_token_priority', 'search_context_cost_per_query'],
  })
  t.same(of('claude-sonnet-4-5')?.unmapped, [
    'cache_creation_input_token_cost',
    'cache_creation_input_token_cost_above_1hr',
    'input_cost_per_token_above_200k_tokens',
  ])
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

t.test('a price of 0 is not known, unless the name says free or the model runs on the machine', t => {
  const { of, why } = read('litellm')
  t.match(of('openrouter/z-ai/glm-4.5-air:free'), { prices: {}, free: true })
  t.match(of('ollama/llama3'), { prices: {}, free: true })
  t.match(why('volcengine/glm-4-7'), /nobody knew/)
  t.match(why('input-only-chat'), /output_cost_per_token/)
  t.end()
})

t.test('a model is left out, with the reason, where what it answers has a price that nothing counts', t => {
  const { why, rows, left } = read('litellm')
  t.match(why('gemini/gemini-2.5-flash'), /output_cost_per_reasoning_token/)
  t.match(why('gpt-4o-transcribe'), /input_cost_per_audio_token/)
  t.match(why('tiny-embedding'), /six decimal places/)
  t.match(why('1024-x-1024/dall-e-3'), /one size/)
  t.match(why('dall-e-3'), /depends on the size/)
  t.match(why('gemini/gemini-3-pro-image'), /output_cost_per_image_token/)
  t.match(why('stability/sd3'), /what is sent, or of what is made/)
  t.match(why('veo-3'), /video_generation/)
  t.equal(rows.length + left.length, 22, 'nothing is lost without a word')
  t.end()
})

t.test('an answer of OpenRouter: decimals as text, a variable price and 0 are not known', t => {
  const { of, why } = read('openrouter')
  t.same(of('openai/gpt-4o'), {
    id: 'openai/gpt-4o',
    provider: 'openrouter',
    prices: { input: '2.50', cached_input: '1.25', output: '10.00' },
    unmapped: ['image'],
  })
  t.same(of('anthropic/claude-sonnet-4.5')?.unmapped, ['input_cache_write'])
  t.match(of('z-ai/glm-4.5-air:free'), { free: true })
  t.same(of('some/by-request')?.prices, { request: '0.005' })
  t.match(why('openrouter/auto'), /varies/)
  t.match(why('some/unknown'), /nobody knew/)
  t.match(why('some/half'), /completion/)
  t.match(why('google/gemini-2.5-flash-image'), /image_output/)
  t.end()
})

t.test(
  'ratios of new-api: 1 is 2 USD a million, a price of a call comes first, what stands in its code is not guessed',
  t => {
    const { of, why } = read('new-api')
    t.same(of('gpt-4o')?.prices, { input: '2.50', cached_input: '1.25', output: '10.00' })
    t.same(of('claude-sonnet-4-5'), {
      id: 'claude-sonnet-4-5',
      provider: 'new-api',
      prices: { input: '3.00', cached_input: '0.30', output: '15.00' },
      unmapped: ['CreateCacheRatio'],
    })
    t.same(of('mj_imagine')?.prices, { request: '0.10' })
    t.match(why('no-completion'), /CompletionRatio/)
    t.match(why('unknown'), /nobody knew/)
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
    t.end()
  },
)

t.test('a text that is no such table is told from one', t => {
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
  'a row is found under its provider, its own name, or what is behind its prefixes; of others only where they agree',
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
    const told = (id: string, options = {}) => {
      const found = rows.find(id, options)
      return found.kind === 'found'
        ? [found.by, found.row.id, ...found.differing]
        : [found.kind, ...(found.kind === 'several' ? found.ids : [])]
    }
    t.same(told('m', { provider: 'a' }), ['provider', 'a/m', 'm'])
    t.same(told('m', { provider: 'z' }), ['id', 'm', 'a/m'])
    t.same(told('a/m'), ['id', 'a/m', 'm'])
    t.same(told('x/y/m'), ['bare', 'm', 'a/m'])
    t.same(told('n'), ['none'])
    t.same(told('n', { others: true }), ['last', 'b/n'])
    t.same(told('z/o', { others: true }), ['several', 'b/o', 'c/o'])
    t.same(told('nothing', { others: true }), ['none'])
    t.end()
  },
)
