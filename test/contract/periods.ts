import type { Test } from 'tap'
import {
  accountOfEndUser,
  type BudgetPeriod,
  budgetUsed,
  type HoldRequest,
  isWindow,
  type Key,
  type Level,
  levelsOf,
  splitPeriod,
  type Storage,
  weekdays,
} from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { someGroup } from '../harness/request-context.ts'
import { diceOf, seed } from '../harness/seed.ts'
import { clockAt, type Harness, holdOf, line, newKey } from './storage.ts'

const hour = 3_600_000
const day = 24 * hour

/** Returns a function that computes the date of a time in a zone, in days, without the gateway's own code. */
function dateReader(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' })
  return at => Date.parse(`${format.format(at)}T00:00:00Z`) / day
}

const monthOf = (date: number): string => new Date(date * day).toISOString().slice(0, 7)

/** Whether an amount of one day counts in the period of another. Written independently of the gateway, day by day. */
function counts(period: BudgetPeriod, first: number, last: number): boolean {
  if (period === 'total') return true
  // A calendar month has one sum, including days that a clock was ahead in.
  if (period === 'month') return monthOf(first) === monthOf(last)
  if (first > last) return false
  const { per, resetsOn } = splitPeriod(period)
  if (per === 'day') return first === last
  if (per.endsWith('d')) return last - first < Number.parseInt(per, 10)
  for (let at = last; at > first; at--) {
    const date = new Date(at * day)
    const begins = per === 'week' ? weekdays[(date.getUTCDay() + 6) % 7] : date.getUTCDate()
    if (begins === resetsOn) return false
  }
  return true
}

type Payer = {
  readonly level:
    | Level
    | { readonly kind: 'key'; readonly name: string; readonly amount: number; readonly per: BudgetPeriod }
}
type Made = {
  readonly id: string
  readonly payers: readonly string[]
  /** The date on which the charge is booked. */
  readonly date: number
  readonly price: number
  refunded: number
}
/** The periods of a key, a user, a group and end users. */
type Round = {
  readonly periods: readonly BudgetPeriod[]
  readonly zone: string
  readonly begins: number
  readonly goesBack?: true
}
type Open = {
  readonly request: HoldRequest
  readonly payers: readonly string[]
  readonly gateway: number
  readonly hold: number
  readonly isBounded: boolean
}

const nameOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string => `${kind} ${name}`

/**
 * Compares budgets of every period with a simple model: random charges, holds and refunds of one or two gateways, over
 * weeks.
 */
export async function periodsContract(t: Test, make: Harness, fleet: 1 | 2): Promise<void> {
  // The rounds cover: two days before the end of a month, in the middle of a week; days of 23 and 25 hours; a clock
  // change of
  // half an hour; a day without a midnight; and a clock that goes back.
  const rounds = [
    { periods: ['7d', 'week', 'month@15', '3d'], zone: 'UTC', begins: Date.UTC(2027, 4, 29, 9) },
    { periods: ['week@wednesday', '30d', '7d', 'month'], zone: 'America/New_York', begins: Date.UTC(2027, 10, 2, 15) },
    { periods: ['month', 'month@28', '2d', 'week'], zone: 'Africa/Cairo', begins: Date.UTC(2027, 3, 27, 9) },
    {
      periods: ['14d', 'day', 'week@sunday', 'day'],
      zone: 'Australia/Lord_Howe',
      begins: Date.UTC(2027, 2, 31, 1),
      goesBack: true,
    },
    { periods: ['7d', 'month', 'week', '30d'], zone: 'UTC', begins: Date.UTC(2027, 4, 29, 9), goesBack: true },
  ] as const satisfies readonly Round[]
  for (const [round, { periods, zone, begins, ...more }] of rounds.entries()) {
    const [ofKey, ofUser, ofGroup, ofEndUser] = periods
    const goesBack = 'goesBack' in more
    await t.test(
      `${fleet === 1 ? 'a gateway enforces' : 'two gateways enforce'} a budget for ${ofKey} of a key, ${ofEndUser} of end users, ${ofUser} of a user and ${ofGroup} of a group exactly in ${zone}${goesBack ? ', with a clock that goes back' : ''}`,
      async t => {
        const dice = diceOf(seed + round)
        const dateOf = dateReader(zone)
        const noonOf = (date: number): number => {
          let at = date * day + 12 * hour
          while (dateOf(at) !== date) at += dateOf(at) < date ? hour : -hour
          return at
        }
        const harness = await make()
        const clock = clockAt(begins)
        const gateways: Storage[] = []
        for (let one = 0; one < fleet; one++) gateways.push(await harness.open('gateway', clock, undefined, zone))
        const first = (): Storage => gateways[0] as Storage
        t.teardown(async () => {
          for (const one of gateways) await one.close()
          await harness.close()
        })
        await first().users.create({ name: 'ann', group: 'team', role: 'user', passwordHash: null })
        const key = await first().keys.create(newKey({ user: 'ann', budget: 3_000, budgetPeriod: ofKey }))
        const free = await first().keys.create(newKey({ user: 'ann' }))
        const endUsers: string[] = []
        for (const name of ['ada', 'ben'])
          endUsers.push(await first().labels.idOf({ kind: 'end_user', name, keyId: key.id, most: 5, mostPerKey: 5 }))
        let above: readonly Level[] = [
          { kind: 'user', name: 'ann', amount: 4_000, per: ofUser },
          { kind: 'group', name: 'team', amount: 5_000, per: ofGroup },
        ]
        let ofEndUsers = endUsers.map(
          (id): Level => ({ kind: 'end_user', name: accountOfEndUser(id, 'ann'), amount: 2_000, per: ofEndUser }),
        )
        let ownBudget: Payer['level'] = { kind: 'key', name: key.id, amount: 3_000, per: ofKey }
        const made: Made[] = []
        const open: Open[] = []
        let count = 0
        const spent = (payer: string, per: BudgetPeriod): number =>
          made
            .filter(one => one.payers.includes(payer) && counts(per, one.date, dateOf(clock.now())))
            .reduce((sum, one) => sum + one.price - one.refunded, 0)
        const held = (payer: string): number =>
          open.filter(one => one.isBounded && one.payers.includes(payer)).reduce((sum, one) => sum + one.hold, 0)

        const hold = async (gateway: number, amount: number, isBounded: boolean): Promise<void> => {
          const own = isBounded ? key : free
          const id = `req_${String(++count).padStart(20, '0')}`
          const attribution = endUsers[dice(3)]
          const ofEndUser = ofEndUsers.filter(({ name }) => name === `${attribution} ann`)
          const facts = { id, user: 'ann', group: 'team', ...(attribution && { attribution }) }
          const budgets = [ownBudget, ...ofEndUser, ...above]
          const request = { ...holdOf(own, amount, facts), levels: isBounded ? [...above, ...ofEndUser] : [] }
          const payers = [nameOf({ kind: 'key', name: own.id }), 'user ann', 'group team']
          // An end user's account counts charges that were held from it.
          if (isBounded) payers.push(...ofEndUser.map(nameOf))
          const result = await (gateways[gateway] as Storage).ledger.hold(request)
          const short = isBounded
            ? budgets.find(one => one.amount - held(nameOf(one)) - spent(nameOf(one), one.per) < amount)
            : undefined
          const name = caseName({ step: count, at: new Date(clock.now()).toISOString(), amount, isBounded })
          if (!short) {
            t.match(result, { kind: 'held' }, name)
            open.push({ request, payers, gateway, hold: amount, isBounded })
            return
          }
          const left = Math.max(0, short.amount - held(nameOf(short)) - spent(nameOf(short), short.per))
          t.match(result, { kind: 'overdrawn', level: short.kind, availableMicros: left }, name)
        }
        const settle = async (index: number): Promise<void> => {
          const [one] = open.splice(index, 1)
          if (!one) return
          const { ledger } = gateways[one.gateway] as Storage
          const price = 1 + dice(one.hold)
          const { id } = one.request.facts
          await ledger.line(id, line(0, { price }))
          await ledger.settle({ id, delivery: 'confirmed', reason: null })
          made.push({ id, payers: one.payers, date: dateOf(clock.now()), price, refunded: 0 })
        }
        const refund = async (gateway: number): Promise<void> => {
          const one = made[Math.max(0, made.length - 1 - dice(12))]
          if (!one || one.refunded >= one.price) return
          const amount = 1 + dice(one.price - one.refunded)
          const books = (gateways[gateway] as Storage).books
          t.equal(await books.refund(one.id, 'ada', 'test', { amount }), amount, caseName({ refund: one.id, amount }))
          one.refunded += amount
        }
        const compare = async (gateway: number): Promise<void> => {
          const storage = gateways[gateway] as Storage
          const levels = [...ofEndUsers, ...above]
          const sums = await storage.books.levels(
            levels,
            levels.map(({ per }) => per),
          )
          for (const { kind, name, per } of levels)
            t.equal(
              sums.find(one => one.kind === kind && one.name === name)?.spent[per] ?? 0,
              spent(nameOf({ kind, name }), per),
              caseName({ step: count, kind, per, at: new Date(clock.now()).toISOString() }),
            )
          const found = (await storage.keys.find(key.id)) as Key
          const listed = (await storage.keys.list({ limit: 1_000 })).find(({ id }) => id === key.id) as Key
          // If the clock went back, a key without earlier days shows nothing until its next charge.
          if (goesBack && !isWindow(ownBudget.per)) return
          for (const one of [found, listed])
            t.equal(
              budgetUsed(one, clock.now(), zone),
              spent(nameOf(ownBudget), ownBudget.per),
              caseName({ step: count, key: ownBudget.per }),
            )
        }
        /** Moves the clock, but away from midnight: there two clocks may be on different days. */
        const travel = (): void => {
          const isBack = goesBack && dice(4) === 0
          const days = dice(4) * (dice(8) === 0 ? 9 : 1) * (isBack ? -1 : 1)
          let at = Math.floor(clock.now() / day) * day + days * day + dice(24) * hour
          while (dateOf(at - hour) !== dateOf(at + hour)) at += hour
          clock.set(at)
        }
        /** Changes periods and amounts of budgets while amounts are held. */
        const reconsider = async (): Promise<void> => {
          const other = (): BudgetPeriod => periods[dice(periods.length)] as BudgetPeriod
          const around = <T extends { readonly amount: number }>(one: T): T & { readonly per: BudgetPeriod } => ({
            ...one,
            amount: Math.max(500, one.amount + dice(1_000) - 500),
            per: other(),
          })
          if (dice(2) === 0) {
            ownBudget = around(ownBudget)
            await first().keys.change(key.id, { budget: ownBudget.amount, budgetPeriod: ownBudget.per }, 'ada')
          } else {
            above = above.map(around)
            const ofAll = around(ofEndUsers[0] as Level)
            ofEndUsers = ofEndUsers.map(one => ({ ...ofAll, name: one.name }))
          }
        }
        for (let step = 0; step < 160; step++) {
          const gateway = dice(fleet)
          const what = dice(21)
          if (what < 5) travel()
          else if (what < 12) await hold(gateway, 1 + dice(1_400), dice(5) > 0)
          else if (what < 16) await settle(dice(Math.max(1, open.length)))
          else if (what < 18) await refund(gateway)
          else if (what === 18) await compare(gateway)
          else if (what === 20) await reconsider()
          else if (open.every(one => one.gateway !== fleet - 1)) {
            await gateways.pop()?.close()
            gateways.push(await harness.open('gateway', clock, undefined, zone))
          }
          if (clock.now() < begins) clock.set(begins)
        }
        while (open.length > 0) await settle(0)
        await compare(0)
        t.ok(made.length > 20, 'there were enough charges')
        t.same((await first().books.verify()).problems, [])
        if (!goesBack) return
        // Verifies on every day with a charge, including days that the clock had jumped ahead to.
        for (const date of [...new Set(made.map(one => one.date))].toSorted((one, other) => one - other)) {
          clock.set(noonOf(date))
          t.same((await first().books.verify()).problems, [], `verified on ${new Date(date * day).toISOString()}`)
          await compare(0)
        }
      },
    )
  }
}

/** Tests that a soft budget of a key and of a user is counted, sends its events, and refuses nothing. */
export async function softContract(t: Test, make: Harness): Promise<void> {
  const begins = Date.UTC(2027, 4, 29, 9)
  await t.test('soft budgets of a key and a user send events and refuse nothing', async t => {
    const harness = await make()
    const clock = clockAt(begins)
    const storage = await harness.open('gateway', clock)
    t.teardown(async () => {
      await storage.close()
      await harness.close()
    })
    await storage.users.create({ name: 'ann', group: 'team', role: 'user', passwordHash: null })
    await storage.users.change('ann', { budget: 200, budgetPeriod: 'week', budgetSoft: true }, 'ada')
    const { id } = await storage.keys.create(newKey({ user: 'ann', budget: 100, budgetPeriod: '7d', budgetSoft: true }))
    for (const [round, price] of [90, 90, 90].entries()) {
      const key = (await storage.keys.find(id)) as Key
      const levels = levelsOf({ key, group: someGroup({ name: 'team' }) })
      t.match(levels, [{ kind: 'user', name: 'ann', amount: 200, per: 'week', soft: true }], caseName({ round }))
      const request = { ...holdOf(key, price, { user: 'ann', group: 'team' }), levels }
      t.match(await storage.ledger.hold(request), { kind: 'held' }, caseName({ round }))
      await storage.ledger.line(request.facts.id, line(0, { price }))
      await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      clock.set(clock.now() + hour)
    }
    const { events } = await storage.watch.alerts()
    const notices = events
      .filter(one => one.kind.startsWith('budget.'))
      .map(({ kind, data: { level, percent } }) => `${kind} ${level as string} ${percent as number}`)
    t.same(notices.sort(), [
      'budget.threshold key 100',
      'budget.threshold key 80',
      'budget.threshold user 100',
      'budget.threshold user 80',
    ])
    t.equal(budgetUsed((await storage.keys.find(id)) as Key, clock.now(), 'UTC'), 270)
    t.same((await storage.books.verify()).problems, [])
  })
}

/** Tests gateways with different clocks around midnight: the last three days hold every charge exactly once. */
export async function midnightContract(t: Test, make: Harness, fleet: 1 | 2): Promise<void> {
  // In the second zone, clocks skip midnight on the first day of a week and month.
  for (const [zone, midnight] of [
    ['UTC', Date.UTC(2027, 4, 31)],
    ['Africa/Cairo', Date.UTC(2027, 3, 29, 22)],
  ] as const)
    await t.test(`around midnight in ${zone} gateways with different clocks count each charge once`, async t => {
      const dice = diceOf(seed)
      const harness = await make()
      const clocks = Array.from({ length: fleet }, () => clockAt(midnight - 2 * hour))
      const gateways: Storage[] = []
      for (const clock of clocks) gateways.push(await harness.open('gateway', clock, undefined, zone))
      const [one] = gateways as [Storage]
      t.teardown(async () => {
        for (const gateway of gateways) await gateway.close()
        await harness.close()
      })
      await one.users.create({ name: 'ann', group: 'team', role: 'user', passwordHash: null })
      const key = await one.keys.create(newKey({ user: 'ann', budget: 30_000, budgetPeriod: '3d' }))
      const levels: readonly Level[] = [
        { kind: 'user', name: 'ann', amount: 40_000, per: '3d' },
        { kind: 'group', name: 'team', amount: 9_000, per: 'day' },
      ]
      const open: { readonly id: string; readonly hold: number; readonly gateway: Storage }[] = []
      const made: { readonly id: string; left: number }[] = []
      let [spent, held] = [0, 0]
      for (let step = 0; step < 120; step++) {
        const at = midnight - 90 * 60_000 + step * 90_000
        // The clocks differ by up to 50 minutes, and sometimes go back by as much.
        for (const clock of clocks) clock.set(at + dice(50) * 60_000)
        const gateway = gateways[dice(fleet)] as Storage
        const name = caseName({ step, at: clocks.map(clock => new Date(clock.now()).toISOString()).join() })
        const what = dice(8)
        if (what < 4) {
          const amount = 1 + dice(900)
          const request = { ...holdOf(key, amount, { user: 'ann', group: 'team' }), levels }
          const result = await gateway.ledger.hold(request)
          if (30_000 - spent - held < amount)
            t.match(result, { kind: 'overdrawn', level: 'key', availableMicros: 30_000 - spent - held }, name)
          else if (result.kind === 'held') {
            open.push({ id: request.facts.id, hold: amount, gateway })
            held += amount
          } else t.match(result, { kind: 'overdrawn', level: 'group' }, name)
        } else if (what < 7) {
          const [first] = open.splice(dice(Math.max(1, open.length)), 1)
          if (!first) continue
          const price = 1 + dice(first.hold)
          await first.gateway.ledger.line(first.id, line(0, { price }))
          t.ok(await first.gateway.ledger.settle({ id: first.id, delivery: 'confirmed', reason: null }), name)
          made.push({ id: first.id, left: price })
          spent += price
          held -= first.hold
        } else {
          const first = made[dice(Math.max(1, made.length))]
          if (!first || first.left === 0) continue
          const amount = 1 + dice(first.left)
          t.equal(await gateway.books.refund(first.id, 'ada', 'test', { amount }), amount, name)
          first.left -= amount
          spent -= amount
        }
        const [sums] = await gateway.books.levels([levels[0] as Level], ['3d'])
        t.equal(sums?.spent['3d'] ?? 0, spent, `${name}: the user's`)
        const found = (await gateway.keys.find(key.id)) as Key
        const clock = clocks[gateways.indexOf(gateway)] as ReturnType<typeof clockAt>
        t.equal(budgetUsed(found, clock.now(), zone), spent, `${name}: the key's`)
      }
      t.ok(made.length > 20, 'there were enough charges')
      for (const later of [2 * hour, 10 * hour, 2 * day]) {
        for (const clock of clocks) clock.set(midnight + later)
        t.same((await one.books.verify()).problems, [], `${later / hour} hours later`)
      }
    })
}
