import type { Test } from 'tap'
import { accountOfEndUser, type HoldRequest, type Level } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { clockAt, type Harness, holdOf, line, newKey, openHarness, type StorageHarness } from './storage.ts'

const noon = Date.UTC(2027, 4, 16, 12)

async function accountsIn(harness: StorageHarness) {
  const rows = await harness.read(
    `SELECT name, spent, held, part FROM account WHERE kind = 'end_user' ORDER BY spent + held DESC, name`,
  )
  return rows.map(row => [row['name'], Number(row['spent']), Number(row['held']), row['part']])
}

/** Tests of the budgets of end users, on both databases. */
export async function endUsersContract(t: Test, make: Harness): Promise<void> {
  const clock = clockAt(noon)
  const { harness, storage } = await openHarness(t, make, clock)
  const { ledger, books, labels } = storage
  const sound = async (t: Test, name = '') => t.same((await books.verify()).problems, [], name)
  await storage.users.create({ name: 'ann smith', group: 'default', role: 'user', passwordHash: null })
  const key = await storage.keys.create(newKey({ user: 'ann smith' }))
  const other = await storage.keys.create(newKey())
  const idOf = async (name: string) =>
    labels.idOf({ kind: 'end_user', name, keyId: key.id, most: 5_000, mostPerKey: 2_500 })
  const ofEndUser = (id: string, user: string, amount: number): Level => ({
    kind: 'end_user',
    name: accountOfEndUser(id, user),
    amount,
    per: 'month',
    called: 'shown',
  })
  const heldBy = (id: string, hold: number, levels: readonly Level[], owner = key): HoldRequest => ({
    ...holdOf(owner, hold, { user: owner.user, group: 'default', attribution: `tag_x ${id}` }),
    levels,
  })

  async function buy(request: HoldRequest, price: number): Promise<void> {
    const { id } = request.facts
    t.match(await ledger.hold(request), { kind: 'held' })
    await ledger.line(id, line(0, { price }))
    await ledger.settle({ id, delivery: 'confirmed', reason: null })
  }

  await t.test(
    "parallel holds reach an end user's budget but never exceed it, and every outcome releases them",
    async t => {
      const ada = await idOf('ada')
      const levels = [
        { kind: 'group', name: 'default', amount: 50_000, per: 'total' } as const,
        ofEndUser(ada, 'ann smith', 300),
      ]
      const requests = Array.from({ length: 40 }, () => heldBy(ada, 100, levels))
      const results = await Promise.all(requests.map(async one => ledger.hold(one)))
      t.equal(results.filter(({ kind }) => kind === 'held').length, 3)
      t.match(
        results.find(({ kind }) => kind === 'overdrawn'),
        { level: 'end_user', called: 'shown', availableMicros: 0, heldMicros: 300 },
      )
      t.same(await accountsIn(harness), [[`${ada} ann smith`, 0, 300, '']])
      await sound(t)
      const [bought, voided, reviewed] = requests
        .filter((_, i) => results[i]?.kind === 'held')
        .map(({ facts }) => facts.id)
      await ledger.line(bought as string, line(0, { price: 80 }))
      await ledger.settle({ id: bought as string, delivery: 'confirmed', reason: null })
      await ledger.void(voided as string, 'the upstream failed')
      await ledger.review(reviewed as string, 'unknown outcome', { hold: 'kept' })
      t.same(await accountsIn(harness), [[`${ada} ann smith`, 80, 100, '']])
      await sound(t, 'with one in review')
      await books.resolve(reviewed as string, 'settle', 'boss', 'it was sold', 60)
      t.same(await accountsIn(harness), [[`${ada} ann smith`, 140, 0, '']])
      await books.refund(bought as string, 'boss', 'sorry', { amount: 50 })
      await books.refund(reviewed as string, 'boss', 'sorry')
      t.same(await accountsIn(harness), [[`${ada} ann smith`, 30, 0, '']])
      t.match(await books.endUsers(['month', '7d']), [
        { kind: 'end_user', called: 'ada', held: 0, spent: { total: 30, month: 30, '7d': 30 } },
      ])
      t.notOk(
        (await books.levels()).some(({ kind }) => kind === 'end_user'),
        'end users are a reading of their own',
      )
      await sound(t)
    },
  )

  await t.test('end users of the same name of two users have a budget each, and no budget counts nothing', async t => {
    const ben = await idOf('ben')
    await buy(heldBy(ben, 100, [ofEndUser(ben, 'ann smith', 100)]), 90)
    await buy(heldBy(ben, 100, [ofEndUser(ben, other.user, 100)], other), 70)
    await buy(heldBy(ben, 100, []), 50)
    t.same((await accountsIn(harness)).slice(0, 2), [
      [`${ben} ann smith`, 90, 0, ''],
      [`${ben} ${other.user}`, 70, 0, ''],
    ])
    await sound(t)
  })

  await t.test('the holds of a dead gateway are released for end users', async t => {
    const eve = await idOf('eve')
    const levels = [ofEndUser(eve, 'ann smith', 1_000)]
    const [empty, lined] = [heldBy(eve, 100, levels), heldBy(eve, 100, levels)]
    for (const one of [empty, lined]) await ledger.hold(one)
    await ledger.line(lined.facts.id, line(0, { price: 60 }))
    await storage.flush()
    // Without its lease and name, the process counts as dead: the next process to start ends its open charges.
    await harness.edit(`DELETE FROM replica`)
    const next = await harness.open('worker', clock)
    t.same(
      (await accountsIn(harness)).filter(([name]) => name === `${eve} ann smith`),
      [[`${eve} ann smith`, 60, 0, '']],
    )
    t.same((await next.books.verify()).problems, [])
    await next.close()
  })

  await t.test('events have the name until it is erased, and the account still verifies', async t => {
    const zoe = await idOf('zoe@example.com')
    await buy(heldBy(zoe, 100, [ofEndUser(zoe, 'ann smith', 100)]), 100)
    const readNames = async () => {
      const { events } = await storage.events.page({ after: null, limit: 1_000, kinds: ['budget.exhausted'] })
      return events.filter(({ data }) => data['amount'] === '0.0001').map(({ data }) => [data['name'], data['user']])
    }
    t.same((await readNames()).at(-1), ['zoe@example.com', 'ann smith'])
    const alerts = await storage.watch.alerts()
    t.notOk(
      alerts.events.some(({ data }) => data['level'] === 'end_user'),
      'nobody has to act when an end user has spent a budget',
    )
    t.ok(await labels.erase('end_user', 'zoe@example.com', 'boss'))
    const erased = `erased-${zoe.slice(3)}`
    t.same((await readNames()).at(-1), [erased, 'ann smith'])
    t.ok((await books.endUsers()).some(({ called }) => called === erased))
    for (const table of ['account', 'account_spell', 'event', 'charge', 'label', 'trail'])
      t.notMatch(JSON.stringify(await harness.read(`SELECT * FROM ${table}`)), 'zoe@', caseName({ table }))
    await sound(t)
    // After erasure, the same name creates a new end user.
    t.not(await idOf('zoe@example.com'), zoe)
  })

  await t.test('an audit finds a changed account of an end user, and corrects it from the charges', async t => {
    const ivy = await idOf('ivy')
    await buy(heldBy(ivy, 100, [ofEndUser(ivy, 'ann smith', 100)]), 40)
    const account = `${ivy} ann smith`
    await harness.edit(`UPDATE account SET spent = spent + 5, month_spent = month_spent - 1 WHERE name = '${account}'`)
    t.same((await books.verify()).problems, [
      `end_user ${account}: has spent 45, its charges say 40`,
      `end_user ${account}: has spent 39 this month, its charges say 40`,
    ])
    t.match(await books.repairBudgets('boss'), [{ payer: { kind: 'end_user', name: account }, spent: -5 }])
    await sound(t)
    await harness.edit(`DELETE FROM account WHERE name = '${account}'`)
    t.same((await books.verify()).problems, [`end_user ${account}: has no account, but charges of 40`])
    t.ok(await books.repairBudgets('boss'))
    await sound(t, 'made again')
  })
}

/** Sends made-up end-user names on one key. @returns the number of accounts afterwards */
export async function attackContract(t: Test, make: Harness, names: number): Promise<void> {
  await t.test(`${names} made-up end users create at most as many accounts as the attribution keeps names`, async t => {
    const { harness, storage } = await openHarness(t, make, clockAt(noon))
    const key = await storage.keys.create(newKey())
    const ids = new Set<string>()
    const limits = { kind: 'end_user', keyId: key.id, most: 100, mostPerKey: 50 } as const
    for (let i = 0; i < names; i++) {
      const id = await storage.labels.idOf({ ...limits, name: `made up ${i}` })
      if (ids.has(id) && i % 1_000 > 0) continue
      ids.add(id)
      const levels: readonly Level[] = [{ kind: 'end_user', name: `${id} local`, amount: 10, per: 'day' }]
      await storage.ledger.hold({ ...holdOf(key, 6, { attribution: id }), levels })
    }
    const accounts = await accountsIn(harness)
    t.equal(accounts.length, 51)
    t.match(
      accounts.find(([name]) => name === 'eu_other local'),
      ['eu_other local', 0, 6],
      'the others have one budget together',
    )
    t.same((await storage.books.verify()).problems, [])
  })
}
