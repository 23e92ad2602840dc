import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { createGateway, importConfig, loadConfig } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { makeFolder } from '../harness/folder.ts'
import { hashOf, litellmKey, madeLitellm, nasty, pgDumpOf, statementsOf } from '../harness/litellm-book.ts'
import { startPostgres } from '../harness/postgres.ts'
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
const config = join(folder, 'config.yaml')
const cost = { max_tokens: 1, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
const model = (name: string) => ({
  model_name: name,
  litellm_params: { model: `openai/${name}`, api_base: `${upstream.url}/v1`, api_key: 'os.environ/KEY', ...cost },
})
await writeFile(
  config,
  stringify({
    model_list: ['gpt-4o', 'gpt-4o-mini', 'other'].map(model),
    general_settings: { master_key: 'sk-master' },
  }),
)

async function ofDump(text: string | Uint8Array) {
  const database = join(folder, 'dump.sql')
  await writeFile(database, text)
  return ofDatabase(database)
}

async function ofDatabase(database: string) {
  const imported = await importConfig(config, 'litellm', { database })
  if (!imported.ok || !imported.adoption) throw new Error('nothing was imported')
  const { users } = imported.adoption
  const keys = new Map(users.flatMap(user => user.keys.map(key => [key.name, { ...key, user: user.name }] as const)))
  return { ...imported, users, keys }
}

const whole = pgDumpOf(madeLitellm())
const imported = await ofDump(whole)
const checkNote = (t: { ok: (value: boolean, message: string) => unknown }, part: string) =>
  t.ok(
    imported.notes.some(note => note.includes(part)),
    part,
  )

t.test('the cap of the whole gateway is reported if it bounds one group of several', async t => {
  const database = join(folder, 'dump.sql')
  const file = join(folder, 'capped.yaml')
  for (const [max, line] of [
    [100, /default: .*budget: \{ ?amount: "100.00", per: month ?\}/],
    [0, /default: \{\}/],
  ] as const) {
    const settings = { max_budget: max, budget_duration: '30d' }
    await writeFile(file, stringify({ model_list: [model('gpt-4o')], litellm_settings: settings }))
    const capped = await importConfig(file, 'litellm', { database })
    if (!capped.ok) throw new Error('nothing was imported')
    t.match(capped.text, line, caseName({ max, is: 'the line of the group' }))
    const isTold = capped.notes.some(note => note.startsWith('max_budget: it limits the whole gateway in LiteLLM'))
    t.equal(isTold, max > 0, caseName({ max, is: 'the note' }))
    t.notOk(
      capped.notes.some(note => /max_budget.*(?:left out|not taken)/.test(note)),
      caseName({ max, is: 'nothing is left' }),
    )
  }
})

t.test('the budget of users that LiteLLM creates later does not bound imported users', async t => {
  const database = join(folder, 'dump.sql')
  await writeFile(database, whole)
  const file = join(folder, 'new-users.yaml')
  const settings = { default_internal_user_params: { max_budget: 10, budget_duration: '30d' } }
  await writeFile(file, stringify({ model_list: [model('gpt-4o')], litellm_settings: settings }))
  const imported = await importConfig(file, 'litellm', { database })
  if (!imported.ok) throw new Error('nothing was imported')
  t.match(imported.text, /^ {2}default: \{\}$/m)
  const lost = 'litellm_settings.default_internal_user_params.max_budget: set budgets for keys, users and groups'
  t.ok(
    imported.losses.some(loss => loss.endsWith(lost)),
    lost,
  )
})

t.test('teams become groups with their budgets and limits', async t => {
  const loaded = await loadConfig({ file: join(folder, 'gateway.yaml'), text: imported.text }, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const { groups } = loaded.plan
  t.same([...groups.keys()], ['default', 'design', 'design-2', nasty.replace('${', '{'), 't-4'])
  t.match(groups.get('design'), {
    budget: { amount: 100_000_000, per: 'month' },
    limitsInAll: { rpm: 60, tpm: 100_000 },
  })
  t.match(groups.get('design-2'), { budget: { amount: 7_700_001, per: 'total' } }, 'the rest, to the micro-unit')
  checkNote(t, 'team design: another group has its name, so it is named design-2 here')
  checkNote(t, 'team t-4: its max_budget cannot be read, so its keys are imported disabled')
  checkNote(t, 'a budget of 30d in LiteLLM is imported as a budget per month: team design')
  checkNote(t, 'a budget of 7d in LiteLLM is imported as a budget per week: user u-2, key weekly')
  checkNote(t, 'a budget of 365d in LiteLLM is imported as a total of what is left of it: key yearly')
  checkNote(
    t,
    'spent in the current period in LiteLLM, and counted as spent here: team design 12.50 of 100.00 for this month, user u-2 3.00 of 50.00 for this week, key monthly 4.00 of 9.00 for this month (until 2099-02-01T00:00:00.000Z there)',
  )
  checkNote(
    t,
    'spent in a past period in LiteLLM, and not counted here: key shared 2.00 of 5.00 (until 2020-01-01T00:00:00.000Z there)',
  )
  t.same(imported.adoption?.groups, [{ name: 'design', per: 'month', spentBefore: 12_500_000 }])
})

t.test('users get their budgets, and none becomes an administrator', async t => {
  const users = new Map(imported.users.map(user => [user.name, user]))
  t.match(users.get('ada@example.com'), {
    group: 'design',
    balance: null,
    budget: { amount: 19_999_999, per: 'total' },
  })
  t.match(users.get('u-2'), { group: 'default', budget: { amount: 50_000_000, per: 'week' } })
  t.match(users.get('u-3'), { status: 'disabled', budget: undefined })
  t.match(users.get('litellm'), { group: 'default' })
  t.match(users.get('team design-2'), { group: 'design-2' })
  checkNote(t, 'default_user_id: administrators in LiteLLM, imported as users')
  checkNote(t, 'user u-3: its max_budget cannot be read')
  checkNote(t, 'user u-2: has 2 teams in LiteLLM')
})

t.test('keys continue to work, and none allows more than before', async t => {
  const { keys } = imported
  const of = (word: string) => keys.get(word)
  t.match(of('main'), {
    hash: hashOf(litellmKey('main')),
    hint: 'sk-...main',
    user: 'ada@example.com',
    group: 'design',
    models: ['gpt-4o'],
    status: 'active',
    budget: null,
  })
  t.match(of('bounded'), {
    group: 'default',
    models: null,
    budget: 1_000_000,
    budgetPeriod: 'total',
    limits: { rpm: 30, tpm: 90_000, concurrency: 3 },
  })
  t.match(of('monthly'), { budget: 9_000_000, budgetPeriod: 'month', spentBefore: 4_000_000, models: ['gpt-4o-mini'] })
  t.match(of('weekly'), { budgetPeriod: 'week', models: ['gpt-4o', 'gpt-4o-mini'], group: 'design-2' })
  t.match(of('yearly'), { budget: 10_000_000, budgetPeriod: 'total' })
  t.match(of('shared'), { budget: 5_000_000, budgetPeriod: 'day', spentBefore: 0, limits: { rpm: 7 } })
  t.match(of('of-team'), { user: 'team design-2', models: null })
  t.match(of('of-nobody'), { user: 'litellm', expiresAt: Date.UTC(2031, 0, 2, 3, 4, 5, 678) })
  t.equal(of('over')?.expiresAt, Date.UTC(2020, 0, 1))
  t.match(of('spent'), { status: 'active', budget: 0 })
  t.equal(of('plain')?.hash, hashOf(litellmKey('plain')))
  t.ok(keys.has(nasty), 'a name that is hard to read')
  t.notOk(keys.has('no-hash'))
  const off = [...keys.values()].filter(key => key.status === 'disabled').map(key => key.name)
  t.same(off.toSorted(), [
    'blocked',
    'nan',
    'no-model',
    'no-team',
    'of-managers',
    'team-blocked',
    'team-broken',
    'zero',
  ])
  t.equal(of('nan')?.budget, 0)
  checkNote(t, 'key zero: imported disabled: its rpm_limit of 0 is not valid as a limit')
  checkNote(
    t,
    'user ada@example.com: their budget also applies to their keys of teams here; in LiteLLM it does not: key main, key team-blocked',
  )
  checkNote(t, 'key weekly: it may use gone-model in LiteLLM')
  checkNote(t, 'key no-hash: not imported')
  checkNote(t, 'LiteLLM_VerificationToken: columns that are not imported: metadata (1)')
  checkNote(t, 'tables that are not imported: LiteLLM_SpendLogs (2)')
  t.notMatch([imported.text, ...imported.notes].join('\n'), /sk-made-up|sk-master/)
})

t.test('a live PostgreSQL gives the same, also in its own schema', async t => {
  const postgres = await startPostgres()
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const client = await postgres.connect(url)
  await client.query('CREATE SCHEMA "Other"')
  for (const statement of statementsOf(madeLitellm())) await client.query(statement)
  const live = await ofDatabase(url)
  t.same(live.adoption, imported.adoption)
  t.equal(live.text, imported.text)
  await t.rejects(ofDatabase(`${url}?schema=Other`), /not a LiteLLM database/)
  await client.query('SET search_path = "Other"')
  for (const statement of statementsOf(madeLitellm())) await client.query(statement)
  t.same((await ofDatabase(`${url}?schema=Other`)).adoption, imported.adoption)
  await client.end()
})

t.test('a truncated or unreadable dump is refused whole', async t => {
  const bytes = Buffer.from(whole)
  const mark = '-- PostgreSQL database dump complete'
  const end = bytes.lastIndexOf(mark) + mark.length
  const places = [...Array(end).keys()].filter(at => at % 101 === 0 || at > end - 60)
  let taken = 0
  for (const at of places)
    await ofDump(bytes.subarray(0, at)).then(
      () => taken++,
      () => undefined,
    )
  t.equal(taken, 0, `of ${places.length} places`)
  t.same((await ofDump(bytes.subarray(0, end))).adoption, imported.adoption)
  t.same((await ofDump(whole.replaceAll('\n', '\r\n'))).adoption, imported.adoption, 'lines as Windows ends them')
  t.same((await ofDump(`\uFEFF${whole}`)).adoption, imported.adoption, 'a mark of bytes before it')
  const cases: readonly (readonly [text: string | Uint8Array, why: RegExp])[] = [
    [
      whole.replace("client_encoding = 'UTF8'", "client_encoding = 'LATIN1'"),
      /line \d+ of the dump: its encoding is LATIN1/,
    ],
    [
      whole.replace('sk-...main\tmain', 'sk-...main'),
      /line \d+ .*a row of LiteLLM_VerificationToken has \d+ values for \d+ columns/,
    ],
    [
      whole.replace(/COPY public."LiteLLM_TeamTable".*/, 'INSERT INTO public."LiteLLM_TeamTable" VALUES (1);'),
      /without --inserts/,
    ],
    [`${whole}\n${whole}`, /a second table/],
    [Buffer.concat([Buffer.from(whole), Buffer.from([0xff])]), /not UTF-8/],
    ['PGDMP\u0001', /--format=plain/],
    [pgDumpOf([]), /not a LiteLLM database/],
    ['', /truncated, or was not created/],
    ['{"no": "dump"}', /truncated, or was not created/],
  ]
  for (const [text, why] of cases) await t.rejects(ofDump(text), why, caseName({ why }))
})

t.test('a client with its old key is served within its limits', async t => {
  const place = await makeFolder(t)
  const database = place.path('dump.sql')
  await writeFile(
    database,
    pgDumpOf(
      madeLitellm([
        { key_alias: 'tiny', user_id: 'u-1', max_budget: '0.00001' },
        { key_alias: 'used-up', user_id: 'u-1', max_budget: '1', budget_duration: '1d', spend: '1' },
      ]),
    ),
  )
  const storage = { TOLLGATE_STORAGE: `sqlite:${place.path('ours.db')}` }
  const run = (...args: readonly string[]) =>
    place.runWith(storage, 'import', 'litellm', config, '--database', database, ...args)
  const dry = await run('--dry-run', '--format', 'json')
  t.match(
    JSON.parse(dry.stdout),
    { written: false, users: { all: 7, made: 0 }, keys: { all: 22, made: 0 }, opened: 0 },
    dry.stderr,
  )
  t.match(await run(), { code: 2, stderr: /--out/ })
  t.match(await run('--out', 'gateway.yaml'), {
    code: 0,
    stderr: /7 of 7 users and 22 of 22 keys were imported[^]*4 budgets start with the amount already spent/,
  })
  const losing = place.path('losing.yaml')
  await writeFile(losing, `${await readFile(config, 'utf8')}\nguardrails: [{ guardrail_name: pii }]\n`)
  const flags = ['--database', database, '--out', 'gateway.yaml', '--users-only']
  const again = await place.runWith(storage, 'import', 'litellm', losing, ...flags)
  t.match(again, { code: 0, stderr: /0 of 7 users and 0 of 22 keys were imported/ })
  t.notMatch(again.stderr, /guardrail|models active/, 'the configuration is not imported')
  t.notMatch(again.stderr, /budgets? counts? what was spent/)
  t.match(await place.run('import', 'new-api', database, '--database', database), {
    code: 2,
    stderr: /only for litellm/,
  })
  const env = { ...storage, TOLLGATE_LISTEN: '127.0.0.1:0', TOLLGATE_OPS: 'off', KEY: 'made-up-vendor' }
  const gateway = await createGateway(place.path('gateway.yaml'), { env, log: quietLog() })
  t.teardown(() => gateway.close())
  const { url } = await gateway.listen()
  const ask = async (word: string, name = 'gpt-4o') => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${litellmKey(word)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: name, messages: [{ role: 'user', content: 'hi' }] }),
    })
    const body = (await answer.json()) as { error?: { code?: string } }
    return [answer.status, body.error?.code ?? 'answered']
  }
  t.same(await ask('main'), [200, 'answered'])
  t.same(await ask('main', 'other'), [403, 'model_not_allowed'])
  t.same(await ask('bounded', 'other'), [200, 'answered'])
  t.same(await ask('tiny'), [402, 'insufficient_quota'])
  t.same(await ask('spent'), [402, 'insufficient_quota'])
  t.same(await ask('used-up'), [402, 'insufficient_quota'], 'it begins anew tomorrow')
  for (const word of ['over', 'blocked', 'team-blocked', 'nan', 'zero', 'no-model', 'no-team', 'nobody-has-it'])
    t.same(await ask(word), [401, 'invalid_api_key'], word)
  await gateway.storage.flush()
  const users = new Map((await gateway.storage.users.list()).map(user => [user.name, user]))
  t.match(users.get('ada@example.com'), { role: 'user', budget: 19_999_999, budgetPeriod: 'total', balance: null })
  t.match(users.get('default_user_id'), { role: 'user', budget: null })
  const spent = new Map((await gateway.storage.books.levels()).map(one => [`${one.kind} ${one.name}`, one.spent]))
  // The request of "main" counts in this month too; "bounded" has no team.
  t.match(spent.get('group design'), { total: 120, month: 12_500_120 })
  t.match(spent.get('group default'), { total: 120 })
  t.match(spent.get('user u-2'), { total: 0, day: 3_000_000 })
  t.same((await gateway.storage.books.verify()).problems, [])
})

t.test('member budgets, soft budgets and raised budgets of a team are reported with their owner', async t => {
  const tables = madeLitellm([
    {
      key_alias: 'raised',
      user_id: 'u-1',
      max_budget: '1',
      metadata: '{"temp_budget_increase": 100.5, "temp_budget_expiry": "2099-01-01T00:00:00", "tags": []}',
    },
    { key_alias: 'soft', user_id: 'u-1', budget_id: 'b-soft' },
    { key_alias: 'guarded', user_id: 'u-1', metadata: '{"guardrails": ["pii", "secrets"]}' },
    { key_alias: 'odd', user_id: 'u-1', metadata: '[1' },
  ]).map(table => {
    const put = (row: { readonly [column: string]: string }) => table.columns.map(([column]) => row[column] ?? null)
    if (table.name === 'LiteLLM_BudgetTable')
      return {
        ...table,
        rows: [
          ...table.rows,
          put({ budget_id: 'b-soft', soft_budget: '4', max_budget: '5' }),
          put({ budget_id: 'b-member', max_budget: '3', budget_duration: '30d', rpm_limit: '9' }),
          put({ budget_id: 'b-nobody', tpm_limit: '8' }),
        ],
      }
    if (table.name !== 'LiteLLM_TeamTable') return table
    return {
      ...table,
      rows: [
        ...table.rows,
        put({
          team_id: 't-5',
          team_alias: 'members',
          models: '{}',
          blocked: 'f',
          metadata: '{"team_member_budget_id": "b-member", "soft_budget": 7}',
        }),
      ],
    }
  })
  const { notes, losses } = await ofDump(pgDumpOf(tables))
  for (const part of [
    'key raised: temp_budget_increase 100.5 (until 2099-01-01T00:00:00 there) is not imported: its budget does not include it',
    'team members: settings per member are not imported: max_budget 3, budget_duration 30d, rpm_limit 9. Set budgets and limits for the users of the group',
    'team members: soft_budget 7 is not imported: a soft budget refuses nothing; events report budgets that are nearly spent',
    'key soft: soft_budget 4 is not imported: a soft budget refuses nothing; events report budgets that are nearly spent',
    'key guarded: its guardrails are not imported: pii, secrets: add guard-patterns or guard-service to the pipeline and the families (docs/guardrails.md)',
    'budgets without a key or team are not imported: b-nobody (tpm_limit 8)',
  ])
    t.ok(notes.includes(part), part)
  t.notOk(notes.some(note => /b-member|soft_budget \(/.test(note)))
  t.ok(notes.some(note => note.startsWith('LiteLLM_VerificationToken: columns that are not imported: metadata (4)')))
  t.ok(
    losses.some(loss => loss.startsWith('key guarded: its guardrails')),
    'a lost guardrail is a loss',
  )
})

t.test('a list of models may name those that only a wildcard serves', async t => {
  const file = join(folder, 'wildcard.yaml')
  await writeFile(file, stringify({ model_list: ['gpt-4o', 'openai/*'].map(model) }))
  const database = join(folder, 'wildcard.sql')
  const lists = {
    name: ['{openai/gpt-5}', ['openai/gpt-5']],
    pattern: ['{openai/gpt-*}', ['openai/gpt-*']],
    suffix: ['{*-4o}', ['gpt-4o', '*-4o']],
    whole: ['{openai/*,gpt-4o}', ['openai/*', 'gpt-4o']],
    elsewhere: ['{azure/gpt-5}', []],
  } as const
  const rows = Object.entries(lists).map(([key_alias, [models]]) => ({ key_alias, models }))
  const ofTeam = [
    { key_alias: 'in the team', models: '{openai/gpt-5,gpt-4o}' },
    { key_alias: 'wider than the team', models: '{openai/*}' },
  ].map(row => ({ ...row, team_id: 't-6' }))
  const tables = madeLitellm([...rows, ...ofTeam]).map(table => {
    const row = { team_id: 't-6', team_alias: 'narrow', models: '{openai/gpt-*}', blocked: 'f' }
    const cells = table.columns.map(([column]) => row[column as keyof typeof row] ?? null)
    return table.name === 'LiteLLM_TeamTable' ? { ...table, rows: [...table.rows, cells] } : table
  })
  await writeFile(database, pgDumpOf(tables))
  const result = await importConfig(file, 'litellm', { database })
  if (!result.ok || !result.adoption) throw new Error('nothing was imported')
  const keys = new Map(result.adoption.users.flatMap(user => user.keys.map(key => [key.name, key] as const)))
  for (const [name, [, models]] of Object.entries(lists))
    t.match(keys.get(name), { models, status: models.length > 0 ? 'active' : 'disabled' }, caseName({ name }))
  t.match(keys.get('in the team'), { models: ['openai/gpt-5'], status: 'active' })
  t.match(keys.get('wider than the team'), { models: ['openai/gpt-*'], status: 'active' })
})

t.test('many keys with a budget are imported in time in proportion to their number', async t => {
  const cpuMsOf = async (count: number): Promise<number> => {
    const rows = Array.from({ length: count }, (_, i) => ({
      key_alias: `many-${i}`,
      max_budget: '5',
      budget_duration: '30d',
    }))
    const text = pgDumpOf(madeLitellm(rows))
    const start = process.threadCpuUsage()
    const { keys } = await ofDump(text)
    const { user, system } = process.threadCpuUsage(start)
    t.ok(keys.size > count, caseName({ count }))
    return (user + system) / 1_000
  }
  await cpuMsOf(1_000)
  const [few, many] = [await cpuMsOf(5_000), await cpuMsOf(20_000)]
  // 4 in proportion; with a step for each pair of keys 16.
  t.ok(many / few < 9, `${few.toFixed()} and ${many.toFixed()} ms`)
})

t.test('a limit above the maximum becomes the maximum', async t => {
  const { keys } = await ofDump(pgDumpOf(madeLitellm([{ key_alias: 'big', user_id: 'u-1', tpm_limit: '9999999999' }])))
  t.match(keys.get('big'), { status: 'active', limits: { tpm: 1_000_000_000 } })
})
