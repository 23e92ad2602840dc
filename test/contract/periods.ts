import type { Test } from 'tap'
import {
  accountOfEndUser,
  type BudgetPeriod,
  budgetUsed,
  type HoldRequest,
  type Key,
  type Level,
  levelsOf,
  splitPeriod,
  type Storage,
  weekdays,
} from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { someGroup } from '../harness/exchange.ts'
import { diceOf, seed } from '../harness/seed.ts'
import { clockAt, type Harness, holdOf, line, newKey } from './storage.ts'

const hour = 3_600_000
const day = 24 * hour
/** Two days before a month ends, in the middle of a week. */
const begins = Date.UTC(2027, 4, 29, 9)

/** Whether a day counts in a period on another one: written again, day by day, without what the gateway counts with. */
function counts(period: BudgetPeriod, then: number, now: number): boolean {
  if (period === 'total') return true
  const [first, last] = [Math.floor(then / day), Math.floor(now / day)]
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
  readonly at: number
  readonly price: number
  refunded: number
}
type Open = {
  readonly request: HoldRequest
  readonly payers: readonly string[]
  readonly gateway: number
  readonly hold: number
  readonly isBounded: boolean
}

const nameOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string => `${kind} ${name}`

/** Budgets of every period against a simple model: random charges, holds and refunds of one or two gateways, over weeks. */
export async function periodsContract(t: Test, make: Harness, fleet: 1 | 2): Promise<void> {
  const periods = [
    ['7d', 'week', 'month@15', '3d'],
    ['week@wednesday', '30d', '7d', 'month'],
    ['month', 'month@28', '2d', 'week'],
    ['14d', 'day', 'week@sunday', 'day'],
  ] as const satisfies readonly (readonly BudgetPeriod[])[]
  for (const [round, [ofKey, ofUser, ofGroup, ofEndUser]] of periods.entries())
    await t.test(
      `${fleet === 1 ? 'a gateway enforces' : 'two gateways enforce'} a budget for ${ofKey} of a key, ${ofEndUser} of end users, ${ofUser} of a user and ${ofGroup} of a group exactly`,
      async t => {
        const dice = diceOf(seed + round)
        const harness = await make()
        const clock = clockAt(begins)
        const gateways: Storage[] = []
        for (let one = 0; one < fleet; one++) gateways.push(await harness.open('gateway', clock))
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
        const above: readonly Level[] = [
          { kind: 'user', name: 'ann', amount: 4_000, per: ofUser },
          { kind: 'group', name: 'team', amount: 5_000, per: ofGroup },
        ]
        const ofEndUsers = endUsers.map(
          (id): Level => ({ kind: 'end_user', name: accountOfEndUser(id, 'ann'), amount: 2_000, per: ofEndUser }),
        )
        const levels = [...ofEndUsers, ...above]
        const ownBudget: Payer['level'] = { kind: 'key', name: key.id, amount: 3_000, per: ofKey }
        const made: Made[] = []
        const open: Open[] = []
        let count = 0
        const spent = (payer: string, per: BudgetPeriod): number =>
          made
            .filter(one => one.payers.includes(payer) && counts(per, one.at, clock.now()))
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
          // An end user's account counts what was held from it.
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
          made.push({ id, payers: one.payers, at: clock.now(), price, refunded: 0 })
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
          const listed = (await storage.keys.list()).find(({ id }) => id === key.id) as Key
          for (const one of [found, listed])
            t.equal(
              budgetUsed(one, clock.now(), 'UTC'),
              spent(nameOf(ownBudget), ofKey),
              caseName({ step: count, key: ofKey }),
            )
        }
        for (let step = 0; step < 160; step++) {
          const gateway = dice(fleet)
          const what = dice(20)
          // Away from midnight: there two clocks may be on different days.
          if (what < 5)
            clock.set(
              Math.floor(clock.now() / day) * day + dice(4) * (dice(8) === 0 ? 9 : 1) * day + (2 + dice(20)) * hour,
            )
          else if (what < 12) await hold(gateway, 1 + dice(1_400), dice(5) > 0)
          else if (what < 16) await settle(dice(Math.max(1, open.length)))
          else if (what < 18) await refund(gateway)
          else if (what === 18) await compare(gateway)
          else if (open.every(one => one.gateway !== fleet - 1)) {
            await gateways.pop()?.close()
            gateways.push(await harness.open('gateway', clock))
          }
          if (clock.now() < begins) clock.set(begins)
        }
        while (open.length > 0) await settle(0)
        await compare(0)
        t.ok(made.length > 20, 'there were enough charges')
        t.same((await first().books.verify()).problems, [])
      },
    )
}

/** A soft budget of a key and of a user is counted, sends its events, and refuses nothing. */
export async function softContract(t: Test, make: Harness): Promise<void> {
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
    const told = events
      .filter(one => one.kind.startsWith('budget.'))
      .map(({ kind, data: { level, percent } }) => `${kind} ${level as string} ${percent as number}`)
    t.same(told.sort(), [
      'budget.threshold key 100',
      'budget.threshold key 80',
      'budget.threshold user 100',
      'budget.threshold user 80',
    ])
    t.equal(budgetUsed((await storage.keys.find(id)) as Key, clock.now(), 'UTC'), 270)
    t.same((await storage.books.verify()).problems, [])
  })
}
