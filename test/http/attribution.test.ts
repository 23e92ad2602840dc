import t, { type Test } from 'tap'
import { createKey } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { type Edits, type Started, start } from '../harness/start.ts'
import { runMany } from '../harness/many-commands.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

const sources = `end_user: [header:x-end-user, body:safety_identifier, body:user, body:metadata.user_id], tags: [key, header:x-tags, body:metadata.feature, body:labels]`
const attributed = (more = ''): Edits => [
  ['pipeline: [auth, ratelimit,', `pipeline: [auth, { attribution: { ${sources}${more} } }, ratelimit,`],
]

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const answer = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage,
}

function opened(t: Pick<Test, 'teardown'>, edit: Edits): Promise<Started> {
  return start(t, { upstreams: ['text'], edit })
}

async function chat(started: Started, more: object, headers: Record<string, string> = {}): Promise<Response> {
  started.upstreams['text']?.answer(answer)
  const body = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }], ...more }
  const response = await started.post('/v1/chat/completions', body, headers)
  await response.arrayBuffer()
  await started.settled()
  return response
}

t.test('requests are attributed by body, header and key, and costs, log and exports show it', async t => {
  const started = await opened(t, attributed(', characters_max: 24'))
  const { secret } = await createKey(started.gateway.storage, { name: 'tagged', user: 'local', tags: ['team:blue'] })
  const cases: readonly (readonly [
    body: object,
    headers: Record<string, string>,
    endUser: string | null,
    tags: readonly string[],
  ])[] = [
    [{ user: 'ada' }, {}, 'ada', []],
    [{ user: 'ada', safety_identifier: 'safe' }, {}, 'safe', []],
    [{ user: 'ada' }, { 'x-end-user': 'from the header' }, 'from the header', []],
    [{ metadata: { user_id: 'nested', feature: 'search' } }, {}, 'nested', ['feature:search']],
    [{ labels: ['a', 'b', 'a', 7, null, {}] }, { 'x-tags': 'web, beta' }, null, ['web', 'beta', 'a', 'b', '7']],
    [{ labels: { plan: 'pro', seats: 3, deep: {} } }, {}, null, ['plan:pro', 'seats:3']],
    [{ user: '  ' }, {}, null, []],
    [{ user: { not: 'a text' } }, {}, null, []],
    [{ user: `two\u0000\nlines ${'x'.repeat(300)}` }, {}, `two lines ${'x'.repeat(14)}`, []],
    [{ user: '(other)' }, {}, '(other)', []],
    [{ user: 'ada' }, { authorization: `Bearer ${secret}`, 'x-tags': 'web' }, 'ada', ['team:blue', 'web']],
  ]
  for (const [body, headers, endUser, tags] of cases) {
    t.equal((await chat(started, body, headers)).status, 200, caseName({ body, headers }))
    const [record] = await started.logs(1)
    t.same([record?.end_user, record?.tags], [endUser, tags], caseName({ body, headers }))
  }
  const admin = await enterAsAdmin(started)
  const read = async (query: string) =>
    (await admin.get(`/api/costs?${query}`)).body as { rows: { what: string; charges: number }[] }
  const byEndUser = new Map((await read('by=end_user')).rows.map(({ what, charges }) => [what, charges]))
  t.equal(byEndUser.get('ada'), 2)
  t.equal(byEndUser.get(''), 4, 'without one')
  const byTag = new Map((await read('by=tag&end_user=')).rows?.map(({ what, charges }) => [what, charges]) ?? [])
  t.equal(byTag.size, 0, 'an empty filter is refused')
  t.same(new Map((await read('by=tag')).rows.map(({ what, charges }) => [what, charges])).get('web'), 2)
  t.match((await read('by=model&end_user=ada')).rows, [{ what: 'sim-chat', charges: 2 }])
  t.match((await admin.get('/api/costs?by=tag&end_user=ada')).status, 400)
  const csv = (await admin.get('/api/costs?by=end_user&format=csv')).text
  t.match(csv, /,ada,USD,2,/)
  const month = new Date().toISOString().slice(0, 7)
  const statement = async (by: string) =>
    (await admin.get(`/api/statements?month=${month}&by=${by}`)).body as {
      totals: { costs: string; charges: number }[]
      labels: { label: string | null; charges: number; costs: string }[]
    }
  const split = await statement('end_user')
  t.match(
    split.labels.find(({ label }) => label === 'ada'),
    { charges: 2 },
  )
  t.match(split.labels.at(-1), { label: null, charges: 4 }, 'the rest is without a label')
  const micros = split.labels.reduce((sum, { costs }) => sum + Math.round(Number(costs) * 1e6), 0)
  t.equal(micros, Math.round(Number(split.totals[0]?.costs) * 1e6), 'as much as without the split')
  t.match(
    (await statement('tag')).labels.find(({ label }) => label === 'web'),
    { charges: 2 },
  )
  t.match(
    (await admin.get(`/api/statements?month=${month}&by=tag&format=csv`)).text,
    /^\uFEFF?month,tag,[^]*,web,USD,2,/,
  )
  t.equal((await admin.get('/api/statements?by=model')).status, 400)
  const ofAda = (await admin.get(`/api/statements?month=${month}&end_user=ada&tag=web`)).body
  t.match(ofAda, { end_user: 'ada', tag: 'web', totals: [{ charges: 1 }], labels: [] })
  t.match(await admin.get(`/api/statements?month=${month}&end_user=ada&of=balances&format=csv`), {
    status: 400,
    body: { error: { message: /has no split \(`by`\) and no balances/ } },
  })
  const logs = (await admin.get('/api/logs?end_user=ada')).body as { records: { end_user: string }[] }
  t.equal(logs.records.length, 2)
  t.match((await admin.get('/api/logs/export?tag=team:blue')).text, /ada.*team:blue web/s)

  const commands = [
    ['usage', '--by', 'end_user'],
    ['usage', '--by', 'tag'],
    ['logs', '--end-user', 'ada'],
    ['logs', '--tag', 'web'],
    ['logs', '--end-user', 'ada', '--tag', 'web'],
    ['logs', '--end-user', 'nobody'],
  ]
  const ran = await runMany(
    started,
    commands.map(words => [...words, '--format', 'json', '-c', 'CONFIG']),
  )
  const [endUsers, tags, ...logged] = ran.map(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as { [name: string]: unknown }),
  )
  t.match(
    endUsers?.find(row => row['end_user'] === 'ada'),
    { charges: 2, currency: 'USD' },
  )
  t.match(
    endUsers?.find(row => row['end_user'] === ''),
    { charges: 4 },
  )
  t.match(
    tags?.find(row => row['tag'] === 'web'),
    { charges: 2 },
  )
  t.same(
    logged.map(rows => rows.length),
    [2, 2, 1, 0],
    'the log by end user, by tag, by both, and of nobody',
  )
})

t.test('a table of costs names the rest, so that it is not taken for charges without a label', async t => {
  const started = await opened(t, attributed())
  await chat(started, {})
  for (let i = 0; i < 22; i++) await chat(started, { user: `user ${i}` })
  const admin = await enterAsAdmin(started)
  const { text } = await admin.get('/api/costs?by=end_user&format=csv')
  const rows = text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map(line => line.split(','))
  const charges = (name: string) => rows.filter(row => row[1] === name).map(row => row[3])
  t.equal(rows.length, 22, 'twenty names, without a name, and the rest')
  t.strictSame([charges(''), charges('(rest)')], [['1'], ['2']])
  t.equal(
    rows.reduce((sum, row) => sum + Number(row[3]), 0),
    23,
  )
})

t.test('names are stored as hashes if configured, and a plain name finds nothing', async t => {
  const started = await opened(t, attributed(', hash: [end_user], hash_secret: "a secret of sixteen"'))
  await chat(started, { user: 'ada@example.com' }, { 'x-tags': 'web' })
  await chat(started, { user: 'ada@example.com' })
  const list = await started.logs(2)
  const [first, second] = list
  t.match(first?.end_user, /^[\w-]{22}$/)
  t.equal(first?.end_user, second?.end_user, 'the same for the same')
  t.same(second?.tags, ['web'], 'tags are not hashed')
  t.equal(JSON.stringify(list).includes('ada@'), false)
  t.same(await started.gateway.storage.journal.list({ endUser: 'ada@example.com', limit: 5 }), [])
})

t.test('made-up end users fold into (other), which the log line and a metric report', async t => {
  const started = await opened(t, attributed(', end_users_max: 4, share_percent: 100'))
  for (let i = 0; i < 9; i++) await chat(started, { user: `made up ${i}` })
  const records = await started.logs(9)
  t.equal(records.filter(({ end_user: endUser }) => endUser === '(other)').length, 5)
  const metrics = await (await fetch(`${started.opsUrl}/metrics`)).text()
  t.match(metrics, /tollgate_labels_folded_total\{kind="end_user"\} 5/)
})

t.test('each end user has separate limits, and requests without a name have none', async t => {
  const started = await opened(t, [
    ...attributed(),
    ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: { limits_per_end_user: { rpm: 2 } }'],
  ])
  const statuses = async (user: string | undefined, times: number): Promise<number[]> => {
    const all: number[] = []
    for (let i = 0; i < times; i++) all.push((await chat(started, user === undefined ? {} : { user })).status)
    return all
  }
  t.same(await statuses('ada', 3), [200, 200, 429])
  t.same(await statuses('ben', 2), [200, 200], 'another is not touched')
  t.same(await statuses(undefined, 4), [200, 200, 200, 200])
  started.upstreams['text']?.answer(answer)
  const refused = await started.post('/v1/chat/completions', { model: 'sim-chat', messages: [], user: 'ada' })
  t.match(JSON.stringify(await refused.json()), /end_user_rpm/)
})
