import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createKey } from '../../src/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCommand } from '../harness/commands.ts'
import { type Edits, type Started, start } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

const source = 'end_user: [header:x-end-user]'
const bounded = (group: string, more = ''): Edits => [
  ['pipeline: [auth, ratelimit,', `pipeline: [auth, { attribution: { ${source}${more} } }, ratelimit,`],
  [/default: \{ rpm: 60,[^}]*\}/, `default: { rpm: 1000000, ${group} }`],
]
const messages = [{ role: 'user', content: 'hi' }]
/** Costs 0.02 USD by the shipped prices of the model. */
const answer = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10_000, completion_tokens: 5_000, total_tokens: 15_000 },
}

const opened = (t: Pick<Test, 'teardown'>, edit: Edits): Promise<Started> =>
  start(t, { upstreams: ['text'], edit, onDisk: true })

async function chat(started: Started, endUser: string | undefined, key = started.key): Promise<Response> {
  started.upstreams['text']?.answer(answer)
  const response = await started.post(
    '/v1/chat/completions',
    { model: 'sim-chat', messages, max_tokens: 10 },
    { authorization: `Bearer ${key}`, ...(endUser !== undefined && { 'x-end-user': endUser }) },
  )
  await response.arrayBuffer()
  await started.settled()
  return response
}

async function statuses(started: Started, endUser: string | undefined, times: number): Promise<readonly number[]> {
  const all: number[] = []
  for (let i = 0; i < times; i++) all.push((await chat(started, endUser)).status)
  return all
}

t.test("each end user has the group's budget or one by name, and every view shows it", async t => {
  const started = await opened(
    t,
    bounded(
      'end_user_budget: { amount: "0.01", per: week, resets_on: sunday }, end_user_budgets: { vip: { amount: "90.00", per: 7d }, free: { amount: "0" }, watched: { amount: "0.01", soft: true } }',
    ),
  )
  t.same(await statuses(started, 'ada', 2), [200, 402])
  t.same(await statuses(started, 'ben', 2), [200, 402], 'another end user has a separate budget')
  t.same(await statuses(started, 'vip', 3), [200, 200, 200])
  t.same(await statuses(started, 'free', 1), [402])
  t.same(await statuses(started, 'watched', 3), [200, 200, 200], 'a soft one refuses nothing')
  t.same(await statuses(started, undefined, 3), [200, 200, 200], 'no end user, no budget')
  const records = (await started.logs(20)).filter(({ end_user: endUser }) => endUser === 'ben')
  t.same(
    records.map(({ status }) => status).toSorted((a, b) => Number(a) - Number(b)),
    [200, 402],
    'the log has the end user of a refused request',
  )

  const admin = await enterAsAdmin(started)
  const list = (await admin.get('/api/budgets')).body as {
    readonly end_users: number
    readonly budgets: readonly { readonly level: string; readonly name: string; readonly user: string }[]
  }
  const own = list.budgets.filter(({ level }) => level === 'end_user')
  t.equal(list.end_users, 5)
  t.same(own.map(({ name }) => name).toSorted(), ['ada', 'ben', 'free', 'vip', 'watched'])
  t.match(
    own.find(({ name }) => name === 'ada'),
    { user: 'local', amount: '0.01', per: 'week', resets_on: 'sunday', held: '0.00', left: '0.00' },
  )
  t.equal(own.at(-1)?.name, 'vip', 'the one with the most left is last')
  const one = (await admin.get('/api/budgets?end_user=vip')).body as typeof list
  t.same(
    one.budgets.map(({ name }) => name),
    ['vip'],
  )

  const place = {
    cwd: started.folder,
    env: { ...process.env, TOLLGATE_STORAGE: `sqlite:${started.folder}/tollgate.db` },
  }
  const config = ['-c', join(started.folder, 'gateway.yaml')]
  const [all, single, none, proof] = await Promise.all([
    runCommand(place, ['budgets', ...config, '--format', 'json']),
    runCommand(place, ['budgets', '--end-user', 'ada', ...config]),
    runCommand(place, ['budgets', '--end-user', 'nobody', ...config]),
    runCommand(place, ['ledger', 'verify', ...config]),
  ])
  t.equal(all.stdout.split('"level":"end_user"').length - 1, 5, all.stderr)
  t.match(single.stdout, /end_user\s+ada\s+local\s+0\.01\s+week/)
  t.match(none.stderr, "The end user 'nobody' has no budget, or has spent nothing of it yet.")
  t.equal(proof.code, 0, proof.stdout + proof.stderr)
  // A reload changes the remaining amount immediately.
  const file = join(started.folder, 'gateway.yaml')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('end_user_budget: { amount: "0.01"', 'end_user_budget: { amount: "5.00"'))
  await started.gateway.reload()
  t.same(await statuses(started, 'ada', 1), [200])
})

t.test('a refusal names the end user and the budget in every API format', async t => {
  const started = await opened(
    t,
    bounded('end_user_budget: { amount: "0.000001", per: month }, budget: { amount: "0" }'),
  )
  const requests = [
    ['/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' }],
    ['/v1/chat/completions', { model: 'sim-chat', messages, max_tokens: 100 }],
    ['/v1/responses', { model: 'sim-chat', input: 'hi', max_output_tokens: 100 }],
    ['/v1/messages', { model: 'sim-messages', messages, max_tokens: 100 }],
    ['/v1beta/models/sim-generative:generateContent', { contents: [{ parts: [{ text: 'a boat' }] }] }],
  ] as const
  for (const [path, body] of requests) {
    const response = await started.post(path, body, { 'x-end-user': 'ada' })
    const text = await response.text()
    t.equal(response.status, 402, caseName({ path, text }))
    t.equal(response.headers.get('x-should-retry'), 'false', caseName({ path }))
    t.match(text, /the budget of the end user 'ada' has 0\.000001 USD left; it renews at/, caseName({ path }))
    t.doesNotThrow(() => JSON.parse(text), caseName({ path }))
  }
  const [record] = await started.logs(1)
  t.match(record, { end_user: 'ada' })
})

t.test('hashed names have budgets, and made-up names share the budget of (other)', async t => {
  const started = await opened(
    t,
    bounded(
      'end_user_budget: { amount: "0.01" }',
      ', end_users_max: 4, share_percent: 50, hash: [end_user], hash_secret: "a secret of sixteen"',
    ),
  )
  t.same(await statuses(started, 'ada@example.com', 2), [200, 402])
  t.same(await statuses(started, 'ben', 2), [200, 402])
  for (let i = 0; i < 20; i++)
    t.equal((await chat(started, `made up ${i}`)).status, i === 0 ? 200 : 402, caseName({ made: i }))
  const endUsers = await started.gateway.storage.books.endUsers()
  t.same(endUsers.length, 3)
  t.ok(endUsers.some(({ called }) => called === '(other)'))
  t.notMatch(JSON.stringify(endUsers), 'ada@')
  const { secret } = await createKey(started.gateway.storage, { name: 'second', user: 'local' })
  t.equal((await chat(started, 'ben', secret)).status, 402, 'all keys of a user together')
  t.same((await started.gateway.storage.books.verify()).problems, [])
})
