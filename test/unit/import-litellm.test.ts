import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { importConfig, loadConfig } from '../../src/index.ts'
import { mostExpensive } from '../../src/tools/import/most-expensive.ts'
import type { Cost } from '../../src/tools/import/write-config.ts'
import { runCommand } from '../harness/commands.ts'
import { importShapes, marks, migrationPage, tablePath, writeShapes } from '../harness/import-shapes.ts'
import { caseName } from '../harness/case-name.ts'

const folder = await mkdtemp(join(tmpdir(), 'tollgate-import-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const shapes = await importShapes()

type Options = Parameters<typeof importConfig>[2]

async function translate(value: unknown, options: Options = {}) {
  const file = join(folder, 'config.yaml')
  await writeFile(file, typeof value === 'string' ? value : stringify(value))
  const imported = await importConfig(file, 'litellm', { prices: tablePath, secretsAt: './secrets', ...options })
  if (!imported.ok) throw new Error(JSON.stringify(imported.findings))
  return { ...imported, ...(await load(imported)) }
}

/** The configuration as a gateway would load it, with its secrets next to it. */
async function load({ text, secrets }: Pick<(typeof shapes)[number]['imported'], 'text' | 'secrets'>) {
  await mkdir(join(folder, 'secrets'), { recursive: true })
  for (const { name, value } of secrets) await writeFile(join(folder, 'secrets', name), value)
  const loaded = await loadConfig({ file: join(folder, 'gateway.yaml'), text }, {})
  if (!loaded.ok) throw new Error(`${JSON.stringify(loaded.findings)}\n${text}`)
  return { plan: loaded.plan }
}

const one = (params: object, more: object = {}) => ({
  model_list: [{ model_name: 'm', litellm_params: params, ...more }],
})

t.test('public configurations: nine in ten of the lines with a price or a local server are active', async t => {
  t.ok(shapes.length >= 15)
  t.equal(new Set(shapes.map(shape => shape.source)).size, shapes.length, 'each names its repository')
  let [wanted, active] = [0, 0]
  for (const { source, pricedOrLocal, imported } of shapes) {
    const { plan } = await load(imported)
    t.equal(plan.models.size, imported.models.active, `${source}: what is counted as active is what a gateway serves`)
    wanted += pricedOrLocal
    active += Math.min(imported.entries.active, pricedOrLocal)
    t.equal(
      imported.entries.all,
      imported.entries.active + imported.entries.off.length,
      caseName({ source, pricedOrLocal, imported }),
    )
    for (const { why } of imported.entries.off) t.not(why, '', caseName({ why }))
  }
  t.ok(active / wanted >= 0.9, `${active} of ${wanted}`)
})

t.test('no secret of a file is written or reported; each is in its own file', async t => {
  for (const { source, text, imported } of shapes) {
    const found = [...text.matchAll(/made-up-(?:key|master|secret|id)[\w-]*/g)].map(([word]) => word)
    for (const secret of found)
      t.notOk([imported.text, ...imported.notes].join('\n').includes(secret), `${source}: ${secret}`)
    const vendors = found.filter(word => word.startsWith('made-up-key'))
    t.same(
      imported.secrets.flatMap(({ value }) => (value === 'none' ? [] : value)).toSorted(),
      vendors.toSorted(),
      source,
    )
  }
})

t.test('the table of docs/migration.md matches the import', async t => {
  const page = await readFile(migrationPage, 'utf8')
  const [, rest = ''] = page.split(marks[0])
  t.equal(rest.slice(0, rest.indexOf(marks[1])), writeShapes(shapes), 'node test/harness/import-shapes.ts writes it')
})

/** Every mapping of a value, each with a copy of the whole that has one more setting in that mapping. */
function* withOneMore(
  value: unknown,
  path: readonly (string | number)[] = [],
  root = value,
): Generator<[string, unknown]> {
  if (Array.isArray(value)) {
    for (const [i, part] of value.entries()) yield* withOneMore(part, [...path, i], root)
  } else if (typeof value === 'object' && value !== null) {
    const copy = structuredClone(root) as Record<string | number, unknown>
    let at = copy
    for (const step of path) at = at[step] as Record<string | number, unknown>
    at['a_setting_of_next_year'] = 7
    yield [path.join('.'), copy]
    for (const [key, part] of Object.entries(value)) yield* withOneMore(part, [...path, key], root)
  }
}

t.test('an unknown setting is reported, anywhere in a file', async t => {
  let tried = 0
  for (const { source, value } of shapes) {
    for (const [place, changed] of withOneMore(value)) {
      tried++
      const { notes } = await translate(changed, { localFree: true, expand: true })
      const line = /^model_list\.(\d+)/.exec(place)?.[1]
      const name =
        line === undefined
          ? 'none'
          : (value as { model_list: { model_name: string }[] }).model_list[Number(line)]?.model_name
      const isTold = notes.some(
        note =>
          note.includes('a_setting_of_next_year') ||
          // If a line is omitted, one note covers all of it; so does one note for a section without an equivalent.
          (note.startsWith(`${name}: `) && note.includes('is left out')) ||
          (note.startsWith('not translated: ') && place.startsWith(note.slice(16).split(':')[0]?.split('[')[0] ?? ' ')),
      )
      if (!isTold) t.fail(`${source}: ${place} is not told`)
    }
  }
  t.ok(tried > 150, `${tried} places`)
})

t.test('the purpose of a model comes from the line or the table, and is never guessed', async t => {
  const priced = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
  const family = async (params: object, more: object = {}, options: Options = {}) =>
    (await translate(one(params, more), options)).plan.models.get('m')?.family.name
  t.equal(await family({ model: 'openai/nobody-knows', ...priced }), undefined)
  t.equal(await family({ model: 'openai/nobody-knows', ...priced }, {}, { mode: 'chat' }), 'chat')
  t.equal(await family({ model: 'openai/nobody-knows', ...priced }, { model_info: { mode: 'chat' } }), 'chat')
  t.equal(await family({ model: 'openai/nobody-knows', ...priced, max_tokens: 5 }), 'chat')
  t.equal(await family({ model: 'openai/text-embedding-3-small' }), 'embedding')
  t.equal(await family({ model: 'openai/whisper-1' }), 'transcription')
  t.equal(await family({ model: 'openai/tts-1' }), 'speech')
  t.equal(await family({ model: 'openai/watch' }, { model_info: { mode: 'moderation' } }), 'moderation')
  t.equal(await family({ model: 'cohere/rerank-v3.5' }), 'rerank')
  t.equal(await family({ model: 'anthropic/of-tomorrow', ...priced }), 'messages')
  t.equal(await family({ model: 'openai/gpt-4o', ...priced }, { model_info: { mode: 'video_generation' } }), undefined)
})

t.test('table prices are those of the called vendor, and 0 in it is no price', async t => {
  const input = async (params: object, more: object = {}, options: Options = {}) =>
    (await translate(one({ max_tokens: 1, ...params }, more), options)).plan.models.get('m')?.prices.get('input')
      ?.micros
  t.equal(await input({ model: 'openai/gpt-4o' }), 2_500_000)
  t.equal(await input({ model: 'gpt-4o' }), 2_500_000)
  t.equal(await input({ model: 'openai/gpt-4o', api_base: 'https://api.openai.com/v1' }), 2_500_000)
  t.equal(await input({ model: 'openai/gpt-4o', api_base: 'https://cheap.example.com/v1' }), undefined)
  t.equal(await input({ model: 'openai/gpt-4o', api_base: 'os.environ/BASE' }), undefined)
  t.equal(
    await input({ model: 'azure/ours', api_base: 'os.environ/BASE' }, { model_info: { base_model: 'azure/gpt-4o' } }),
    2_500_000,
  )
  t.equal(await input({ model: 'together_ai/nothing-known' }), undefined)
  t.equal(await input({ model: 'openrouter/gpt-4o' }), undefined, "another maker's price")
  const { plan, notes } = await translate(one({ model: 'gemini/gemini-2.5-pro' }))
  t.equal(plan.models.get('m')?.prices.get('input')?.micros, 1_250_000)
  t.match(plan.models.get('m')?.overrides, [{ if: { input_above: 200_000 } }])
  t.same(
    notes.filter(note => note.includes('not charged')),
    [],
  )
  t.match((await translate(one({ model: 'gemini/gemini-2.5-flash' }))).text, 'ends: 2027-06-30')
})

t.test("the operator's own server is free only if an option says so", async t => {
  const local = { model: 'ollama_chat/llama', api_base: 'http://ollama:11434' }
  t.notOk((await translate(one(local))).plan.models.has('m'))
  t.match((await translate(one(local), { localFree: true })).plan.models.get('m'), { free: true })
  const far = { ...local, api_base: 'https://ollama.example.com' }
  t.notOk((await translate(one(far), { localFree: true })).plan.models.has('m'))
})

t.test("an operator's own servers are recognised also if the address is in a variable", async t => {
  const base = { api_base: 'os.environ/BASE', max_tokens: 1 }
  for (const prefix of ['ollama', 'ollama_chat', 'hosted_vllm', 'vllm', 'lm_studio'])
    t.match(
      (await translate(one({ model: `${prefix}/qwen`, ...base }), { localFree: true })).plan.models.get('m'),
      { free: true },
      prefix,
    )
  t.notOk((await translate(one({ model: 'openai/qwen', ...base }), { localFree: true })).plan.models.has('m'))
})

t.test('a mode is recognised by the names that files use for it', async t => {
  const family = async (model: string, mode: string) =>
    (await translate(one({ model }, { model_info: { mode } }))).plan.models.get('m')?.family.name
  t.equal(await family('openai/tts-1', 'tts'), 'speech')
  t.equal(await family('openai/text-embedding-3-large', 'embeddings'), 'embedding')
  t.equal(await family('openai/whisper-1', 'stt'), 'transcription')
})

t.test('a name between the vendor and the model is ignored in the table look-up', async t => {
  const { plan } = await translate(one({ model: 'azure/responses/gpt-4o', api_base: 'os.environ/BASE' }))
  t.equal(plan.models.get('m')?.prices.get('input')?.micros, 2_500_000)
  t.equal(plan.models.get('m')?.upstreams[0]?.sendAs, 'gpt-4o')
})

t.test('a model without a vendor belongs to Vertex if it has a project', async t => {
  const file = one({ model: 'gemini-2.5-flash', vertex_project: 'acme', vertex_location: 'europe-west4' })
  await writeFile(join(folder, 'bare.yaml'), stringify(file))
  const imported = await importConfig(join(folder, 'bare.yaml'), 'litellm', { prices: tablePath })
  const { text } = imported.ok ? imported : { text: '' }
  t.match(text, 'https://europe-west4-aiplatform.googleapis.com')
  t.match(text, '/v1/projects/acme/locations/europe-west4/publishers/google/models/{model}:generateContent')
})

t.test('models accept the format that all clients used before, and their own', async t => {
  const { plan, text } = await translate({
    model_list: ['anthropic/claude-sonnet-4-5', 'gemini/gemini-2.5-flash', 'openai/gpt-4o', 'openai/tts-1'].map(
      model => ({ model_name: model, litellm_params: { model } }),
    ),
  })
  const accepts = [...plan.models.values()].map(({ name, accepts }) => [name, [...(accepts ?? [])].join(' ')])
  t.same(accepts, [
    ['anthropic/claude-sonnet-4-5', 'chat responses'],
    ['gemini/gemini-2.5-flash', 'chat responses messages'],
    ['openai/gpt-4o', 'messages'],
    ['openai/tts-1', ''],
  ])
  for (const path of ['POST /v1/chat/completions', 'POST /v1/responses', 'POST /v1/messages,'] as const)
    t.equal(text.split(path).length, 2, `${path} is a route once`)
  const speech = (await translate(one({ model: 'openai/tts-1' }))).text
  t.notMatch(speech, /accepts|format-bridge:/, 'a model without conversations accepts no other format')
})

t.test("Google is called in the format of the name's other vendors, and of models that fall back to it", async t => {
  const line = (name: string, model: string) => ({
    model_name: name,
    litellm_params: { model, api_key: 'os.environ/K' },
  })
  const { plan, text, losses } = await translate({
    model_list: [
      line('pool', 'gemini/gemini-2.5-flash'),
      line('pool', 'openai/gpt-4o'),
      line('gem', 'gemini/gemini-2.5-pro'),
      line('gpt', 'openai/gpt-4o-mini'),
    ],
    litellm_settings: { fallbacks: [{ gpt: ['gem'] }], prometheus_initialize_budget_metrics: true },
  })
  t.same(losses, [])
  t.equal(plan.models.get('pool')?.family.name, 'chat')
  t.equal(plan.models.get('gem')?.family.name, 'generative')
  t.same(
    plan.models.get('pool')?.upstreams.map(one => [one.sendAs, new URL(one.upstream.url).pathname]),
    [
      ['gemini-2.5-flash', '/v1beta/openai'],
      ['gpt-4o', '/'],
    ],
  )
  t.match(plan.models.get('gpt')?.fallbacks, [{ sendAs: 'gemini-2.5-pro', fallback: { name: 'gem' } }])
  t.match(text, 'url: "https://generativelanguage.googleapis.com/v1beta/openai"')
})

t.test("Google's embeddings are available in the format of all clients", async t => {
  const { plan, text } = await translate(
    one({ model: 'gemini/embed', input_cost_per_token: 1e-7 }, { model_info: { mode: 'embedding' } }),
  )
  t.equal(plan.models.get('m')?.family.name, 'embedding')
  t.match(text, 'calls: { embeddings: /embeddings }')
})

t.test('the highest of several prices is never below one of them', async t => {
  const priced = (prices: Record<string, string>, more: object = {}): Cost => ({
    kind: 'prices',
    prices: new Map(Object.entries(prices)),
    ...more,
  })
  const flat = priced({ input: '2.00', output: '8.00' })
  const tiered = priced(
    { input: '1.25', cached_input: '0.30', output: '10.00' },
    {
      overrides: [
        { if: { service_tier: 'flex' }, prices: { input: '0.60', output: '5.00' } },
        { if: { input_above: 200_000 }, prices: { input: '2.50', cached_input: '0.60', output: '15.00' } },
      ],
      times: [
        { if: { region: 'eu' }, by: '1.1' },
        { if: { service_tier: 'batch' }, by: '0.5' },
      ],
    },
  )
  const cost = mostExpensive([flat, tiered])
  t.same(cost.kind === 'prices' && Object.fromEntries(cost.prices), {
    input: '2.00',
    cached_input: '2.00',
    output: '10.00',
  })
  t.match(cost, {
    overrides: [{ if: { input_above: 200_000 }, prices: { input: '2.50', output: '15.00' } }],
    times: [{ if: { region: 'eu' }, by: '1.1' }],
  })
  const more = priced(
    { input: '1.00', output: '2.00' },
    { overrides: [{ if: { input_above: 128_000 }, prices: { input: '9.00' } }] },
  )
  t.match(mostExpensive([tiered, more]), {
    overrides: [
      { if: { input_above: 200_000 }, prices: { input: '9.00', output: '15.00' } },
      { if: { input_above: 128_000 }, prices: { input: '9.00', output: '15.00' } },
    ],
  })
  t.equal(mostExpensive([tiered, tiered]), tiered, 'the same price keeps its discounts')
  t.same(mostExpensive([{ kind: 'free' }, flat]), flat)
})

t.test('a pattern becomes the matching models of the table, each with its price', async t => {
  const file = { model_list: [{ model_name: 'm/*', litellm_params: { model: 'mistral/*' } }] }
  const { plan } = await translate(file)
  t.same([...plan.models.values()].map(({ name, upstreams: [first] }) => [name, first?.sendAs]).toReversed(), [
    ['m/mistral-embed', 'mistral-embed'],
    ['m/mistral-large-latest', 'mistral-large-latest'],
  ])
  const without = await translate(file, { prices: undefined })
  t.equal(without.plan.models.size, 0)
  t.match(without.text, '# m/* is off: it is a pattern, and its names have no price')
  t.match(without.text, '# "m/*": { family: chat, upstream: mistral, send_as: "*", accepts: [messages] }')
  const own = { model_name: 'gpt-4o', litellm_params: { model: 'azure/ours', api_base: 'https://a.example' } }
  const facts = { model_info: { base_model: 'azure/gpt-4o' } }
  const all = await translate({
    model_list: [
      { model_name: 'gpt-*', litellm_params: { model: 'openai/gpt-*' } },
      { ...own, ...facts },
    ],
  })
  t.same(
    [...all.plan.models.values()].map(({ name, upstreams }) => [name, ...upstreams.map(one => one.sendAs)]),
    [
      ['gpt-4o-mini', 'gpt-4o-mini'],
      ['gpt-4o', 'ours'],
    ],
    'a line of a name comes before a pattern',
  )
})

t.test('a pattern that has a price or is free serves every matching name', async t => {
  const { plan, models, losses } = await translate(
    {
      model_list: [
        {
          model_name: 'openai/*',
          litellm_params: { model: 'openai/*', input_cost_per_token: 2e-6, output_cost_per_token: 8e-6 },
        },
        { model_name: 'mine-*', litellm_params: { model: 'ollama_chat/*', api_base: 'http://ollama:11434' } },
        { model_name: 'claude-*', litellm_params: { model: 'anthropic/claude-*' } },
      ],
    },
    { localFree: true, prices: undefined },
  )
  t.match(plan.models.get('openai/of-tomorrow'), {
    upstreams: [{ sendAs: 'of-tomorrow' }],
    prices: new Map([['input', { micros: 2_000_000 }]]),
  })
  t.match(plan.models.get('mine-llama'), { free: true, upstreams: [{ sendAs: 'llama' }] })
  t.notOk(plan.models.has('claude-x'), 'one without a price is a comment')
  t.same([models, losses], [{ all: 3, active: 2 }, []])
})

t.test('fallbacks, aliases, timeouts, cooldown and headers keep their meaning', async t => {
  const { plan, notes } = await translate(
    {
      model_list: [
        {
          model_name: 'a',
          litellm_params: {
            model: 'openai/gpt-4o',
            timeout: 20,
            max_parallel_requests: 4,
            extra_headers: { 'x-team': 'a $x ${HOME}' },
          },
        },
        { model_name: 'b', litellm_params: { model: 'openai/gpt-4o-mini' } },
        { model_name: 'local', litellm_params: { model: 'ollama_chat/x' } },
      ],
      router_settings: {
        allowed_fails: 3,
        cooldown_time: 30,
        fallbacks: [{ a: ['b'] }, { local: ['b'] }],
        context_window_fallbacks: [{ b: ['a'] }],
        model_group_alias: { c: 'b', d: { model: 'a' }, e: 'a' },
      },
      litellm_settings: { fallbacks: [{ e: ['local'] }] },
    },
    { localFree: true },
  )
  const ways = (name: string) => {
    const { upstreams = [], fallbacks = [] } = plan.models.get(name) ?? {}
    return [upstreams.map(one => one.sendAs), fallbacks.map(one => [one.sendAs, one.fallback?.name])]
  }
  t.same(ways('a'), [['gpt-4o'], [['gpt-4o-mini', 'b']]])
  t.same(ways('b'), [['gpt-4o-mini'], [['gpt-4o', 'a']]])
  t.same(ways('c'), [['gpt-4o-mini'], [['gpt-4o', 'a']]], 'an alias fails over like its model')
  t.same(ways('d'), [['gpt-4o'], [['gpt-4o-mini', 'b']]])
  t.same(ways('e'), [['gpt-4o'], [['x', 'local']]], 'unless it has its own fallbacks')
  for (const [alias, name] of [
    ['c', 'b'],
    ['d', 'a'],
  ])
    t.ok(
      notes.includes(`${alias}: it has the fallbacks of ${name}; LiteLLM uses none for requests by an alias`),
      caseName({ alias }),
    )
  t.same(ways('local'), [['x'], [['gpt-4o-mini', 'b']]], 'also a free one: each has its own price')
  t.ok(
    notes.some(
      note => note === 'b: LiteLLM uses a if a prompt is too long; here it is used if no upstream of the model answers',
    ),
  )
  const upstream = plan.models.get('a')?.upstreams[0]?.upstream
  t.match(upstream, { concurrency: 4, timeouts: { firstByteMs: 20_000 }, headers: { 'x-team': 'a $x ${HOME}' } })
  t.match(upstream?.cooldown, { failures: 4 })
})

t.test('budgets of the file are those of its only group', async t => {
  const file = (settings: object) => ({ ...one({ model: 'openai/gpt-4o' }), litellm_settings: settings })
  const group = async (settings: object) => {
    const { text, notes } = await translate(file(settings))
    return [/^ {2}default: (.*)$/m.exec(text)?.[1], notes.length]
  }
  t.same(await group({ max_budget: 100, budget_duration: '30d' }), ['{ budget: { amount: "100.00", per: month } }', 0])
  t.same(await group({ max_budget: 5.5 }), ['{ budget: { amount: "5.50", per: total } }', 0])
  t.same(await group({ max_internal_user_budget: 2, internal_user_budget_duration: '1d' }), [
    '{ user_budget: { amount: "2.00", per: day } }',
    0,
  ])
  t.same(await group({ default_internal_user_params: { max_budget: 3 } }), [
    '{ user_budget: { amount: "3.00", per: total } }',
    0,
  ])
  t.same(await group({ max_budget: 100, budget_duration: '7d' }), ['{ budget: { amount: "100.00", per: week } }', 0])
  t.same(await group({ max_budget: 100, budget_duration: '14d' }), ['{ budget: { amount: "100.00", per: 14d } }', 0])
  t.same(await group({ max_budget: 100, budget_duration: '365d' }), ['{}', 2], 'an unsupported length is reported')
})

t.test('several deployments of one name cost as much as the most expensive', async t => {
  const line = (cost: number) => ({
    model_name: 'm',
    litellm_params: {
      model: 'openai/x',
      api_key: `k${cost}`,
      max_tokens: 1,
      input_cost_per_token: cost,
      output_cost_per_token: cost,
    },
  })
  const { plan } = await translate({ model_list: [line(1e-6), line(3e-6), line(0)] })
  t.equal(plan.models.get('m')?.prices.get('input')?.micros, 3_000_000)
  t.equal(plan.models.get('m')?.upstreams[0]?.upstream.keys?.length, 3)
})

t.test('deployments that differ by their key alone are one upstream with several keys', async t => {
  const line = (name: string, key: string | undefined, more: object = {}) => ({
    model_name: name,
    litellm_params: {
      model: `openai/${name}`,
      ...(key !== undefined && { api_key: key }),
      max_tokens: 1,
      ...cost,
      ...more,
    },
  })
  const cost = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
  const translated = async (...lines: readonly object[]) => {
    const { plan, notes, text } = await translate({ model_list: lines })
    const ways = (name: string) =>
      plan.models.get(name)?.upstreams.map(({ upstream, weight, priority }) => ({
        upstream: upstream.name,
        weight,
        priority,
        keys: upstream.keys?.map(key => [key.name, key.weight, key.concurrency]),
        sent: (upstream.keys ?? [{ upstream }]).map(
          key => key.upstream.credential.map(one => one.kind === 'header' && one.value)[0],
        ),
      }))
    return { ways, notes, text, upstreams: [...plan.upstreams.keys()] }
  }
  const env = ['os.environ/KEY_ONE', 'os.environ/KEY_TWO'] as const
  const two = await translated(
    line('a', env[0]),
    line('a', env[1]),
    line('b', env[0]),
    line('b', env[1]),
    line('c', env[0]),
  )
  t.same(
    two.upstreams,
    ['openai', 'openai-2'],
    'models with the same keys share an upstream; one with one of them has its own',
  )
  t.match(two.ways('a'), [
    {
      upstream: 'openai',
      weight: 1,
      keys: [
        ['key-one', 1],
        ['key-two', 1],
      ],
    },
  ])
  t.same(two.ways('a'), two.ways('b'))
  t.match(two.ways('c'), [{ upstream: 'openai-2', keys: undefined }])
  t.ok(two.notes.includes('the upstream openai has 2 keys, of equal shares'))
  const literal = await translated(line('a', 'made-up-1'), line('a', 'made-up-2'), line('a', 'made-up-1'))
  t.match(literal.ways('a'), [
    {
      keys: [
        ['openai', 2],
        ['openai-2', 1],
      ],
      sent: ['Bearer made-up-1', 'Bearer made-up-2'],
    },
  ])
  t.ok(literal.notes.includes('the upstream openai has 2 keys, of the shares 2 : 1'))
  t.notMatch(literal.text, /made-up-\d/)
  const weights = async (one: object, other: object) =>
    (await translated(line('a', env[0], one), line('a', env[1], other)))
      .ways('a')
      ?.map(way => way.keys?.map(key => key[1]))
  t.same(await weights({ rpm: 100 }, { rpm: 250 }), [[2, 5]], 'shares by rpm')
  t.same(await weights({ rpm: 100, weight: 3 }, { rpm: 250 }), [[3, 1]], 'a weight overrides it')
  t.same(await weights({ weight: 0.5 }, { weight: 0.25 }), [[2, 1]])
  t.same(await weights({ weight: 1e8 }, { weight: 1e-9 }), [[1000, 1]], 'the least is some')
  t.same(
    await weights({ order: 1 }, { order: 2 }),
    [undefined, undefined],
    'one is asked before the other: two upstreams',
  )
  t.same(await weights({ timeout: 1 }, { timeout: 2 }), [undefined, undefined], 'they differ by more')
  t.same(await weights({ max_parallel_requests: 4 }, { max_parallel_requests: 6 }), [[1, 1]])
  const bounded = await translated(
    line('a', env[0], { max_parallel_requests: 4 }),
    line('a', env[1], { max_parallel_requests: 6 }),
  )
  t.match(bounded.ways('a'), [
    {
      keys: [
        ['key-one', 1, 4],
        ['key-two', 1, 6],
      ],
    },
  ])
  const result = await translated(
    line('a', env[0]),
    line('a', env[1], { weight: 2 }),
    line('a', undefined, { api_base: 'https://other.example.com/v1', weight: 6, api_key: 'none' }),
  )
  t.match(result.ways('a'), [
    {
      weight: 3,
      keys: [
        ['key-one', 1],
        ['key-two', 2],
      ],
    },
    { weight: 6, keys: [['credential', 1]] },
  ])
})

t.test('words of a foreign file stay text', async t => {
  const nasty = 'x: ${file:/etc/hostname} # "\\\n- y'
  const key = 'made-up ${file:/etc/hostname} "key"'
  const { plan, text } = await translate({
    model_list: [
      {
        model_name: 'm',
        litellm_params: {
          model: `openai/${nasty}`,
          api_key: key,
          max_tokens: 1,
          input_cost_per_token: 1e-6,
          output_cost_per_token: 1e-6,
        },
      },
      { model_name: nasty, litellm_params: { model: 'openai/gpt-4o' } },
      { model_name: '__proto__', litellm_params: { model: 'openai/gpt-4o' } },
    ],
    [nasty]: 1,
  })
  t.same([...plan.models.keys()], ['m'])
  t.equal(plan.models.get('m')?.upstreams[0]?.sendAs, nasty)
  t.match(plan.upstreams.get('openai')?.credential, [{ value: `Bearer ${key}` }])
  t.notMatch(text, 'made-up ')
})

async function cli(...args: readonly string[]) {
  const { stdout, stderr, code } = await runCommand({ cwd: folder, env: process.env }, ['import', ...args])
  return { out: stdout, err: stderr, code }
}

t.test('the command writes secrets for their owner alone, and exits with 4 if nothing is active', async t => {
  const file = join(folder, 'cli.yaml')
  await writeFile(file, stringify(one({ model: 'openai/gpt-4o', api_key: 'made-up-key' })))
  const dry = await cli(file, '--prices', tablePath, '--out', 'made.yaml', '--secrets', 'keys', '--dry-run')
  t.equal(dry.code, 0, dry.err)
  await t.rejects(stat(join(folder, 'made.yaml')))
  const done = await cli(file, '--prices', tablePath, '--out', 'made.yaml', '--secrets', 'keys')
  t.equal(done.code, 0, done.err)
  t.equal((await stat(join(folder, 'keys/openai'))).mode & 0o777, 0o600)
  t.equal((await stat(join(folder, 'keys'))).mode & 0o777, 0o700)
  t.match(await readFile(join(folder, 'made.yaml'), 'utf8'), '${file:./keys/openai}')
  t.ok((await loadConfig(join(folder, 'made.yaml'), {})).ok)
  const none = await cli(file, '--format', 'json')
  t.equal(none.code, 4, none.err)
  t.match(JSON.parse(none.out), { models: { all: 1, active: 0 }, entries: { all: 1, active: 0, off: [{ name: 'm' }] } })
})

t.test('control characters in names of a file are escaped', async t => {
  const named = (name: string) => ({ ...one({ model: 'openai/gpt-4o' }).model_list[0], model_name: name })
  await writeFile(join(folder, 'obeyed.yaml'), stringify({ model_list: [named('a\u001b[31mred\nline')] }))
  const args = ['import', 'litellm', 'obeyed.yaml', '--dry-run']
  const { stderr } = await runCommand({ cwd: folder, env: process.env }, args)
  t.match(stderr, 'a\\u001b[31mred\\u000aline: its name is not valid in a configuration')
  t.notMatch(stderr, '\u001b')
})

t.test('an output file in a missing folder is reported in a sentence', async t => {
  await writeFile(join(folder, 'known.yaml'), stringify(one({ model: 'openai/gpt-4o', api_key: 'os.environ/KEY' })))
  const problem = /nowhere[^ ]*: the folder nowhere does not exist/
  const place = { cwd: folder, env: process.env }
  const config = await runCommand(place, [
    'import',
    'litellm',
    'known.yaml',
    '--mode',
    'chat',
    '--prices',
    tablePath,
    '--out',
    'nowhere/gateway.yaml',
  ])
  t.match(config, { code: 2, stderr: problem })
  const table = await runCommand(place, [
    'prices',
    'import',
    tablePath,
    '--from',
    'litellm',
    '-o',
    'nowhere/prices.yaml',
  ])
  t.match(table, { code: 2, stderr: problem })
})

t.test('a file whose aliases multiply is refused in a sentence, at once', async t => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 10; i++)
    lines.push(
      `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    )
  await writeFile(join(folder, 'aliases.yaml'), `${lines.join('\n')}\nmodel_list: *a9\n`)
  const refused = await cli('litellm', 'aliases.yaml', '--dry-run')
  t.match(refused, {
    code: 3,
    err: /aliases\.yaml[^]*its aliases expand to too many values[^]*write the values in each place/,
  })
})

t.test(
  'reports about aliases and fallbacks are true: disabled ones are not charged or listed, and limits not doubled silently',
  async t => {
    const priced = { max_tokens: 1, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, api_key: 'os.environ/KEY' }
    const line = (name: string, params: object) => ({
      model_name: name,
      litellm_params: { model: `openai/${name}`, ...priced, ...params },
    })
    const { notes, plan } = await translate({
      model_list: [
        line('a', { rpm: 10 }),
        line('b', {}),
        line('off', { input_cost_per_token: undefined, api_base: 'http://10.0.0.1:1/v1' }),
        line('some', { rpm: 5 }),
        line('some', { rpm: undefined, api_key: 'os.environ/OTHER' }),
      ],
      router_settings: {
        model_group_alias: { alias: { model: 'a', hidden: true }, gone: { model: 'nowhere', hidden: true } },
        fallbacks: [{ off: ['b'] }, { a: ['b'] }, { b: ['same'] }],
      },
    })
    const about = (part: string) => notes.filter(note => note.startsWith(`${part}: `))
    t.same([...plan.models.keys()].toSorted(), ['a', 'alias', 'b', 'some'])
    t.match(about('alias'), [
      /^alias: an alias cannot be hidden here; it is listed$/,
      /^alias: its limit of 10 requests per minute is separate from a; in LiteLLM they share it$/,
      /^alias: it has the fallbacks of a; LiteLLM uses none/,
    ])
    t.same(about('gone'), ['gone: the alias of nowhere is not translated: the model does not exist'])
    t.match(about('off'), [/^off: it runs on your own machine|^off: .*commented out/])
    t.same(about('b'), ['b: the fallback same is not translated: the model does not exist'])
    t.match(plan.models.get('a')?.fallbacks, [{ fallback: { name: 'b' } }])
    t.match(plan.models.get('alias')?.fallbacks, [{ fallback: { name: 'b' } }])
    t.ok(
      about('some').includes(
        'some: rpm of some of its deployments is not translated: others have none and are not limited',
      ),
    )
  },
)

t.test('fallbacks of every kind lead to models that accept their requests, in any format', async t => {
  const line = (name: string, model: string, more: object = {}) => ({
    model_name: name,
    litellm_params: {
      model,
      api_key: 'os.environ/K',
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
      ...more,
    },
    model_info: { mode: 'chat' },
  })
  const image = (name: string, cost: number) => ({
    ...line(name, `openai/${name}`, { output_cost_per_image: cost }),
    model_info: { mode: 'image_generation' },
  })
  const { plan, text, losses, notes } = await translate({
    model_list: [
      line('claude', 'anthropic/claude-x'),
      line('gem', 'gemini/gemini-x'),
      line('gpt', 'openai/gpt-x'),
      line('mini', 'openai/mini-x'),
      { ...line('embed', 'openai/embed-x', { output_cost_per_token: undefined }), model_info: { mode: 'embedding' } },
      { ...line('odd', 'openai/odd-x'), model_info: {} },
      image('draw', 0.04),
      image('paint', 0.02),
    ],
    router_settings: {
      fallbacks: [
        { claude: ['gpt', 'gem'] },
        { gem: 'claude' },
        { draw: ['paint'] },
        { embed: ['gpt'] },
        { odd: ['gpt'] },
      ],
      model_group_alias: { sonnet: 'claude', any: 'gpt', pencil: 'draw' },
    },
    litellm_settings: { default_fallbacks: ['mini', 'nowhere'], num_retries: 0 },
  })
  const ofModel = (name: string) => plan.models.get(name)?.fallbacks?.map(one => one.fallback?.name)
  t.same(
    ['claude', 'gem', 'gpt', 'mini', 'embed', 'paint', 'sonnet', 'any'].map(name => [name, ofModel(name)]),
    [
      ['claude', ['gpt', 'gem']],
      ['gem', ['claude']],
      ['gpt', ['mini']],
      ['mini', undefined],
      ['embed', undefined],
      ['paint', undefined],
      ['sonnet', ['gpt', 'gem']],
      ['any', ['mini']],
    ],
  )
  for (const name of ['draw', 'pencil'])
    t.same(
      plan.models.get(name)?.upstreams.map(one => [one.sendAs, one.priority]),
      [
        ['draw', 1],
        ['paint', 2],
      ],
      `images are charged one by one, so they stay with their model: ${caseName({ name })}`,
    )
  t.ok(notes.includes('draw: responses of its fallback paint are charged as draw'))
  t.same(losses, [
    'embed: the fallback gpt is not translated: its family is not embedding',
    'odd: its fallback gpt is not translated: odd is not imported',
    'the default fallback nowhere is not translated: the model does not exist',
  ])
  t.match(text, '  claude: { family: messages, upstream: anthropic, send_as: claude-x, fallbacks: [gpt, gem], prices:')
  t.notMatch(text, 'format-bridge: {}')
})

t.test('a fallback to an upstream already in use adds nothing, and is reported', async t => {
  const params = { model: 'openai/x', max_tokens: 1, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  const { notes } = await translate({
    model_list: ['a', 'b'].map(model_name => ({ model_name, litellm_params: params })),
    router_settings: { fallbacks: [{ a: ['b'] }] },
  })
  t.ok(notes.includes('a: its fallback b is the same model at the same upstream, so it has no effect'))
  t.notOk(notes.some(note => note.includes('are charged as')))
})

t.test('parameters of a line become defaults of its model, by the names of each operation', async t => {
  const cost = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 }
  const defaultsOf = async (params: object, more: object = {}) => {
    const { plan, notes } = await translate(one({ ...cost, ...params }, more))
    const defaults = plan.models.get('m')?.defaults
    return {
      defaults: defaults && Object.fromEntries([...defaults].map(([name, own]) => [name, Object.fromEntries(own)])),
      notes,
    }
  }
  const chat = await defaultsOf({
    model: 'openai/gpt-5',
    mode: 'chat',
    max_tokens: 4096,
    reasoning_effort: 'low',
    temperature: 0,
    stop: ['$END', 'yes'],
    extra_body: { chat_template_kwargs: { enable_thinking: false } },
  })
  t.same(chat.defaults, {
    chat: {
      max_tokens: 4096,
      reasoning_effort: 'low',
      temperature: 0,
      stop: ['$END', 'yes'],
      chat_template_kwargs: { enable_thinking: false },
    },
    responses: { max_output_tokens: 4096, temperature: 0, reasoning: { effort: 'low' } },
  })
  t.same(chat.notes, [])
  const claude = await defaultsOf({
    model: 'anthropic/claude-x',
    thinking: { type: 'enabled', budget_tokens: 2048 },
    max_tokens: 9000,
    reasoning_effort: 'low',
  })
  t.same(claude.defaults, { messages: { thinking: { type: 'enabled', budget_tokens: 2048 }, max_tokens: 9000 } })
  t.ok(claude.notes.includes('not translated: m: litellm_params.reasoning_effort'), claude.notes.join('\n'))
  const line = (max: number, api_key: string) => ({
    model_name: 'm',
    litellm_params: { model: 'openai/gpt-4o', api_key, max_tokens: max },
  })
  const differing = await translate({ model_list: [line(1, 'os.environ/A'), line(2, 'os.environ/B')] })
  t.equal(differing.plan.models.get('m')?.defaults, undefined)
  t.ok(differing.notes.some(note => note.includes('set different fields')))
})

t.test('omitted parts are comments with the reason, next to the models', async t => {
  const { text, models } = await translate(
    {
      model_list: [
        { model_name: 'on', litellm_params: { model: 'openai/gpt-4o' } },
        { model_name: 'unpriced', litellm_params: { model: 'openai/of-tomorrow', mode: 'chat' } },
        { model_name: 'far', litellm_params: { model: 'watsonx/granite' } },
        { model_name: 'far too', litellm_params: { model: 'watsonx/granite-2' } },
        { model_name: '*', litellm_params: { model: 'together_ai/*' } },
        { model_name: 'far', litellm_params: { model: 'watsonx/granite-3' } },
      ],
    },
    { expand: true },
  )
  const lines = text.split('\n').filter(line => line.startsWith('  # '))
  t.match(lines, [
    /^ {2}# together-ai: /,
    /^ {2}# unpriced is off: it has no input_cost_per_token/,
    '  # unpriced: { family: chat, upstream: openai, send_as: of-tomorrow, accepts: [messages] }',
    '  # * is off: the table has no model that matches together_ai/*',
    '  # "*": { family: chat, upstream: together-ai, accepts: [messages] }',
    "  # left out: far, far too: 'watsonx' is not an upstream with an address and a key",
  ])
  t.same(models, { all: 5, active: 1 }, 'names are counted, not lines')
})

t.test('a lost guardrail, budget or fallback ends the command with 1, unless that is accepted', async t => {
  const line = { model_name: 'm', litellm_params: { model: 'openai/gpt-4o' } }
  const lost: readonly (readonly [object, RegExp])[] = [
    [{ guardrails: [{ guardrail_name: 'pii' }] }, /guardrails/],
    [{ litellm_settings: { callbacks: ['langfuse', 'presidio'] } }, /callbacks/],
    [{ litellm_settings: { max_budget: 10, budget_duration: '365d' } }, /max_budget/],
    [{ router_settings: { provider_budget_config: { openai: { budget_limit: 1 } } } }, /provider_budget_config/],
    [{ router_settings: { fallbacks: [{ m: ['gone'] }] } }, /fallback gone is not translated/],
    [{ litellm_settings: { context_window_fallbacks: [{ m: ['gone'] }] } }, /fallback gone/],
    [{ model_list: [{ ...line, litellm_params: { ...line.litellm_params, guardrails: ['pii'] } }] }, /guardrails/],
    [{ model_list: [{ ...line, litellm_params: { ...line.litellm_params, max_budget: 3 } }] }, /max_budget/],
  ]
  for (const [more, expected] of lost)
    t.match((await translate({ model_list: [line], ...more })).losses[0], expected, caseName({ more }))
  const kept = {
    model_list: [line],
    litellm_settings: { callbacks: ['langfuse'], drop_params: true, max_budget: 10 },
    router_settings: { num_retries: 2 },
    general_settings: { budget_alert_ttl: 86_400 },
  }
  t.same((await translate(kept)).losses, [], 'the time between two alerts is not a budget')
  const file = join(folder, 'losing.yaml')
  await writeFile(
    file,
    stringify({ ...kept, guardrails: [{ guardrail_name: 'pii', litellm_params: { guardrail: 'presidio' } }] }),
  )
  const flags = [file, '--prices', tablePath, '--secrets', join(folder, 'kept'), '--dry-run'] as const
  const refused = await cli(...flags)
  t.equal(refused.code, 1, refused.err)
  t.match(refused.err, /losing\.yaml: 1 of 1 model active; \d+ notes\n/)
  t.match(refused.err, /nothing is to be written to .*kept: every key is in a variable/)
  t.match(refused.err, /lost: not translated: guardrails: pii \(presidio\): add guard-patterns or guard-service/)
  t.match(refused.err, /1 guardrail, budget or fallback is not in effect here; replace it, or use --accept-losses/)
  t.match(await cli(...flags, '--accept-losses'), { code: 0, err: /note: not translated: guardrails/ })
  const data = await cli(...flags, '--format', 'json')
  t.equal(data.code, 1)
  t.match(JSON.parse(data.out).losses, [/guardrails/])
})
