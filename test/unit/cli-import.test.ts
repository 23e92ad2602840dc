import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { formatText } from '../../src/config/format-text.ts'
import { shiftPoint, toDecimal, toPrice } from '../../src/tools/import/decimals.ts'
import { importConfig, loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeFolder } from '../harness/folder.ts'

const folder = await mkdtemp(join(tmpdir(), 'tollgate-import-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

/** Translates a LiteLLM file, and reads the result as a gateway would. */
async function translate(text: string, env: NodeJS.ProcessEnv = {}) {
  const file = join(folder, 'config.yaml')
  await writeFile(file, text)
  const imported = await importConfig(file, 'litellm')
  if (!imported.ok) throw new Error(JSON.stringify(imported.findings))
  const loaded = await loadConfig({ file: join(folder, 'gateway.yaml'), text: imported.text }, env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const formatted = formatText(imported.text)
  return { ...imported, plan: loaded.plan, laidOut: formatted.ok && formatted.text === imported.text }
}

const models = (...entries: readonly string[]): string =>
  `model_list:\n${entries.map(entry => `  - ${entry}\n`).join('')}`
const priced = 'mode: chat, input_cost_per_token: 2.5e-06, output_cost_per_token: 1.0e-05'

t.test('unit prices become prices per million, exactly', async t => {
  const cases: readonly (readonly [given: unknown, million: string | undefined])[] = [
    [1.5e-7, '0.15'],
    [0.000_002_5, '2.50'],
    ['0.00001', '10.00'],
    [7.5e-8, '0.075'],
    [1e-10, '0.0001'],
    [1.234_567e-6, '1.234567'],
    [0, '0.00'],
    [1.234_567_8e-6, undefined],
  ]
  for (const [given, million] of cases)
    t.equal(toPrice(shiftPoint(toDecimal(given) ?? 'none', 6)), million, String(given))
  for (const none of [undefined, null, 'a lot', -1, Number.NaN, ''])
    t.equal(toDecimal(none), undefined, caseName({ none }))
})

t.test('a model list becomes upstreams, families and models with prices', async t => {
  const { plan, laidOut, text } = await translate(
    models(
      `{ model_name: gpt-4o, litellm_params: { model: azure/eu, api_base: os.environ/AZ_BASE, api_key: os.environ/AZ_KEY, rpm: 100, ${priced} } }`,
      `{ model_name: gpt-4o, litellm_params: { model: openai/gpt-4o, api_key: os.environ/OAI, weight: 2, rpm: 200, ${priced} } }`,
      `{ model_name: claude, litellm_params: { model: anthropic/claude-x, ${priced} } }`,
      '{ model_name: pictures, litellm_params: { model: gpt-image-1 }, model_info: { mode: image_generation, output_cost_per_image: 0.04 } }',
      '{ model_name: local, litellm_params: { model: hosted_vllm/llama, api_base: "http://vllm:8000/v1/", mode: chat, input_cost_per_token: 0, output_cost_per_token: 0 } }',
      '{ model_name: words, litellm_params: { model: openai/embed, input_cost_per_token: 2.0e-08 }, model_info: { mode: embedding } }',
    ),
    { AZ_BASE: 'https://az.example', AZ_KEY: 'key-of-azure', OAI: 'key-of-openai' },
  )
  t.ok(laidOut, 'the file is in the canonical layout')
  const micros = (model: string) =>
    Object.fromEntries([...(plan.models.get(model)?.prices ?? [])].map(([k, v]) => [k, v.micros]))
  const routesOf = (model: string) =>
    plan.models.get(model)?.upstreams.map(one => [one.upstream.url, one.sendAs, one.weight])
  t.same(micros('gpt-4o'), { input: 2_500_000, output: 10_000_000 })
  t.same(routesOf('gpt-4o'), [
    ['https://az.example/openai', 'eu', 1],
    ['https://api.openai.com', 'gpt-4o', 2],
  ])
  t.match(plan.models.get('gpt-4o')?.limits, { rpm: 300 })
  t.match(plan.upstreams.get('azure')?.credential, [{ header: 'api-key', value: 'key-of-azure' }])
  t.match(plan.upstreams.get('openai')?.credential, [{ header: 'authorization', value: 'Bearer key-of-openai' }])
  t.match(plan.upstreams.get('anthropic')?.credential, [{ header: 'x-api-key' }])
  t.equal(plan.models.get('claude')?.family.name, 'messages')
  t.same(micros('pictures'), { each: 40_000 })
  t.same(plan.models.get('pictures')?.family.facets.get('image-tier-billing'), {
    tiers: [{ tier: 'each' }],
    tier_from: ['output'],
    otherwise: 'each',
    on_caller_gone: 'bill',
    missing_usage: 'review',
    over_return: 'bill',
  })
  t.match(plan.models.get('local'), { free: true })
  t.same(routesOf('local'), [['http://vllm:8000', 'llama', 1]])
  t.same(micros('words'), { input: 20_000 })
  t.notMatch(text, 'key-of')
})

t.test('an unsupported price is reported, and never makes a model free', async t => {
  const { plan, notes } = await translate(
    models(
      `{ model_name: a, litellm_params: { model: anthropic/a, cache_creation_input_token_cost: 3.75e-06, input_cost_per_token_above_200k_tokens: 9e-06, cache_read_input_token_cost_priority: 1e-06, input_cost_per_image: 0.01, output_cost_per_image: 0, ${priced} } }`,
      '{ model_name: b, litellm_params: { model: groq/b, input_cost_per_second: 0, output_cost_per_second: 0.0001 }, model_info: { mode: audio_transcription } }',
      '{ model_name: c, litellm_params: { model: openai/c, mode: chat, input_cost_per_token: 0, output_cost_per_token: 0, input_cost_per_request: 0.01 } }',
      '{ model_name: d, litellm_params: { model: openai/d, output_cost_per_image: 0.04, input_cost_per_image: 0.01 }, model_info: { mode: image_generation } }',
    ),
  )
  const notesOf = (model: string) => notes.filter(note => note.startsWith(`${model}: `) && note.includes('_cost'))
  t.match(notesOf('a'), [/input_cost_per_image \(no response reports it\) is not translated and not charged/])
  t.equal(plan.models.get('a')?.prices.get('cache_write')?.micros, 3_750_000)
  t.match(plan.models.get('a')?.overrides, [
    { if: { service_tier: ['priority', 'fast'], input_above: 200_000 } },
    { if: { service_tier: ['priority', 'fast'] } },
    { if: { input_above: 200_000 } },
  ])
  t.equal(notesOf('a').length, 1, 'free entries are not reported')
  t.equal(plan.models.get('b')?.prices.get('second')?.micros, 100)
  t.same(notesOf('b'), [])
  t.notOk(plan.models.has('c'), 'its line is a comment')
  t.match(notesOf('d'), [/input_cost_per_image is not translated/])
  t.equal(plan.models.get('d')?.prices.get('each')?.micros, 40_000)
})

t.test('fallbacks become fallbacks of the model, at their own prices, in any format', async t => {
  const { plan, notes } = await translate(
    `${models(
      `{ model_name: a, litellm_params: { model: openai/a, ${priced} } }`,
      `{ model_name: b, litellm_params: { model: openrouter/vendor/b, ${priced} } }`,
      `{ model_name: c, litellm_params: { model: anthropic/c, ${priced} } }`,
    )}router_settings: { fallbacks: [{ a: [b, c] }] }\n`,
  )
  t.same(
    plan.models.get('a')?.upstreams.map(({ upstream }) => upstream.name),
    ['openai'],
  )
  t.same(
    plan.models.get('a')?.fallbacks?.map(({ upstream, sendAs }) => [upstream.name, sendAs]),
    [
      ['openrouter', 'vendor/b'],
      ['anthropic', 'c'],
    ],
  )
  t.notOk(
    notes.some(note => note.includes('fallback')),
    notes.join('\n'),
  )
})

t.test('a secret in the file is not copied, and two secrets are two variables', async t => {
  const { plan, text, notes } = await translate(
    models(
      `{ model_name: a, litellm_params: { model: openai/a, api_key: sk-one-0123456789, ${priced} } }`,
      `{ model_name: b, litellm_params: { model: openai/b, api_key: sk-two-0123456789, ${priced} } }`,
    ),
    { OPENAI_IMPORTED_KEY_1: 'one', OPENAI_IMPORTED_KEY_2: 'two' },
  )
  t.notMatch(text + notes.join(), /sk-one|sk-two/)
  t.same(
    [...plan.upstreams.values()].map(({ name, credential }) => [
      name,
      ...credential.map(one => (one.kind === 'header' ? one.value : '')),
    ]),
    [
      ['openai', 'Bearer one'],
      ['openai-2', 'Bearer two'],
    ],
  )
})

t.test('unsupported settings are reported, in the file too; a model without a price is a comment', async t => {
  const { plan, text, notes } = await translate(
    `${models(
      '{ model_name: bed, litellm_params: { model: bedrock/x, aws_region_name: eu } }',
      '{ model_name: "all/*", litellm_params: { model: "openai/*" } }',
      '{ model_name: unpriced, litellm_params: { model: openai/o1, mode: chat } }',
      '{ model_name: unsaid, litellm_params: { model: openai/o2, input_cost_per_token: 1.0e-06, output_cost_per_token: 1.0e-06 } }',
      `{ model_name: one, litellm_params: { model: openai/one, tpm: 5, timeout: 3, tags: [a], ${priced} } }`,
      '{ litellm_params: { model: x } }',
    )}general_settings: { master_key: sk-1234 }\nlitellm_settings: { drop_params: true }\n`,
  )
  t.same([...plan.models.keys()], ['one'])
  t.match(text, '  # unpriced: { family: chat, upstream: openai, send_as: o1, accepts: [messages] }')
  for (const expected of [
    'bedrock',
    'all/*: it is a pattern, and its names have no price',
    'unpriced: it has no input_cost_per_token',
    'unsaid: its mode is unknown',
    'one: tpm',
    'one: litellm_params.tags',
    'model_list[5]',
    'general_settings.master_key: create keys',
    'drop_params',
  ])
    t.ok(
      notes.some(note => note.includes(expected)),
      expected,
    )
  for (const note of notes) t.ok(text.includes(`# - ${note}`), note)
  t.equal(plan.models.get('one')?.upstreams[0]?.upstream.timeouts.firstByteMs, 3_000)
  t.notMatch(text, 'sk-1234')
})

t.test('anchors and merge keys of the file are followed', async t => {
  const { plan } = await translate(
    `shared: &shared { api_key: os.environ/K, ${priced} }\n${models('{ model_name: a, litellm_params: { <<: *shared, model: openai/a } }')}`,
  )
  t.equal(plan.models.get('a')?.prices.get('input')?.micros, 2_500_000)
})

t.test('another kind of file is refused at its place', async t => {
  const file = join(folder, 'other.yaml')
  await writeFile(file, 'services: {}\n')
  t.match(await importConfig(file, 'litellm'), { ok: false, findings: [{ code: 'model_list_missing', line: 1 }] })
  await writeFile(file, 'a: [1\n')
  t.match(await importConfig(file, 'litellm'), { ok: false, findings: [{ code: 'yaml_syntax' }] })
  await t.rejects(importConfig(join(folder, 'none.yaml'), 'litellm'), /ENOENT/)
  t.equal(await readFile(file, 'utf8'), 'a: [1\n')
})

t.test('a missing source is one sentence', async t => {
  const place = await makeFolder(t)
  await place.write('config.yaml')
  for (const [args, missing] of [
    [['nope.yaml'], 'nope.yaml'],
    [['config.yaml', '--prices', 'table.json'], 'table.json'],
    [['litellm', 'config.yaml', '--database', 'dump.sql', '--dry-run'], 'dump.sql'],
    [['new-api', 'nope.db', '--dry-run'], 'nope.db'],
  ] as const)
    t.match(
      await place.run('import', ...args),
      { code: 1, stdout: '', stderr: `${missing} does not exist\n` },
      caseName({ missing }),
    )
  for (const args of [
    ['.'],
    ['config.yaml', '--prices', '.'],
    ['config.yaml', '--database', '.', '--dry-run'],
  ] as const)
    t.match(
      await place.run('import', ...args),
      { code: 1, stdout: '', stderr: '. is a folder; expected a file\n' },
      caseName({ args }),
    )
})
