import t from 'tap'
import { Ids } from '../../src/util/ids.ts'
import { clockAt, facts, holdOf, line, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { runCli } from '../harness/cli.ts'

t.test('usage by day uses the days of the given zone', async t => {
  const folder = t.testdir()
  const clock = clockAt(Date.UTC(2026, 9, 24, 21, 30))
  const storage = await openDatabase({ url: `sqlite:${folder}/tollgate.db`, clock })
  const key = await storage.keys.create(newKey())
  const ids = new Ids()
  // Before and after midnight in Berlin, and after the next midnight, at the end of a day of 25 hours.
  for (const [at, price] of [
    [Date.UTC(2026, 9, 24, 21, 30), 1_000],
    [Date.UTC(2026, 9, 24, 22, 30), 20_000],
    [Date.UTC(2026, 9, 25, 22, 30), 300_000],
    [Date.UTC(2026, 9, 25, 23, 30), 4_000_000],
  ] as const) {
    clock.set(at)
    const id = ids.next('req_', at)
    // Image charges have rows of their own; text charges are in segments.
    if (price < 100_000) {
      await storage.ledger.hold(holdOf(key, price, { id }))
      await storage.ledger.line(id, line(0, { price }))
      await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
    } else {
      storage.ledger.post(facts(key, { id }), [line(0, { price, quantity: 1, width: null, height: null })], 'confirmed')
      await storage.flush()
    }
  }
  await storage.close()
  const days = async (...words: readonly string[]): Promise<readonly string[]> => {
    const span = ['--since', '2026-10-20', '--until', '2026-10-30', '--format', 'json']
    const { stdout, stderr, code } = await runCli({ folder }, 'usage', '--by', 'day', ...span, ...words)
    t.equal(code, 0, stderr)
    return stdout
      .trim()
      .split('\n')
      .map(text => JSON.parse(text) as { day: string; amount: string })
      .map(({ day, amount }) => `${day} ${amount}`)
  }
  t.same(await days(), ['2026-10-24 0.021', '2026-10-25 4.30'])
  t.same(await days('--zone', 'Europe/Berlin'), ['2026-10-24 0.001', '2026-10-25 0.32', '2026-10-26 4.00'])
})
