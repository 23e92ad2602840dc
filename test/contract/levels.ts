import type { Test } from 'tap'
import type { ChargeFacts, HoldRequest, Key, Level, Storage } from '../../src/domain/index.ts'
import { differencesOf, isBounded, levelsAbove, levelsOf, budgetStatuses, tightestOf } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { clockAt, type Harness, holdOf, line, newKey, openHarness, type StorageHarness } from './storage.ts'
import { seed, seeded } from '../harness/seed.ts'

const day = 24 * 3_600_000
const noon = Date.UTC(2027, 4, 16, 12)

const user = (name: string, amount: number, per: Level['per'] = 'total'): Level => ({ kind: 'user', name, amount, per })
const group = (name: string, amount: number, per: Level['per'] = 'total'): Level => ({
  kind: 'group',
  name,
  amount,
  per,
})

type Account = { readonly spent: number; readonly held: number }

/** The balance of an account, from all of its rows. */
async function accountOf(harness: StorageHarness, kind: string, name: string): Promise<Account | undefined> {
  const rows = await harness.read(
    `SELECT coalesce(sum(spent), 0) AS spent, coalesce(sum(held), 0) AS held FROM account
     WHERE kind = '${kind}' AND name = '${name}'`,
  )
  const [row] = rows
  return row && { spent: Number(row['spent']), held: Number(row['held']) }
}

let count = 0
/** Creates a user that no other test uses, with a key. */
async function newBuyer(storage: Storage, changes: { readonly budget?: number } = {}) {
  const name = `anna${++count}`
  await storage.users.create({ name, group: 'default', role: 'user', passwordHash: null })
  const key = await storage.keys.create(newKey({ user: name, ...changes }))
  return { name, key, facts: { user: name, group: `group${count}` } }
}

const heldBy = (key: Key, hold: number, facts: Partial<ChargeFacts>, levels: readonly Level[]): HoldRequest => ({
  ...holdOf(key, hold, facts),
  levels,
})

/** Buys for a price. @returns the ID of the charge, or the kind of the refusal */
async function buyOn({ ledger }: Storage, request: HoldRequest, price: number): Promise<string> {
  const { id } = request.facts
  const held = await ledger.hold(request)
  if (held.kind !== 'held') return held.kind
  await ledger.line(id, line(0, { price }))
  await ledger.settle({ id, delivery: 'confirmed', reason: null })
  return id
}

/** Tests of budgets of users and groups next to the key's budget, on both databases. */
export async function levelsContract(t: Test, make: Harness): Promise<void> {
  const { harness, storage } = await openHarness(t, make)
  const { ledger, books } = storage
  const sound = async (t: Test) => t.same((await books.verify()).problems, [])

  async function buy(request: HoldRequest, price: number): Promise<void> {
    const { id } = request.facts
    await ledger.hold(request)
    await ledger.line(id, line(0, { price }))
    await ledger.settle({ id, delivery: 'confirmed', reason: null })
  }

  await t.test('a hold is taken from key, user and group together, and settled at all of them', async t => {
    const { name, key, facts } = await newBuyer(storage, { budget: 1_000 })
    const levels = [user(name, 500), group(facts.group, 700)]
    const request = heldBy(key, 300, facts, levels)
    t.same(await ledger.hold(request), { kind: 'held' })
    t.match(await storage.keys.find(key.id), { held: 300, spent: 0 })
    t.same(await accountOf(harness, 'user', name), { spent: 0, held: 300 })
    t.same(await accountOf(harness, 'group', facts.group), { spent: 0, held: 300 })
    await sound(t)
    await ledger.line(request.facts.id, line(0, { price: 120 }))
    await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    t.match(await storage.keys.find(key.id), { held: 0, spent: 120 })
    t.same(await accountOf(harness, 'user', name), { spent: 120, held: 0 })
    t.same(await accountOf(harness, 'group', facts.group), { spent: 120, held: 0 })
    await sound(t)
  })

  await t.test('names the level that cannot cover a hold, and holds nothing at the others', async t => {
    const { name, key, facts } = await newBuyer(storage, { budget: 1_000 })
    const refusal = (level: string, availableMicros: number) => ({
      kind: 'overdrawn',
      level,
      availableMicros,
      heldMicros: 0,
      renewsAt: null,
    })
    const ask = (...levels: readonly Level[]) => ledger.hold(heldBy(key, 600, facts, levels))
    t.same(await ask(user(name, 599), group(facts.group, 5_000)), refusal('user', 599))
    t.same(await ask(user(name, 5_000), group(facts.group, 300)), refusal('group', 300))
    t.same(await ledger.hold(heldBy(key, 1_001, facts, [user(name, 9_000)])), refusal('key', 1_000))
    t.match(await storage.keys.find(key.id), { held: 0 })
    t.same(await accountOf(harness, 'user', name), { spent: 0, held: 0 })
    t.same(await accountOf(harness, 'group', facts.group), { spent: 0, held: 0 })
  })

  await t.test('a soft budget counts holds and spending, reports thresholds, and refuses nothing', async t => {
    const { name, key, facts } = await newBuyer(storage)
    const soft: Level = { ...group(facts.group, 100, 'month'), soft: true }
    const levels = [user(name, 1_000), soft]
    for (const price of [70, 60, 90]) await buy(heldBy(key, 100, facts, levels), price)
    t.same(await ledger.hold(heldBy(key, 300, facts, levels)), { kind: 'held' })
    t.same(await accountOf(harness, 'group', facts.group), { spent: 220, held: 300 })
    t.match(await ledger.hold(heldBy(key, 500, facts, levels)), { kind: 'overdrawn', level: 'user' })
    t.same(await accountOf(harness, 'group', facts.group), { spent: 220, held: 300 }, 'nothing stays held')
    const kinds = ['budget.threshold', 'budget.exhausted'] as const
    const { events } = await storage.events.page({ after: null, limit: 1_000, kinds: [...kinds] })
    t.strictSame(
      events.filter(({ data }) => data['name'] === facts.group).map(({ kind, data }) => [kind, data['percent']]),
      [
        ['budget.threshold', 80],
        ['budget.threshold', 100],
      ],
    )
    const many = await Promise.all(
      Array.from({ length: 40 }, () =>
        ledger.hold(heldBy(key, 10, { ...facts, group: 'all soft' }, [{ ...soft, name: 'all soft' }])),
      ),
    )
    t.ok(many.every(({ kind }) => kind === 'held'))
    t.same(await accountOf(harness, 'group', 'all soft'), { spent: 0, held: 400 })
    await sound(t)
  })

  await t.test('more keys do not mean more money: 200 holds by ten keys of a user with money for ten', async t => {
    const { name, key, facts } = await newBuyer(storage)
    const keys = [key]
    while (keys.length < 10) keys.push(await storage.keys.create(newKey({ user: name })))
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        ledger.hold(heldBy(keys[i % 10] as Key, 40, facts, [user(name, 400), group(facts.group, 100_000)])),
      ),
    )
    t.equal(results.filter(({ kind }) => kind === 'held').length, 10)
    t.match(
      results.find(({ kind }) => kind === 'overdrawn'),
      { level: 'user', availableMicros: 0, heldMicros: 400 },
    )
    t.same(await accountOf(harness, 'group', facts.group), { spent: 0, held: 400 })
    await sound(t)
  })

  await t.test('spending without a budget counts once there is one', async t => {
    const { name, key, facts } = await newBuyer(storage)
    await buy(heldBy(key, 100, facts, []), 70)
    ledger.post(
      { ...heldBy(key, 0, facts, []).facts },
      [line(0, { price: 5, quantity: 5, width: null, height: null })],
      'confirmed',
    )
    await storage.flush()
    t.match(await ledger.hold(heldBy(key, 26, facts, [user(name, 100)])), { level: 'user', availableMicros: 25 })
    t.match(await ledger.hold(heldBy(key, 26, facts, [group(facts.group, 100)])), {
      level: 'group',
      availableMicros: 25,
    })
    t.same(await ledger.hold(heldBy(key, 25, facts, [user(name, 100), group(facts.group, 100)])), { kind: 'held' })
    await sound(t)
  })

  await t.test('every outcome releases every level: voided, reviewed, decided, lapsed, posted, refunded', async t => {
    const { name, key, facts } = await newBuyer(storage, { budget: 10_000 })
    const levels = [user(name, 10_000), group(facts.group, 10_000)]
    const open = async (hold: number) => {
      const request = heldBy(key, hold, facts, levels)
      await ledger.hold(request)
      return request.facts
    }
    const stands = async (spent: number, held: number) => {
      t.match(await storage.keys.find(key.id), { spent, held })
      t.same(await accountOf(harness, 'user', name), { spent, held })
      t.same(await accountOf(harness, 'group', facts.group), { spent, held })
      await sound(t)
    }
    await ledger.void((await open(100)).id, 'nothing came')
    await stands(0, 0)
    await ledger.review((await open(100)).id, 'nobody knows')
    await stands(0, 0)
    const [decided, refused, late] = [await open(100), await open(100), await open(100)]
    for (const { id } of [decided, refused, late]) await ledger.review(id, 'nobody knows', { hold: 'kept' })
    await stands(0, 300)
    await books.resolve(decided.id, 'settle', 'boss', 'it came', 30)
    await stands(30, 200)
    await books.resolve(refused.id, 'void', 'boss', 'it did not')
    await stands(30, 100)
    await books.lapse(Date.now() + 1_000)
    await stands(30, 0)
    const posted = await open(100)
    ledger.post(posted, [line(0, { price: 40, quantity: 40, width: null, height: null })], 'confirmed')
    await storage.flush()
    await stands(70, 0)
    await books.refund(decided.id, 'boss', 'sorry')
    await books.refund(posted.id, 'boss', 'sorry')
    await stands(0, 0)
  })

  await t.test('the holds of a dead gateway are released at every level', async t => {
    const other = await harness.open('tool')
    const { name, key, facts } = await newBuyer(storage)
    const levels = [user(name, 1_000), group(facts.group, 1_000)]
    const [empty, lined] = [heldBy(key, 100, facts, levels), heldBy(key, 100, facts, levels)]
    for (const one of [empty, lined]) await ledger.hold(one)
    await ledger.line(lined.facts.id, line(0, { price: 60 }))
    await other.close()
    await storage.flush()
    // Without its lease and name, the process counts as dead: the next process to start ends its open charges.
    await harness.edit(`DELETE FROM replica`)
    const next = await harness.open('worker')
    t.same(await accountOf(harness, 'user', name), { spent: 60, held: 0 })
    t.same(await accountOf(harness, 'group', facts.group), { spent: 60, held: 0 })
    t.match(await next.keys.find(key.id), { spent: 60, held: 0 })
    await next.close()
  })

  await t.test('a prepaid balance limits all keys of its user, and refunds go back to it', async t => {
    const { users } = storage
    const { name, key, facts } = await newBuyer(storage)
    const other = await storage.keys.create(newKey({ user: name }))
    t.equal(await users.topUp('nobody', 5, null, 'boss'), undefined)
    t.match(await users.topUp(name, 300, 'invoice 7', 'boss'), { amount: 300, by: 'boss', note: 'invoice 7' })
    t.match(await storage.keys.find(key.id), { userBalance: 300 })
    const balance: Level = { kind: 'balance', name, amount: 1, per: 'total' }
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ledger.hold(heldBy(i % 2 ? key : other, 100, facts, [balance]))),
    )
    t.equal(results.filter(({ kind }) => kind === 'held').length, 3, 'amounts in the books count at once')
    t.match(
      results.find(({ kind }) => kind === 'overdrawn'),
      { level: 'balance', availableMicros: 0, heldMicros: 300 },
    )
    const [open] = (await books.all(null, 10_000)).filter(({ user }) => user === name)
    const id = open?.id ?? ''
    await ledger.line(id, line(0, { price: 80 }))
    await ledger.settle({ id, delivery: 'confirmed', reason: null })
    t.same(await accountOf(harness, 'balance', name), { spent: 80, held: 200 })
    await users.topUp(name, 50, null, 'boss')
    t.same(await ledger.hold(heldBy(key, 70, facts, [balance])), { kind: 'held' })
    t.match(await ledger.hold(heldBy(key, 1, facts, [balance])), { level: 'balance', availableMicros: 0 })
    await books.refund(id, 'boss', 'sorry')
    t.same(await accountOf(harness, 'balance', name), { spent: 0, held: 270 })
    t.match(await users.topUps(name), [{ amount: 50, note: null }, { amount: 300 }])
    t.match(
      (await books.levels()).find(one => one.kind === 'balance' && one.name === name),
      { held: 270, spent: { total: 0, day: 0, month: 0 } },
    )
    t.same(
      await books.levels([
        { kind: 'balance', name },
        { kind: 'balance', name },
        { kind: 'group', name: 'of nobody' },
      ]),
      (await books.levels()).filter(one => one.kind === 'balance' && one.name === name),
      'those that are named, each once',
    )
    t.same(await books.levels([]), [])
    await sound(t)
  })

  await t.test("a statement shows a balance's opening, payments, charges, refunds and closing", async t => {
    const clock = clockAt(Date.UTC(2027, 3, 20))
    const own = await openHarness(t, make, clock)
    const { name, key, facts } = await newBuyer(own.storage)
    const balance: Level = { kind: 'balance', name, amount: 10_000, per: 'total' }
    const { users, ledger: held, books: ownBooks } = own.storage
    const charge = async (price: number): Promise<string> => {
      const request = heldBy(key, price, facts, [balance])
      const { id } = request.facts
      t.same(await held.hold(request), { kind: 'held' }, caseName({ price }))
      await held.line(id, line(0, { price }))
      await held.settle({ id, delivery: 'confirmed', reason: null })
      return id
    }
    await users.topUp(name, 1_000, null, 'boss')
    const first = await charge(300)
    clock.set(Date.UTC(2027, 4, 3))
    await users.topUp(name, 500, 'more', 'boss')
    await users.topUp(name, 500, 'and more', 'boss')
    await charge(200)
    t.equal(await ownBooks.refund(first, 'boss', 'sorry'), 300)
    const nothing = heldBy(key, 90, facts, [balance])
    await held.hold(nothing)
    await held.void(nothing.facts.id, 'nothing came')
    held.post({ ...holdOf(key, 0, facts).facts }, [line(0, { price: 40 })], 'confirmed')
    clock.set(Date.UTC(2027, 5, 2))
    await users.topUp(name, 50, null, 'boss')
    await charge(10)
    await own.storage.flush()

    const may = { from: Date.UTC(2027, 4), until: Date.UTC(2027, 5) }
    const statement = await ownBooks.statement(may)
    t.strictSame(differencesOf(statement), [])
    const left = { counted: 1_840, booked: 1_840 }
    t.same(statement.balances, [
      {
        user: name,
        group: 'default',
        opening: 700,
        topUps: 2,
        toppedUp: 1_000,
        charged: 200,
        refunded: 300,
        closing: 1_800,
        ...left,
      },
    ])
    const june = await ownBooks.statement({ from: may.until, until: Date.UTC(2027, 6) })
    t.match(june.balances, [{ opening: 1_800, topUps: 1, toppedUp: 50, charged: 10, refunded: 0, closing: 1_840 }])
    // The ledger keeps the name and the remaining balance.
    t.match(await users.erase(name, 'boss'), { pseudonym: /^erased-/ })
    const erased = await ownBooks.statement(may)
    t.strictSame(differencesOf(erased), [])
    t.same(erased.balances, statement.balances, 'the same for an erased person')
    await own.harness.edit(`UPDATE account SET spent = spent + 1 WHERE kind = 'balance'`)
    t.strictSame(differencesOf(await ownBooks.statement(may)), [
      `balance of ${name}: the ledger's entries leave 0.00184, the books 0.001839`,
    ])
  })

  await t.test('an audit finds a balance without a top-up, and changed entries', async t => {
    const own = await openHarness(t, make)
    const { name } = await newBuyer(own.storage)
    const made = await own.storage.users.topUp(name, 300, null, 'boss')
    t.same((await own.storage.books.verify()).problems, [])
    await own.harness.edit(`UPDATE "user" SET balance = 900 WHERE name = '${name}'`)
    t.same((await own.storage.books.verify()).problems, [`user ${name}: has top-ups of 900, but entries of 300`])
    await own.harness.tamper('UPDATE topup SET amount = 900')
    t.match((await own.storage.books.verify()).problems, [
      /entries of .*: 1 has been changed/,
      `topup ${made?.id}: was changed after the payment`,
    ])
  })

  await t.test('an audit names the level that differs from its charges', async t => {
    const own = await openHarness(t, make)
    const { key, facts } = await newBuyer(own.storage)
    await own.storage.ledger.hold(heldBy(key, 50, facts, [group(facts.group, 100)]))
    await own.harness.edit(`UPDATE account SET held = 7, spent = 3 WHERE kind = 'group' AND name = '${facts.group}'`)
    t.same((await own.storage.books.verify()).problems, [
      `group ${facts.group}: has spent 3, its charges say 0`,
      `group ${facts.group}: holds 7, its open charges say 50`,
    ])
  })

  await t.test('more damaged budgets than an audit lists are all corrected', async t => {
    const { harness, storage } = await openHarness(t, make)
    await Promise.all(Array.from({ length: 1_010 }, async () => storage.keys.create(newKey())))
    await harness.edit('UPDATE key SET spent = spent + 1')
    const { problems } = await storage.books.verify()
    t.equal(problems.length, 1_001)
    t.equal(problems.at(-1), 'and 10 more')
    t.equal((await storage.books.repairBudgets('boss'))?.length, 1_010)
    t.same((await storage.books.verify()).problems, [])
  })
}

type Player = { readonly key: Key; readonly user: string; readonly group: string; readonly levels: readonly Level[] }

/** Random concurrent requests of many kinds on budgets too small for all of them. A comment reports the seed. */
export async function mixedContract(t: Test, make: Harness): Promise<void> {
  await t.test('random mixed requests never overdraw a level, and all levels agree', async t => {
    t.comment(`SEED=${seed}`)
    const random = seeded(seed)
    const upTo = (most: number): number => Math.floor(random() * most)
    const { harness, storage } = await openHarness(t, make)
    const { ledger, books } = storage
    const [ofGroup, ofUser] = [3_000, 1_200]
    const players: Player[] = []
    for (let i = 0; i < 9; i++) {
      const [user, group] = [`user${Math.floor(i / 3)}`, `group${i % 2}`]
      if (i % 3 === 0) await storage.users.create({ name: user, group, role: 'user', passwordHash: null })
      const key = await storage.keys.create(newKey({ user, budget: i % 4 === 0 ? 500 : null }))
      // One group and one user have no budget.
      const levels: Level[] = []
      if (user !== 'user2') levels.push({ kind: 'user', name: user, amount: ofUser, per: i === 4 ? 'day' : 'total' })
      if (group !== 'group1') levels.push({ kind: 'group', name: group, amount: ofGroup, per: 'total' })
      players.push({ key, user, group, levels })
    }
    const settled: string[] = []
    const play = async (): Promise<void> => {
      const { key, user, group, levels } = players[upTo(players.length)] as Player
      const request: HoldRequest = { ...holdOf(key, 20 + upTo(80), { user, group }), levels }
      const [how, price, refunds] = [upTo(6), upTo(request.hold + 1), random() < 0.2]
      const { id } = request.facts
      const isFree = key.budget === null && levels.length === 0
      if (isFree && how === 0)
        return ledger.post(request.facts, [line(0, { price, quantity: 1, width: null, height: null })], 'confirmed')
      // On a busy machine a database may time out: the caller gets an error, and the hold is released.
      const held = await ledger.hold(request).catch((error: unknown) => {
        if ((error as { code?: string }).code !== 'storage_unavailable') throw error
      })
      if (held?.kind !== 'held') return
      if (how === 1) return void (await ledger.void(id, 'nothing came'))
      if (how === 2) {
        await ledger.review(id, 'nobody knows', { hold: price % 2 === 0 ? 'kept' : 'released' })
        if (price % 3 === 0) await books.resolve(id, 'void', 'boss', 'no')
        return
      }
      if (how === 3)
        return ledger.post(request.facts, [line(0, { price, quantity: 1, width: null, height: null })], 'partial')
      await ledger.line(id, line(0, { price }))
      await ledger.settle({ id, delivery: 'confirmed', reason: null })
      settled.push(id)
      const one = settled[upTo(settled.length)]
      if (refunds && one !== undefined) await books.refund(one, 'boss', 'sorry')
    }
    for (let round = 0; round < 15; round++) await Promise.all(Array.from({ length: 20 }, play))
    await storage.flush()
    for (let open = 1; open > 0; ) {
      await books.lapse(Date.now() + 1_000)
      open = (await books.open()).reduce((sum, { count }) => sum + count, 0)
      if (open > 0) await new Promise(resolve => setTimeout(resolve, 20))
    }
    t.same((await books.verify()).problems, [])
    const stuck = await harness.read('SELECT kind, name FROM account GROUP BY kind, name HAVING sum(held) <> 0')
    t.same(stuck, [], 'nothing stays held')
    const sums = await harness.read(`SELECT 'key' AS kind, sum(spent) AS spent FROM key
      UNION ALL SELECT kind, sum(spent) AS spent FROM account GROUP BY kind`)
    t.equal(new Set(sums.map(({ spent }) => Number(spent))).size, 1, JSON.stringify(sums))
    for (const [kind, name, most] of [
      ['group', 'group0', ofGroup],
      ['user', 'user0', ofUser],
      ['user', 'user1', ofUser],
    ] as const) {
      const { spent = 0 } = (await accountOf(harness, kind, name)) ?? {}
      t.ok(spent >= 0 && spent <= most, `${kind} ${name} has spent ${spent} of ${most}`)
    }
  })
}

/** Tests of daily and monthly budgets, under a clock that the test sets. */
export async function zonesContract(t: Test, make: Harness): Promise<void> {
  await t.test("a user's day and a group's month renew in the zone of budgets", async t => {
    const clock = clockAt(noon)
    const harness = await make()
    const storage = await harness.open('gateway', clock, undefined, 'Asia/Tokyo')
    t.teardown(async () => {
      await storage.close()
      await harness.close()
    })
    const { name, key, facts } = await newBuyer(storage, { budget: 1_000 })
    await storage.keys.change(key.id, { budgetPeriod: 'day' }, 'test')
    const levels = [user(name, 100, 'day'), group(facts.group, 150, 'month')]
    const buy = async (price: number) => {
      const request = heldBy(key, price, facts, levels)
      const held = await storage.ledger.hold(request)
      if (held.kind !== 'held') return held
      await storage.ledger.line(request.facts.id, line(0, { price }))
      await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      return undefined
    }
    await buy(100)
    const midnight = Date.UTC(2027, 4, 16, 15)
    t.match(await buy(1), { level: 'user', availableMicros: 0, renewsAt: midnight }, 'midnight of Tokyo')
    clock.set(midnight - 1)
    t.match(await buy(1), { level: 'user' })
    clock.set(midnight)
    t.match(await buy(51), { level: 'group', availableMicros: 50, renewsAt: Date.UTC(2027, 4, 31, 15) })
    t.equal(await buy(50), undefined)
    clock.set(noon)
    t.match(await buy(1), { level: 'user' }, 'after the clock goes back, the day is unchanged')
    clock.set(Date.UTC(2027, 4, 31, 15))
    t.equal(await buy(100), undefined, 'the month is another one')
    t.same((await storage.books.verify()).problems, [])
    clock.set(noon + 60 * day)
    t.equal(await buy(100), undefined)
  })
  await t.test('a refund takes no more from a day than was booked on it', async t => {
    const midnight = Date.UTC(2027, 4, 17)
    const clock = clockAt(midnight + 60_000)
    const harness = await make()
    const storage = await harness.open('gateway', clock)
    t.teardown(async () => {
      await storage.close()
      await harness.close()
    })
    const { name, key, facts } = await newBuyer(storage, { budget: 100 })
    await storage.keys.change(key.id, { budgetPeriod: 'day' }, 'test')
    const buy = async (price: number) => buyOn(storage, heldBy(key, price, facts, [user(name, 100, 'day')]), price)
    await buy(5)
    clock.set(midnight - 60_000)
    const last = await buy(80)
    clock.set(midnight - 4 * 3_600_000)
    t.not(await buy(10), 'overdrawn', 'the clock went back: the day before')
    t.equal(await storage.books.refund(last, 'boss', 'sorry'), 80)
    t.match(await storage.keys.find(key.id), { spentIn: { day: { spent: 0 } } })
    const [row] = await harness.read(
      `SELECT sum(day_spent) AS day FROM account WHERE kind = 'user' AND name = '${name}'`,
    )
    t.equal(Number(row?.['day']), 0)
    t.equal(await buy(101), 'overdrawn')
  })
}

/** Tests of amounts that were booked in another time zone than the current one. */
export async function zoneChangeContract(t: Test, make: Harness): Promise<void> {
  await t.test("a refund of another zone's day is not spent again on a day of this zone", async t => {
    const clock = clockAt(Date.UTC(2027, 4, 31, 15, 30))
    const harness = await make()
    const storages = [await harness.open('gateway', clock)]
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await harness.close()
    })
    const [first] = storages as [Storage]
    const { name, key, facts } = await newBuyer(first, { budget: 100 })
    await first.keys.change(key.id, { budgetPeriod: 'month' }, 'test')
    const levels = [user(name, 100, 'day'), group(facts.group, 100, 'month')]
    const buy = async (storage: Storage, price: number) => buyOn(storage, heldBy(key, price, facts, levels), price)
    const early = await buy(first, 10)
    clock.set(Date.UTC(2027, 4, 31, 15, 40))
    const last = await buy(first, 80)
    await first.close()
    // It is half past midnight on 1 June in Tokyo: purchases of May in UTC belong to June in this zone.
    clock.set(Date.UTC(2027, 4, 31, 16))
    const second = await harness.open('gateway', clock, undefined, 'Asia/Tokyo')
    storages[0] = second
    t.not(await buy(second, 100), 'overdrawn', 'a day and a month of their own')
    for (const id of [early, last]) t.ok((await second.books.refund(id, 'boss', 'sorry')) > 0)
    t.equal(await buy(second, 1), 'overdrawn')
    t.same((await second.books.verify()).problems, [])
    t.match(await second.keys.find(key.id), { spent: 100, held: 0 })
  })

  await t.test('a refund of a purchase at the change of the zone opens no day of this zone', async t => {
    // The second: a gateway of the earlier zone still ran.
    for (const lateMs of [0, 60_000]) {
      const clock = clockAt(Date.UTC(2027, 4, 31, 16))
      const harness = await make()
      const storages = [await harness.open('gateway', clock, undefined, 'Asia/Tokyo')]
      t.teardown(async () => {
        for (const storage of storages) await storage.close()
        await harness.close()
      })
      const [first] = storages as [Storage]
      const { name, key, facts } = await newBuyer(first, { budget: 100 })
      await first.keys.change(key.id, { budgetPeriod: 'day' }, 'test')
      const levels = [user(name, 100, 'day'), group(facts.group, 100, 'day')]
      const buy = async (storage: Storage, price: number) => buyOn(storage, heldBy(key, price, facts, levels), price)
      const early = await buy(first, 80)
      await first.close()
      const second = await harness.open('gateway', clock)
      storages[0] = second
      await harness.edit(`UPDATE meta SET value = value - ${lateMs} WHERE name = 'budget_zone_since'`)
      clock.set(Date.UTC(2027, 4, 31, 16, 2))
      t.not(await buy(second, 10), 'overdrawn', caseName({ lateMs }))
      t.equal(await second.books.refund(early, 'boss', 'sorry'), 80, caseName({ lateMs }))
      t.equal(await buy(second, 91), 'overdrawn', caseName({ lateMs }))
      t.match(await second.keys.find(key.id), { spentIn: { day: { spent: 10 } } }, caseName({ lateMs }))
      for (const kind of ['user', 'group'] as const) {
        const of = kind === 'user' ? name : facts.group
        const rows = await harness.read(
          `SELECT sum(day_spent) AS day FROM account WHERE kind = '${kind}' AND name = '${of}'`,
        )
        t.equal(Number(rows[0]?.['day']), 10, caseName({ lateMs, kind }))
      }
    }
  })

  await t.test('a day that began in an earlier zone, which was ahead, is no finding', async t => {
    const clock = clockAt(Date.UTC(2027, 4, 31, 16))
    const harness = await make()
    const storages = [await harness.open('gateway', clock, undefined, 'Asia/Tokyo')]
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await harness.close()
    })
    const [first] = storages as [Storage]
    const { key, facts } = await newBuyer(first)
    await buyOn(first, heldBy(key, 80, facts, []), 80)
    await first.close()
    clock.set(Date.UTC(2027, 4, 31, 16, 1))
    const second = await harness.open('gateway', clock)
    storages[0] = second
    clock.set(Date.UTC(2027, 5, 1, 0, 30))
    t.same((await second.books.verify()).problems, [])
  })

  await t.test('a refund of a month that is the same in every zone goes back to it', async t => {
    const clock = clockAt(noon)
    const harness = await make()
    const storages = [await harness.open('gateway', clock)]
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await harness.close()
    })
    const [first] = storages as [Storage]
    const { key, facts } = await newBuyer(first, { budget: 1_000 })
    const levels = [group(facts.group, 100, 'month')]
    const id = await buyOn(first, heldBy(key, 100, facts, levels), 100)
    await first.close()
    const second = await harness.open('gateway', clock, undefined, 'Asia/Tokyo')
    storages[0] = second
    t.match(await second.ledger.hold(heldBy(key, 1, facts, levels)), { level: 'group' })
    await second.books.refund(id, 'boss', 'sorry')
    t.match(await second.ledger.hold(heldBy(key, 100, facts, levels)), { kind: 'held' })
  })
}

/** Tests that an audit proves the current day and month. */
export async function runningContract(t: Test, make: Harness): Promise<void> {
  await t.test('an audit proves the current day and month of keys and accounts, in the zone of budgets', async t => {
    const clock = clockAt(noon)
    const harness = await make()
    const storages = [await harness.open('gateway', clock, undefined, 'Asia/Tokyo')]
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await harness.close()
    })
    const [storage] = storages as [Storage]
    const { name, key, facts } = await newBuyer(storage, { budget: 10_000 })
    const buy = async (price: number) => buyOn(storage, heldBy(key, price, facts, [user(name, 10_000, 'day')]), price)
    const post = async (price: number) => {
      const { facts: own } = heldBy(key, 0, facts, [])
      storage.ledger.post(own, [line(0, { price, quantity: 1, width: null, height: null })], 'confirmed')
      await storage.flush()
    }
    const problems = async () => (await storage.books.verify()).problems
    const before = await buy(100)
    await post(30)
    const midnight = Date.UTC(2027, 4, 16, 15)
    clock.set(midnight + 60_000)
    t.same(await problems(), [])
    await buy(20)
    // Another clock is behind: its charge counts on the new day.
    clock.set(midnight - 60_000)
    await buy(3)
    t.same(await problems(), [], 'before midnight, with sums of the next day')
    clock.set(midnight + 120_000)
    await storage.books.refund(before, 'boss', 'sorry')
    await storage.books.refund(await buy(50), 'boss', 'sorry')
    await post(4)
    t.same(await problems(), [])
    await harness.edit(`UPDATE key SET day_spent = day_spent + 7 WHERE id = '${key.id}'`)
    await harness.edit(
      `UPDATE account SET month_spent = month_spent - 5 WHERE kind = 'user' AND name = '${name}' AND part = ''`,
    )
    t.same(await problems(), [
      `key ${key.id}: has spent 34 today, its charges say 24`,
      `user ${name}: has spent 52 this month, its charges say 57`,
    ])
    clock.set(midnight + 40 * day)
    t.same(await problems(), [], 'of days and months that are over nothing depends')
    await storage.close()
    // Days of another zone begin at other times: the audit proves nothing about days in progress at the change.
    storages[0] = await harness.open('gateway', clock, undefined, 'UTC')
    t.same((await storages[0].books.verify()).problems, [])
  })
}

/** Tests which levels a caller's key and group result in. */
export function levelsOfCallers(t: Test, someKey: (changes: Partial<Key>) => Key): void {
  const plain = { name: 'default', limits: {}, limitScope: 'key', multiplier: '1' } as const
  const ofGroup = { amount: 5, per: 'day' } as const
  const none = someKey({})
  t.same(levelsOf({ key: none, group: plain }), [])
  t.notOk(isBounded({ key: none, group: plain }))
  t.ok(isBounded({ key: someKey({ budget: 0 }), group: plain }))
  const key = someKey({ user: 'anna', userBudget: 7, userBudgetPeriod: 'month', userBalance: 3 })
  t.same(
    levelsOf({ key, group: { ...plain, budget: ofGroup, userBudget: ofGroup } }),
    [
      { kind: 'user', name: 'anna', amount: 7, per: 'month' },
      { kind: 'balance', name: 'anna', amount: 3, per: 'total' },
      { kind: 'group', name: 'default', amount: 5, per: 'day' },
    ],
    "a user's own budget stands before what the group gives its users",
  )
  const others = someKey({ user: 'ben' })
  t.same(levelsOf({ key: others, group: { ...plain, userBudget: ofGroup } }), [
    { kind: 'user', name: 'ben', amount: 5, per: 'day' },
  ])
  const books = {
    plan: {
      groups: new Map([['default', { ...plain, budget: { amount: 50, per: 'month' as const }, userBudget: ofGroup }]]),
      timeZone: 'UTC',
    },
    sums: [
      { kind: 'group', name: 'default', held: 5, spent: { total: 99, day: 1, month: 30 } },
      { kind: 'user', name: 'ben', held: 0, spent: { total: 9, day: 4, month: 4 } },
    ],
    now: noon,
  } as const
  t.match(budgetStatuses({ ...books, users: [], keys: [others] }), [
    { level: 'group', name: 'default', user: null, spent: 30, held: 5, left: 15, renews: Date.UTC(2027, 5, 1) },
  ])
  t.same(
    levelsAbove(books.plan, [
      others,
      someKey({ user: 'ben', budget: 0 }),
      someKey({ user: 'eve', userBalance: 3 }),
    ]).map(({ kind, name }) => ({ kind, name })),
    [
      { kind: 'user', name: 'ben' },
      { kind: 'group', name: 'default' },
      { kind: 'user', name: 'eve' },
      { kind: 'balance', name: 'eve' },
    ],
    'each account once',
  )
  t.match(tightestOf(books, others), { level: 'user', name: 'ben', amount: 5, spent: 4, left: 1 })
  t.match(tightestOf(books, someKey({ user: 'ben', budget: 0 })), { level: 'key', left: 0 })
}
