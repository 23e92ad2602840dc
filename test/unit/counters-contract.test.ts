import t from 'tap'
import type { LimitRequest } from '../../src/domain/index.ts'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { countersContract } from '../contract/counters.ts'
import { KeptLog } from '../harness/request-context.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { startRedisCluster } from '../harness/redis-cluster.ts'

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

t.test('a cluster of Redis, each limit in its own slot [13.6]', { skip: redisMissing() }, async t => {
  const { nodes } = await startRedisCluster(t)
  countersContract(
    t,
    async clock => {
      const serverTime = () => Math.round(clock.tick() * 1_000)
      const url = `${nodes[0]?.url}?cluster=spread`
      const counters = new RedisCounters({ url, clock, log: new KeptLog(), serverTime, commandMs: 20_000 })
      t.teardown(() => counters.close())
      await counters.ready()
      const apart = (demands: readonly LimitRequest[]) => demands.map(one => ({ ...one, owner: one.id }))
      return {
        known: (demands, whenDown) => counters.known(apart(demands), whenDown),
        peek: (demands, whenDown) => counters.peek(apart(demands), whenDown),
        take: (demands, whenDown) => counters.take(apart(demands), whenDown),
        settle: (ticket, amounts) => counters.settle({ ...ticket, demands: apart(ticket.demands) }, amounts),
        healthy: () => counters.healthy(),
        close: () => counters.close(),
      }
    },
    { repeats: 3, steps: 2_000 },
  )
})
