import t from 'tap'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { countersContract } from '../contract/counters.ts'
import { KeptLog } from '../harness/exchange.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'

t.test('memory', async t => {
  countersContract(t, clock => Promise.resolve(new MemoryCounters(clock)), { repeats: 100, steps: 40_000 })
})

t.test('redis', { skip: redisMissing() }, async t => {
  const redis = await startRedis(t)
  countersContract(
    t,
    async clock => {
      const log = new KeptLog()
      const serverTime = () => Math.round(clock.tick() * 1_000)
      const counters = new RedisCounters({ url: redis.url, clock, log, serverTime, commandMs: 20_000 })
      t.teardown(() => counters.close())
      await counters.ready()
      return counters
    },
    { repeats: 10, steps: 4_000 },
  )
})
