import { join } from 'node:path'
import t from 'tap'
import type { BudgetPeriod, HoldRequest, HoldResult } from '../../src/domain/index.ts'
import { Ids } from '../../src/util/index.ts'
import { createKey } from '../../src/storage/keys/write.ts'
import { endEmpty } from '../../src/storage/ledger/end-empty.ts'
import { hold } from '../../src/storage/ledger/hold.ts'
import { addChargeItem } from '../../src/storage/ledger/charge-item.ts'
import { resolve } from '../../src/storage/ledger/resolve.ts'
import { settle } from '../../src/storage/ledger/settle.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { mergeCopied } from '../../src/storage/accounts/merge-parts.ts'
import { LabelPlaces } from '../../src/storage/label-places.ts'
import { UncompactedBatches } from '../../src/storage/log-batches/uncompacted.ts'
import type { Query, QueryProgram, Row } from '../../src/storage/query.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { holdOf, line, newKey } from '../contract/storage.ts'
import { caseName } from '../harness/case-name.ts'

// Runs the steps of a hold on a connection of the test's own: times are fixed numbers, and the test inspects the rows.

const hour = 3_600_000
const day = 24 * hour
const now = Date.UTC(2027, 4, 16, 12)
const self = {
  owner: 'a writer',
  host: 'here',
  epoch: 7,
  chain: 'a chain',
  part: '',
  zone: 'UTC',
  thresholds: [80, 100],
  ids: new Ids(),
  uncompacted: new UncompactedBatches(),
  labelPlaces: new LabelPlaces(),
}

const connection = new Connection(join(t.testdir(), 'books.db'))
// Nothing is committed, so that the test waits for no disk.
connection.db.exec('BEGIN')
for (const statement of migrations.flat()) connection.db.exec(statement)
t.teardown(() => connection.close())

const makeKey = (budget: number | null = null, budgetPeriod: BudgetPeriod = 'total') =>
  connection.run(createKey(self, { key: newKey({ budget, budgetPeriod }), by: 'test', at: now }))
const holdAt = (request: HoldRequest, at = now): HoldResult => connection.run(hold(self, request, at))
const read = (sql: string, ...params: readonly string[]): Row | undefined => connection.all({ sql, params })[0]
const chargeOf = ({ facts }: HoldRequest) => read('SELECT * FROM charge WHERE id = ?', facts.id)
const heldOf = (id: string) => read('SELECT held FROM key WHERE id = ?', id)?.['held']
const spendAt = (request: HoldRequest, price: number, at = now): void => {
  const { id } = request.facts
  holdAt(request, at)
  connection.run(addChargeItem(self, id, line(0, { price })))
  connection.run(settle(self, { id, delivery: 'confirmed', reason: null }, at))
}

t.test('a hold takes its money from its own key, and the charge names its payers', async t => {
  const [key, other] = [makeKey(1_000), makeKey(1_000)]
  const request = { ...holdOf(key, 400), idempotency: { key: 'once', fingerprint: 'abc' } }
  t.same(holdAt(request, now + 5), { kind: 'held' })
  t.match(chargeOf(request), {
    id: request.facts.id,
    key_id: key.id,
    state: 'reserved',
    hold: 400,
    amount: 0,
    owner: 'a writer',
    epoch: 7,
    idem_key: 'once',
    idem_fingerprint: 'abc',
    created_at: now + 5,
    rule: JSON.stringify(request.facts.rule),
  })
  t.equal(heldOf(key.id), 400)
  t.equal(heldOf(other.id), 0)
})

t.test('a charge below every threshold runs no query for events', async t => {
  const countSteps = (steps: QueryProgram<unknown>): number => {
    let count = 0
    for (let next = steps.next(); next.done !== true; next = steps.next(connection.all(next.value))) count++
    return count
  }
  const key = makeKey(10_000)
  const levels = [{ kind: 'group', name: 'default', amount: 10_000, per: 'day' }] as const
  const buy = (price: number): readonly number[] => {
    const request = { ...holdOf(key, price), levels }
    const { id } = request.facts
    const held = countSteps(hold(self, request, now))
    connection.run(addChargeItem(self, id, line(0, { price })))
    return [held, countSteps(settle(self, { id, delivery: 'confirmed', reason: null }, now))]
  }
  // The first hold creates the group's account.
  buy(100)
  const before = [3, 7]
  t.same(buy(100), before)
  t.same(buy(7_700), before)
  t.same(buy(200), [3, 7 + 2 * 3], '80 % of both: a query, the earlier reports, and the event')
  t.same(buy(200), before)
  t.equal(read(`SELECT count(*) AS n FROM event WHERE kind LIKE 'budget.%'`)?.['n'], 2)
})

t.test('a charge held by an earlier version ends without events', async t => {
  const key = makeKey(100)
  const request = { ...holdOf(key, 100), levels: [{ kind: 'user', name: 'local', amount: 100, per: 'total' }] as const }
  holdAt(request)
  const { id } = request.facts
  connection.db.exec(`UPDATE charge SET levels = 'user' WHERE id = '${id}'`)
  const [before] = connection.all({ sql: 'SELECT count(*) AS n FROM event', params: [] })
  connection.run(addChargeItem(self, id, line(0, { price: 100 })))
  connection.run(settle(self, { id, delivery: 'confirmed', reason: null }, now))
  t.same(connection.all({ sql: 'SELECT count(*) AS n FROM event', params: [] }), [before])
  t.equal(read(`SELECT held FROM account WHERE kind = 'user' AND name = 'local'`)?.['held'], 0)
})

t.test('a request without an idempotency key is never a repetition', async t => {
  const key = makeKey()
  const [first, second] = [holdOf(key, 1), holdOf(key, 1)]
  t.same([holdAt(first), holdAt(second)], [{ kind: 'held' }, { kind: 'held' }])
  t.match(chargeOf(second), { idem_key: null, idem_fingerprint: null })
})

const renewals: readonly (readonly [BudgetPeriod, number | null])[] = [
  ['total', null],
  ['day', Date.UTC(2027, 4, 17)],
  ['month', Date.UTC(2027, 5, 1)],
]
for (const [period, renewsAt] of renewals)
  t.test(`a refusal by a budget (${period}) reports what is left, what is held and when it renews`, async t => {
    const key = makeKey(100, period)
    spendAt(holdOf(key, 30), 30)
    holdAt(holdOf(key, 20))
    const request = holdOf(key, 51)
    t.same(holdAt(request), { kind: 'overdrawn', level: 'key', availableMicros: 50, heldMicros: 20, renewsAt })
    t.equal(chargeOf(request), undefined, 'it has no charge')
    t.equal(heldOf(key.id), 20, 'and holds nothing')
    t.same(holdAt(holdOf(key, 50)), { kind: 'held' }, 'all that is left can be held')
  })

t.test('an overspent budget has 0 left, and never less', async t => {
  const key = makeKey(100)
  spendAt(holdOf(key, 100), 130)
  t.match(holdAt(holdOf(key, 1)), { kind: 'overdrawn', availableMicros: 0, heldMicros: 0 })
})

t.test('a hold for a missing key is a fault that names the key', async t => {
  const key = { ...makeKey(), id: 'key_none' }
  t.throws(() => holdAt(holdOf(key, 1)), /there is no key key_none/)
})

const raises: readonly (readonly [string, number | null])[] = [
  ['to exactly what is asked for', 150],
  ['to more', 151],
  ['without end', null],
]
for (const [name, budget] of raises)
  t.test(`a budget raised ${name} during a refusal admits the charge`, async t => {
    const key = makeKey(100)
    const steps = hold(self, holdOf(key, 150), now)
    // PostgreSQL allows other writes between two statements of a transaction: this simulates one.
    const rows = connection.all(steps.next().value as Query)
    t.same(rows, [], 'there is too little left')
    connection.all({ sql: 'UPDATE key SET budget = ? WHERE id = ?', params: [budget, key.id] })
    let next = steps.next(rows)
    while (next.done !== true) next = steps.next(connection.all(next.value))
    t.same(next.value, { kind: 'held' })
    t.equal(heldOf(key.id), 150, 'once')
  })

t.test('an idempotency key', async t => {
  const once = { key: 'once', fingerprint: 'abc' }
  const start = (at = now) => {
    const key = makeKey()
    const first = { ...holdOf(key, 1), idempotency: once }
    holdAt(first, at)
    const { id } = first.facts
    return {
      first,
      id,
      again: (at: number, fingerprint = 'abc') =>
        holdAt({ ...holdOf(key, 1), idempotency: { key: 'once', fingerprint } }, at),
      settle: (answer?: { status: number; headers: object; body: Buffer }) => {
        connection.run(addChargeItem(self, id, line(0, { price: 1 })))
        const settlement = { id, delivery: 'confirmed', reason: null } as const
        connection.run(settle(self, answer ? { ...settlement, answer: { ...answer, headers: {} } } : settlement, at))
      },
      /** Puts the charge under review, and then voids it or settles it at 0, as a person might decide. */
      review: (how?: 'void' | 'settle') => {
        connection.run(endEmpty(self, { id, state: 'needs_review', hold: 'released', reason: 'timeout', at }))
        if (how) connection.run(resolve(self, { id, how, by: 'ada', reason: 'asked', at }))
      },
    }
  }
  const until = (id: string) => read('SELECT idem_until FROM charge WHERE id = ?', id)?.['idem_until']

  t.test('of a running charge is running, however long', async t => {
    const { id, again } = start()
    for (const at of [now, now + day, now + 400 * day])
      t.same(again(at), { kind: 'running', chargeId: id }, caseName({ at }))
  })

  t.test('of another request is a mismatch, before and after the end', async t => {
    const { id, again, settle } = start()
    t.same(again(now, 'abd'), { kind: 'mismatch', chargeId: id })
    settle()
    t.same(again(now, 'abd'), { kind: 'mismatch', chargeId: id })
  })

  t.test('returns the stored answer, or that there is none', async t => {
    const [kept, none] = [start(), start()]
    const answer = { status: 201, headers: {}, body: Buffer.from('ok') }
    kept.settle(answer)
    none.settle()
    t.same(kept.again(now), { kind: 'ended', chargeId: kept.id, answer })
    t.same(none.again(now), { kind: 'ended', chargeId: none.id, answer: null })
  })

  const ends: readonly (readonly [string, (charge: ReturnType<typeof start>) => void])[] = [
    ['a settled charge', ({ settle }) => settle()],
    ['a charge that a person made void', ({ review }) => review('void')],
    ['a charge that a person settled', ({ review }) => review('settle')],
  ]
  for (const [name, end] of ends)
    t.test(`of ${name} is free after 24 hours to the millisecond, and then belongs to the next request`, async t => {
      const charge = start()
      end(charge)
      t.same(charge.again(now + day - 1), { kind: 'ended', chargeId: charge.id, answer: null })
      t.same(charge.again(now + day), { kind: 'held' })
      t.match(chargeOf(charge.first), { idem_key: null, idem_fingerprint: null })
      t.match(charge.again(now + day), { kind: 'running' })
    })

  t.test('of a charge in review is kept until a person has decided', async t => {
    const { id, again, review } = start()
    review()
    t.same(again(now + 400 * day), { kind: 'ended', chargeId: id, answer: null })
  })

  t.test('of a void charge without a purchase is free at once', async t => {
    const { id, again } = start()
    connection.run(endEmpty(self, { id, state: 'voided', reason: 'refused', at: now }))
    t.same(again(now), { kind: 'held' })
  })

  t.test('of a clock within an hour ahead is kept for 24 hours of that clock', async t => {
    const { id, again, settle } = start(now + hour)
    settle()
    t.match(again(now), { kind: 'ended' })
    t.equal(until(id), null, 'nothing is noted')
    t.match(again(now + hour + day - 1), { kind: 'ended' })
    t.match(again(now + hour + day), { kind: 'held' })
  })

  t.test('of a clock further ahead is free 24 hours after its next use', async t => {
    const { id, again, settle } = start(now + 400 * day)
    settle()
    t.match(again(now), { kind: 'ended' })
    t.equal(until(id), now + day)
    t.match(again(now + hour), { kind: 'ended' })
    t.equal(until(id), now + day, 'asking again does not put it off')
    t.match(again(now + day - 1), { kind: 'ended' })
    t.match(again(now + day), { kind: 'held' })
  })

  t.test('of a clock that was ahead twice is free 24 hours after its use by the right one', async t => {
    const { id, again, settle } = start(now + 400 * day)
    settle()
    t.match(again(now + 100 * day), { kind: 'ended' })
    t.match(again(now), { kind: 'ended' })
    t.equal(until(id), now + day)
    t.match(again(now + day), { kind: 'held' })
  })
})

t.test('[3.4] all account rows of a copied shared database are added to the main rows at the start', async t => {
  connection.db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
    INSERT INTO account (kind, name, part, spent) SELECT 'user', 'copied' || (i % 600), 'gateway_' || i || '.', 5 FROM n`)
  connection.run(mergeCopied(self, now))
  const sums = `SELECT count(*) AS rows, sum(spent) AS spent, max(part) AS part FROM account WHERE name LIKE 'copied%'`
  t.same({ ...read(sums) }, { rows: 600, spent: 6_000, part: '' })
})
