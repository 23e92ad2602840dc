import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { budgetStatuses, createKey, describeEvent, type FeedEvent, type Key, tightestOf } from '../../src/index.ts'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { type Harness, newKey, type StorageHarness } from '../contract/storage.ts'
import { type Answered, askOnce } from '../harness/ask.ts'
import { HandClock } from '../harness/request-context.ts'
import { startPostgres } from '../harness/postgres.ts'
import { checkBooks } from '../harness/shop.ts'
import { enterAsAdmin } from '../harness/visitor.ts'
import { type Edits, type Started, start, type StartOptions } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

const day = 86_400_000
/** An image of family B in this size. */
const image = { model: 'beta-imagine-image', prompt: 'a boat', size: '1024x1024' }
const price = 20_000
const budget = 10 * price
const noLimits: Edits = [
  [/default: \{ rpm: 60,[^}]*\}/, 'default: { rpm: 1000000 }'],
  [', limits: { rpm: 300 } }', ' }'],
]
const spendChild = fileURLToPath(new URL('../contract/spend-child.ts', import.meta.url))

async function open(t: Test, options: StartOptions = {}): Promise<Started> {
  const started = await start(t, { edit: noLimits, ...options })
  started.upstreams['beta']?.answer({ data: [{ url: 'https://pictures.example/one.png' }] })
  return started
}

function ask({ url }: Started, key: string): Promise<Answered> {
  return askOnce(url, image, { key })
}

/** Passes time while no write is in progress, and then waits for the storage. */
async function pass({ settled, gateway }: Started, clock: HandClock, ms: number): Promise<void> {
  await settled()
  clock.move(ms)
  // Work in progress would seem to take the whole day, and makes the storage unavailable for a moment.
  while (!gateway.ready) await setTimeout(5)
}

async function keyOf({ gateway, settled }: Started, id: string): Promise<Key> {
  await settled()
  const key = await gateway.storage.keys.find(id)
  if (!key) throw new Error(`there is no key ${id}`)
  return key
}

t.test('a spent daily budget returns 402 with its renewal time, and renews then', async t => {
  const clock = new HandClock()
  const started = await open(t, { clock })
  const { storage } = started.gateway
  const settings = { name: 'daily', user: 'local', budget: 2 * price, budgetPeriod: 'day' } as const
  const { key, secret } = await createKey(storage, settings)
  await pass(started, clock, day - 1)
  for (let i = 0; i < 2; i++) t.equal((await ask(started, secret)).status, 200, caseName({ i }))
  const refused = await ask(started, secret)
  t.equal(refused.status, 402)
  t.match(refused.headers, { 'x-should-retry': 'false' })
  t.match(refused.json(), {
    error: {
      type: 'insufficient_quota',
      code: 'insufficient_quota',
      message: /may cost up to 0\.02 USD,? .* has 0\.00 USD left; it renews at 2026-11-21T00:00:00\.000Z/,
    },
  })
  await pass(started, clock, 1)
  t.equal((await ask(started, secret)).status, 200, 'a new day')
  t.match(await keyOf(started, key.id), { spent: 3 * price, spentIn: { day: { spent: price } } })
  t.equal((await ask(started, secret)).status, 200)
  t.equal((await ask(started, secret)).status, 402)
  t.strictSame(await checkBooks(started.gateway).then(faults => faults.filter(fault => !fault.includes('budget'))), [])
})

t.test('the list of budgets names those that refuse requests, until they are raised', async t => {
  const started = await open(t)
  const admin = await enterAsAdmin(started)
  const { key, secret } = await createKey(started.gateway.storage, {
    name: 'short',
    user: 'local',
    budget: 5 * (price / 2),
  })
  const refusedSince = async () => {
    await started.settled()
    const { budgets } = (await admin.get('/api/budgets')).body as {
      readonly budgets: readonly { readonly left: string; readonly refused_since: string | null }[]
    }
    return budgets.map(one => [one.left, one.refused_since !== null])
  }
  for (let i = 0; i < 2; i++) t.equal((await ask(started, secret)).status, 200, caseName({ i }))
  t.strictSame(await refusedSince(), [['0.01', false]])
  t.equal((await ask(started, secret)).status, 402)
  t.strictSame(await refusedSince(), [['0.01', true]], 'the rest is less than the request might cost')
  t.equal((await admin.ask('PATCH', `/api/keys/${key.id}`, { budget: '1', budget_period: 'total' })).status, 200)
  t.strictSame(await refusedSince(), [['0.96', false]])
})

t.test('reached thresholds are reported once a day, at the configured percentages', async t => {
  const clock = new HandClock()
  const edit: Edits = [...noLimits, { budgets: { thresholds: [50] } }]
  const started = await open(t, { clock, edit })
  const { storage } = started.gateway
  const settings = { name: 'daily', user: 'local', budget: 2 * price, budgetPeriod: 'day' } as const
  const { key, secret } = await createKey(storage, settings)
  const bookKeySpending = async (): Promise<void> => {
    for (const status of [200, 200, 402, 402]) {
      t.equal((await ask(started, secret)).status, status, caseName({ status }))
      await started.settled()
    }
  }
  await bookKeySpending()
  await pass(started, clock, day)
  await bookKeySpending()
  const { events } = await storage.events.page({
    after: null,
    limit: 100,
    kinds: ['budget.threshold', 'budget.exhausted'],
  })
  const own = { level: 'key', name: key.id, user: 'local', amount: '0.04', currency: 'USD', per: 'day' }
  const renews = (days: number) => new Date(Math.floor(clock.now() / day + days) * day).toISOString()
  t.strictSame(
    events.map(({ kind, data }) => ({ kind, ...data })),
    [0, 1].flatMap(days => [
      { kind: 'budget.threshold', ...own, percent: 50, spent: '0.02', renews: renews(days) },
      { kind: 'budget.exhausted', ...own, spent: '0.04', held: '0.00', refused: false, renews: renews(days) },
    ]),
  )
  t.equal(
    describeEvent(events[0] as FeedEvent),
    `budget of key ${key.id}: 50 % is spent, 0.02 of 0.04 USD; it renews at ${renews(0)}`,
  )
})

t.test("a refund frees the day's money, and a larger budget applies at the next request", async t => {
  const started = await open(t)
  const { storage } = started.gateway
  const { key, secret } = await createKey(storage, { name: 'x', user: 'local', budget: price, budgetPeriod: 'month' })
  const first = await ask(started, secret)
  t.equal(first.status, 200)
  await started.settled()
  t.equal((await ask(started, secret)).status, 402)
  t.equal(await storage.books.refund(first.id, 'ada', 'not received'), price)
  t.equal((await ask(started, secret)).status, 200)
  await started.settled()
  t.equal((await ask(started, secret)).status, 402)
  await storage.keys.change(key.id, { budget: 2 * price }, 'ada')
  t.equal((await ask(started, secret)).status, 200)
})

t.test('a total budget reports no renewal', async t => {
  const started = await open(t)
  const { key } = await started.newKey({ budget: price - 1 })
  const refused = await ask(started, key)
  t.equal(refused.status, 402)
  t.notMatch(refused.text, /begins anew/)
})

t.test('a soft budget lets every request pass, and lists and events show it', async t => {
  const soft: Edits = [
    [/default: \{ rpm: 60,[^}]*\}/, 'default: { rpm: 1000000, budget: { amount: "0.02", per: day, soft: true } }'],
  ]
  const clock = new HandClock()
  const started = await open(t, { edit: soft, clock })
  const { storage, plan } = started.gateway
  const { key, secret } = await createKey(storage, { name: 'one', user: 'local' })
  for (const time of [1, 2, 3]) t.equal((await ask(started, secret)).status, 200, caseName({ time }))
  await started.settled()
  const [users, keys, sums] = await Promise.all([
    storage.users.list(),
    storage.keys.list({ limit: 1_000 }),
    storage.books.levels(),
  ])
  const books = { plan, users, keys, sums, now: clock.now() }
  t.match(budgetStatuses(books), [{ level: 'group', amount: 20_000, spent: 60_000, held: 0, left: 0, soft: true }])
  t.equal(tightestOf(books, key), undefined, 'it bounds no key')
  const { events } = await storage.events.page({
    after: null,
    limit: 9,
    kinds: ['budget.threshold', 'budget.exhausted'],
  })
  t.match(
    events.map(({ kind, data }) => [kind, data['percent']]),
    [
      ['budget.threshold', 80],
      ['budget.threshold', 100],
    ],
  )
  t.strictSame((await storage.books.verify()).problems, [])
})

t.test('a group or user budget returns 402 in every API format, and names its owner', async t => {
  const bounded: Edits = [
    [/default: \{ rpm: 60,[^}]*\}/, 'default: { rpm: 1000000, user_budget: { amount: "0.000001", per: day } }'],
    [/partner: \{ [^}]+\}/, 'partner: { budget: { amount: "0.000002", per: month } }'],
    [/^currency: USD.*$/m, 'currency: USD\nbudgets: { time_zone: Asia/Tokyo }'],
  ]
  const started = await open(t, { edit: bounded, clock: new HandClock() })
  const { storage } = started.gateway
  const { secret: ofUser } = await createKey(storage, { name: 'one', user: 'local' })
  const { secret: ofGroup } = await createKey(storage, { name: 'two', user: 'local', group: 'partner' })
  const messages = [{ role: 'user', content: 'a boat' }]
  const requests = [
    ['/v1/images/generations', image],
    ['/v1/chat/completions', { model: 'sim-chat', messages, max_tokens: 100 }],
    ['/v1/messages', { model: 'sim-messages', messages, max_tokens: 100 }],
    ['/v1/rerank', { model: 'sim-rerank', query: 'a', documents: ['b'] }],
    ['/v1beta/models/sim-generative:generateContent', { contents: [{ parts: [{ text: 'a boat' }] }] }],
  ] as const
  for (const [path, body] of requests)
    for (const [key, whose, left, renews] of [
      [ofUser, "the user's budget", '0.000001', '2026-11-20T15:00:00.000Z'],
      [ofGroup, "the group's budget", '0.000002', '2026-11-30T15:00:00.000Z'],
    ] as const) {
      const answer = await fetch(`${started.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const text = await answer.text()
      const words = `${whose} has ${left} USD left; it renews at ${renews}`
      t.ok(text.includes(words), `${path}: ${text}`)
      t.equal(answer.status, 402, path)
      t.equal(answer.headers.get('x-should-retry'), 'false', path)
    }
  t.equal(Object.values(started.upstreams).flatMap(({ received }) => received).length, 0, 'nothing was sent')
  await storage.users.change('local', { budget: price, budgetPeriod: 'total' }, 'ada')
  t.equal((await ask(started, ofUser)).status, 200, "a user's own budget overrides the group's")
  t.match((await ask(started, ofUser)).json(), { error: { message: /the user's budget has 0\.00 USD left\. / } })
  await started.settled()
  t.strictSame((await storage.books.verify()).problems, [])
})

/**
 * 200 concurrent requests on several gateways with one storage: ten are admitted and charged, and the budget never
 * overdraws.
 */
async function tenOf200(t: Test, gateways: readonly Started[]): Promise<void> {
  const [first] = gateways as [Started]
  const { key, id } = await first.newKey({ budget })
  const all = { going: true }
  const seen: number[] = []
  const watch = (async () => {
    while (all.going) {
      const { held, spent } = (await first.gateway.storage.keys.find(id)) ?? { held: 0, spent: 0 }
      seen.push(budget - held - spent)
      await new Promise(setImmediate)
    }
  })()
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => ask(gateways[i % gateways.length] as Started, key)),
  )
  all.going = false
  await watch
  for (const one of gateways) await one.settled()
  const admitted = answers.filter(answer => answer.status === 200).length
  t.comment(`${admitted} admitted by ${gateways.length}; least seen left ${Math.min(...seen)} micro-units`)
  t.equal(admitted, 10)
  // On a busy machine the storage may time out for some requests, which get an error; no other request takes their
  // place.
  t.equal(answers.filter(({ status }) => status === 402 || status === 503).length, 190)
  t.ok(answers.some(({ status }) => status === 402))
  t.equal(gateways.flatMap(one => one.upstreams['beta']?.received ?? []).length, 10)
  t.ok(seen.every(left => left >= 0))
  t.match(await keyOf(first, id), { held: 0, spent: budget })
  t.strictSame(await checkBooks(first.gateway), [])
}

/** The same test with separate processes, on the storage alone. */
async function tenOfProcesses(t: Test, harness: StorageHarness, processes: number): Promise<void> {
  const storage = await harness.open('tool')
  const key = await storage.keys.create(newKey({ budget }))
  const children = Array.from({ length: processes }, () => {
    const given = [spendChild, harness.url, key.id, String(price), String(Math.ceil(200 / processes))]
    const child = spawn(process.execPath, given, { stdio: ['pipe', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    return { say: () => child.stdin.end('go\n'), line: async () => (await lines.next()).value ?? '' }
  })
  for (const child of children) t.equal(await child.line(), 'ready', caseName({ child }))
  for (const child of children) child.say()
  const results = await Promise.all(
    children.map(async child => JSON.parse(await child.line()) as { admitted: number; least: number }),
  )
  t.comment(JSON.stringify(results))
  t.equal(
    results.reduce((all, { admitted }) => all + admitted, 0),
    10,
  )
  t.ok(results.every(({ least }) => least >= 0))
  t.match(await storage.keys.find(key.id), { held: 0, spent: budget })
  t.same((await storage.books.verify()).problems, [])
  await storage.close()
}

async function onStorage(t: Test, make: Harness, how: { readonly gateways: readonly number[] }): Promise<void> {
  for (const gateways of how.gateways)
    await t.test(`by ${gateways} of one storage`, async t => {
      const harness = await make()
      const started: Started[] = []
      for (let i = 0; i < gateways; i++) started.push(await open(t, { env: { TOLLGATE_STORAGE: harness.url } }))
      t.teardown(() => harness.close())
      await tenOf200(t, started)
    })
  await t.test('by 3 processes of one storage', async t => {
    const harness = await make()
    t.teardown(() => harness.close())
    await tenOfProcesses(t, harness, 3)
  })
}

t.test('ten of 200 concurrent requests on a budget for ten images are admitted, on SQLite [B9]', async t =>
  onStorage(t, sqliteHarness, { gateways: [1] }),
)

t.test('ten of 200 concurrent requests on a budget for ten images are admitted, on PostgreSQL [B9]', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  await onStorage(t, postgresHarness(postgres), { gateways: [1, 3] })
})

t.test('the list of budgets looks up no key by itself, however many have a budget', async t => {
  const started = await open(t)
  const admin = await enterAsAdmin(started)
  const { storage } = started.gateway
  for (const name of ['one', 'two', 'three']) await createKey(storage, { name, user: 'local', budget: price })
  let lookups = 0
  const find = storage.keys.find.bind(storage.keys)
  Object.assign(storage.keys, {
    find(id: string) {
      lookups++
      return find(id)
    },
  })
  const { budgets } = (await admin.get('/api/budgets')).body as { budgets: readonly { readonly called: string }[] }
  t.same(budgets.map(({ called }) => called).toSorted(), ['one', 'three', 'two'])
  t.equal(lookups, 0)
})
