import t from 'tap'
import { periodStartsAt } from '../../src/domain/budget.ts'
import { RunningSums } from '../../src/storage/ledger/running-sums.ts'

const at = Date.UTC(2026, 10, 20, 12)
const day = 86_400_000
const { day: start, month } = periodStartsAt(at, 'UTC')

t.test('a refund reduces the day and the month of its charge, whenever it is made', async t => {
  for (const backAt of [at + 1, at + day, at + 40 * day, at - day]) {
    const sums = new RunningSums('UTC', at)
    sums.add('group default', 5, at)
    sums.add('group default', -5, at, backAt)
    t.equal(sums.of('group default', 'day', start).spent, 0, `the day, refunded at ${backAt}`)
    t.equal(sums.of('group default', 'month', month).spent, 0, `the month, refunded at ${backAt}`)
  }
})
