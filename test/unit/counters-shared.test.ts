import t, { type Test } from 'tap'
import { type Limit, userLimits } from '../../plugins/ratelimit/limits.ts'
import type { Caller, LimitRequest, Ticket } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { fresh } from '../contract/counters.ts'
import { caseName } from '../harness/case-name.ts'
import { KeptLog, someGroup, someKey } from '../harness/request-context.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { startRedisCluster } from '../harness/redis-cluster.ts'
import { seeded } from '../harness/seed.ts'

// Limits of users and groups as the plugin requests them, at three gateways at once: together they admit as many as
// one.

const gateways = 3
const limits = {
  perUser: { rpm: 40, tpm: 4_000, concurrency: 9 },
  inAll: { rpm: 70, tpm: 9_000, concurrency: 16 },
} as const

/** Three of four users, each with keys of their own, in a new group. */
function newGroup() {
  const group = someGroup({ name: fresh('group'), limitsPerUser: limits.perUser, limitsInAll: limits.inAll })
  const users = Array.from({ length: 4 }, () => fresh('user'))
  const callers = users.flatMap(user =>
    [1, 2, 3].map((): Caller => ({ key: someKey({ id: fresh('key'), user }), group })),
  )
  return { group, users, callers }
}

/** The limits that a request of this caller needs. */
function demandsOf(caller: Caller, tokens: number): readonly Limit[] {
  return userLimits(caller).map(limit => (limit.counts === 'tokens' ? { ...limit, amount: tokens } : limit))
}

async function open(t: Test, url: string): Promise<readonly RedisCounters[]> {
  const all = Array.from(
    { length: gateways },
    () => new RedisCounters({ url, clock: systemClock, log: new KeptLog(), commandMs: 20_000 }),
  )
  t.teardown(() => Promise.all(all.map(one => one.close())))
  await Promise.all(all.map(one => one.ready()))
  return all
}

/** Returns undefined if a limit is reached or the gateway is closed. */
async function ticketFrom(counters: RedisCounters, demands: readonly LimitRequest[]): Promise<Ticket | undefined> {
  try {
    return (await counters.take(demands, 'refuse')).ticket
  } catch {
    return undefined
  }
}

const standing = async (counters: RedisCounters, demands: readonly LimitRequest[]): Promise<readonly number[]> =>
  (await counters.peek(demands, 'refuse')).map(({ remaining }) => remaining)

function sharedLimits(t: Test, connect: (t: Test) => Promise<string>): void {
  t.test("all gateways together admit exactly the group's limit, and no user more than theirs", async t => {
    const all = await open(t, await connect(t))
    for (let round = 0; round < 5; round++) {
      const { users, callers } = newGroup()
      // Leaves concurrency out: the test counts requests.
      const pending = callers.flatMap(caller =>
        Array.from({ length: 30 }, async (_, i) => {
          const own = demandsOf(caller, 1).filter(({ counts }) => counts !== 'places')
          const { ticket } = await (all[i % gateways] as RedisCounters).take(own, 'refuse')
          return ticket ? caller.key.user : undefined
        }),
      )
      const admitted = (await Promise.all(pending)).filter(user => user !== undefined)
      t.equal(admitted.length, limits.inAll.rpm, caseName({ round }))
      for (const [at, user] of users.entries()) {
        const used = admitted.filter(one => one === user).length
        t.ok(used <= limits.perUser.rpm, caseName({ round, used }))
        const own = demandsOf(callers[3 * at] as Caller, 0).filter(({ counts }) => counts === 'requests')
        const left = await standing(all[round % gateways] as RedisCounters, own)
        t.same(left, [limits.perUser.rpm - used, 0], 'refusals by the group took nothing from the user')
      }
    }
  })

  t.test('slots and tokens never exceed the bounds while requests and gateways come and go', async t => {
    const url = await connect(t)
    const all = [...(await open(t, url))]
    const random = seeded(7)
    const { callers } = newGroup()
    const inFlight = new Map<string, number>()
    const tokens = new Map<string, number>()
    let admitted = 0
    const most = { places: 0, tokens: 0 }
    const faults: string[] = []
    /** Counts for the user and for the group. */
    const count = (sums: Map<string, number>, caller: Caller, amount: number, of: 'concurrency' | 'tpm'): void => {
      for (const [name, bound] of [
        [caller.key.user, limits.perUser[of]],
        [caller.group.name, limits.inAll[of]],
      ] as const) {
        const sum = (sums.get(name) ?? 0) + amount
        sums.set(name, sum)
        if (sum > bound) faults.push(`${name}: ${sum} ${of}, ${bound} may be`)
      }
    }
    const ask = async (): Promise<void> => {
      const caller = callers[Math.floor(random() * callers.length)] as Caller
      const estimate = 1 + Math.floor(random() * 300)
      const demands = demandsOf(caller, estimate).filter(({ counts }) => counts !== 'requests')
      const counters = all[Math.floor(random() * all.length)] as RedisCounters
      const ticket = await ticketFrom(counters, demands)
      if (!ticket) return
      admitted++
      count(inFlight, caller, 1, 'concurrency')
      count(tokens, caller, estimate, 'tpm')
      most.places = Math.max(most.places, inFlight.get(caller.group.name) ?? 0)
      most.tokens = Math.max(most.tokens, tokens.get(caller.group.name) ?? 0)
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await standing(counters, demands).catch(() => [])
      const used = Math.floor(random() * estimate)
      // Counted down before the settlement: the model frees its share before the counters do.
      count(inFlight, caller, -1, 'concurrency')
      count(tokens, caller, used - estimate, 'tpm')
      await counters.settle(
        ticket,
        demands.map(({ counts }) => (counts === 'tokens' ? used : 0)),
      )
    }
    const work = async (): Promise<void> => {
      for (let i = 0; i < 20; i++) await ask()
    }
    const working = Array.from({ length: 30 }, work)
    await working[0]
    // The remaining gateways count on, and no share of the closed one is given out twice.
    await all.pop()?.close()
    await Promise.all(working)
    t.same(faults, [])
    t.ok(admitted > 50, `${admitted} were admitted`)
    t.ok(most.places > limits.inAll.concurrency / 2, `${most.places} at once`)
    t.ok(most.tokens > limits.inAll.tpm / 2, `${most.tokens} tokens`)
  })
}

const skip = redisMissing()
t.test('one Redis', { skip }, async t => sharedLimits(t, async () => (await startRedis(t)).url))
t.test('a spread cluster [13.6]', { skip }, async t => {
  const { nodes } = await startRedisCluster(t)
  sharedLimits(t, () => Promise.resolve(`${nodes[0]?.url}?cluster=spread`))
})
