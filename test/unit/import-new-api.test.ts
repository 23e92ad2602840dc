import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createGateway, formatMoney, importBook, loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCommand } from '../harness/commands.ts'
import { dumpOf, type MadeTable, madeNewApi, oldKey, sqlOf } from '../harness/new-api.ts'
import { quietLog } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'

const folder = await mkdtemp(join(tmpdir(), 'tollgate-import-'))
const upstream = await startUpstream({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
})
t.teardown(async () => {
  await upstream.close()
  await rm(folder, { recursive: true, force: true })
})
const source = join(folder, 'one-api.db')
writeSqlite(source, madeNewApi(upstream.url))

function writeSqlite(file: string, tables: readonly MadeTable[]): void {
  const db = new DatabaseSync(file)
  for (const statement of sqlOf(tables, 'sqlite')) db.exec(statement)
  db.close()
}

/** A database whose table has changed rows. Returns its path. */
function changedSource(name: string, table: string, change: (row: { [column: string]: unknown }) => void): string {
  const file = join(folder, `${name}.db`)
  const tables = madeNewApi(upstream.url).map(made => {
    if (made.name !== table) return made
    const columns = made.columns.map(([column]) => column)
    const rows = made.rows.map(row => {
      const fields = Object.fromEntries(columns.map((column, i) => [column, row[i]]))
      change(fields)
      return columns.map(column => fields[column] as (typeof row)[number])
    })
    return { ...made, rows }
  })
  writeSqlite(file, tables)
  return file
}

const imported = await importBook(source, 'new-api', { secretsAt: './secrets' })

t.test('channels become upstreams, and models their routes by priority and weight', async t => {
  const file = join(folder, 'checked.yaml')
  await rm(join(folder, 'secrets'), { recursive: true, force: true })
  await mkdir(join(folder, 'secrets'))
  for (const { name, value } of imported.secrets) await writeFile(join(folder, 'secrets', name), value)
  const loaded = await loadConfig({ file, text: imported.text }, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const { plan } = loaded
  const ways = (name: string) =>
    plan.models.get(name)?.upstreams.map(one => [one.upstream.name, one.priority, one.sendAs])
  t.same([...plan.models.keys()].toSorted(), ['claude-x', 'gpt-4o', 'gpt-4o-mini', 'model-$'])
  t.same(ways('gpt-4o'), [
    ['channel-1', 1, 'sent-4o'],
    ['channel-2-key-1', 2, 'gpt-4o'],
  ])
  t.same(ways('claude-x'), [['channel-3', 1, 'claude-x']])
  t.equal(plan.models.get('claude-x')?.family.name, 'messages')
  const prices = (name: string) =>
    Object.fromEntries([...(plan.models.get(name)?.prices ?? [])].map(([label, price]) => [label, price.micros]))
  t.same(prices('gpt-4o'), { input: 2_500_000, cached_input: 1_250_000, output: 10_000_000 })
  t.same(prices('gpt-4o-mini'), { input: 150_000, output: 600_000 })
  t.match(plan.upstreams.get('channel-6')?.credential, [{ value: 'Bearer made-up-${file:/etc/hostname}' }])
  t.same(
    [...plan.groups].map(([name, group]) => [name, group.multiplier]),
    [
      ['default', plan.groups.get('default')?.multiplier],
      ['vip', plan.groups.get('vip')?.multiplier],
      ['svip:$x', plan.groups.get('svip:$x')?.multiplier],
    ],
  )
  t.match(imported.text, 'vip: { multiplier: "0.8" }')
  t.notMatch(imported.text, /made-up-vendor-key|made-up-mail|made-up-code/)
  t.notMatch(imported.notes.join('\n'), /made-up-/)
})

t.test('several keys of a channel are one upstream with several keys', async t => {
  const file = changedSource('pools', 'channels', row => {
    if (row['id'] === 1) row['key'] = 'made-up-1\nmade-up-2\n\nmade-up-1'
    if (row['id'] === 2) row['key'] = '["made-up-3", "made-up-4"]'
  })
  const { text, notes, secrets } = await importBook(file, 'new-api', { secretsAt: './pooled' })
  await mkdir(join(folder, 'pooled'))
  for (const { name, value } of secrets) await writeFile(join(folder, 'pooled', name), value)
  const loaded = await loadConfig({ file: join(folder, 'pools.yaml'), text }, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const keys = (name: string) =>
    loaded.plan.upstreams
      .get(name)
      ?.keys?.map(key => [
        key.name,
        key.weight,
        ...key.upstream.credential.map(one => one.kind === 'header' && one.value),
      ])
  t.same(keys('channel-1'), [
    ['key-1', 1, 'Bearer made-up-1'],
    ['key-2', 1, 'Bearer made-up-2'],
  ])
  t.same(
    loaded.plan.models.get('gpt-4o')?.upstreams.map(one => [one.upstream.name, one.weight]),
    [
      ['channel-1', 1],
      ['channel-2-key-1', 1],
    ],
  )
  t.ok(notes.includes('the upstream channel-1 has 2 keys, of equal shares'))
  t.ok(notes.some(note => note.endsWith('1 of its keys are duplicates, and are imported once')))
  t.notMatch([text, ...notes].join(), /made-up-\d/)
})

t.test('a disabled key keeps its position behind blank lines and unreadable keys', async t => {
  const file = changedSource('positions', 'channels', row => {
    if (row['id'] === 1) row['key'] = '\n made-up-1\n\nmade-up-2\n\r\nmade-up-3\n'
    if (row['id'] === 2) row['key'] = '[{"a": 1}, "made-up-4", "", "made-up-5"]'
    if (row['id'] === 1) row['channel_info'] = '{"multi_key_status_list":{"1":2,"2":2}}'
    if (row['id'] === 2) row['channel_info'] = '{"multi_key_status_list":{"3":2}}'
  })
  const { secrets, notes } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  t.same(
    secrets.filter(one => /^channel-[12](?!\d)/.test(one.name)).map(one => one.value),
    ['made-up-1', 'made-up-3', 'made-up-4'],
  )
  const off = notes.find(note => note.endsWith('its key 2 is left out: it was disabled'))
  t.match(off, /^channel 1 /)
})

t.test('a weight or a priority that is out of its bounds is reported', async t => {
  const weightless = changedSource('weights', 'channels', row => {
    if (row['id'] === 1 || row['id'] === 2) row['priority'] = 0
    if (row['id'] === 1) row['weight'] = '-20'
    if (row['id'] === 2) row['weight'] = 'much'
    if (row['id'] === 3) [row['weight'], row['priority']] = [2_000_000_000, 'first']
    if (row['id'] === 6) row['weight'] = 7
  })
  const { notes, text } = await importBook(weightless, 'new-api', { secretsAt: './secrets' })
  t.notMatch(text, /weight: (?:-|0\b)/)
  const bounds = 'not a whole number from 0 to 1000000000'
  t.same(
    notes.filter(note => /: its (?:weight|priority) is /.test(note)),
    [
      `channel 1: its weight is -20, ${bounds}; here 0`,
      `channel 2: its weight is much, ${bounds}; here 0`,
      'channel 3: its priority is first, not a whole number from -9223372036854775807 to 9223372036854775807; here 0',
      `channel 3: its weight is 2000000000, ${bounds}; here 1000000000`,
    ],
  )
})

t.test('a type or a status with the name of a member of every object is unknown', async t => {
  const file = changedSource('members', 'channels', row => {
    if (row['id'] === 3) row['type'] = 'constructor'
    if (row['id'] === 4) row['status'] = 'toString'
  })
  const { entries } = await importBook(file, 'new-api', { secretsAt: './secrets', mode: 'constructor' })
  const why = (id: number) => entries.off.find(one => one.name.startsWith(`channel ${id} `))?.why
  t.match(why(3), 'a channel of type constructor needs more')
  t.equal(why(4), 'its status is toString')
})

t.test('many channels with the same models are imported in time in proportion to their number', async t => {
  const cpuMsOf = async (count: number): Promise<number> => {
    const all = madeNewApi(upstream.url).map(made => {
      if (made.name !== 'channels') return made
      const [first = []] = made.rows
      const change = (name: string, i: number) => ({ id: i, key: `made-up-${i}`, weight: i % 3 })[name]
      const rows = Array.from({ length: count }, (_, i) =>
        made.columns.map(([name], at) => change(name, i) ?? first[at] ?? null),
      )
      return { ...made, rows }
    })
    const file = join(folder, 'many.sql')
    await writeFile(file, dumpOf(all))
    const start = process.threadCpuUsage().user
    const { secrets } = await importBook(file, 'new-api', { secretsAt: './secrets' })
    const spent = process.threadCpuUsage().user - start
    t.equal(secrets.length, count)
    return spent / 1_000
  }
  await cpuMsOf(1_000)
  const [few, many] = [await cpuMsOf(4_000), await cpuMsOf(16_000)]
  // 4 in proportion; with a step for each pair of channels 16.
  t.ok(many / few < 9, `${few.toFixed()} and ${many.toFixed()} ms`)
})

t.test('all embedding clients can call the embeddings of a Gemini channel', async t => {
  const file = changedSource('gemini', 'channels', row => {
    row['type'] = 24
  })
  const { text } = await importBook(file, 'new-api', { secretsAt: './secrets', mode: 'embedding' })
  t.match(text, /^ {2}vec-1: \{ family: generative-embedding, .*prices: \{ input: "0\.02" \}, accepts: \[embeddings\]/m)
  t.match(text, 'match: POST /v1/embeddings, operation: embeddings')
  t.match(text, /^ {2}gpt-4o: \{ family: generative, .*accepts: \[chat, responses, messages\]/m)
})

t.test('disabled entries stay disabled, with the reason', async t => {
  const checkNote = (part: string) =>
    t.ok(
      imported.notes.some(note => note.includes(part)),
      part,
    )
  checkNote("channel 4 'by hand': it was disabled manually")
  checkNote("channel 5 'signed': a channel of type 33")
  checkNote('its key 2 is left out')
  checkNote('draw-1: its mode is unknown')
  checkNote('vec-1: its mode is unknown')
  checkNote('param_override (1)')
  checkNote('SMTPToken')
  checkNote('1 unused codes')
  checkNote('logs (2)')
  checkNote('email (1)')
  t.match(imported.text, '# only-here')
  t.same(
    imported.entries.off.map(one => one.name),
    ["channel 4 'by hand'", "channel 5 'signed'"],
  )
})

t.test('balances are exact to the micro-unit, and their sums are printed', async t => {
  const own = new Map(imported.adoption.users.map(({ name, balance }) => [name, balance]))
  t.equal(own.get('root'), 200_000_000)
  t.equal(own.get('alice'), 1_234_568)
  t.equal(own.get('rich'), 2_000_000_000_000)
  t.equal(own.get('debtor'), 0)
  t.notOk(own.has('gone'))
  const sum = imported.adoption.users.reduce((all, one) => all + (one.balance ?? 0), 0)
  t.same(imported.sums, { there: formatMoney(sum), here: formatMoney(sum) })
  t.ok(imported.notes.includes('user debtor: owes 500 quota in the source; the balance here starts at 0'))
})

t.test("a group's ratio is its multiplier, and an impossible one is reported", async t => {
  const ratios = {
    vip: 0.33333333,
    near: 0.9999999,
    tiny: 1e-9,
    free: 0,
    text: '0.5',
    odd: -1,
    none: null,
    big: 2,
    vast: 1e10,
  }
  const file = changedSource('ratios', 'options', row => {
    if (row['key'] === 'GroupRatio') row['value'] = JSON.stringify(ratios)
  })
  const { text, notes } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  const groups = /\ngroups:\n([^]*?)\n\n/.exec(text)?.[1] ?? ''
  for (const line of [
    'vip: { multiplier: "0.333333" }',
    'near: {}',
    'tiny: { multiplier: "0.000001" }',
    'free: { multiplier: "0" }',
    'text: { multiplier: "0.5" }',
    'odd: {}',
    'none: {}',
    'big: { multiplier: "2" }',
  ])
    t.ok(groups.includes(`  ${line}`), `${line} in\n${groups}`)
  t.same(
    notes.filter(note => note.startsWith('the ratio of group')),
    [
      'the ratio of group vip: 0.33333333 has more than six decimal places, so it is 0.333333 here',
      'the ratio of group near: 0.9999999 has more than six decimal places, so it is 1 here',
      'the ratio of group tiny: 0.000000001 has more than six decimal places, so it is 0.000001 here',
      'the ratio of group odd: it is not a valid factor, so it is 1 here',
      'the ratio of group none: it is not a valid factor, so it is 1 here',
      'the ratio of group vast: it is not a valid factor, so it is 1 here',
    ],
  )
})

t.test('a price with too many decimal places is rounded, an unreadable one is refused, never replaced', async t => {
  const changed: { readonly [name: string]: unknown } = {
    ModelRatio: { 'gpt-4o': 0.15, 'gpt-4o-mini': 37.5, 'claude-x': 1.5 },
    CompletionRatio: { 'gpt-4o': 8.333333, 'gpt-4o-mini': 'much', 'claude-x': 5 },
    CacheRatio: {},
  }
  const file = changedSource('places', 'options', row => {
    const value = changed[String(row['key'])]
    if (value !== undefined) row['value'] = JSON.stringify(value)
  })
  const list = JSON.stringify({
    'gpt-4o': { mode: 'chat', litellm_provider: 'openai', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
    'gpt-4o-mini': {
      mode: 'chat',
      litellm_provider: 'openai',
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-6,
    },
  })
  const prices = join(folder, 'list.json')
  await writeFile(prices, list)
  const { text, notes } = await importBook(file, 'new-api', { secretsAt: './secrets', prices })
  t.match(text, /^ {2}gpt-4o: .*prices: \{ input: "0\.30", output: "2\.50" \}/m)
  t.match(text, /^ {2}# gpt-4o-mini: /m, 'a price that cannot be read is not the price of the list')
  t.ok(
    notes.includes(
      'gpt-4o: output costs 2.4999999 per million in the source, which has more than six decimal places; here 2.50',
    ),
    JSON.stringify(notes),
  )
  t.ok(
    notes.includes('gpt-4o-mini: its CompletionRatio is not an amount, so its line is commented out: add its prices'),
  )
  t.notOk(notes.some(note => note.includes('list.json')))
})

t.test('no token allows more than before', async t => {
  const keys = new Map(
    imported.adoption.users.flatMap(user => user.keys.map(key => [key.name, { ...key, user: user.name }] as const)),
  )
  t.match(keys.get('main'), {
    user: 'root',
    status: 'active',
    budget: null,
    models: ['gpt-4o', 'gpt-4o-mini', 'only-here'],
  })
  t.match(keys.get('bounded'), { user: 'alice', budget: 1_234_566, models: ['claude-x', 'gpt-4o'], group: null })
  t.match(keys.get('of one model'), { models: ['gpt-4o', 'claude-x'] })
  t.match(keys.get('of nothing'), { status: 'disabled', models: [] })
  t.equal(keys.get('off')?.status, 'disabled')
  t.equal(keys.get('over')?.expiresAt, 1_700_000_000_000)
  t.same(keys.get('of an address')?.ips, ['127.0.0.1', '10.0.0.0/8'])
  t.match(keys.get('of none'), { status: 'disabled', ips: [] })
  t.notOk(keys.has('of nobody') || keys.has('deleted'))
  t.equal(keys.get('spent')?.budget, 0)
  t.equal(imported.adoption.users.find(user => user.name === 'blocked')?.status, 'disabled')
  const other = [...keys.values()].find(key => key.group === 'vip')
  t.same(other?.models, ['claude-x', 'gpt-4o'], 'a separate group')
  t.notMatch(JSON.stringify(imported.adoption), oldKey('a'))
})

t.test('a token of a group that its user may not use in the source is imported disabled', async t => {
  const file = changedSource('groups', 'tokens', row => {
    if (row['name'] === 'main') row['group'] = 'vip'
    if (row['name'] === 'bounded') row['group'] = 'default'
    if (row['name'] === 'of one model') row['group'] = 'gone'
    if (row['name'] === 'over') row['group'] = 'svip:$x'
    if (row['name'] === 'of an address') row['group'] = 'default'
  })
  const db = new DatabaseSync(file)
  const set = db.prepare('INSERT INTO options VALUES (?, ?)')
  set.run('UserUsableGroups', '{"default": "all", "gone": "without a ratio"}')
  set.run('GroupGroupRatio', '{"vip": {"default": 0.5, "svip:$x": 2}}')
  set.run(
    'group_ratio_setting.group_special_usable_group',
    '{"default": {"+:svip:$x": "x"}, "vip": {"-:default": "x"}}',
  )
  db.close()
  const { adoption, notes } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  const keys = new Map(adoption.users.flatMap(user => user.keys.map(key => [key.name, key] as const)))
  t.match(keys.get('main'), { status: 'disabled', group: 'vip' })
  t.match(keys.get('bounded'), { status: 'disabled', group: 'default' })
  t.match(keys.get('of one model'), { status: 'disabled' })
  t.match(keys.get('over'), { status: 'active', group: 'svip:$x' })
  t.match(keys.get('of an address'), { status: 'active', group: null })
  t.ok(
    notes.includes(
      'token 1 of root: imported disabled: users of the group default may not use its group vip in the source',
    ),
  )
  t.ok(notes.some(note => note.includes('its group gone has no ratio in the source')))
  t.ok(
    notes.includes(
      'GroupGroupRatio is not imported: every key has the ratio of its group here; in the source users of vip in default 0.5, users of vip in svip:$x 2',
    ),
  )
  t.notOk(notes.some(note => /not imported:.*(?:UserUsableGroups|special_usable_group)/.test(note)))
})

t.test('a token whose expiry or quota cannot be read is imported disabled', async t => {
  const file = changedSource('unreadable', 'tokens', row => {
    if (row['name'] === 'main') row['expired_time'] = '2026-01-01 00:00:00'
    if (row['name'] === 'bounded') row['remain_quota'] = 'much'
    if (row['name'] === 'over') row['expired_time'] = '1700000000.0'
  })
  const { adoption, notes, text } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  const keys = new Map(adoption.users.flatMap(user => user.keys.map(key => [key.name, key] as const)))
  t.equal(keys.get('main')?.status, 'disabled')
  t.equal(keys.get('bounded')?.status, 'disabled')
  t.match(keys.get('over'), { status: 'active', expiresAt: 1_700_000_000_000 })
  t.match(notes.join('\n'), /token 1 of root: imported disabled: its expired_time is not a whole number/)
  t.notMatch(text, /token 1 of root/, 'the configuration has no line for each key')
  t.match(text, /^# - \d+ notes about users and keys: the import has printed them$/m)
  t.match(notes.join('\n'), /token 2 of alice: imported disabled: its remain_quota is not a whole number/)
})

t.test("addresses of a token's list that cannot be read are reported", async t => {
  const file = changedSource('addresses', 'tokens', row => {
    if (row['name'] === 'of an address') row['allow_ips'] = '10.0.0.1, 10.0.0.256\n*.example.com,\n10.0.0.1'
  })
  const { adoption, notes } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  const keys = new Map(adoption.users.flatMap(user => user.keys.map(key => [key.name, key] as const)))
  t.match(keys.get('of an address'), { status: 'active', ips: ['10.0.0.1'] })
  t.ok(notes.includes('token 7 of root: addresses that cannot be read are left out: 10.0.0.256, *.example.com'))
  t.ok(notes.includes('token 8 of root: imported disabled: none of its addresses can be read'))
})

t.test('two users whose names differ by spaces do not become one', async t => {
  const file = changedSource('names', 'users', row => {
    if (row['id'] === 7) row['username'] = 'alice '
  })
  const { adoption, notes, sums } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  t.same(adoption.users.filter(user => user.name === 'alice').length, 1)
  t.ok(notes.includes('user 7: not imported: another user has its name'))
  t.not(sums.here, sums.there)
})

t.test('a balance that cannot be read is reported', async t => {
  const file = changedSource('balance', 'users', row => {
    if (row['username'] === 'alice') row['quota'] = '617284.5'
  })
  const { adoption, notes } = await importBook(file, 'new-api', { secretsAt: './secrets' })
  t.equal(adoption.users.find(user => user.name === 'alice')?.balance, 0)
  t.ok(notes.includes('user alice: the quota 617284.5 is not a whole number; the balance here starts at 0'))
})

t.test('settings that decide every amount are read exactly, or the import is refused', async t => {
  const withOption = (name: string, value: string): string =>
    changedSource(`${name}-${encodeURIComponent(value)}`, 'options', row => {
      if (row['key'] === name) row['value'] = value
    })
  const balanceAt = async (unit: string) => {
    const { adoption } = await importBook(withOption('QuotaPerUnit', unit), 'new-api', { secretsAt: './secrets' })
    return adoption.users.find(user => user.name === 'alice')?.balance
  }
  const at500k = imported.adoption.users.find(user => user.name === 'alice')?.balance
  t.equal(await balanceAt('1e6'), Math.floor((at500k ?? Number.NaN) / 2))
  t.equal(await balanceAt('500000.0'), at500k)
  for (const unit of ['500000.5', 'abc', '0'])
    await t.rejects(balanceAt(unit), /QuotaPerUnit is '.*', not a positive whole number/, caseName({ unit }))
  const broken = withOption('GroupRatio', '{"default":2,')
  await t.rejects(importBook(broken, 'new-api', { secretsAt: './secrets' }), /GroupRatio is not a JSON object/)
  const { notes } = await importBook(withOption('CacheRatio', '{"a'), 'new-api', { secretsAt: './secrets' })
  t.ok(notes.includes('the setting CacheRatio is not a JSON object, and is not used'))
})

async function cli(...args: readonly string[]) {
  const env = { ...process.env, TOLLGATE_STORAGE: `sqlite:${join(folder, 'ours.db')}` }
  const { stdout, stderr, code } = await runCommand({ cwd: folder, env }, args)
  return { out: stdout, err: stderr, code }
}

t.test('a client with its old key is served by a gateway on the import', async t => {
  const dry = await cli('import', 'new-api', source, '--dry-run', '--format', 'json')
  t.equal(dry.code, 0, dry.err)
  t.match(JSON.parse(dry.out), { written: false, users: { all: 6, made: 0 }, keys: { all: 12, made: 0 } })
  t.notOk((await readdir(folder)).includes('ours.db'))
  t.match(
    (await cli('import', 'new-api', source, '--dry-run')).err,
    /4 secrets to be written to the folder of --secrets/,
  )
  const done = await cli('import', 'new-api', source, '--out', 'gateway.yaml', '--secrets', 'keys')
  t.equal(done.code, 0, done.err)
  t.match(done.err, '6 of 6 users and 12 of 12 keys were imported')
  t.equal((await stat(join(folder, 'keys/channel-1'))).mode & 0o777, 0o600)
  const again = await cli('import', 'new-api', source, '--out', 'gateway.yaml', '--secrets', 'keys', '--force')
  t.match(again.err, '0 of 6 users and 0 of 12 keys were imported', 'the same again changes nothing')
  const usersOnly = await cli('import', 'new-api', source, '--out', 'gateway.yaml', '--users-only')
  t.match(usersOnly, { code: 0, err: '0 of 6 users and 0 of 12 keys were imported' }, 'it writes no secrets')
  const env = {
    TOLLGATE_STORAGE: `sqlite:${join(folder, 'ours.db')}`,
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: 'off',
  }
  const gateway = await createGateway(join(folder, 'gateway.yaml'), { env, log: quietLog() })
  t.teardown(() => gateway.close())
  const { url } = await gateway.listen()
  const ask = async (letter: string, model = 'gpt-4o') => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${oldKey(letter)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    })
    const body = (await answer.json()) as { choices?: unknown; error?: { code?: string } }
    return [answer.status, body.error?.code ?? 'answered']
  }
  t.same(await ask('a'), [200, 'answered'])
  const [received] = upstream.received.slice(-1)
  t.equal(received?.headers.authorization, 'Bearer made-up-vendor-key-1')
  t.equal(received?.json()['model'], 'sent-4o')
  t.same(await ask('b'), [200, 'answered'])
  t.same(await ask('a', 'model-$'), [403, 'model_not_allowed'])
  for (const letter of ['d', 'e', 'f', 'h', 'i', 'j', 'm', 'z'])
    t.same(await ask(letter), [401, 'invalid_api_key'], letter)
  t.same(await ask('g'), [200, 'answered'])
  await gateway.storage.flush()
  const users = await gateway.storage.users.list()
  const balances = users.map(user => [user.name, user.balance] as const)
  for (const { name, balance } of imported.adoption.users) t.equal(new Map(balances).get(name), balance, name)
  t.same(await ask('n'), [402, 'insufficient_quota'], 'a user without payments is not unlimited')
  t.same((await gateway.storage.books.verify()).problems, [])
  t.ok(
    users.every(user => user.role === 'user'),
    'nobody is an administrator by it',
  )
  const somebody = { name: 'local', group: 'default', status: 'active', balance: 5, keys: [] } as const
  const adopted = await gateway.storage.keys.adopt({ users: [somebody] }, 'import new-api')
  t.same(adopted, { users: 0, keys: 0, opened: 0, others: ['local'] }, 'a taken name belongs to another user')
})

t.test("another program's database is refused", async t => {
  const other = join(folder, 'other.db')
  new DatabaseSync(other).exec('CREATE TABLE a (b)')
  await t.rejects(importBook(other, 'new-api', { secretsAt: 's' }), /one of the tables .* is missing/)
})

t.test("a fork's columns are checked for, never assumed", async t => {
  const few = madeNewApi(upstream.url).flatMap(table => {
    if (['options', 'abilities', 'redemptions', 'logs'].includes(table.name)) return []
    const kept = table.columns.flatMap(([name], i) =>
      ['id', 'type', 'key', 'status', 'name', 'models', 'group', 'username', 'quota', 'user_id', 'base_url'].includes(
        name,
      )
        ? [i]
        : [],
    )
    const pick = <T>(list: readonly T[]): T[] => kept.map(i => list[i] as T)
    return [{ ...table, columns: pick(table.columns), rows: table.rows.map(pick) }]
  })
  const file = join(folder, 'few.db')
  writeSqlite(file, few)
  const { models, adoption, text } = await importBook(file, 'one-api', { secretsAt: './s', mode: 'chat' })
  t.equal(models.active, 0, 'without ratios nothing has a price')
  t.match(text, '# gpt-4o')
  const keys = adoption.users.flatMap(user => user.keys)
  t.ok(keys.length > 0)
  t.ok(
    keys.every(key => key.budget === 0),
    'what is not said to be unlimited is not',
  )
})

t.test('groups of channels, disabled keys and factors are reported correctly', async t => {
  const source = changedSource('untold', 'channels', row => {
    if (row['id'] === 3) row['group'] = ''
    if (row['id'] === 6) row['channel_info'] = '{"multi_key_status_list":{"0":2}}'
  })
  const { notes, entries, text } = await importBook(source, 'new-api', { secretsAt: './untold' })
  t.match(text, 'claude-x')
  t.ok(
    notes.includes(
      'claude-x: its channels had no group, so no one could use it; here every key without a model list can',
    ),
  )
  t.ok(entries.off.some(one => one.name.startsWith('channel 6') && one.why === 'all of its keys are disabled'))
  t.ok(
    notes.includes(
      'group ratios are factors on prices of tokens, calls and seconds here; they do not apply to image prices',
    ),
  )
  // No note mentions channel 5, whose type this request cannot use, or channel 4, which is off.
  for (const note of notes.filter(one => one.includes('had different groups'))) t.notMatch(note, /[(;] ?[45]: /, note)
})
