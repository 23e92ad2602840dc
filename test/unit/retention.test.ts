import t from 'tap'
import { createLog } from '../../src/observe/index.ts'
import { unknownOfLogRow } from '../../src/domain/index.ts'
import { firstIdAt, systemTimers } from '../../src/util/index.ts'
import { Retention } from '../../src/gateway/retention.ts'
import { openDatabase } from '../harness/database.ts'

const day = 86_400_000
const log = createLog({ level: 'silent' })

t.test('outdated log rows are deleted some at a time; younger ones and all charges stay', async t => {
  const now = Date.UTC(2026, 10, 21)
  const clock = { now: () => now, tick: () => performance.now(), ...systemTimers }
  const storage = await openDatabase({ url: 'sqlite::memory:', clock, log })
  t.teardown(() => storage.close())
  let written = 0
  const append = (time: number): void =>
    storage.journal.append({
      id: `${firstIdAt('req_', time)}${written++}`,
      time,
      keyId: null,
      user: null,
      group: null,
      model: null,
      operation: 'chat',
      status: 200,
      outcome: 'answered',
      errorCode: null,
      durationMs: 1,
      upstream: null,
      configRevision: 'abc',
      forwarded: [],
      dropped: [],
      clientRequestId: null,
      inputTokens: null,
      outputTokens: null,
      ...unknownOfLogRow,
    })
  for (let i = 0; i < 1_200; i++) append(now - 100 * day)
  for (let i = 0; i < 7; i++) append(now - 80 * day)
  await storage.flush()

  const kept: { ms: number | undefined } = { ms: undefined }
  const retention = new Retention({ storage, clock, log, keptMs: () => kept.ms, reviewMs: () => undefined })
  t.teardown(() => retention.close())
  t.equal(await retention.run(), 0, 'without a bound everything stays')
  kept.ms = 90 * day
  const [first, second] = [retention.run(), retention.run()]
  t.equal(first, second, 'one at a time')
  t.equal(await first, 1_200)
  t.equal((await storage.journal.list({ limit: 100 })).length, 7)
  t.equal(await retention.run(), 0)

  await t.test('[6.7] a clock jump delays deletions for an hour', async t => {
    const wall = { now, ticks: 0 }
    const cutoffs: number[] = []
    const careful = new Retention({
      storage: {
        ...storage,
        journal: { ...storage.journal, prune: async until => cutoffs.push(until) - cutoffs.length },
        books: { lapse: async until => cutoffs.push(until) - cutoffs.length },
      },
      clock: { now: () => wall.now, tick: () => wall.ticks, ...systemTimers },
      log,
      keptMs: () => 90 * day,
      reviewMs: () => day,
    })
    t.teardown(() => careful.close())
    const pass = async (jump: number): Promise<number> => {
      wall.now += 3_600_000 + jump
      wall.ticks += 3_600_000
      cutoffs.length = 0
      await careful.run()
      return cutoffs.length
    }
    t.equal(await pass(0), 2, 'reviews and the log')
    t.equal(await pass(400 * day), 0)
    t.equal(await pass(-400 * day), 0)
    t.equal(await pass(0), 2)
    t.equal(await pass(400 * day), 0)
    t.equal(await pass(0), 2, 'a clock that stays where it went is believed')
  })

  await t.test('nothing is deleted while the storage is busy or cannot be written', async t => {
    let prunes = 0
    const called = Promise.withResolvers<void>()
    const busy = new Retention({
      storage: {
        ...storage,
        journal: { ...storage.journal, prune: async () => prunes++ },
        waiting() {
          called.resolve()
          return { changes: 100, rows: 0, charges: 0 }
        },
      },
      clock,
      log,
      keptMs: () => day,
      reviewMs: () => undefined,
    })
    const running = busy.run()
    await called.promise
    await busy.close()
    await running
    t.equal(prunes, 0)
  })
})
