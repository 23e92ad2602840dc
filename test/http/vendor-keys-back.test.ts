import t, { type Test } from 'tap'
import { HandTime } from '../harness/hand-time.ts'
import { startPostgres } from '../harness/postgres.ts'
import { type Started, start } from '../harness/start.ts'
import type { Upstream } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const completion = {
  id: 'c1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const ask = { model: 'sim-chat', messages: [{ role: 'user' as const, content: 'hi' }] }
const minute = 60_000
const nothing = { actor: 'test', action: 'wait', subject: '', before: null, after: null, reason: null }

/** A gateway whose upstream for chat has two keys, under a clock that a test moves. The upstream refuses `bad` keys. */
async function open(t: Test, budget = '', also: Record<string, string> = {}) {
  const clock = new HandTime()
  const bad = new Map<string, [status: number, body: object]>()
  const started = await start(t, {
    clock,
    env: { TEXT_KEY_1: 'vendor-secret-one', TEXT_KEY_2: 'vendor-secret-two', ...also },
    edit: [
      [
        'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }',
        `credential: { header: authorization, value: "Bearer {key}" }\n    keys: { first: { value: "\${TEXT_KEY_1}"${budget} }, second: { value: "\${TEXT_KEY_2}" } }`,
      ],
    ],
  })
  const upstream = started.upstreams['text'] as Upstream
  const waiting: (() => void)[] = []
  upstream.answer((res, { method, headers }) => {
    const [status, body] = bad.get(String(headers.authorization).replace('Bearer vendor-secret-', '')) ?? [
      200,
      completion,
    ]
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (method === 'GET') for (const tell of waiting.splice(0)) tell()
  })
  /** Resolves when the gateway has probed a key for free. */
  const probed = () => new Promise<void>(resolve => void waiting.push(resolve))
  const callsOf = (key: string, method = 'POST') =>
    upstream.received.filter(
      one => one.method === method && one.headers.authorization === `Bearer vendor-secret-${key}`,
    ).length
  /** Passes time in steps, so that due work runs before more time passes; otherwise the storage would seem to hang. */
  const pass = async (ms: number): Promise<void> => {
    for (let gone = 0; gone < ms; gone += 5_000) {
      // Waits for all earlier writes.
      await started.gateway.storage.trail.note(nothing)
      await new Promise(resolve => setImmediate(resolve))
      clock.pass(5_000)
    }
  }
  return { ...started, bad, probed, callsOf, upstream, pass }
}

/** Sends requests until the condition holds, or until enough were sent to conclude that it will not. */
async function askUntil({ openai }: Pick<Started, 'openai'>, isDone: () => boolean): Promise<boolean> {
  for (let i = 0; i < 40 && !isDone(); i++) await openai.chat.completions.create(ask)
  return isDone()
}

const invalid: [number, object] = [401, { error: { code: 'invalid_api_key' } }]

// Runs before any test: tap ends a file when its tests are over, even if the file is still starting something.
const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())
const storages = [
  ['SQLite', {}],
  ['PostgreSQL', { TOLLGATE_STORAGE: await postgres.createDatabase() }],
] as const

t.test('a refused key returns by itself when it is fixed, probed for free, and buys nothing meanwhile', async t => {
  const gateway = await open(t)
  const { openai, pass, bad, probed, callsOf } = gateway
  bad.set('one', invalid)
  for (let i = 0; i < 20; i++) t.ok(await openai.chat.completions.create(ask), caseName({ i }))
  t.equal(callsOf('two'), 20)
  t.equal(callsOf('one'), 1, 'one call wasted')

  let looked = probed()
  await gateway.settled()
  await pass(minute + 5_000)
  await looked
  t.equal(callsOf('one', 'GET'), 1)
  t.equal(gateway.upstream.received.at(-1)?.url, '/v1/models')
  await gateway.settled()
  for (let i = 0; i < 10; i++) await openai.chat.completions.create(ask)
  t.equal(callsOf('one'), 1, 'it is still refused, and the probe is free')

  bad.clear()
  looked = probed()
  await gateway.settled()
  await pass(5 * minute + 5_000)
  await looked
  t.ok(await askUntil(gateway, () => callsOf('one') > 1), 'it is used again')
  t.equal(callsOf('two', 'GET'), 0, 'a valid key is not probed')
})

t.test('a restart keeps the states, and a changed secret is used at once', async t => {
  const first = await open(t)
  first.bad.set('one', invalid)
  t.ok(await askUntil(first, () => first.callsOf('one') === 1))
  const second = await first.reopen()
  for (let i = 0; i < 12; i++) await second.openai.chat.completions.create(ask)
  t.equal(first.callsOf('one'), 1, 'it is not used')
  await second.reload([['"${TEXT_KEY_1}"', '"vendor-secret-new"']])
  t.ok(await askUntil(second, () => first.callsOf('new') > 0))
})

t.test("spending on a key's budget is stored", async t => {
  const first = await open(t, ', budget: { amount: "0.000001", per: day }')
  t.ok(await askUntil(first, () => first.callsOf('one') === 1))
  await first.settled()
  const second = await first.reopen()
  for (let i = 0; i < 10; i++) await second.openai.chat.completions.create(ask)
  t.equal(first.callsOf('one'), 1)
})

for (const [storage, env] of storages)
  t.test(`a new budget of a key begins with its earlier charges, on ${storage}`, async t => {
    const first = await open(t, '', env)
    t.ok(await askUntil(first, () => first.callsOf('one') > 0))
    await first.settled()
    const limit = (amount: string) =>
      [
        ['{ value: "${TEXT_KEY_1}" }', `{ value: "\${TEXT_KEY_1}", budget: { amount: "${amount}", per: month } }`],
      ] as const
    await first.reload(limit('0.000001'))
    const calls = first.callsOf('one')
    for (let i = 0; i < 10; i++) await first.openai.chat.completions.create(ask)
    t.equal(first.callsOf('one'), calls, 'by a reload')

    const second = await first.reopen()
    for (let i = 0; i < 10; i++) await second.openai.chat.completions.create(ask)
    t.equal(first.callsOf('one'), calls, 'by a restart')
    const ofFirst = () => second.gateway.status().upstream_keys['text']?.find(({ name }) => name === 'first')
    const spent = ofFirst()?.budget?.spent ?? ''
    await second.reload([['"0.000001"', '"9.00"']])
    t.equal(ofFirst()?.budget?.spent, spent)
    t.ok(await askUntil(second, () => first.callsOf('one') > calls), 'and has room where it is raised')
  })

t.test('charges of other processes count as soon as a key has a budget', async t => {
  const gateway = await open(t)
  const { vendorKeys } = gateway.gateway.storage
  await vendorKeys.spend({ upstream: 'text', key: 'first', amount: 2, at: 0 })
  await gateway.reload([
    ['{ value: "${TEXT_KEY_1}" }', '{ value: "${TEXT_KEY_1}", budget: { amount: "0.000002", per: total } }'],
  ])
  for (let i = 0; i < 10; i++) await gateway.openai.chat.completions.create(ask)
  t.equal(gateway.callsOf('one'), 0)
})

t.test('a request that is refused for its own content does not use up the trial of a key', async t => {
  const noCredit: [number, object] = [429, { error: { code: 'insufficient_quota' } }]
  const badRequest: [number, object] = [400, { error: { code: 'invalid_value', message: 'Bad temperature' } }]
  const { bad, callsOf, pass, post } = await open(t)
  const statusOf = async (): Promise<number> => (await post('/v1/chat/completions', ask)).status
  bad.set('one', noCredit)
  while (callsOf('one') === 0) t.equal(await statusOf(), 200)
  await pass(31 * minute)
  bad.set('one', badRequest)
  for (const calls of [2, 3]) t.strictSame([await statusOf(), callsOf('one')], [400, calls], caseName({ calls }))
  bad.delete('one')
  t.strictSame([await statusOf(), callsOf('one')], [200, 4], 'the next request tries it')

  // The last keys, which one request tries, and the next one up to 30 s later.
  for (const name of ['one', 'two']) bad.set(name, noCredit)
  for (let calls = 0; calls < 2; calls++) await statusOf()
  await pass(5_000)
  for (const name of ['one', 'two']) bad.set(name, badRequest)
  for (let calls = 0; calls < 6; calls++) t.equal(await statusOf(), 400, caseName({ calls }))
  bad.clear()
  t.equal(await statusOf(), 200)
})
