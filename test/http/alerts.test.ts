import t from 'tap'
import { stillOpen } from '../../src/admin/current-state.ts'
import { dealtWith, findAlerts } from '../../src/admin/alerts.ts'
import type { StoredEvent } from '../../src/domain/index.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { openDatabase } from '../harness/database.ts'
import { caseName } from '../harness/case-name.ts'
import { makeFile } from '../harness/log-batches.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, movableClock, newVisitor, passwordOfTests } from '../harness/visitor.ts'

t.setTimeout(120_000)

const newest = { review: null, undelivered: new Map<string, string>() }
const nothing = { now: Date.UTC(2026, 10, 23), webhooks: [], open: [], newest, certificateEnds: null }
const tomorrow = '2026-11-24T00:00:00.000Z'
const yesterday = '2026-11-22T00:00:00.000Z'
const of = (kind: StoredEvent['kind'], data: StoredEvent['data'], id: number): StoredEvent => ({
  id,
  at: id,
  kind,
  data,
})
const key = { upstream: 'text', key: 'first', reason: 'invalid' }
const budget = { level: 'user', name: 'ada', amount: '10.00', renews: tomorrow }

for (const [name, events, open] of [
  ['a budget that is nearly spent', [of('budget.threshold', budget, 1)], ['budget.threshold']],
  [
    'a budget is one alert, and that it is spent says more than how far it was',
    [of('budget.threshold', budget, 1), of('budget.exhausted', budget, 2), of('budget.threshold', budget, 3)],
    ['budget.exhausted'],
  ],
  ['a budget that has begun anew', [of('budget.exhausted', { ...budget, renews: yesterday }, 1)], []],
  ['a budget that never does', [of('budget.exhausted', { ...budget, renews: null }, 1)], ['budget.exhausted']],
  ['a key that a vendor refuses', [of('upstream.key_suspended', key, 1)], ['upstream.key_suspended']],
  ['a key that a person keeps away', [of('upstream.key_suspended', { ...key, reason: 'operator' }, 1)], []],
  ['a key that came back', [of('upstream.key_suspended', key, 1), of('upstream.key_resumed', key, 2)], []],
  [
    'an upstream without keys, until one comes back',
    [of('upstream.exhausted', { upstream: 'text' }, 1), of('upstream.key_resumed', key, 2)],
    [],
  ],
  ['a configuration that was refused', [of('config.applied', {}, 1), of('config.refused', {}, 2)], ['config.refused']],
  ['a configuration that was mended', [of('config.refused', {}, 1), of('config.applied', {}, 2)], []],
  ['a ledger that differs', [of('ledger.differs', { count: 2 }, 1)], ['ledger.differs']],
  ['a ledger that adds up again', [of('ledger.differs', { count: 2 }, 1), of('ledger.verified', {}, 2)], []],
] as const)
  t.test(`needs attention: ${name}`, async t => {
    t.strictSame(
      findAlerts(events, nothing).map(({ kind }) => kind),
      open,
    )
    t.strictSame(findAlerts(events.toReversed(), nothing), findAlerts(events, nothing), 'in whatever order they come')
  })

t.test('current state: receivers, charges in review, a certificate near its end', async t => {
  const alerts = findAlerts([], {
    now: 0,
    webhooks: [
      { webhook: 'finance', through: '', waiting: 3, givenUp: 1 },
      { webhook: 'well', through: '', waiting: 0, givenUp: 0 },
    ],
    open: [
      { state: 'needs_review', currency: 'USD', count: 2, hold: 1 },
      { state: 'reserved', currency: 'USD', count: 9, hold: 1 },
    ],
    newest: { review: 1_000, undelivered: new Map([['finance', 'evt_b']]) },
    certificateEnds: 86_400_000,
  })
  t.strictSame(alerts.map(({ kind }) => kind).toSorted(), ['certificate.ends', 'charges.review', 'webhook.failing'])
  t.strictSame(findAlerts([], { ...nothing, certificateEnds: nothing.now + 15 * 86_400_000 }), [])
})

for (const [mark, id, isDealt] of [
  ['review/1000', 'review/1000', true],
  ['review/1000', 'review/2000', false],
  ['review/2000', 'review/1000', true],
  ['webhook/finance/evt_b', 'webhook/finance/evt_c', false],
  ['webhook/finance/evt_b', 'webhook/finance/evt_a', true],
  ['webhook/other/evt_b', 'webhook/finance/evt_a', false],
  ['event/2', 'event/1', false],
] as const)
  t.test(`${mark} of ${id}: ${isDealt ? 'dealt with' : 'reported again'}`, async t => {
    t.equal(dealtWith({ id }, [{ alert: mark, by: 'root', at: 1 }]).length > 0, isDealt)
  })

const spentOf = (amount: number, spent: number) => ({
  budgets: [{ amount, per: 'total' as const }],
  spent: { day: 0, month: 0, total: spent },
})
const activeState = { state: 'active', isAvailable: true }
const away = { state: 'suspended', isAvailable: false }
const total = { level: 'user', name: 'ada', amount: '10.00', spent: '10.00', per: 'total', renews: null }
for (const [name, event, { keys, budget: now }, isOpen] of [
  ['a key that is suspended', of('upstream.key_suspended', key, 1), { keys: [['first', away]] }, true],
  ['a key that has a new secret', of('upstream.key_suspended', key, 1), { keys: [['first', activeState]] }, false],
  ['a key that was taken out', of('upstream.key_suspended', key, 1), { keys: [['second', away]] }, false],
  ['an upstream that was taken out', of('upstream.key_suspended', key, 1), {}, false],
  ['no key left', of('upstream.exhausted', { upstream: 'text' }, 1), { keys: [['first', away]] }, true],
  [
    'a key whose budget renewed',
    of('upstream.exhausted', { upstream: 'text' }, 1),
    { keys: [['first', activeState]] },
    false,
  ],
  ['no upstream left', of('upstream.exhausted', { upstream: 'text' }, 1), {}, false],
  ['a budget that is spent', of('budget.exhausted', total, 1), { budget: spentOf(10_000_000, 10_000_000) }, true],
  ['a refused request', of('budget.exhausted', { ...total, spent: '9.00' }, 1), { budget: spentOf(1e7, 9e6) }, true],
  ['a budget that was raised', of('budget.exhausted', total, 1), { budget: spentOf(20_000_000, 10_000_000) }, false],
  ['a budget that was given back', of('budget.exhausted', total, 1), { budget: spentOf(10_000_000, 9_000_000) }, false],
  ['a budget that is gone', of('budget.exhausted', total, 1), {}, false],
  ['80 %', of('budget.threshold', { ...total, percent: 80 }, 1), { budget: spentOf(1e7, 8_000_000) }, true],
  ['less than 80 %', of('budget.threshold', { ...total, percent: 80 }, 1), { budget: spentOf(1e7, 7_999_999) }, false],
] as readonly (readonly [
  string,
  StoredEvent,
  { keys?: [string, typeof away][]; budget?: ReturnType<typeof spentOf> },
  boolean,
])[])
  t.test(`the current state: ${name}`, async t => {
    const still = stillOpen(findAlerts([event], nothing), {
      keysOf: () => keys && new Map(keys),
      budgetOf: () => now,
    })
    t.equal(still.length > 0, isOpen)
  })

t.test('a budget alert has the current spend next to its threshold', async t => {
  const event = of('budget.threshold', { ...total, amount: '22.00', spent: '17.80', percent: 80 }, 1)
  const [alert] = stillOpen(findAlerts([event], nothing), {
    keysOf: () => undefined,
    budgetOf: () => spentOf(22_000_000, 20_280_000),
  })
  t.match(alert?.data, { percent: 80, spent: '17.80', percent_now: 92, spent_now: '20.28' })
})

t.test('an alert is shown to the right roles, dealt with for all, and reported again when it recurs', async t => {
  const started = await start(t, { upstreams: [] })
  const { events } = started.gateway.storage
  const admin = await enterAsAdmin(started)
  const viewer = await enterAsUser(started, admin, 'vic', 'viewer')
  const billing = await enterAsUser(started, admin, 'bill', 'billing')
  const user = await enterAsUser(started, admin, 'ben')
  await events.add({ kind: 'upstream.key_suspended', data: key })
  await events.add({ kind: 'config.refused', data: { findings: [] } })
  const limit = (amount: string) => admin.ask('PATCH', '/api/users/ben', { budget: amount, budget_period: 'total' })
  t.equal((await limit('10')).status, 200)
  const budget = { level: 'user', name: 'ben', amount: '10.00', per: 'total', renews: null }
  await events.add({ kind: 'budget.exhausted', data: budget })
  type Told = { open: number; alerts: { id: string; kind: string; dealt: object | null }[] }
  const read = async (one: typeof admin) => (await one.get('/api/alerts')).body as Told
  t.match(await read(viewer), { open: 2, alerts: [{ kind: 'budget.exhausted' }, { kind: 'config.refused' }] })
  t.match(await read(billing), { open: 1, alerts: [{ kind: 'budget.exhausted' }] })
  t.equal((await user.get('/api/alerts')).status, 403)
  const [{ id } = { id: '' }] = (await read(admin)).alerts
  t.equal((await admin.post('/api/alerts/dealt', { id: 'event/999', dealt: true })).status, 404)
  t.match((await admin.post('/api/alerts/dealt', { id, dealt: true })).body, { open: 1 })
  t.match(await read(billing), { open: 0, alerts: [{ dealt: { by: 'root' } }] })
  t.match((await admin.get('/api/audit?action=alert')).body, { rows: [{ action: 'alert.done', subject: id }] })
  await events.add({ kind: 'budget.exhausted', data: { ...budget, spent: '0.00' } })
  t.match(await read(billing), { open: 1, alerts: [{ dealt: null }] })
  t.match((await admin.post('/api/alerts/dealt', { id, dealt: false })).code, 'not_found', 'it is over')
  t.equal((await limit('20')).status, 200)
  t.match(await read(billing), { open: 0, alerts: [] }, 'a budget that was raised is another one')
})

t.test('the number of rows read does not depend on the number of events', async t => {
  const path = makeFile(t)
  const storage = await openDatabase({ url: `sqlite:${path}`, role: 'tool' })
  await storage.events.add({ kind: 'ledger.differs', data: { count: 1 } })
  await storage.close()
  const connection = new Connection(path)
  t.teardown(() => connection.close())
  connection.db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO event (at, kind, data) SELECT i, CASE i % 2 WHEN 0 THEN 'key.created' ELSE 'budget.threshold' END, '{}' FROM n`)
  const plan = connection.db
    .prepare("EXPLAIN QUERY PLAN SELECT id, at, kind, data FROM event WHERE kind = 'x' ORDER BY id DESC LIMIT 100")
    .all()
    .map(row => String(row['detail']))
  t.strictSame(plan, ['SEARCH event USING INDEX event_kind (kind=?)'], 'it is found and in order by the index')
  const again = await openDatabase({ url: `sqlite:${path}`, role: 'tool' })
  t.teardown(() => again.close())
  const { events } = await again.watch.alerts()
  t.equal(events.length, 101)
  for (let i = 0; i < 150; i++)
    await again.events.add({ kind: 'budget.threshold', data: { level: 'key', name: 'own' } })
  t.equal((await again.watch.alerts()).events.length, 201, 'alerts of keys hide no others')
  t.ok(
    events.some(({ kind }) => kind === 'ledger.differs'),
    'the only one of its kind is the oldest of all',
  )
})

t.test('refused sign-ins are counted by name, address and hour, and no password typed as a name is stored', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const admin = await enterAsAdmin(started, clock)
  await enterAsUser(started, admin, 'ann')
  const visitor = newVisitor(started.url)
  const guess = async (name: string) => {
    t.equal((await visitor.post('/api/session', { name, password: 'not the password' })).status, 401, name)
    clock.forward(61_000)
  }
  for (let i = 0; i < 3; i++) await guess('ann')
  await guess('hunter2-is-my-password')
  type Told = { times: number; count: number; rows: { name: string | null; times: number; remote: string }[] }
  const read = async (query = '') => (await admin.get(`/api/audit/sign-ins${query}`)).body as Told
  const summary = await read()
  t.equal(summary.times, 4)
  t.strictSame(
    [...Map.groupBy(summary.rows, row => row.name)]
      .map(([name, rows]) => [name, rows.reduce((n, row) => n + row.times, 0)])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      ['ann', 3],
      [null, 1],
    ],
  )
  t.notMatch(JSON.stringify(summary), /hunter2/)
  t.match(await read('?name=ann'), { times: 3 })
  t.match(await read('?name=ann&remote=10.0.0.1'), { times: 0, rows: [] })
  t.match(await read(`?until=${new Date(clock.now() - 7_200_000).toISOString()}`), { times: 0 })
  // Successful sign-ins are not counted here: the trail has them.
  t.equal((await visitor.post('/api/session', { name: 'ann', password: passwordOfTests })).status, 200)
  t.match(await read(), { times: 4 })
})

t.test('guesses from many addresses do not fill the disk', async t => {
  const clock = movableClock()
  const storage = await openDatabase({ url: `sqlite:${makeFile(t)}`, role: 'tool', clock })
  t.teardown(() => storage.close())
  for (let i = 0; i < 320; i++)
    await storage.watch.refused({ name: 'none', remote: `198.51.${i >> 8}.${i & 255}`, way: 'password' })
  const summary = await storage.watch.listRefused({ limit: 1_000 })
  t.equal(summary.times, 320)
  t.ok(summary.count <= 402, `${summary.count} rows in two hours at most`)
  t.ok(
    summary.rows.some(row => row.remote === null && row.times >= 100),
    'the rest is counted in one row',
  )
  clock.forward(91 * 24 * 3_600_000)
  await storage.watch.refused({ name: 'none', remote: '198.51.100.1', way: 'password' })
  t.equal((await storage.watch.listRefused({ limit: 1_000 })).count, 1, 'alerts older than 90 days are gone')
})

t.test('the audit log is filtered by time, and counts the rows of a filter', async t => {
  const clock = movableClock()
  const started = await start(t, { upstreams: [], clock })
  const admin = await enterAsAdmin(started, clock)
  clock.forward(60_000)
  const noon = new Date(clock.now()).toISOString()
  clock.forward(1_000)
  await enterAsUser(started, admin, 'ann')
  const totals = async (query: string) => (await admin.get(`/api/audit/totals${query}`)).body
  for (const query of [`?since=${noon}`, '?actor=root', '?action=user', '']) {
    const { rows } = (await admin.get(`/api/audit${query}${query === '' ? '?' : '&'}limit=200`)).body as {
      rows: object[]
    }
    t.match(await totals(query), { rows: rows.length }, caseName({ query }))
  }
})
