import t from 'tap'
import { completeClock } from '../../src/util/index.ts'
import { HandClock } from '../harness/request-context.ts'
import { png } from '../harness/pictures.ts'
import { type Edits, type Started, start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, newVisitor, passwordOfTests, type Visitor } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

type Row = {
  readonly bar: number
  readonly what: string | null
  readonly charges: number
  readonly images: number
  readonly amount: string
  readonly refunded: string
  readonly net: string
}
type Costs = {
  readonly zone: string
  readonly bars: readonly string[]
  readonly rows: readonly Row[]
  readonly totals: readonly Omit<Row, 'bar' | 'what'>[]
  readonly before: { readonly rows: readonly Row[]; readonly totals: readonly Omit<Row, 'bar' | 'what'>[] }
  readonly names: { readonly [id: string]: string }
  readonly sessions: readonly string[]
  readonly gone: readonly string[]
}

const noLimits: Edits = [
  ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: { rpm: 1000000, tpm: 500000 }'],
]

t.test('costs over days of a zone: split, filtered, refunded, and of the user alone', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'], edit: noLimits })
  const admin = await enterAsAdmin(started)
  const draw = async (width: number, height: number): Promise<string> => {
    started.upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(width, height).toString('base64') }] })
    const answer = await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
    await answer.arrayBuffer()
    await started.settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  const small = await draw(1000, 1000)
  await draw(2000, 1000)
  await draw(2000, 1000)
  const ask = async (query: string): Promise<Costs> => (await admin.get(`/api/costs?${query}`)).body as Costs

  const all = await ask('')
  t.equal(all.zone, 'UTC')
  t.equal(all.bars.length, 30, 'thirty days')
  t.same(
    all.rows.map(({ bar, what, charges, images }) => ({ bar, what, charges, images })),
    [{ bar: 29, what: '', charges: 3, images: 3 }],
    'all of it today',
  )
  const byTier = await ask('by=tier')
  t.same(byTier.rows.map(({ what, charges }) => `${what} ${charges}`).toSorted(), ['1K 1', '2K 2'])
  const summed = byTier.rows.reduce((sum, { amount }) => sum + Number(amount), 0)
  t.equal(summed.toFixed(6), Number(all.rows[0]?.amount).toFixed(6), 'parts are the whole')
  t.same(byTier.totals, all.totals, 'the total is the same for every split')
  t.match(all.totals, [{ currency: 'USD', charges: 3, images: 3, amount: all.rows[0]?.amount }])
  t.same(all.before.totals, [], 'nothing before')
  const before = byTier.rows.find(({ what }) => what === '1K')
  t.equal((await admin.post(`/api/logs/${small}/refund`, { reason: 'too small' })).status, 200)
  const [after] = (await ask('by=tier&tier=1K')).rows
  t.same([after?.amount, after?.refunded, Number(after?.net)], [before?.amount, before?.amount, 0], 'given back')
  t.same((await ask('by=tier&model=none')).rows, [])

  const there = await ask('zone=Asia/Kolkata&step=hour&from=2026-11-21&to=2026-11-21')
  t.same([there.bars.length, there.bars[0]], [24, '2026-11-20T18:30:00.000Z'], 'hours of a day there')
  const spring = await ask('zone=Europe/Berlin&step=hour&from=2026-10-25&to=2026-10-25')
  t.equal(spring.bars.length, 25, 'a day that is longer')
  const months = await ask('step=month&from=2026-01-15&to=2026-03-02')
  t.same(months.bars, ['2026-01-15T00:00:00.000Z', '2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'])

  const byKey = await ask('by=key')
  const [id] = byKey.rows.map(({ what }) => what)
  t.equal(typeof byKey.names[id ?? ''], 'string', 'keys have names')
  t.strictSame(byKey.sessions, [], "and this key is not a playground's")
  const csv = await admin.get('/api/costs?by=tier&format=csv')
  t.match(csv.headers.get('content-type'), /^text\/csv/)
  const cells = csv.text.split('\r\n').map(line => line.split(','))
  t.same(cells[0], [
    'from',
    'tier',
    'currency',
    'charges',
    'images',
    'amount',
    'refunded',
    'net',
    'quantity',
    'tokens',
    'saved',
  ])
  t.same(
    cells
      .slice(1, -1)
      .map(([, tier, , charges]) => `${tier} ${charges}`)
      .toSorted(),
    ['1K 1', '2K 2'],
  )
  t.same(cells.at(-1), [''], 'the last line ends, too')

  const several = await ask('by=model&tier=1K,2K&key=none,' + (id ?? ''))
  t.same(several.totals, byTier.totals.length > 0 ? (await ask('by=model&tier=1K,2K')).totals : [], 'several values')
  t.match(several.rows, [{ what: 'alpha-image-2', charges: 3, images: 3, refunded: before?.amount }], 'are one row')
  t.same((await ask('by=tier&tier=2K,4K')).rows, (await ask('by=tier&tier=2K')).rows, 'one of them without charges')
  const many = Array.from({ length: 13 }, (_, i) => `m${i}`).join(',')
  t.equal((await admin.get(`/api/costs?model=${many}`)).status, 400, 'not any number of them')

  for (const [query, why] of [
    ['zone=Mars/Base', /`zone` must be a time zone/],
    ['from=2026-02-30', /`from` must be a day/],
    ['from=2026-03-02&to=2026-03-01', /`from` must not be after `to`/],
    ['from=2020-01-01', /at most 400 days/],
    ['by=colour', /by/],
    ['where=x', /where/],
  ] as const) {
    const refused = await admin.get(`/api/costs?${query}`)
    t.equal(refused.status, 400, query)
    t.match(JSON.stringify(refused.body), why, caseName({ query, why }))
  }

  const user = await enterAsUser(started, admin, 'ada')
  t.same(((await user.get('/api/costs')).body as Costs).rows, [], 'no data of others')
  t.equal((await user.get('/api/costs?user=local')).status, 403)
})

t.test('names with earlier costs and none since are listed, marked as deleted', async t => {
  const clock = new HandClock()
  const started = await start(t, { clock, simulated: true, edit: noLimits })
  const admin = await enterAsAdmin(started, completeClock(clock))
  const draw = async ({ secret }: { readonly secret: string }, model: string): Promise<void> => {
    const body = { model, prompt: 'a boat', size: '1024x1024' }
    const headers = { authorization: `Bearer ${secret}` }
    const answer = await started.post('/v1/images/generations', body, headers)
    t.equal(answer.status, 200)
    await answer.arrayBuffer()
    await started.settled()
  }
  const [old, idle] = [await makeKey(admin, 'old shop'), await makeKey(admin, 'winter shop')]
  await draw(old, 'alpha-image-2')
  await draw(idle, 'beta-imagine-image')
  t.equal((await admin.ask('DELETE', `/api/keys/${old.id}`)).status, 204)
  clock.move(31 * 86_400_000)
  const visitor = await enterAgain(started)
  const fresh = await makeKey(visitor, 'new shop')
  await draw(fresh, 'beta-imagine-image')
  const ask = async (by: string): Promise<Costs> => (await visitor.get(`/api/costs?by=${by}`)).body as Costs
  const byKey = await ask('key')
  t.strictSame(
    byKey.rows.map(({ what }) => what),
    [fresh.id],
  )
  t.strictSame(new Set(byKey.before.rows.map(({ what }) => what)), new Set([old.id, idle.id]), 'each by itself')
  t.match(byKey.names, { [old.id]: 'old shop', [idle.id]: 'winter shop', [fresh.id]: 'new shop' })
  t.strictSame(byKey.gone, [old.id], 'the one that was deleted')
  t.strictSame((await ask('model')).gone, [], 'an existing model without requests since')
  const models = (await ask('model')).before.rows.map(({ what }) => what)
  t.strictSame(new Set(models), new Set(['alpha-image-2', 'beta-imagine-image']))
  const taken = ['model', 'upstream', 'user', 'group'].map(async by => [by, (await ask(by)).gone])
  t.strictSame(Object.fromEntries(await Promise.all(taken)), { model: [], upstream: [], user: [], group: [] })

  for (let i = 0; i < 20; i++) await draw(await makeKey(visitor, 'new shop'), 'beta-imagine-image')
  const many = await ask('key')
  t.equal(new Set(many.rows.map(({ what }) => what)).size, 21, 'twenty by themselves, and the others')
  t.strictSame(
    many.before.rows.map(({ what }) => what),
    [null],
    'where the others are one row already they have what was before too',
  )
})

async function makeKey(of: Visitor, name: string): Promise<{ readonly secret: string; readonly id: string }> {
  const made = (await of.post('/api/keys', { name })).body as { secret: string; key: { id: string } }
  return { secret: made.secret, id: made.key.id }
}

type Avoidable = {
  readonly looked_since: string | null
  readonly saved: readonly { readonly currency: string; readonly amount: string }[]
  readonly rows: readonly { readonly [name: string]: string | number | null }[]
}

t.test('possible savings: by the size to request, without refunded charges', async t => {
  const started = await start(t, { simulated: true, edit: noLimits })
  const admin = await enterAsAdmin(started)
  const draw = async (model: string, size: string | undefined, n: number): Promise<string> => {
    const body = { model, prompt: 'a boat', n, ...(size !== undefined && { size }) }
    const answer = await started.post('/v1/images/generations', body)
    t.equal(answer.status, 200, caseName({ model, size }))
    await answer.arrayBuffer()
    await started.settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  const ask = async (query: string): Promise<Avoidable> =>
    (await admin.get(`/api/costs/avoidable?${query}`)).body as Avoidable
  t.same((await ask('')).rows, [], 'there was no request yet')
  await draw('beta-imagine-image', '3840x2160', 3)
  const placeOf = ({ rows: [row] }: Avoidable): number => Number(/gateway\.yaml:(\d+)$/.exec(String(row?.['at']))?.[1])
  const place = placeOf(await ask(''))
  t.equal((await started.reload([['currency: USD\n', '# all prices are in it\ncurrency: USD\n']])).ok, true)
  const given = await draw('beta-imagine-image', '3840x2160', 2)
  await draw('beta-imagine-image', '4096x4096', 1)
  await draw('beta-imagine-image', '2048x1152', 1)
  await draw('alpha-image-2', '3840x2160', 2)
  const before = await ask('zone=Europe/Berlin')
  t.same(
    before.rows.map(({ model, size, billed, made, ask, images }) => ({ model, size, billed, made, ask, images })),
    [
      { model: 'beta-imagine-image', size: '3840x2160', billed: '4K', made: '2K', ask: '2048x1152', images: 5 },
      { model: 'beta-imagine-image', size: '4096x4096', billed: '4K', made: '2K', ask: '2048x2048', images: 1 },
    ],
    'not where the picture sets the price, nor where the size fits',
  )
  t.equal(placeOf(before), place + 1, 'one row for all positions of the price, with its current position')
  const explained = (
    await admin.post('/api/explain', {
      model: 'beta-imagine-image',
      operation: 'image.generate',
      size: '2048x1152',
      n: 5,
    })
  ).body as { quote: { expected: string } }
  const [first] = before.rows
  t.equal(
    (Number(first?.['charged']) - Number(first?.['saved'])).toFixed(6),
    Number(explained.quote.expected).toFixed(6),
    'what is left is what the gateway would quote for it',
  )
  t.equal((await admin.post(`/api/logs/${given}/refund`, { reason: 'too small' })).status, 200)
  const after = await ask('model=beta-imagine-image&tier=4K')
  t.equal(after.rows[0]?.['images'], 3)
  t.equal(Number(after.rows[0]?.['saved']).toFixed(6), ((Number(first?.['saved']) / 5) * 3).toFixed(6))
  t.equal(after.saved.length, 1)
  t.same((await ask('model=alpha-image-2')).rows, [])
  const log = (await admin.get('/api/logs?tier=4K&source=request&size=4096x4096')).body as {
    records: readonly object[]
  }
  t.equal(log.records.length, 1, 'the log is filtered by the requested size')
  const evidence = 'model=beta-imagine-image&size=3840x2160&source=request&tier=4K&charge=settled'
  const countOf = async (more: string): Promise<number> =>
    ((await admin.get(`/api/logs/totals?${evidence}${more}`)).body as { images: number }).images
  t.equal(await countOf(''), 5)
  t.equal(await countOf('&refunded=false'), 3, 'refunded charges are not evidence')
  t.equal(await countOf('&refunded=true'), 2)
  t.equal((await admin.get('/api/costs/avoidable?from=2020-01-01')).status, 400)
  const user = await enterAsUser(started, admin, 'ada')
  t.same(((await user.get('/api/costs/avoidable')).body as Avoidable).rows, [], 'no data of others')
  t.equal((await user.get('/api/costs/avoidable?user=local')).status, 403)
})

type BudgetList = {
  readonly budgets: readonly {
    readonly level: string
    readonly name: string
    readonly called: string | null
    readonly spent: string
    readonly forecast: string | null
  }[]
  readonly month: {
    readonly since: string
    readonly until: string
    readonly zone: string
    readonly spent: readonly { readonly amount: string; readonly forecast: string | null }[]
  }
}

t.test('budgets and the month have a forecast at the current pace, exact to the micro-unit', async t => {
  const clock = new HandClock()
  const zone: Edits = [['currency: USD\n', 'currency: USD\nbudgets: { time_zone: Europe/Berlin }\n']]
  const started = await start(t, { clock, simulated: true, edit: [...noLimits, ...zone] })
  // To the beginning of a month in which that zone puts its clocks back.
  clock.move(Date.UTC(2026, 8, 30, 22) - clock.now())
  const admin = await enterAsAdmin(started, completeClock(clock))
  const made = await admin.post('/api/keys', { name: 'shop', budget: '5', budget_period: 'month' })
  const { secret, key } = made.body as { readonly secret: string; readonly key: { readonly id: string } }
  t.equal(
    (await admin.post('/api/keys', { name: 'ever', budget: '5', budget_period: 'total' })).status,
    201,
    'one that does not begin anew',
  )
  const draw = async (): Promise<string> => {
    const body = { model: 'beta-imagine-image', prompt: 'a boat', size: '1024x1024', n: 1 }
    const answer = await started.post('/v1/images/generations', body, { authorization: `Bearer ${secret}` })
    await answer.arrayBuffer()
    await started.settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  const read = async (): Promise<BudgetList> => (await admin.get('/api/budgets')).body as BudgetList
  await draw()
  t.equal((await read()).budgets.find(({ name }) => name === key.id)?.forecast, null, 'too early to say')
  t.match((await read()).month, { since: '2026-09-30T22:00:00.000Z', until: '2026-10-31T23:00:00.000Z' })
  const began = clock.now()
  clock.move(3 * 86_400_000)
  const visitor = await enterAgain(started)
  const read2 = async (): Promise<BudgetList> => (await visitor.get('/api/budgets')).body as BudgetList
  const given = await draw()
  const list = await read2()
  const own = list.budgets.find(({ name }) => name === key.id)
  const [length, passed] = [31 * 24 + 1, Math.floor((clock.now() - began) / 3_600_000)]
  const micros = (amount: string | null | undefined): number => Math.round(Number(amount) * 1_000_000)
  t.equal(own?.called, 'shop')
  t.equal(micros(own?.forecast), Math.floor((40_000 * length) / passed), 'a month of 745 hours')
  t.equal(list.budgets.find(({ called }) => called === 'ever')?.forecast, null)
  t.equal(list.month.zone, 'Europe/Berlin')
  t.equal(micros(list.month.spent[0]?.forecast), Math.floor((40_000 * length) / passed))
  t.equal((await visitor.post(`/api/logs/${given}/refund`, { reason: 'too small' })).status, 200)
  t.equal((await read2()).month.spent[0]?.amount, '0.02', 'minus refunds')
  const user = await enterAsUser(started, visitor, 'ada')
  t.match((await user.get('/api/budgets')).body, { budgets: [], month: { spent: [] } }, 'no data of others')
})

t.test('a user sees each budget that applies: of their keys, their own, and of all their groups', async t => {
  const groups: Edits = [
    [
      '  partner: { rpm: 600,',
      '  team: { budget: { amount: "3", per: total } }\n  idle: { budget: { amount: "1", per: total } }\n  partner: { rpm: 600,',
    ],
    ['default: { rpm: 60,', 'default: { budget: { amount: "2", per: total }, rpm: 60,'],
  ]
  const started = await start(t, { upstreams: [], edit: groups })
  const admin = await enterAsAdmin(started)
  const ada = await enterAsUser(started, admin, 'ada')
  const bob = await enterAsUser(started, admin, 'bob')
  await admin.ask('PATCH', '/api/users/ada', { budget: '5', budget_period: 'total' })
  await admin.post('/api/keys', { name: 'one', user: 'ada', group: 'team', budget: '7', budget_period: 'total' })
  const levels = async (of: Visitor, query = ''): Promise<readonly string[]> =>
    ((await of.get(`/api/budgets${query}`)).body as BudgetList).budgets
      .map(({ level, name, called }) => `${level} ${called ?? name}`)
      .sort()
  const hers = ['group default', 'group team', 'key one', 'user ada']
  t.strictSame(await levels(ada), hers, "hers and her groups', not the group of others")
  t.strictSame(await levels(bob), ['group default'])
  t.strictSame(await levels(admin, '?user=ada'), hers, 'an administrator sees the same of one user')
  t.strictSame(await levels(admin), ['group default', 'group idle', 'group team', 'key one', 'user ada'])
  t.equal((await bob.get('/api/budgets?user=ada')).status, 403)
})

/** The administrator of `enterAsAdmin`, whose session has ended since. */
async function enterAgain(started: Started): Promise<Visitor> {
  const visitor = newVisitor(started.url)
  await visitor.post('/api/session', { name: 'root', password: passwordOfTests })
  return visitor
}

t.test('totals of the log and the keys, of all users or of one', async t => {
  const started = await start(t, { simulated: true, edit: noLimits })
  const admin = await enterAsAdmin(started)
  const user = await enterAsUser(started, admin, 'ada')
  const made = (await user.post('/api/keys', { name: 'mine' })).body as { readonly secret: string }
  const draw = async (headers?: { readonly authorization: string }): Promise<void> => {
    const body = { model: 'beta-imagine-image', prompt: 'a boat', size: '3840x2160', n: 2 }
    await (await started.post('/v1/images/generations', body, headers)).arrayBuffer()
  }
  await draw()
  await draw({ authorization: `Bearer ${made.secret}` })
  await started.settled()
  const { body: all } = await admin.get('/api/logs/totals?tier=4K')
  const { records } = (await admin.get('/api/logs')).body as {
    readonly records: readonly { readonly billing: { readonly amount: string } }[]
  }
  const amount = Number(records[0]?.billing.amount)
  t.match(all, { requests: 2, errors: 0, charges: 2, images: 4, since: null })
  t.equal(Number((all as { sums: { net: string }[] }).sums[0]?.net).toFixed(6), (2 * amount).toFixed(6))
  t.match((await user.get('/api/logs/totals')).body, { requests: 1, images: 2 })
  t.equal((await user.get('/api/logs/totals?user=local')).status, 403)
  t.match((await user.get('/api/keys/totals')).body, {
    keys: 1,
    active: 1,
    spent: records[0]?.billing.amount,
    held: '0.00',
  })
  for (const path of ['/api/keys', '/api/keys/totals']) {
    t.equal((await user.get(`${path}?user=local`)).status, 403, caseName({ path }))
    t.equal((await user.get(`${path}?user=ada`)).status, 200, caseName({ path, of: 'oneself' }))
  }
  t.match((await admin.get('/api/keys/totals?user=ada')).body, { keys: 1 })
  t.equal(((await admin.get('/api/keys/totals')).body as { keys: number }).keys, 2)
})
