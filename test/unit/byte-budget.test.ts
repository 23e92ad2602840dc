import t from 'tap'
import { ByteBudget, ByteClaim } from '../../src/wire/index.ts'

t.test('claims count in the budget, and a refused claim keeps its earlier bytes', async t => {
  const budget = new ByteBudget(100)
  const one = new ByteClaim(budget)
  const other = new ByteClaim(budget)
  t.ok(one.hold(60))
  t.notOk(other.hold(41))
  t.same([budget.held, one.bytes, other.bytes], [60, 60, 0])
  t.ok(other.hold(40))
  t.notOk(one.hold(61))
  t.same([budget.held, one.bytes], [100, 60])
  t.ok(one.hold(10), 'fewer than before')
  t.ok(other.hold(90))
  other.free()
  other.free()
  t.equal(budget.held, 10, 'bytes freed twice were returned once')
})

t.test(
  "a payer's further bodies are limited to three quarters; its first one, and another payer's, are not",
  async t => {
    const budget = new ByteBudget()
    const claim = (payer?: string) => new ByteClaim(budget, 100, payer)
    const first = claim('a')
    t.ok(first.hold(80))
    t.notOk(claim('a').hold(1))
    t.notOk(first.hold(81))
    t.ok(claim('b').hold(20))
    first.free()
    t.ok(claim('a').hold(75), 'all was given back')
    t.notOk(claim('a').hold(1))
    t.notOk(claim().hold(6))
    t.ok(claim().hold(5), 'bytes without a payer count for none')
    t.equal(budget.held, 100)
  },
)

t.test('each claim keeps its original limit after a reload that lowers it', async t => {
  const budget = new ByteBudget()
  const before = new ByteClaim(budget, 100, 'a')
  t.ok(before.hold(50))
  const after = new ByteClaim(budget, 10, 'b')
  t.notOk(after.hold(1))
  t.ok(after.hold(0), 'nothing is never too much')
  t.ok(before.hold(70))
})
