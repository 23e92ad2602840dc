import t from 'tap'
import { postgresHarness, sqliteHarness } from '../contract/harnesses.ts'
import { clockAt, holdOf, line, newKey } from '../contract/storage.ts'
import { startPostgres } from '../harness/postgres.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())
const evening = Date.UTC(2026, 9, 24, 21)
const hour = 3_600_000

for (const [name, harness] of [
  ['SQLite', sqliteHarness],
  ['PostgreSQL', postgresHarness(postgres)],
] as const)
  t.test(`${name}: budgets show the enforced day when a clock was past midnight`, async t => {
    const base = await harness()
    const clock = clockAt(evening)
    const storage = await base.open('gateway', clock)
    await storage.users.create({ name: 'ann', group: 'team', role: 'user', passwordHash: null })
    const key = await storage.keys.create(newKey({ user: 'ann' }))
    const levels = [{ kind: 'user', name: 'ann', amount: 100_000, per: 'day' }] as const
    const requestOf = (hold: number) => ({ ...holdOf(key, hold, { user: 'ann', group: 'team' }), levels })
    const buy = async (price: number): Promise<void> => {
      const request = requestOf(price)
      t.match(await storage.ledger.hold(request), { kind: 'held' })
      await storage.ledger.line(request.facts.id, line(0, { price }))
      await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
    }
    await buy(40_000)
    clock.set(evening + 6 * hour)
    await buy(7_000)
    clock.set(evening + hour)
    const [level] = await storage.books.levels([{ kind: 'user', name: 'ann' }])
    t.match(level, { spent: { total: 47_000, day: 40_000 } })
    t.match(await storage.ledger.hold(requestOf(60_001)), { kind: 'overdrawn', availableMicros: 60_000 })
    await storage.close()
    await base.close()
  })
