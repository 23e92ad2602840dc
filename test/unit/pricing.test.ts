import * as fc from 'fast-check'
import t from 'tap'
import { replay } from '../../plugins/token-usage/replay.ts'
import {
  type Charge,
  type Counts,
  type ChargeItem,
  treeOf,
  type UnitName,
  type UnitRow,
  units,
  type UsageFacts,
  type UsageRule,
} from '../../src/domain/index.ts'
import {
  ceilingOf,
  exactAmount,
  holds,
  multiply,
  parseFactor,
  partsPerMicro,
  rateUsage,
  type UsageAsk,
  usesOf,
} from '../../src/pricing/index.ts'
import { seed, seeded } from '../harness/seed.ts'

const at = Date.UTC(2026, 10, 25, 12)

function row(unit: UnitName, price: string): UnitRow {
  return { unit, price: Math.round(Number(price) * 1e6), per: units.get(unit)?.per ?? 1, at: 'gateway.yaml:1' }
}

function rows(prices: { readonly [unit in UnitName]?: string }): UnitRow[] {
  return Object.entries(prices).map(([unit, price]) => row(unit as UnitName, price))
}

type Extra = Partial<Pick<UsageRule, 'overrides' | 'times' | 'multiplier'>>

function ruleOf(prices: { readonly [unit in UnitName]?: string }, extra: Extra = {}): UsageRule {
  return { kind: 'usage', prices: rows(prices), multiplier: '1', counts: 'all', warnings: [], ...extra }
}

function amountOf(rule: UsageRule, counts: Counts, facts: UsageFacts = {}, when = at): number {
  return rateUsage(rule, { uses: usesOf(counts, 'output'), facts, at: when }).amount / 1e6
}

t.test('a count without its own price costs what its nearest priced parent costs', t => {
  const rule = ruleOf({ input: '5', cache_write: '6.25', output: '25' })
  const counts = {
    input: 100_000,
    cached_input: 10_000,
    cache_write: 8_000,
    cache_write_1h: 3_000,
    output: 1_000,
    reasoning: 400,
  }
  const { lines } = rateUsage(rule, { uses: usesOf(counts, 'output'), facts: {}, at })
  t.same(
    lines.map(({ tier, quantity, price, flags }) => [tier, quantity, price, ...flags]),
    [
      ['input', 82_000, 410_000],
      ['cached_input', 10_000, 50_000],
      ['cache_write', 5_000, 31_250],
      ['cache_write_1h', 3_000, 18_750, 'unpriced:cache_write_1h'],
      ['output', 600, 15_000],
      ['reasoning', 400, 10_000],
    ],
  )
  t.end()
})

t.test('calls without a price are free and flagged; a price for prompts covers queries', t => {
  const counts = { input: 10, output: 10, web_search: 3 }
  const ask = { uses: usesOf(counts, 'output'), facts: {}, at }
  t.same(rateUsage(ruleOf({ input: '1', output: '1' }), ask).unpriced, ['web_search'])
  t.match(rateUsage(ruleOf({ input: '1', output: '1' }), ask).lines.at(-1), {
    tier: 'web_search',
    quantity: 3,
    price: 0,
  })
  const free = ruleOf({ input: '1', output: '1', web_search: '0' })
  t.same(rateUsage(free, ask).unpriced, [], 'a price of 0 is a price')
  const grounded = { ...ask, uses: usesOf({ ...counts, grounding: 1 }, 'output') }
  const rated = rateUsage(ruleOf({ input: '0', output: '0', grounding: '35' }), grounded)
  t.same([rated.amount, rated.unpriced], [35_000, []])
  t.end()
})

t.test('the first override whose condition holds replaces prices for the whole request', t => {
  const rule = ruleOf(
    { input: '1.25', cached_input: '0.125', output: '10' },
    {
      overrides: [
        { if: { input_above: 200_000 }, prices: rows({ input: '2.50', cached_input: '0.25', output: '15' }) },
      ],
    },
  )
  t.equal(amountOf(rule, { input: 200_000, output: 1_000 }), 0.26, 'at the bound')
  t.equal(amountOf(rule, { input: 300_000, output: 5_000 }), 0.825)
  t.equal(amountOf(rule, { input: 200_001, cached_input: 200_001 }), 0.05, 'cached tokens count')
  const from = ruleOf({ input: '1' }, { overrides: [{ if: { input_from: 10 }, prices: rows({ input: '2' }) }] })
  t.same([amountOf(from, { input: 9 }), amountOf(from, { input: 10 })], [0.000009, 0.00002])
  t.end()
})

t.test('all factors whose conditions hold apply; a tier that no condition names is unpriced', t => {
  const rule = ruleOf(
    { input: '5', output: '25' },
    {
      times: [
        { if: { speed: 'fast' }, by: '2', at: 'x:1' },
        { if: { region: ['us', 'eu'] }, by: '1.1', at: 'x:2' },
        { if: { service_tier: 'flex' }, by: '0.5', at: 'x:3' },
      ],
    },
  )
  const counts = { input: 20_000, output: 0 }
  t.equal(amountOf(rule, counts), 0.1)
  t.equal(amountOf(rule, counts, { speed: 'fast' }), 0.2)
  t.equal(amountOf(rule, counts, { speed: 'fast', region: 'us' }), 0.22)
  t.equal(amountOf(rule, counts, { service_tier: 'flex' }), 0.05)
  const ask = { uses: usesOf(counts, 'output'), at }
  t.same(rateUsage(rule, { ...ask, facts: { service_tier: 'priority' } }).unpriced, ['service_tier=priority'])
  t.same(rateUsage(rule, { ...ask, facts: { service_tier: 'standard', region: 'asia' } }).unpriced, [])
  t.end()
})

t.test("factors apply to tokens and time: calls have only the group's factor", t => {
  const times = [{ if: { speed: 'fast' }, by: '2', at: 'x:1' }]
  const rule = ruleOf({ input: '5', second: '0.01', web_search: '10', maps: '25' }, { times, multiplier: '0.5' })
  const counts = { input: 20_000, second: 10, web_search: 3, maps: 1 }
  const { lines } = rateUsage(rule, { uses: usesOf(counts, 'output'), facts: { speed: 'fast' }, at })
  t.same(
    lines.map(({ tier, price }) => [tier, price]),
    [
      ['input', 100_000],
      ['second', 100_000],
      ['web_search', 15_000],
      ['maps', 12_500],
    ],
  )
  t.end()
})

t.test('time windows are read in their zone; the end is excluded and may be after midnight', t => {
  const utc = (text: string) => Date.parse(`2026-11-${text}Z`)
  const table: readonly [Parameters<typeof holds>[0], string, boolean][] = [
    [{ hours: '00:00-08:00', zone: 'UTC' }, '25T07:59:59', true],
    [{ hours: '00:00-08:00', zone: 'UTC' }, '25T08:00:00', false],
    [{ hours: ['22:00-06:00'], zone: 'UTC' }, '25T23:00:00', true],
    [{ hours: ['22:00-06:00'], zone: 'UTC' }, '25T06:00:00', false],
    [{ hours: '00:00-08:00', zone: 'Asia/Shanghai' }, '25T17:00:00', true],
    [{ days: 'mon-fri', zone: 'UTC' }, '25T10:00:00', true],
    [{ days: 'mon-fri', zone: 'UTC' }, '28T10:00:00', false],
    [{ days: ['sat', 'sun'], zone: 'UTC' }, '29T10:00:00', true],
    [{ days: 'sat-mon', zone: 'UTC' }, '30T10:00:00', true],
    [{ days: 'sat', zone: 'Asia/Shanghai' }, '27T17:00:00', true],
  ]
  for (const [conditions, when, expected] of table)
    t.equal(
      holds(conditions, { input: 0, facts: {}, at: utc(when) }),
      expected,
      `${JSON.stringify(conditions)} ${when}`,
    )
  t.end()
})

t.test('a million small charges of a key add up to their exact sum', t => {
  const random = seeded(14)
  const prices = [
    ruleOf({ input: '0.02' }),
    ruleOf({ input: '0.15', cached_input: '0.075', output: '0.60' }, { multiplier: '0.9' }),
  ]
  let carried = 0
  let [sum, exact] = [0n, 0n]
  for (let i = 0; i < 1_000_000; i++) {
    const rule = prices[i & 1] as UsageRule
    const input = 1 + Math.floor(random() * 40)
    const counts = (i & 1) === 0 ? { input } : { input, cached_input: input >> 1, output: input }
    const uses = usesOf(counts, 'output')
    const rated = rateUsage(rule, { uses, facts: {}, at, carried })
    carried = rated.carried
    sum += BigInt(rated.amount)
    const factor = parseFactor(rule.multiplier)
    for (const { unit, quantity } of uses) {
      const price = rule.prices.find(one => one.unit === unit) as UnitRow
      // In units of 1e-12 micro-units.
      exact += (BigInt(quantity) * BigInt(price.price) * factor.over * 1_000_000n) / factor.under
    }
  }
  const differs = Number(sum * 10n ** 12n - exact) / 1e12
  t.ok(Math.abs(differs) <= 1, `differs by ${differs} micro-units`)
  t.ok(sum > 1_000_000n, String(sum))
  t.end()
})

const anyUnit = fc.constantFrom(...([...units.keys()] as UnitName[]))
const anyPrice = fc.integer({ min: 0, max: 90_000_000 })
const anyRows = fc
  .uniqueArray(fc.tuple(anyUnit, anyPrice), { maxLength: 8, selector: ([unit]) => unit })
  .map(all => all.map(([unit, price]): UnitRow => ({ unit, price, per: units.get(unit)?.per ?? 1, at: 'x:1' })))
const anyFactor = fc.constantFrom('0.5', '1.1', '2', '0.333333', '1')
const tiers = ['priority', 'flex'] as const
const anyConditions = fc.oneof(
  fc.record({ input_above: fc.integer({ min: 0, max: 5_000 }) }),
  fc.record({ service_tier: fc.constantFrom(...tiers) }),
  fc.record({ speed: fc.constant('fast') }),
  fc.record({ region: fc.constantFrom('us', 'eu') }),
  fc.record({ hours: fc.constantFrom('00:00-12:00', '12:00-24:00'), zone: fc.constant('UTC') }),
)
const anyRule = fc.record({
  prices: anyRows,
  overrides: fc.array(fc.record({ if: anyConditions, prices: anyRows }), { maxLength: 3 }),
  times: fc.array(fc.record({ if: anyConditions, by: anyFactor, at: fc.constant('x:2') }), { maxLength: 3 }),
  multiplier: anyFactor,
})
const anyCount = fc.integer({ min: 0, max: 3_000 })
const anyCounts = fc.dictionary(anyUnit, anyCount, { maxKeys: 12 }).map(found => {
  const counts: { [unit in UnitName]?: number } = {}
  // Children come first: a parent includes them.
  for (const unit of [...units.keys()].toReversed() as UnitName[]) {
    const parts = (units.get(unit)?.children ?? []).reduce((total, child) => total + (counts[child] ?? 0), 0)
    const own = (found as Counts)[unit]
    if (own !== undefined || parts > 0) counts[unit] = (own ?? 0) + parts
  }
  return counts
})
const anyFacts = fc.record(
  { service_tier: fc.constantFrom(...tiers), speed: fc.constant('fast'), region: fc.constantFrom('us', 'eu') },
  { requiredKeys: [] },
)
const half = partsPerMicro / 2
const anyCarried = fc.integer({ min: -half, max: half - 1 })

t.test('a hold counts the most expensive region, not all of them', t => {
  const times = ['us', 'eu', 'fedramp'].map((region, i) => ({ if: { region }, by: `1.${i + 1}`, at: 'x:1' }))
  const rule = ruleOf({ input: '1' }, { times: [...times, { if: { speed: 'fast' }, by: '2', at: 'x:2' }] })
  const uses = [{ unit: 'input', quantity: 1_000_000 }]
  const ceiling = (facts: Parameters<typeof ceilingOf>[1]['facts']) =>
    ceilingOf(rule, { uses, inputMax: 1_000_000, facts, mayUse: () => true }).amount
  t.equal(ceiling({ speed: ['standard'] }), 1_300_000)
  t.equal(ceiling({ speed: ['standard', 'fast'] }), 2_600_000)
  t.equal(ceiling({ speed: ['standard'], region: ['us', 'global'] }), 1_100_000)
  t.end()
})

t.test("a charge never exceeds its hold while the answer stays within the request's limits", async () => {
  fc.assert(
    fc.property(anyRule, anyCounts, anyFacts, anyCarried, (some, counts, facts, carried) => {
      const rule: UsageRule = { kind: 'usage', warnings: [], ...some }
      const rated = rateUsage(rule, { uses: usesOf(counts, 'output'), facts, at, carried })
      const heads = [...units.values()].filter(unit => unit.parent === undefined).map(unit => unit.name)
      const ceiling = ceilingOf(rule, {
        uses: heads.map(unit => ({ unit, quantity: counts[unit] ?? 0 })),
        inputMax: counts.input ?? 0,
        facts: {
          ...(facts.service_tier && { service_tier: ['standard', facts.service_tier] }),
          ...(facts.speed && { speed: ['standard', facts.speed] }),
        },
        mayUse: () => true,
      })
      return rated.amount <= ceiling.amount
    }),
    { numRuns: 2_000, seed },
  )
})

t.test('every charge replays from its own facts, and no changed one does', async () => {
  fc.assert(
    fc.property(anyRule, anyCounts, anyFacts, anyCarried, (some, counts, facts, carried) => {
      const rule: UsageRule = { kind: 'usage', warnings: [], ...some }
      const ask: UsageAsk = { uses: usesOf(counts, 'output'), facts, at, carried }
      const { lines } = rateUsage(rule, ask)
      const charge = { id: 'x', createdAt: at, rule, lines } as unknown as Charge
      const same = (all: readonly ChargeItem[]) =>
        replay({ ...charge, lines: all }).every((one, i) => 'price' in one && one.price === all[i]?.price)
      const changed = lines.map((line, i) => (i === 0 ? { ...line, price: line.price + 2 } : line))
      return same(lines) && (lines.length === 0 || !same(changed))
    }),
    { numRuns: 1_000, seed },
  )
})

t.test("the sum of leaves is their parent's count", async () => {
  fc.assert(
    fc.property(anyCounts, counts => {
      const uses = usesOf(counts, 'output')
      return (['input', 'output'] as const).every(head => {
        const tree: readonly string[] = treeOf(head)
        const sum = uses.reduce((total, use) => (tree.includes(use.unit) ? total + use.quantity : total), 0)
        return sum === (counts[head] ?? 0)
      })
    }),
    { seed },
  )
})

t.test('one factor on one price is rounded once, half up', t => {
  t.equal(multiply(40_001, ['0.5']), 20_001)
  t.equal(multiply(3, ['0.333333', '0.5']), 0)
  t.same(exactAmount(1, 1, 3, parseFactor('1')), { whole: 0, part: 333_333_333 })
  t.throws(() => parseFactor('1e3'), /not a decimal/)
  t.end()
})
