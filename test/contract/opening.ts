import type { Test } from 'tap'
import type { Adoption, ChargeFacts, Key, Level, Storage } from '../../src/domain/index.ts'
import { clockAt, type Harness, holdOf, line, openHarness } from './storage.ts'

const day = 24 * 3_600_000
const noon = Date.UTC(2027, 4, 16, 12)

const taken = {
  users: [
    {
      name: 'ann',
      group: 'team',
      status: 'active',
      balance: null,
      budget: { amount: 1_000, per: 'day' },
      spentBefore: 400,
      keys: [
        {
          name: 'own',
          group: null,
          hash: 'a'.repeat(64),
          hint: '…own',
          status: 'active',
          budget: 900,
          budgetPeriod: 'month',
          spentBefore: 300,
        },
      ],
    },
  ],
  groups: [{ name: 'team', per: 'month', spentBefore: 1_200 }],
} as const satisfies Adoption

const levels: readonly Level[] = [
  { kind: 'user', name: 'ann', amount: 1_000, per: 'day' },
  { kind: 'group', name: 'team', amount: 2_000, per: 'month' },
]
const facts: Partial<ChargeFacts> = { user: 'ann', group: 'team' }

async function buy({ ledger }: Storage, key: Key, price: number) {
  const request = { ...holdOf(key, price, facts), levels }
  const { id } = request.facts
  const held = await ledger.hold(request)
  if (held.kind !== 'held') return held
  await ledger.line(id, line(0, { price }))
  await ledger.settle({ id, delivery: 'confirmed', reason: null })
  return 'bought'
}

/** Tests of opening spend: amounts that another gateway already charged to budgets in the current period. */
export async function openingContract(t: Test, make: Harness): Promise<void> {
  const open = async (t: Test) => {
    const clock = clockAt(noon)
    const own = await openHarness(t, make, clock)
    const adopted = await own.storage.keys.adopt(taken, 'import litellm')
    const key = (await own.storage.keys.findByHash('a'.repeat(64))) as Key
    return { ...own, clock, adopted, key, problems: async () => (await own.storage.books.verify()).problems }
  }

  await t.test('money spent elsewhere counts in the current day or month, once, and nowhere else', async t => {
    const { storage, clock, adopted, key, problems } = await open(t)
    t.match(adopted, { users: 1, keys: 1, opened: 3 })
    t.match(key, { spent: 0, spentIn: { day: { spent: 0 }, month: { spent: 300 } } })
    const sums = async () => new Map((await storage.books.levels()).map(one => [one.kind, one.spent]))
    t.strictSame(Object.fromEntries(await sums()), {
      user: { total: 0, day: 400, month: 0 },
      group: { total: 0, day: 0, month: 1_200 },
    })
    t.same(await problems(), [])

    t.match(await buy(storage, key, 601), { kind: 'overdrawn', availableMicros: 600 })
    t.equal(await buy(storage, key, 600), 'bought')
    t.match(await buy(storage, key, 1), { kind: 'overdrawn', level: 'key', availableMicros: 0 })
    t.same(await problems(), [])

    t.match(await storage.keys.adopt(taken, 'import litellm'), { users: 0, keys: 0, opened: 0 })
    t.match((await storage.keys.findByHash('a'.repeat(64)))?.spentIn, { month: { spent: 900 } }, 'again is harmless')
    t.match((await sums()).get('group'), { total: 600, month: 1_800 })

    clock.set(noon + 30 * day)
    t.equal(await buy(storage, key, 900), 'bought', 'the next month begins from nothing')
    t.same(await problems(), [])
  })

  await t.test('an audit reports amounts that were counted twice in one period', async t => {
    const { storage, harness, clock, problems } = await open(t)
    const [first] = await harness.read(`SELECT charge_id FROM topup WHERE credit = 'group:team'`)
    await harness.tamper(`UPDATE topup SET credit = 'group:other' WHERE credit = 'group:team'`)
    clock.set(noon + 60_000)
    t.match(await storage.keys.adopt({ users: [], groups: taken.groups }, 'import litellm'), { opened: 1 })
    const [second] = await harness.read(`SELECT charge_id FROM topup WHERE credit = 'group:team'`)
    await harness.tamper(`UPDATE topup SET credit = 'group:team' WHERE credit = 'group:other'`)
    t.match(
      (await problems()).filter(problem => problem.startsWith('group:team')),
      [
        `group:team: its earlier spending is counted twice, by ${String(first?.['charge_id'])} and ${String(second?.['charge_id'])}`,
      ],
    )
  })

  await t.test('an audit compares money spent elsewhere with its entries, also for an erased person', async t => {
    const { storage, harness, key, problems } = await open(t)
    await harness.edit(`UPDATE key SET month_spent = 0`)
    await harness.edit(`UPDATE account SET month_spent = 7 WHERE kind = 'group'`)
    t.same(await problems(), [
      `key ${key.id}: has spent 0 this month, its charges say 300`,
      'group team: has spent 7 this month, its charges say 1200',
    ])
    await harness.edit(`UPDATE key SET month_spent = 300`)
    await harness.edit(`UPDATE account SET month_spent = 1200 WHERE kind = 'group'`)
    t.match(await storage.users.traces('ann'), { kept: { charges: 0, topups: 0, openings: 1 } })
    t.match(await storage.users.erase('ann', 'boss'), { kept: { charges: 0, topups: 0, openings: 1 } })
    t.same(await problems(), [])
    await harness.edit(`DELETE FROM account WHERE kind = 'group'`)
    await harness.tamper(`UPDATE topup SET amount = 1 WHERE credit = 'group:team'`)
    t.match(await problems(), [
      /entries of .*: 1 has been changed/,
      /opening open_\w+: was changed after the import/,
      'group:team: is gone, but has earlier spending of 1',
    ])
  })
}
