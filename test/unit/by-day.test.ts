import { join } from 'node:path'
import t from 'tap'
import { periodStartsAt } from '../../src/domain/budget.ts'
import { mergeParts } from '../../src/storage/accounts/merge-parts.ts'
import { bookSpending } from '../../src/storage/accounts/book-spending.ts'
import { byDay } from '../../src/storage/by-day.ts'
import { bookKeySpending } from '../../src/storage/keys/book-key-spending.ts'
import type { Spent } from '../../src/storage/charge-batches/draft.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { clockAt, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'

const hour = 3_600_000
const before = Date.UTC(2026, 9, 24, 12)
const after = Date.UTC(2026, 9, 25, 12)

t.test('bookings of two days come day after day, each in its original order', async t => {
  const given = [after + 1, before + 2, after, before]
  t.same(
    byDay('UTC', given, at => at),
    [
      [before + 2, before],
      [after + 1, after],
    ],
  )
  t.same(
    byDay('UTC', [after + 1, after], at => at),
    [[after + 1, after]],
  )
})

t.test('the last hour of a day is booked apart, because only it may count on the next day', async t => {
  const midnight = Date.UTC(2026, 9, 25)
  const [early, late] = [midnight - hour - 1, midnight - 1]
  t.same(
    byDay('UTC', [midnight, late, early], at => at),
    [[early], [late], [midnight]],
  )
})

t.test('rows are on the new day, with its sum, whatever the order of days and keys', async t => {
  const path = join(t.testdir(), 'tollgate.db')
  const clock = clockAt(before)
  const storage = await openDatabase({ url: `sqlite:${path}`, clock })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
  })
  const ids: string[] = []
  for (const name of ['one', 'two']) ids.push((await storage.keys.create(newKey({ name }))).id)
  const [first = '', second = ''] = ids.sort()
  // In the order of key ids: the first key has a charge on the new day.
  const spent: readonly Spent[] = [
    [first, 100, after, 'ann', 'lab'],
    [second, 7, before, 'ann', 'lab'],
    [second, 20, after, 'ann', 'lab'],
  ]
  const identity = { zone: 'UTC', part: 'a' }
  connection.transact(() => {
    connection.run(bookKeySpending(identity, spent, after))
    connection.run(bookSpending(identity, spent, after))
  })
  const read = (sql: string): unknown => connection.all({ sql, params: [] }).map(row => ({ ...row }))
  t.match(read('SELECT kind, spent, day_start, day_spent FROM account ORDER BY kind'), [
    { kind: 'group', spent: 127, day_start: dayOf(after), day_spent: 120 },
    { kind: 'user', spent: 127, day_start: dayOf(after), day_spent: 120 },
  ])
  t.match(read('SELECT day_start, day_spent FROM key ORDER BY id'), [
    { day_start: dayOf(after), day_spent: 100 },
    { day_start: dayOf(after), day_spent: 20 },
  ])
  // A late charge of the day before, hours later: each day gets its own amount, and key rows stay on the current day.
  connection.transact(() => {
    const late: readonly Spent[] = [[first, 30, before - 10 * hour, 'ann', 'lab']]
    connection.run(bookKeySpending(identity, late, after + 9 * hour))
    connection.run(bookSpending(identity, late, after + 9 * hour))
  })
  t.match(read('SELECT spent, day_start, day_spent FROM account'), [
    { spent: 157, day_start: dayOf(after), day_spent: 120 },
    { spent: 157, day_start: dayOf(after), day_spent: 120 },
  ])
  t.match(read(`SELECT spent FROM account_spell WHERE period = 'day' AND start = ${dayOf(before)}`), [
    { spent: 37 },
    { spent: 37 },
  ])
  t.match(read('SELECT spent, day_start, day_spent FROM key ORDER BY id'), [
    { spent: 130, day_start: dayOf(after), day_spent: 100 },
    { spent: 27, day_start: dayOf(after), day_spent: 20 },
  ])
})

t.test('the day of an ended process is not added to the next day, where a clock that is ahead has booked', async t => {
  const path = join(t.testdir(), 'tollgate.db')
  const storage = await openDatabase({ url: `sqlite:${path}`, clock: clockAt(before) })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
  })
  const midnight = Date.UTC(2026, 9, 25)
  connection.transact(() => {
    connection.run(bookSpending({ zone: 'UTC', part: 'gone.1' }, [['key', 70, before, 'ann', 'lab']], before))
    connection.run(bookSpending({ zone: 'UTC', part: '' }, [['key', 5, midnight + 60_000, 'ann', 'lab']], midnight))
    t.equal(connection.run(mergeParts({ zone: 'UTC' }, midnight - 60_000)), 2)
  })
  const read = (sql: string): unknown => connection.all({ sql, params: [] }).map(row => ({ ...row }))
  t.match(read(`SELECT part, spent, day_start, day_spent FROM account WHERE kind = 'user'`), [
    { part: '', spent: 75, day_start: midnight, day_spent: 5 },
  ])
  t.match(read(`SELECT start, spent FROM account_spell WHERE kind = 'user' AND period = 'day'`), [
    { start: dayOf(before), spent: 70 },
  ])
})

function dayOf(at: number): number {
  return periodStartsAt(at, 'UTC').day
}
