import { mkdir, writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { importBook, loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCommand } from '../harness/commands.ts'
import { makeFolder } from '../harness/folder.ts'
import { ask, messages, movedTo, vendorAt } from '../harness/import-vendor.ts'
import { start } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'

// The files that an administrator gets from a new-api with curl: pages of channels, options, and the prices in effect.

const channel = (id: number, more: object) => ({
  id,
  type: 1,
  key: '',
  status: 1,
  name: `channel ${id}`,
  weight: 0,
  priority: 0,
  base_url: '',
  group: 'default,vip',
  model_mapping: '',
  setting: null,
  created_time: 1_700_000_000,
  balance: 0,
  auto_ban: 1,
  channel_info: { is_multi_key: false, multi_key_size: 0, multi_key_status_list: null },
  ...more,
})
const channels = [
  channel(1, {
    models: 'gpt-4o,mini,emb',
    priority: 10,
    weight: 20,
    model_mapping: '{"gpt-4o":"gpt-4o-2024-11-20"}',
    channel_info: { is_multi_key: true, multi_key_size: 3, multi_key_status_list: { 1: 2 } },
  }),
  channel(2, { models: 'gpt-4o', base_url: 'https://spare.example' }),
  channel(3, { type: 14, models: 'claude-x', priority: 10 }),
  channel(4, { type: 43, models: 'mini', weight: 10, priority: 10, status: 2 }),
  channel(5, { type: 43, models: 'mini', weight: 40, priority: 10 }),
]
const page = (items: readonly object[], p: number) => ({
  success: true,
  message: '',
  data: { items, total: channels.length, page: p, page_size: 3, type_counts: { all: 5 } },
})
const options = {
  success: true,
  message: '',
  data: [
    { key: 'ModelRatio', value: '{"gpt-4o":1.25,"mini":0.075,"emb":0.01}' },
    { key: 'CompletionRatio', value: '{"gpt-4o":4,"mini":4.0}' },
    { key: 'CacheRatio', value: '{"gpt-4o":0.5}' },
    { key: 'GroupRatio', value: '{"default":1,"vip":0.85}' },
    { key: 'QuotaPerUnit', value: '500000' },
    { key: 'SystemName', value: 'Ours' },
  ],
}
/** The ratios of `claude-x` are in the source program's code, so only this file has them. */
const pricing = {
  success: true,
  group_ratio: { default: 1, vip: 0.9 },
  data: [
    { model_name: 'claude-x', quota_type: 0, model_ratio: 1.5, model_price: 0, completion_ratio: 5, cache_ratio: 0.1 },
    { model_name: 'gpt-4o', quota_type: 0, model_ratio: 99, model_price: 0, completion_ratio: 9 },
  ],
}

async function exported(t: Test, files: { readonly [name: string]: unknown }): Promise<string> {
  const place = await makeFolder(t)
  const folder = place.path('export')
  await mkdir(folder)
  for (const [name, content] of Object.entries(files))
    await writeFile(`${folder}/${name}`, typeof content === 'string' ? content : JSON.stringify(content))
  return folder
}

const all = {
  'channels-1.json': page(channels.slice(0, 3), 1),
  'channels-2.json': page(channels.slice(3), 2),
  'options.json': options,
  'pricing.json': pricing,
  'notes.txt': 'not read',
}

t.test('exports of a new-api become upstreams, models, prices and groups that serve its clients', async t => {
  const fake = await startUpstream(
    vendorAt(path => /^\/(?:api\.openai\.com|api\.deepseek\.com|spare\.example|api\.anthropic\.com)\/v1\//.test(path)),
  )
  t.teardown(() => fake.close())
  const { text, notes, models, secrets, adoption } = await importBook(await exported(t, all), 'new-api', {
    secretsAt: './secrets',
  })
  t.same([models, secrets, adoption.users], [{ all: 4, active: 3 }, [], []], notes.join('\n'))
  for (const name of ['CHANNEL_1_KEY_1', 'CHANNEL_1_KEY_3', 'CHANNEL_2_KEY', 'CHANNEL_3_KEY', 'CHANNEL_5_KEY'])
    t.match(notes.join('\n'), `the export does not contain its key: set ${name}`, caseName({ name }))
  t.notMatch([text, ...notes].join('\n'), /CHANNEL_1_KEY_2|CHANNEL_4_KEY/, 'keys that are off')
  t.match(text, 'vip: { multiplier: "0.85" }', 'the option overrides the value of a page')
  t.ok(notes.includes('settings that are not imported: SystemName'))
  t.ok(notes.some(note => note.startsWith('an export as JSON has no users and keys of clients')))
  const env = Object.fromEntries(
    [...text.matchAll(/\$\{(CHANNEL_\w+)/g)].map(([, name = '']) => [name, `made-up-${name}`]),
  )
  const { plan, url, key, charges } = await start(t, { yaml: movedTo(fake.url, text), upstreams: [], env })
  const ways = (name: string) =>
    plan.models.get(name)?.upstreams.map(one => [one.upstream.name, one.sendAs, one.priority, one.weight])
  t.same(ways('gpt-4o'), [
    ['channel-1', 'gpt-4o-2024-11-20', 1, 1],
    ['channel-2', 'gpt-4o', 2, 1],
  ])
  t.same(ways('mini'), [
    ['channel-1', 'mini', 1, 30],
    ['channel-5', 'mini', 1, 50],
  ])
  const prices = (name: string) =>
    Object.fromEntries([...(plan.models.get(name)?.prices ?? [])].map(([label, { micros }]) => [label, micros]))
  t.same(prices('gpt-4o'), { input: 2_500_000, cached_input: 1_250_000, output: 10_000_000 })
  t.same(prices('mini'), { input: 150_000, output: 600_000 })
  t.same(prices('claude-x'), { input: 3_000_000, cached_input: 300_000, output: 15_000_000 })
  for (const [name, path] of [
    ['gpt-4o', '/v1/chat/completions'],
    ['mini', '/v1/chat/completions'],
    ['claude-x', '/v1/chat/completions'],
    ['claude-x', '/v1/messages'],
  ] as const) {
    const answer = await ask(url, key, [path, { model: name, messages, max_tokens: 9 }])
    t.equal(answer.status, 200, `${caseName({ name, path })}: ${await answer.text()}`)
    const [charge] = await charges(1)
    const { input = 0, output = 0 } = prices(name)
    const micros = Math.round((3 * input) / 1e6) + Math.round((2 * output) / 1e6)
    t.equal(Number(charge?.amount), micros / 1e6, caseName({ name, path }))
  }
  const sent = fake.received.map(one => one.headers['x-api-key'] ?? one.headers.authorization)
  t.match(sent, [/^Bearer made-up-CHANNEL_1_KEY_[13]$/, /made-up/, 'made-up-CHANNEL_3_KEY', 'made-up-CHANNEL_3_KEY'])
  fake.answerOnce(res => void res.writeHead(503).end())
  t.equal((await ask(url, key, ['/v1/chat/completions', { model: 'gpt-4o', messages }])).status, 200)
  t.match(fake.received.at(-1), {
    url: '/spare.example/v1/chat/completions',
    headers: { authorization: 'Bearer made-up-CHANNEL_2_KEY' },
  })
})

t.test('one file with channels, their keys and options is enough, from the command line too', async t => {
  const own = [channel(7, { models: ['a', 'b'], key: 'made-up-7', model_mapping: { a: 'real-a' }, group: 'default' })]
  const prices = { ModelPrice: { b: 0.02 }, ModelRatio: { a: '0.5' }, CompletionRatio: { a: 3 } }
  const folder = await exported(t, { 'all.json': { channels: own, options: prices, users: [{ id: 1 }] } })
  const run = (...flags: readonly string[]) =>
    runCommand({ cwd: folder, env: {} }, ['import', 'new-api', 'all.json', '--mode', 'chat', ...flags])
  const bare = await run('--out', 'gateway.yaml')
  t.match(bare, { code: 2, stderr: /--secrets/ })
  const users = await run('--out', 'gateway.yaml', '--secrets', 'secrets', '--users-only')
  t.match(users, { code: 1, stderr: /all\.json has no users/ })
  const { code, stdout } = await run('--out', 'gateway.yaml', '--secrets', 'secrets', '--format', 'json')
  t.equal(code, 0)
  t.match(JSON.parse(stdout), {
    models: { all: 2, active: 2 },
    secrets: ['secrets/channel-7'],
    users: { all: 0, made: 0 },
    notes: [/channels: columns that are not imported/, /users \(1\)/, /has no users/],
  })
  t.match(await runCommand({ cwd: folder, env: {} }, ['check', 'gateway.yaml']), { code: 0 })
})

t.test('names and keys of an export cannot inject configuration', async t => {
  const evil = '"}\n  evil: { url: "http://evil.example" } # ${HOME}'
  const files = {
    'a.json': {
      channels: [
        channel(1, { id: '../../etc', name: evil, key: 'made-up ${HOME}', models: `m,${evil}`, group: evil }),
        channel(2, { id: null, name: evil, models: 'm', base_url: 'http://${HOME}/x' }),
        channel(3, {
          id: null,
          models: 'm',
          base_url: 'https://two.example',
          channel_info: { is_multi_key: true, multi_key_size: 'many' },
        }),
      ],
      options: { ModelRatio: { m: 1, [evil]: 1 }, CompletionRatio: { m: 1, [evil]: 1 }, GroupRatio: { [evil]: 2 } },
    },
  }
  const { text, secrets } = await importBook(await exported(t, files), 'new-api', { secretsAt: './secrets' })
  t.same(
    secrets.map(({ name, value }) => [name, value]),
    [['channel-etc', 'made-up ${HOME}']],
  )
  const place = await makeFolder(t)
  await mkdir(place.path('secrets'))
  for (const { name, value } of secrets) await writeFile(place.path(`secrets/${name}`), value)
  const loaded = await loadConfig({ file: place.path('gateway.yaml'), text }, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  t.notOk([...loaded.plan.upstreams.keys()].includes('evil'))
  const upstreams = loaded.plan.models.get('m')?.upstreams.map(one => one.upstream) ?? []
  t.equal(upstreams.length, 3, 'channels without an id are two')
  t.match(upstreams[0]?.credential, [{ value: 'Bearer made-up ${HOME}' }], 'a key is not a variable')
  t.match(String(upstreams[1]?.url), /%7Bhome%7D|\{home\}/i, 'and an address has none')
})

t.test('an export that is incomplete, refused or unclear is not imported', async t => {
  for (const [files, message] of [
    [{ 'a.json': page(channels.slice(0, 3), 1) }, /a\.json is a page of 5 channels, and 3 are here: export every page/],
    [{ 'a.json': { success: false, message: 'no permission' } }, /a\.json is a refusal of the source: no permission/],
    [{ 'a.json': '{"options":{"ModelRatio":{"a":1,"a":2}}}' }, /a\.json has options\.ModelRatio\.a twice/],
    [{ 'a.json': options }, /there are no channels in a\.json/],
    [{ 'a.json': [{ id: 1, username: 'root' }] }, /a\.json has no channels, options or ratios/],
    [{ 'a.json': '[{' }, /a\.json is not JSON/],
    [
      { 'a.json': [channels[0], { ...channels[1], id: 1 }] },
      /a\.json has another channel 1: import the exports of one/,
    ],
    [{ 'a.txt': '' }, /has no file whose name ends with \.json/],
  ] as const)
    await t.rejects(
      importBook(await exported(t, files), 'new-api', { secretsAt: './secrets' }),
      { message },
      caseName({ message }),
    )
})
