import t from 'tap'
import type { Key } from '../../src/console/api/shapes.ts'
import { keyStatus } from '../../src/console/pages/tokens/key-status.ts'
import { dutiesOf } from '../../src/admin/duties.ts'
import { showTraffic } from '../../src/admin/routes/system.ts'
import { ceilingField } from '../../src/console/pages/users/ceiling-field.ts'
import { shownOperations } from '../../src/operations/shown.ts'
import { tiersOf, unitsOf } from '../../src/console/pages/logs/tiers.ts'
import { safeNext } from '../../src/console/next.ts'
import { barLabel, hoursTwice } from '../../src/console/pages/costs/bar-labels.ts'
import { foldSessions, sessionKeys } from '../../src/console/pages/costs/fold-sessions.ts'
import { readRange } from '../../src/console/pages/costs/range.ts'
import { decidesOn } from '../../src/console/pages/logs/decides.ts'
import { placeOf } from '../../src/console/pages/audit/place-of.ts'
import { isNone, valueText } from '../../src/console/pages/audit/value-text.ts'
import { findPlace, forgetPlaces, keepPlace } from '../../src/console/pages/playground/places.ts'
import { comparisonOf, partnerOf } from '../../src/console/pages/costs/compare.ts'
import { type Part, costsByCurrency } from '../../src/console/pages/costs/currency-costs.ts'
import { statementMonthOf } from '../../src/console/pages/costs/statement-month.ts'
import { unitCostOf } from '../../src/console/pages/costs/unit-cost.ts'
import { zoneOf } from '../../src/console/zone.ts'
import type { Budget } from '../../src/console/api/shapes.ts'
import { costRangeOf } from '../../src/console/pages/budgets/cost-range.ts'
import { byTightness, statusOf } from '../../src/console/pages/budgets/status.ts'
import { textsOf, whereOf, wordOf } from '../../src/console/pages/alerts/alert-values.ts'
import english from '../../src/console/words/en.json' with { type: 'json' }
import { speakWith } from '../../src/console/words/index.ts'
import { changeOf, roundBelow, shareOf } from '../../src/console/numbers.ts'
import { tBound, tBounds } from '../../src/console/words/bound.ts'
import { caseName } from '../harness/case-name.ts'

speakWith('en', english)

t.test('the audit log links only to pages that its reader may open', async t => {
  const users = '/console/users'
  const rows: readonly (readonly [action: string, admin: string, viewer?: string, billing?: string])[] = [
    ['key.update', '/console/tokens/a%2Fb', '/console/tokens/a%2Fb', '/console/tokens/a%2Fb'],
    ['user.erase', `${users}?edit=a%2Fb`, users, users],
    ['session.create', `${users}?edit=a%2Fb`, users, users],
    ['charge.refund', '/console/logs/a%2Fb', '/console/logs/a%2Fb', '/console/logs/a%2Fb'],
    ['invitation.create', `${users}?tab=invitations`],
    ['config.write', '/console/config', '/console/config'],
    ['object.end', '/console/sessions?tab=objects', '/console/sessions?tab=objects'],
    ['answer_cache.purge', '/console/system', '/console/system'],
    ['live_session.end', '/console/sessions', '/console/sessions'],
    ['upstream_key.suspend', '/console/system', '/console/system'],
    ['alert.done', '/console/alerts', '/console/alerts', '/console/alerts'],
  ]
  for (const [action, admin, viewer, billing] of rows) {
    const found = (['admin', 'viewer', 'billing'] as const).map(role => placeOf(action, 'a/b', dutiesOf({ role })))
    t.strictSame(found, [admin, viewer, billing], action)
  }
  t.equal(placeOf('ledger.verify', 'x', dutiesOf({ role: 'admin' })), undefined)
})

t.test("an alert uses a key's name, and reports an expired certificate", async t => {
  const data = { level: 'key', name: 'key_1', called: 'the bot', amount: '1', currency: 'USD' }
  t.match(textsOf(data), { name: 'the bot', level: english['budgets.level.key'] })
  t.equal(textsOf({ level: 'user', name: 'ada' })['name'], 'ada')
  t.equal(whereOf('budget.exhausted', data), '/console/tokens/key_1', 'and leads to it by its id')
  t.equal(whereOf('budget.threshold', { level: 'group', name: 'g' }), '/console/budgets')
  t.equal(whereOf('budget.threshold', { level: 'balance', name: 'ada' }), '/console/budgets?user=ada')
  const near = { ...data, amount: '22.00', spent: '17.80', percent: 80, spent_now: '20.284', percent_now: 92 }
  t.match(
    textsOf(near),
    { percent: '92', spent: '20.28', amount: '22.00', threshold: '80' },
    'the state, not the threshold',
  )
  const ends = '2026-11-23T10:00:00.000Z'
  for (const [isOver, word] of [
    [true, 'certificate.over'],
    [false, 'certificate.ends'],
  ] as const) {
    const found = wordOf('certificate.ends', { ends, is_over: isOver })
    t.equal(found, word, caseName({ isOver }))
    for (const part of ['', '.text', '.do'])
      t.ok(Object.hasOwn(english, `alert.${found}${part}`), caseName({ isOver, part }))
  }
  for (const [data, word] of [
    [{ refused: true, spent: '0.97', amount: '1' }, 'budget.short'],
    [{ refused: true, spent: '1.00', amount: '1' }, 'budget.exhausted'],
    [{ refused: false, spent: '9.5', amount: '10' }, 'budget.exhausted'],
  ] as const) {
    t.equal(wordOf('budget.exhausted', data), word, caseName(data))
    for (const part of ['', '.text', '.do'])
      t.ok(Object.hasOwn(english, `alert.${word}${part}`), caseName({ word, part }))
  }
  t.match(textsOf({ ends })['ends'], /2026.*10:00|2026/, 'in the format of moments')
})

const budgetOf = (change: Partial<Budget>): Budget => ({
  level: 'key',
  name: 'key_1',
  user: null,
  amount: '100.00',
  per: 'month',
  soft: false,
  resets_on: null,
  spent: '0.00',
  held: '0.00',
  left: '100.00',
  renews: null,
  called: null,
  forecast: null,
  refused_since: null,
  ...change,
})

t.test('a budget that refuses requests is not on track, however much is left', async t => {
  const half = { spent: '50.00', left: '50.00' }
  for (const [change, state] of [
    [half, 'budget_fine'],
    [{ ...half, refused_since: '2026-11-27T10:00:00Z' }, 'budget_refusing'],
    [{ spent: '99.95', left: '0.05' }, 'budget_near'],
    [{ spent: '100.00', left: '0.00', refused_since: '2026-11-27T10:00:00Z' }, 'budget_spent'],
    [{ ...half, forecast: '120.00' }, 'budget_ahead'],
  ] as const) {
    t.equal(statusOf(budgetOf(change)).state, state, caseName({ state }))
    t.ok(Object.hasOwn(english, `status.${state}`), caseName({ state }))
  }
})

t.test('a budget links to the costs of the days that it covers', async t => {
  const now = new Date('2026-11-28T02:00:00Z')
  for (const [change, wanted] of [
    [{ per: 'day' }, { range: 'today' }],
    [{ per: 'month', resets_on: 1 }, { range: 'month' }],
    [{ per: '30d' }, { range: '30d' }],
    [{ per: '90d' }, { from: '2026-08-31', to: '2026-11-28' }],
    [
      { per: 'week', resets_on: 'monday', renews: '2026-11-30T00:00:00Z' },
      { from: '2026-11-23', to: '2026-11-28' },
    ],
    [
      { per: 'month', resets_on: 15, renews: '2026-12-15T00:00:00Z' },
      { from: '2026-11-15', to: '2026-11-28' },
    ],
  ] as const)
    t.strictSame(costRangeOf(budgetOf(change), 'UTC', now), { ...wanted, zone: 'UTC' }, caseName(change))
  t.strictSame(costRangeOf(budgetOf({ per: 'total' }), 'UTC', now), {}, 'it has no begin')
})

t.test(
  'among the budgets of one person, the one with the least left is first, and a soft budget comes last',
  async t => {
    const of = (level: Budget['level'], left: string, soft = false) => budgetOf({ level, name: level, left, soft })
    const sorted = [of('key', '9.50'), of('user', '10.00'), of('group', '0.02'), of('balance', '0.00', true)].sort(
      byTightness,
    )
    t.strictSame(
      sorted.map(({ level }) => level),
      ['group', 'key', 'user', 'balance'],
    )
  },
)

t.test('a refused bound is shown at its own field', async t => {
  for (const [field, own] of [
    ['budget', 'own_budget'],
    ['budget_period', 'own_budget_period'],
    ['keys_max', 'keys_max'],
    ['key_bounds.budget', 'budget'],
    ['key_bounds.limits.rpm', 'rpm'],
    ['key_bounds.models.0', 'models'],
    ['ips', 'ips'],
  ] as const)
    t.equal(ceilingField(field), own, field)
})

t.test('amounts of bounds are shown in their currency', async t => {
  t.match(tBound('budget', { amount: '5', currency: 'EUR', per: 'day' }), / 5 EUR a day$/)
  t.match(tBound('budget', { amount: '5', per: 'day' }), / 5 a day$/)
  const budget = { to: { amount: '5', per: 'month', resets_on: 1 }, by: 'ada' } as const
  t.match(tBounds({ budget }, 'EUR'), [{ field: 'budget', most: /5 EUR/ }])
})

t.test('the system page also counts refusals of unlisted models', async t => {
  const ms = { p50Ms: null, p95Ms: null, firstByteP50Ms: null, firstByteP95Ms: null }
  const row = (kind: 'call' | 'refusal', i: number) =>
    ({ kind, model: `m${i}`, operation: 'chat', requests: 2, errors: 0, ...ms }) as const
  const rows = [
    ...Array.from({ length: 60 }, (_, i) => row('call', i)),
    ...Array.from({ length: 5 }, (_, i) => row('refusal', i)),
  ]
  const summary = { requests: 130, errors: 0, p50Ms: null, p95Ms: null }
  const { refused, rows: listed } = showTraffic({ since: 0, until: 1 }, summary, rows)
  t.strictSame([refused, listed.length], [10, 50])
})

const soon = new Date(Date.now() + 60_000).toISOString()
for (const [name, key, status] of [
  ['one that is good', { expires: soon, tightest: { left: '0.01' } }, 'active'],
  ['one without a budget', {}, 'active'],
  ['one whose group has spent everything', { tightest: { left: '0.00' } }, 'budget_spent'],
  ['one whose time is over', { expires: '2020-01-01T00:00:00Z', tightest: { left: '0.00' } }, 'expired'],
  ['one that is disabled', { status: 'disabled', tightest: { left: '0.00' } }, 'disabled'],
] as const)
  t.test(`the shown state of a token: ${name}`, async t => {
    const shown = { status: 'active', expires: null, tightest: null, ...key } as unknown as Key
    t.equal(keyStatus(shown), status)
  })

t.test('the audit log shows values for people, not for programs', async t => {
  const cases: readonly (readonly [name: string, value: unknown, text: string])[] = [
    ['budget_period', 'month', 'Monthly'],
    ['budget', '25.00', '25.00'],
    ['models', ['alpha-image-2', 'beta-imagine-image'], 'alpha-image-2, beta-imagine-image'],
    ['limits', { rpm: 60, tpm: null, concurrency: 2 }, 'Requests per minute 60 · Concurrent requests 2'],
    ['bounds', { budget: { to: { amount: '5', per: 'month' }, by: 'root' } }, 'Budget at most 5 a month'],
    ['key_bounds', { limits: { to: { rpm: 5 }, by: 'root' } }, 'Limits Requests per minute ≤ 5'],
    ['limits', {}, '–'],
    ['models', null, '–'],
    ['files', 0, '0'],
    ['backups', true, 'Yes'],
  ]
  for (const [name, value, text] of cases) t.equal(valueText(name, value), text, caseName({ name, text }))
  t.ok(isNone({ rpm: null, tpm: undefined }))
  t.ok(isNone([]))
  t.notOk(isNone(false), 'a no is something')
})

t.test('the playground is restored for a returning user', async t => {
  t.strictSame(findPlace({}), { op: undefined, model: undefined, vs: undefined })
  const image = { op: 'image.generate', model: 'alpha-image-2', vs: 'beta-imagine-image' }
  const chat = { op: 'chat', model: 'sim-chat', vs: undefined }
  keepPlace(image)
  keepPlace(chat)
  t.strictSame(findPlace({}), chat, 'by the menu')
  t.strictSame(findPlace({ op: 'image.generate' }), image, 'by a tab')
  t.strictSame(findPlace({ ...image, vs: undefined }), { ...image, vs: undefined }, 'the address has precedence')
  t.strictSame(findPlace({ op: 'embeddings' }), { op: 'embeddings', model: undefined, vs: undefined })
  forgetPlaces()
  t.equal(findPlace({}).op, undefined, 'and another person does not')
})

t.test('only users who may refund see the button', async t => {
  for (const [role, user, decides] of [
    ['admin', 'ada', 'yes'],
    ['billing', 'bob', 'yes'],
    ['billing', 'ada', 'own'],
    ['billing', null, 'yes'],
    ['viewer', 'bob', 'no'],
    ['user', 'ada', 'no'],
  ] as const)
    t.equal(decidesOn({ user }, { may: dutiesOf({ role }), name: 'ada' }), decides, caseName({ role, user }))
})

t.test('shares and changes are formatted for people', async t => {
  for (const [part, whole, expected] of [
    [1n, 3n, '33.3%'],
    [1n, 100_000n, '< 0.1%'],
    [99_999n, 100_000n, '> 99.9%'],
    [5n, 5n, '100%'],
    [0n, 5n, '0%'],
    [1n, 0n, '–'],
    [-1n, 2n, '-50%'],
  ] as const)
    t.equal(shareOf(part, whole), expected, `${part} of ${whole}`)
  for (const [now, before, expected] of [
    [4_000_000_000n, 12n, '> × 1,000'],
    [12_000n, 12n, '× 1,000'],
    [125n, 10n, '× 13'],
    [99n, 10n, '+890%'],
    [9n, 10n, '-10%'],
    [0n, 10n, '-100%'],
    [10n, 10n, '0%'],
    [1_000_001n, 1_000_000n, '≈ 0%'],
    [5n, 0n, 'new'],
    [0n, 0n, '–'],
    [5n, -5n, '–'],
  ] as const)
    t.equal(changeOf(now, before), expected, `${before} to ${now}`)
})

t.test('invalid days leave the range unchanged', async t => {
  const today = '2026-11-21'
  for (const [from, to, found] of [
    ['2026-02-28', '2026-03-05', '2026-02-28'],
    ['2024-02-29', '2024-03-05', '2024-02-29'],
    ['2026-02-29', '2026-03-05', '2026-10-23'],
    ['2026-02-30', '2026-03-05', '2026-10-23'],
    ['2026-02-01', '2026-04-31', '2026-10-23'],
    ['2026-13-01', '2026-14-01', '2026-10-23'],
    ['2026-03-05', '2026-02-01', '2026-10-23'],
  ] as const)
    t.equal(readRange({ from, to }, today).from, found, caseName({ from, to }))
})

t.test('filters offer existing values, each once', async t => {
  const priced = (...units: readonly string[]) => ({
    prices: units.map(unit => ({ unit, price: '1', currency: 'USD', per: 1, at: 'gateway.yaml:1' })),
  })
  const models = [priced('1K', '4K'), priced('input', 'output'), priced('4K', '8K', 'sketch')]
  t.strictSame(tiersOf(models), ['1K', '4K', '8K', 'sketch'])
  t.strictSame(unitsOf(models), ['input', 'output'])
  for (const language of ['en', 'zh'] as const) {
    const labels = shownOperations.map(one => one.labels[language])
    t.strictSame(
      labels.filter((one, at) => labels.indexOf(one) !== at),
      [],
      `${language}: no two operations are called alike`,
    )
  }
})

t.test('costs by key combine the playground sessions', async t => {
  const row = (what: string | null, net: string, bar = 0) => ({
    bar,
    what,
    currency: 'USD',
    charges: 1,
    images: 2,
    amount: net,
    refunded: '0.00',
    net,
    quantity: 5,
    tokens: 7,
    saved: '0.25',
  })
  const answer = {
    zone: 'UTC',
    since: '',
    until: '',
    bars: [],
    totals: [],
    rows: [
      row('key_1', '0.10'),
      row('ses_1', '0.04'),
      row('ses_2', '0.05'),
      row('ses_2', '0.01', 1),
      row(null, '1.00'),
    ],
    before: { since: '', rows: [row('ses_1', '2.00'), row('ses_2', '3.00')], totals: [] },
    names: { key_1: 'mine', ses_1: 'console a', ses_2: 'console b' },
    sessions: ['ses_1', 'ses_2'],
    gone: [],
  }
  const folded = foldSessions(answer, 'Playground')
  t.strictSame(
    folded.rows.map(({ what, net, bar, charges }) => [what, net, bar, charges]),
    [
      ['key_1', '0.10', 0, 1],
      [sessionKeys, '0.09', 0, 2],
      [sessionKeys, '0.01', 1, 1],
      [null, '1.00', 0, 1],
    ],
  )
  t.strictSame(folded.before.rows, [
    { ...row(sessionKeys, '5.00'), charges: 2, images: 4, quantity: 10, tokens: 14, saved: '0.50' },
  ])
  t.equal(folded.names[sessionKeys], 'Playground')
  t.strictSame(foldSessions({ ...answer, sessions: [] }, '').rows, answer.rows, 'nothing is folded where nobody played')
})

t.test('[14.10] the average cost of an image, of a unit, and of tokens', t => {
  const part = { net: 44_400_000n, images: 0, quantity: 0, tokens: 0 }
  t.strictSame(unitCostOf({ ...part, tokens: 10_000_000 }, null), { amount: '4.44', per: 1_000_000 })
  t.strictSame(unitCostOf({ ...part, tokens: 3_000_000, quantity: 3_000_000 }, 'input'), {
    amount: '14.80',
    per: 1_000_000,
  })
  t.strictSame(unitCostOf({ ...part, quantity: 4_440 }, 'web_search'), { amount: '10.00', per: 1_000 })
  t.strictSame(unitCostOf({ ...part, quantity: 7 }, 'second'), { amount: '6.342857', per: 1 })
  t.strictSame(unitCostOf({ ...part, images: 1_110 }, '2K'), { amount: '0.04', per: 1 })
  t.equal(unitCostOf({ ...part, images: 3, tokens: 9 }, null), undefined, 'images and tokens have no average')
  t.equal(unitCostOf(part, null), undefined)
  t.end()
})

t.test('two parts are compared by the average cost of a unit that both have', async t => {
  const part = (what: string, net: bigint, images: number, tokens = 0): Part => ({
    what,
    net,
    before: 0n,
    charges: 2,
    images,
    quantity: 0,
    tokens,
    bars: [],
  })
  const [cheap, dear] = [part('a', 80_000n, 2), part('b', 720_000n, 2)]
  const found = comparisonOf(cheap, dear)
  t.match(found, { unit: 'image', more: '0.36', less: '0.04', tenths: 90, dear: { what: 'b' }, cheap: { what: 'a' } })
  t.match(comparisonOf(dear, cheap), { tenths: 90, dear: { what: 'b' } }, 'in any order')
  const text = part('c', 3_000_000n, 0, 2_000_000)
  t.equal(partnerOf(cheap, [text, dear, cheap]), dear, 'one alone is compared with another of the same unit')
  t.equal(partnerOf(text, [dear, cheap, text]), undefined, 'or with none')
  t.match(comparisonOf(text, part('d', 1_000_000n, 0, 2_000_000)), {
    unit: 'tokens',
    more: '1.50',
    less: '0.50',
    tenths: 30,
  })
  t.match(comparisonOf(text, cheap), { unit: 'request', more: '1.50', less: '0.04' }, 'images and tokens have requests')
  t.match(comparisonOf(cheap, part('e', 0n, 4)), { unit: 'image', less: '0.00', tenths: undefined }, 'one is free')
})

t.test('costs of a whole month without other filters have a statement', async t => {
  const range = (from: string, to: string) => ({ preset: null, from, to, step: 'day' }) as const
  for (const [from, to, where, month] of [
    ['2026-10-01', '2026-10-31', {}, '2026-10'],
    ['2026-10-01', '2026-10-30', {}, undefined],
    ['2026-11-01', '2026-11-20', { user: 'ada' }, '2026-11'],
    ['2026-11-01', '2026-11-19', {}, undefined],
    ['2026-10-01', '2026-10-31', { model: 'm' }, undefined],
  ] as const)
    t.equal(statementMonthOf(range(from, to), where, '2026-11-20'), month, caseName({ from, to }))
})

t.test('only an hour that occurs twice is shown with its offset', async t => {
  const hours = (from: string, count: number) =>
    Array.from({ length: count }, (_, i) => new Date(Date.parse(from) + i * 3_600_000).toISOString())
  for (const [zone, from, count, twice] of [
    ['Europe/Berlin', '2026-10-24T22:00Z', 25, ['2026-10-25T00:00:00.000Z +02:00', '2026-10-25T01:00:00.000Z +01:00']],
    ['Europe/London', '2026-10-24T23:00Z', 25, ['2026-10-25T00:00:00.000Z +01:00', '2026-10-25T01:00:00.000Z +00:00']],
    ['Europe/Berlin', '2026-10-22T22:00Z', 48, []],
    ['Europe/Berlin', '2026-03-28T23:00Z', 23, []],
    ['UTC', '2026-10-25T00:00Z', 24, []],
  ] as const) {
    const found = [...hoursTwice(hours(from, count), zone)].map(([at, offset]) => `${at} ${offset}`)
    t.strictSame(found, twice, caseName({ zone, from }))
  }
  t.equal(barLabel('2026-10-25T00:00:00.000Z', 'hour', 'Europe/Berlin'), '02:00')
  t.equal(barLabel('2026-10-24T22:00:00.000Z', 'day', 'Europe/Berlin'), '25 Oct')
})

t.test('after signing in no address leads outside the console', async t => {
  for (const [next, to] of [
    [undefined, '/console'],
    ['/console', '/console'],
    ['/console?range=month#main', '/console?range=month#main'],
    ['/console/logs/req_1?user=ada', '/console/logs/req_1?user=ada'],
    ['/console/logs/../tokens', '/console/tokens'],
    ['/console/../api/logs/export', '/console'],
    ['/console/%2e%2e/api/logs/export', '/console'],
    ['/console/..\\..\\docs', '/console'],
    ['/console/.\t./api', '/console'],
    ['/consoles', '/console'],
    ['//evil.example/console', '/console'],
    ['https://evil.example/console', '/console'],
    ['/console/login', '/console'],
    ['/console/x/../login?next=/console', '/console'],
    ['/console/login-notes', '/console/login-notes'],
  ] as const)
    t.equal(safeNext(next), to, caseName({ next }))
})

t.test('the rows of costs add up to their sum, also for the previous days', t => {
  const sum = (net: string) => ({
    currency: 'USD',
    charges: 1,
    images: 1,
    amount: net,
    refunded: '0',
    net,
    quantity: null,
    tokens: 0,
    saved: '0.00',
  })
  const [sheet] = costsByCurrency({
    zone: 'UTC',
    since: '2026-09-02T00:00:00.000Z',
    until: '2026-09-03T00:00:00.000Z',
    bars: ['2026-09-02T00:00:00.000Z'],
    rows: [{ bar: 0, what: 'a', ...sum('3') }],
    totals: [sum('3')],
    before: {
      since: '2026-09-01T00:00:00.000Z',
      rows: [
        { bar: 0, what: 'a', ...sum('1') },
        { bar: 0, what: 'c', ...sum('1') },
        { bar: 0, what: 'b', ...sum('2') },
        { bar: 0, what: null, ...sum('4') },
      ],
      totals: [sum('8')],
    },
    names: {},
    sessions: [],
    gone: ['b'],
  })
  t.strictSame(
    sheet?.parts.map(({ what, net, before }) => [what, net, before]),
    [
      ['a', 3_000_000n, 1_000_000n],
      ['b', 0n, 2_000_000n],
      ['c', 0n, 1_000_000n],
      [null, 0n, 4_000_000n],
    ],
    'what is no longer used has rows of its own, the others behind them',
  )
  t.equal(sheet?.before, 8_000_000n)
  t.end()
})

t.test('costs use the zone of the address', t => {
  t.equal(zoneOf('Asia/Tokyo'), 'Asia/Tokyo')
  t.equal(zoneOf('Mars/Base'), zoneOf(undefined), "the user's own zone if the given one does not exist")
  t.end()
})

t.test('the axis of a small chart has a label above 0 for any number of requests', async t => {
  for (const [most, label] of [
    [4.2, 2],
    [8.4, 5],
    [10.5, 10],
    [47, 20],
    [1_000, 1_000],
    [1_234_567, 1_000_000],
  ] as const)
    t.equal(roundBelow(most), label, caseName({ most }))
})
