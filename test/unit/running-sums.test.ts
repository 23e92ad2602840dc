import t from 'tap'
import { spellsAt } from '../../src/domain/budget.ts'
import { RunningSums } from '../../src/storage/ledger/running-sums.ts'

const at = Date.UTC(2026, 10, 20, 12)
const day = 86_400_000
const { day: start, month } = spellsAt(at, 'UTC')

t.test('a refund comes off the day of its charge, also if the clock has gone on and come back', async t => {
  for (const [backAt, ofDay, ofMonth] of [
    [at + 1, 0, 0],
    [at + day, 0, 0],
    [at + 40 * day, 0, 5],
    [at - day, 5, 0],
  ] as const) {
    const sums = new RunningSums('UTC', at)
    sums.add('group default', 5, at)
    sums.add('group default', -5, at, backAt)
    t.equal(sums.of('group default', 'day', start).spent, ofDay, `the day, refunded at ${backAt}`)
    t.equal(sums.of('group default', 'month', month).spent, ofMonth, `the month, refunded at ${backAt}`)
  }
})
