import type { Test } from 'tap'
import type { ChargeFacts, Key, Level, Storage } from '../../src/domain/index.ts'
import type { Clock } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'
import { clockAt, type Harness, holdOf, line, newKey, type StorageHarness } from './storage.ts'
import { seed, seeded } from '../harness/seed.ts'

const zone = 'Europe/Berlin'
const thresholds = [50, 80, 100]
/** A time before the night in which the clocks are put back. */
const begins = Date.UTC(2027, 9, 29, 9)

type Per = Level['per']
/** A budget in the model, with its owner. */
type Purse = { readonly level: string; readonly name: string; amount: number; per: Per; held: number }
type Sold = {
  readonly id: string
  readonly purses: readonly string[]
  readonly amount: number
  readonly at: number
  isBack: boolean
}

/** Recomputes budget reports without a database: every report goes through all charges again. */
class Model {
  readonly told: string[] = []
  readonly sold: Sold[] = []
  readonly #highest = new Map<string, number>()
  readonly #over = new Set<string>()

  spent({ level, name, per }: Purse, at: number): number {
    return this.sold
      .filter(
        one => !one.isBack && one.purses.includes(`${level} ${name}`) && spellOf(per, one.at) === spellOf(per, at),
      )
      .reduce((sum, { amount }) => sum + amount, 0)
  }

  tell(purse: Purse, at: number, isRefused: boolean): void {
    const { level, name, amount, per } = purse
    const spent = this.spent(purse, at)
    const budget = `${level} ${name} ${per} ${spellOf(per, at)} ${amount}`
    for (const percent of thresholds) {
      if (amount === 0 || spent * 100 < percent * amount || percent <= (this.#highest.get(budget) ?? 0)) continue
      this.#highest.set(budget, percent)
      this.told.push(`threshold ${level} ${name} ${per} ${amount} at ${percent}`)
    }
    if ((!isRefused && (amount === 0 || spent < amount)) || this.#over.has(budget)) return
    this.#over.add(budget)
    this.told.push(`exhausted ${level} ${name} ${per} ${amount} ${isRefused ? 'refused' : 'spent'}`)
  }
}

/** The date or the month in the test's zone, computed in another way than the product does. */
function spellOf(per: Per, at: number): string {
  if (per === 'total') return ''
  const date = new Intl.DateTimeFormat('sv-SE', { timeZone: zone }).format(at)
  return per === 'day' ? date : date.slice(0, 7)
}

async function toldIn(storage: Storage): Promise<string[]> {
  const { events } = await storage.events.page({
    after: null,
    limit: 10_000,
    kinds: ['budget.threshold', 'budget.exhausted'],
  })
  return events.map(({ kind, data }) => {
    const [level, name, per, percent] = ['level', 'name', 'per', 'percent'].map(
      member => data[member] as string | number,
    )
    const amount = Math.round(Number(data['amount']) * 1e6)
    const end = kind === 'budget.threshold' ? `at ${percent}` : data['refused'] === true ? 'refused' : 'spent'
    return `${kind.slice('budget.'.length)} ${level} ${name} ${per} ${amount} ${end}`
  })
}

async function openSeveral(harness: StorageHarness, clock: Clock, count: number): Promise<Storage[]> {
  const storages: Storage[] = []
  const role = count === 1 ? 'gateway' : 'worker'
  while (storages.length < count) storages.push(await harness.open(role, clock, undefined, zone, thresholds))
  return storages
}

/** Compares budget reports with a model under random charges, refunds, budget changes, top-ups and nights. */
export async function toldContract(t: Test, make: Harness, replicas: number): Promise<void> {
  await t.test('each threshold of a budget is reported once per period and amount, by whichever process', async t => {
    t.comment(`SEED=${seed}`)
    const random = seeded(seed)
    const upTo = (most: number): number => Math.floor(random() * most)
    const clock = clockAt(begins)
    const harness = await make()
    const storages = await openSeveral(harness, clock, replicas)
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await harness.close()
    })
    const any = (): Storage => storages[upTo(storages.length)] as Storage
    const [first] = storages as [Storage]
    const model = new Model()

    await first.users.create({ name: 'anna', group: 'team', role: 'user', passwordHash: null })
    const keys = [
      await first.keys.create(newKey({ user: 'anna', budget: 4_000, budgetPeriod: 'day' })),
      await first.keys.create(newKey({ user: 'anna' })),
    ]
    const ofKey: Purse = { level: 'key', name: keys[0]?.id ?? '', amount: 4_000, per: 'day', held: 0 }
    const ofUser: Purse = { level: 'user', name: 'anna', amount: 9_000, per: 'month', held: 0 }
    const balance: Purse = { level: 'balance', name: 'anna', amount: 20_000, per: 'total', held: 0 }
    const group: Purse = { level: 'group', name: 'team', amount: 6_000, per: 'day', held: 0 }
    await first.users.topUp('anna', 20_000, null, 'boss')
    const pursesOf = (key: Key): readonly Purse[] => [...(key === keys[0] ? [ofKey] : []), ofUser, balance, group]
    const levelsOf = (): readonly Level[] =>
      [ofUser, balance, group].map(({ level, name, amount, per }) => ({
        kind: level as Level['kind'],
        name,
        amount,
        per,
      }))
    const allOf = (key: Key, isBalance: boolean): readonly string[] => [
      `key ${key.id}`,
      'user anna',
      'group team',
      ...(isBalance ? ['balance anna'] : []),
    ]
    const facts: Partial<ChargeFacts> = { user: 'anna', group: 'team' }

    async function buy(): Promise<void> {
      const key = keys[upTo(2)] as Key
      const request = { ...holdOf(key, upTo(1_500), facts), levels: levelsOf() }
      const { id } = request.facts
      const purses = pursesOf(key).map(purse => ({ purse, amount: purse.amount }))
      const { ledger } = any()
      const result = await ledger.hold(request)
      for (const { purse } of purses) {
        const left = purse.amount - purse.held - model.spent(purse, clock.now())
        model.tell(purse, clock.now(), left < request.hold)
        if (left >= request.hold) continue
        t.match(result, { kind: 'overdrawn', level: purse.level }, caseName({ level: purse.level }))
        return
      }
      t.same(result, { kind: 'held' })
      for (const { purse } of purses) purse.held += request.hold
      const how = random()
      // The request may end on another day, and its budget may have changed by then.
      if (how < 0.1) clock.set(clock.now() + upTo(20) * 3_600_000)
      if (how > 0.95) await changeUser()
      for (const { purse } of purses) purse.held -= request.hold
      const price = upTo(request.hold + 1)
      if (how > 0.4 && how < 0.5) return void (await ledger.void(id, 'nothing came'))
      await ledger.line(id, line(0, { price }))
      await ledger.settle({ id, delivery: 'confirmed', reason: null })
      model.sold.push({ id, purses: allOf(key, true), amount: price, at: clock.now(), isBack: false })
      for (const { purse, amount } of purses) {
        // Levels report against the amount at the time of the hold; keys and balances report against their current row.
        const was = purse.level === 'key' || purse.level === 'balance' ? purse : { ...purse, amount }
        model.tell(was, clock.now(), false)
      }
    }

    /** Spends without a hold on any budget: the next request with a hold notices it. */
    async function spendFreely(): Promise<void> {
      const key = keys[1] as Key
      const price = 1 + upTo(400)
      const one = any()
      const { facts: own } = holdOf(key, 0, facts)
      one.ledger.post(own, [line(0, { price, quantity: 1, width: null, height: null })], 'confirmed')
      await one.flush()
      model.sold.push({ id: own.id, purses: allOf(key, false), amount: price, at: clock.now(), isBack: false })
    }

    async function refund(): Promise<void> {
      const one = model.sold[upTo(model.sold.length)]
      if (!one || one.isBack) return
      await any().books.refund(one.id, 'boss', 'sorry')
      one.isBack = true
    }

    async function changeUser(): Promise<void> {
      ofUser.amount = 7_000 + 1_000 * upTo(4)
    }

    async function changeBudgets(): Promise<void> {
      await changeUser()
      group.amount = 3_000 * upTo(4)
      const budget = 3_000 + 1_000 * upTo(3)
      await any().keys.change(ofKey.name, { budget }, 'boss')
      ofKey.amount = budget
      if (random() < 0.3) {
        await any().users.topUp('anna', 5_000, null, 'boss')
        balance.amount += 5_000
      }
    }

    for (let step = 0; step < 150; step++) {
      const what = random()
      if (what < 0.72) await buy()
      else if (what < 0.8) await spendFreely()
      else if (what < 0.88) await refund()
      else if (what < 0.94) await changeBudgets()
      else clock.set(clock.now() + upTo(16) * 3_600_000)
    }
    t.same((await toldIn(first)).sort(), [...model.told].sort(), `SEED=${seed}`)
    t.ok(model.told.length > 8, `${model.told.length} were told`)
    t.same((await first.books.verify()).problems, [])
  })

  await t.test('many gateways that cross a threshold at once report it once', async t => {
    const clock = clockAt(begins)
    const harness = await make()
    const storages = await openSeveral(harness, clock, replicas)
    t.teardown(async () => {
      for (const storage of storages) await storage.close()
      await harness.close()
    })
    const [first] = storages as [Storage]
    await first.users.create({ name: 'ben', group: 'team', role: 'user', passwordHash: null })
    const keys: Key[] = []
    while (keys.length < 12) keys.push(await first.keys.create(newKey({ user: 'ben' })))
    const levels = [
      { kind: 'user', name: 'ben', amount: 3_000, per: 'month' },
      { kind: 'group', name: 'team', amount: 4_000, per: 'day' },
    ] as const
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const { ledger } = storages[i % storages.length] as Storage
        const request = { ...holdOf(keys[i % 12] as Key, 100, { user: 'ben', group: 'team' }), levels }
        // On a busy machine a database may not answer in time.
        const held = await ledger.hold(request).catch(() => undefined)
        if (held?.kind !== 'held') return
        await ledger.line(request.facts.id, line(0, { price: 100 }))
        await ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      }),
    )
    const events = await toldIn(first)
    t.equal(new Set(events.map(text => text.replace(/ (?:spent|refused)$/, ''))).size, events.length, events.join('; '))
    const sums = await first.books.levels()
    for (const { kind, name, amount, per } of levels) {
      const spent = sums.find(one => one.kind === kind && one.name === name)?.spent[per] ?? 0
      for (const percent of thresholds)
        t.equal(
          events.includes(`threshold ${kind} ${name} ${per} ${amount} at ${percent}`),
          spent * 100 >= amount * percent,
          `${kind} at ${percent} %, ${spent} of ${amount} are spent`,
        )
    }
  })
}
