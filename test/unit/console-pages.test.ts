import t from 'tap'
import type { Key } from '../../src/console/api/shapes.ts'
import { keyStatus } from '../../src/console/pages/tokens/key-status.ts'
import { dutiesOf } from '../../src/admin/duties.ts'
import { showTraffic } from '../../src/admin/routes/system.ts'
import { ceilingField } from '../../src/console/pages/users/ceiling-field.ts'
import { placeOf } from '../../src/console/pages/audit/place-of.ts'
import { sheetsOf } from '../../src/console/pages/costs/sheets.ts'
import { zoneOf } from '../../src/console/zone.ts'
import { textsOf, whereOf, wordOf } from '../../src/console/pages/alerts/told.ts'
import english from '../../src/console/words/en.json' with { type: 'json' }
import { speakWith } from '../../src/console/words/index.ts'
import { tBound, tBounds } from '../../src/console/words/bound.ts'
import { caseName } from '../harness/case-name.ts'

speakWith('en', english)

t.test('the audit log links to what whoever reads it may open', async t => {
  const users = '/console/users'
  const rows: readonly (readonly [action: string, admin: string, viewer?: string, billing?: string])[] = [
    ['key.update', '/console/tokens/a%2Fb', '/console/tokens/a%2Fb', '/console/tokens/a%2Fb'],
    ['user.erase', `${users}?edit=a%2Fb`, users, users],
    ['session.create', `${users}?edit=a%2Fb`, users, users],
    ['charge.refund', '/console/logs/a%2Fb', '/console/logs/a%2Fb', '/console/logs/a%2Fb'],
    ['invitation.create', `${users}?tab=invitations`],
    ['config.write', '/console/config', '/console/config'],
    ['upstream_key.suspend', '/console/system', '/console/system'],
    ['alert.done', '/console/alerts', '/console/alerts', '/console/alerts'],
  ]
  for (const [action, admin, viewer, billing] of rows) {
    const found = (['admin', 'viewer', 'billing'] as const).map(role => placeOf(action, 'a/b', dutiesOf({ role })))
    t.strictSame(found, [admin, viewer, billing], action)
  }
  t.equal(placeOf('ledger.verify', 'x', dutiesOf({ role: 'admin' })), undefined)
})

t.test('an alert names a key as people do, and says of a certificate that it is over', async t => {
  const data = { level: 'key', name: 'key_1', called: 'the bot', amount: '1', currency: 'USD' }
  t.match(textsOf(data), { name: 'the bot', level: english['budgets.level.key'] })
  t.equal(textsOf({ level: 'user', name: 'ada' })['name'], 'ada')
  t.equal(whereOf('budget.exhausted', data), '/console/tokens/key_1', 'and leads to it by its id')
  t.equal(whereOf('budget.threshold', { level: 'group', name: 'g' }), '/console/budgets')
  t.equal(whereOf('budget.threshold', { level: 'balance', name: 'ada' }), '/console/users?edit=ada')
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
  for (const [told, word] of [
    [{ refused: true, spent: '0.97', amount: '1' }, 'budget.short'],
    [{ refused: true, spent: '1.00', amount: '1' }, 'budget.exhausted'],
    [{ refused: false, spent: '9.5', amount: '10' }, 'budget.exhausted'],
  ] as const) {
    t.equal(wordOf('budget.exhausted', told), word, caseName(told))
    for (const part of ['', '.text', '.do'])
      t.ok(Object.hasOwn(english, `alert.${word}${part}`), caseName({ word, part }))
  }
  t.match(textsOf({ ends })['ends'], /2026.*10:00|2026/, 'as moments are told')
})

t.test('a refusal of ceilings stands beside its own field', async t => {
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

t.test('amounts of ceilings are told in their currency', async t => {
  t.match(tBound('budget', { amount: '5', currency: 'EUR', per: 'day' }), / 5 EUR, /)
  t.match(tBound('budget', { amount: '5', per: 'day' }), / 5, /)
  const budget = { to: { amount: '5', per: 'month' }, by: 'ada' } as const
  t.match(tBounds({ budget }, 'EUR'), [{ field: 'budget', most: /5 EUR/ }])
})

t.test('the system page counts refusals of models that it does not list, too', async t => {
  const ms = { p50Ms: null, p95Ms: null, firstByteP50Ms: null, firstByteP95Ms: null }
  const row = (kind: 'call' | 'refusal', i: number) =>
    ({ kind, model: `m${i}`, operation: 'chat', requests: 2, errors: 0, ...ms }) as const
  const rows = [
    ...Array.from({ length: 60 }, (_, i) => row('call', i)),
    ...Array.from({ length: 5 }, (_, i) => row('refusal', i)),
  ]
  const summary = { requests: 130, errors: 0, p50Ms: null, p95Ms: null }
  const { refused, rows: told } = showTraffic({ since: 0, until: 1 }, summary, rows)
  t.strictSame([refused, told.length], [10, 50])
})

const soon = new Date(Date.now() + 60_000).toISOString()
for (const [name, key, status] of [
  ['one that is good', { expires: soon, tightest: { left: '0.01' } }, 'active'],
  ['one without a budget', {}, 'active'],
  ['one whose group has spent everything', { tightest: { left: '0.00' } }, 'budget_spent'],
  ['one whose time is over', { expires: '2020-01-01T00:00:00Z', tightest: { left: '0.00' } }, 'expired'],
  ['one that is disabled', { status: 'disabled', tightest: { left: '0.00' } }, 'disabled'],
] as const)
  t.test(`what is shown of a token: ${name}`, async t => {
    const shown = { status: 'active', expires: null, tightest: null, ...key } as unknown as Key
    t.equal(keyStatus(shown), status)
  })

t.test('the rows of costs add up to their sum, in the days before too', t => {
  const sum = (net: string) => ({ currency: 'USD', charges: 1, images: 1, amount: net, refunded: '0', net })
  const [sheet] = sheetsOf({
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
        { bar: 0, what: null, ...sum('4') },
      ],
      totals: [sum('5')],
    },
    names: {},
  })
  t.strictSame(
    sheet?.parts.map(({ what, net, before }) => [what, net, before]),
    [
      ['a', 3_000_000n, 1_000_000n],
      [null, 0n, 4_000_000n],
    ],
    'what is no longer used is with the others',
  )
  t.equal(sheet?.before, 5_000_000n)
  t.end()
})

t.test('costs are of the days of the zone that the address names', t => {
  t.equal(zoneOf('Asia/Tokyo'), 'Asia/Tokyo')
  t.equal(zoneOf('Mars/Base'), zoneOf(undefined), 'of whoever looks where there is no such zone')
  t.end()
})
