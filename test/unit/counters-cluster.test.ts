import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CountersDown, type LimitRequest, type Ticket, type WhenDown } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { MemoryCounters } from '../../src/storage/counters/memory.ts'
import { RedisCounters, type RedisCountersOptions } from '../../src/storage/counters/redis/counters.ts'
import { slotOf, tagOf } from '../../src/storage/counters/redis/slots.ts'
import { fresh, places, ticketOf, window } from '../contract/counters.ts'
import type { Job } from '../contract/counters-child.ts'
import { caseName } from '../harness/case-name.ts'
import { until } from '../harness/edits.ts'
import { HandClock, KeptLog } from '../harness/request-context.ts'
import { seed, seeded } from '../harness/seed.ts'
import { redisMissing, type RedisServer } from '../harness/redis.ts'
import { type RedisCluster, startRedisCluster } from '../harness/redis-cluster.ts'

const skip = redisMissing()
const minute = 60_000
/** Longer than a live node needs on any machine, and longer than noticing a dead one takes. */
const patientMs = 5_000

/** Shared by tests that do not change it, because a cluster takes seconds to form. */
const shared = (skip ? undefined : await startRedisCluster(t)) as RedisCluster

async function open(t: Test, { nodes }: RedisCluster, more: Partial<RedisCountersOptions> = {}) {
  const log = new KeptLog()
  // The timeout is long so that a slow machine does not change the result, unless a test sets one.
  const url = `${nodes[0]?.url}?cluster=spread`
  const counters = new RedisCounters({ url, clock: systemClock, log, commandMs: 20_000, ...more })
  t.teardown(() => counters.close())
  await counters.ready()
  return { counters, log }
}

/** As `window` and `places`, for an owner. */
function ownWindow(owner: string, limit: number, amount = 1): LimitRequest {
  return window(limit, amount, { id: fresh(`rpm ${owner}`), owner })
}

function ownPlaces(owner: string, limit: number): LimitRequest {
  return places(limit, { id: fresh(`concurrency ${owner}`), owner })
}

/** Two owners whose counters are on the node, and one whose counters are on another. */
async function ownersOn(cluster: RedisCluster, node: RedisServer) {
  const here: string[] = []
  let elsewhere: string | undefined
  for (let i = 0; here.length < 2 || elsewhere === undefined; i++) {
    const owner = fresh(`owner ${i}`)
    if ((await cluster.nodeOf(tagOf(owner))) === node) here.push(owner)
    else elsewhere = owner
  }
  return { here, elsewhere }
}

/** How many of `n` at once are admitted. */
async function admittedOf(
  counters: RedisCounters,
  n: number,
  demands: readonly LimitRequest[],
  whenDown: WhenDown = 'refuse',
): Promise<number> {
  const takings = await Promise.all(Array.from({ length: n }, async () => counters.take(demands, whenDown)))
  return takings.filter(({ ticket }) => ticket).length
}

/** Returns the thrown error, if any. */
function errorOf(ask: () => Promise<unknown>): Promise<unknown> {
  return ask().then(
    () => undefined,
    (error: unknown) => error,
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

t.test('a hash tag has the slot that Redis gives it', { skip }, async t => {
  const { nodes } = shared
  const owners = [
    '',
    'user anna',
    'key 01',
    'user {a}b}',
    'user 张伟',
    'model a/b:c',
    ...Array.from({ length: 50 }, fresh),
  ]
  for (const owner of owners) {
    const reply = await (nodes[0] as RedisServer).command('CLUSTER', 'KEYSLOT', `${tagOf(owner)}:window:rpm ${owner}`)
    t.equal(`:${slotOf(tagOf(owner))}`, reply, caseName({ owner }))
  }
})

t.test('limits on a spread cluster', { skip }, async t => {
  const cluster = shared

  t.test('each user has a Redis slot, a model its own, and all nodes count [13.6]', async t => {
    const { counters } = await open(t, cluster)
    const model = ownWindow('model one', 10_000)
    for (let i = 0; i < 60; i++) {
      const user = `user ${i}`
      const demands = [ownWindow(user, 5), ownWindow(user, 1_000, 10), ownPlaces(user, 3), model]
      ticketOf(await counters.take(demands, 'refuse'))
    }
    const keys = (await cluster.keys()).map(names => names.filter(name => name.includes('user ')))
    t.equal(sum(keys.map(names => names.length)), 60 * 5, 'two windows, their sums, and the places of each')
    for (const [i, names] of keys.entries()) t.ok(names.length >= 10 * 5, `node ${i} has ${names.length}`)
    const owners = keys.map(names => new Set(names.map(name => /\{(.*?)\}/.exec(name)?.[1])))
    t.equal(sum(owners.map(some => some.size)), 60, 'and all counters of one user are on one node')
    const tag = tagOf('model one')
    t.match(await (await cluster.nodeOf(tag)).text('GET', `${tag}:window:${model.id}:sum`), '60')
  })

  t.test('?cluster alone counts in one Redis slot, as before', async t => {
    const url = `${cluster.nodes[0]?.url}?cluster`
    const { counters } = await open(t, cluster, { url })
    const [user, model] = [ownWindow('user anna', 9), ownWindow('model two', 9)]
    ticketOf(await counters.take([user, model], 'refuse'))
    const [node, others] = [await cluster.nodeOf('{tollgate}'), await cluster.keys()]
    const names = others[cluster.nodes.indexOf(node)] ?? []
    for (const { id } of [user, model]) t.ok(names.includes(`{tollgate}:window:${id}`), caseName({ id }))
    const { log } = await open(t, cluster)
    t.match(log.lines, [['warn', {}, /other processes count limits in one slot of this cluster/]])
  })

  t.test('two gateways at once admit exactly what the users and the model allow [13.6]', async t => {
    const both = [await open(t, cluster), await open(t, cluster)]
    for (let i = 0; i < 5; i++) {
      const model = ownWindow(fresh('model'), 100)
      const users = Array.from({ length: 10 }, () => {
        const owner = fresh('user')
        return [ownWindow(owner, 30), ownPlaces(owner, 40)] as const
      })
      const admitted = await Promise.all(
        users.map(async own => {
          const demands = [...own, model]
          return sum(await Promise.all(both.map(({ counters }) => admittedOf(counters, 40, demands))))
        }),
      )
      t.equal(sum(admitted), 100, caseName({ i, admitted }))
      t.ok(Math.max(...admitted) <= 30, caseName({ i, admitted }))
      for (const [j, [requests, place]] of users.entries()) {
        const left = await both[0]?.counters.peek([requests, place], 'refuse')
        const used = admitted[j] as number
        t.match(left, [{ remaining: 30 - used }, { remaining: 40 - used }], caseName({ i, j, used }))
      }
    }
  })

  t.test("a refusal by the model takes nothing of its user, and has the model's wait", async t => {
    const clock = new HandClock()
    const serverTime = () => Math.round((1e9 + clock.tick()) * 1_000)
    const { counters } = await open(t, cluster, { clock, serverTime })
    const { counters: other } = await open(t, cluster, { clock, serverTime })
    const [user, model] = [fresh('user'), ownWindow(fresh('model'), 1)]
    const demands = [ownWindow(user, 5), ownWindow(user, 1_000, 100), model, ownPlaces(user, 2)]
    const upstream = ownPlaces(fresh('upstream'), 4)
    ticketOf(await other.take([model], 'refuse'))
    clock.move(15_000)
    for (const amount of [1, 2, 3]) {
      const { ticket, standings } = await counters.take([...demands, upstream], 'refuse')
      t.equal(ticket, undefined, caseName({ amount }))
      t.strictSame(
        standings,
        [
          { remaining: 5, waitMs: 0, resetMs: 0 },
          { remaining: 1_000, waitMs: 0, resetMs: 0 },
          { remaining: 0, waitMs: 45_000, resetMs: 45_000 },
          { remaining: 2, waitMs: 0, resetMs: 0 },
          { remaining: 4, waitMs: 0, resetMs: 0 },
        ],
        caseName({ amount }),
      )
    }
    clock.move(45_000)
    t.ok((await counters.take([...demands, upstream], 'refuse')).ticket, 'a client that waits that long is admitted')
  })

  t.test('a client over its own limit touches no shared one, and waits for the slowest', async t => {
    const clock = new HandClock()
    const serverTime = () => Math.round((1e9 + clock.tick()) * 1_000)
    const { counters } = await open(t, cluster, { clock, serverTime })
    const { counters: other } = await open(t, cluster, { clock, serverTime })
    const [user, idle, full] = [ownWindow(fresh('user'), 1), ownWindow(fresh('model'), 9), ownWindow(fresh('model'), 1)]
    ticketOf(await other.take([user], 'refuse'))
    clock.move(10_000)
    ticketOf(await other.take([full], 'refuse'))
    t.match(await counters.take([user, idle], 'refuse'), {
      ticket: undefined,
      standings: [
        { remaining: 0, waitMs: 50_000 },
        { remaining: 9, waitMs: 0 },
      ],
    })
    const names = (await cluster.keys()).flat()
    t.notOk(
      names.some(name => name.includes(idle.id)),
      'not even for a moment',
    )
    t.match((await counters.take([user, full], 'refuse')).standings, [{ waitMs: 50_000 }, { waitMs: minute }])
  })

  t.test('one turn of one owner is one script, and all of one node one write', async t => {
    const { counters } = await open(t, cluster)
    const owners = Array.from({ length: 20 }, () => ownWindow(fresh('user'), 2))
    // Each node has to load the script first: otherwise the first call takes two attempts.
    for (const one of owners) await counters.peek([one], 'refuse')
    const figuresOf = async (section: string, figure: RegExp) => {
      const all = await Promise.all(cluster.nodes.map(node => node.text('INFO', section)))
      return all.map(text => Number(figure.exec(text)?.[1] ?? 0))
    }
    const scripts = () => figuresOf('commandstats', /cmdstat_evalsha:calls=(\d+)/)
    const reads = () => figuresOf('stats', /total_reads_processed:(\d+)/)
    const [scriptsBefore, readsBefore] = [sum(await scripts()), await reads()]
    t.same(await Promise.all(owners.map(one => admittedOf(counters, 3, [one]))), Array(20).fill(2))
    const readsAfter = await reads()
    t.equal(sum(await scripts()) - scriptsBefore, owners.length)
    // One read is the `INFO` command itself.
    for (const [i, before] of readsBefore.entries())
      t.ok((readsAfter[i] as number) - before <= 5, caseName({ node: i, reads: (readsAfter[i] as number) - before }))
  })

  t.test('slots on several nodes are renewed there, and expire without renewal', async t => {
    let now = 1e15
    const options = { serverTime: () => now, leaseMs: 600 }
    const { counters: first } = await open(t, cluster, options)
    const { counters: second } = await open(t, cluster, options)
    const held = Array.from({ length: 9 }, () => ownPlaces(fresh('user'), 1))
    for (const place of held) ticketOf(await first.take([place], 'refuse'))
    for (let i = 0; i < 3; i++) {
      now += 500_000
      const wanted = String(now + 600_000)
      for (const { id, owner } of held) {
        const [tag, node] = [tagOf(owner), await cluster.nodeOf(tagOf(owner))]
        await until(async () => (await node.command('ZCOUNT', `${tag}:places:${id}`, wanted, wanted)) === ':1')
      }
      t.equal(sum(await Promise.all(held.map(place => admittedOf(second, 1, [place])))), 0, caseName({ i }))
    }
    await first.close()
    now += 600_001
    t.equal(sum(await Promise.all(held.map(place => admittedOf(second, 2, [place])))), 9)
  })

  t.test('answers any sequence like counters in memory', async t => {
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const clock = new HandClock()
    clock.move(1e9)
    const serverTime = () => Math.round(clock.tick() * 1_000)
    // The system's time drives the renewal of places, and it does not pass here.
    const { counters } = await open(t, cluster, { clock, serverTime, leaseMs: 1e9 })
    const model = new MemoryCounters(clock)
    const pick = (n: number) => Math.floor(random() * n)
    const limits = Array.from({ length: 12 }, (_, i): LimitRequest => {
      const owner = `${fresh('owner')} of ${i % 5}`
      const shadow = random() < 0.15
      return i % 3 === 2 ? { ...ownPlaces(owner, 1 + pick(4)), shadow } : { ...ownWindow(owner, 20 + pick(60)), shadow }
    })
    const taken: { readonly demands: readonly LimitRequest[]; readonly mine: Ticket; readonly theirs: Ticket }[] = []
    const seen = { admitted: 0, refused: 0 }
    for (let step = 0; step < 1_500; step++) {
      clock.move(pick(random() < 0.05 ? minute : 900))
      const demands = limits
        .filter(() => random() < 0.4)
        .map(one => (one.kind === 'window' ? { ...one, amount: pick(9) } : one))
      if (demands.length === 0) continue
      const [mine, theirs] = [await counters.take(demands, 'refuse'), model.take(demands)]
      const rounded = theirs.standings.map(({ remaining, waitMs, resetMs }) => ({ remaining, waitMs, resetMs }))
      t.strictSame(mine.standings, rounded, caseName({ step, demands: demands.length }))
      t.equal(mine.ticket !== undefined, theirs.ticket !== undefined, caseName({ step }))
      seen[mine.ticket ? 'admitted' : 'refused']++
      if (mine.ticket && theirs.ticket) taken.push({ demands, mine: mine.ticket, theirs: theirs.ticket })
      if (taken.length === 0 || random() < 0.3) continue
      const [ended] = taken.splice(pick(taken.length), 1)
      const amounts = ended?.demands.map(() => pick(12)) ?? []
      if (ended) await counters.settle(ended.mine, amounts)
      if (ended) model.settle(ended.theirs, amounts)
    }
    t.ok(seen.admitted > 100 && seen.refused > 100, JSON.stringify(seen))
  })
})

t.test(
  'one of three nodes is killed: its limits follow on_store_failure, and the rest are unaffected',
  { skip },
  async t => {
    const cluster = await startRedisCluster(t)
    const [, , lost] = cluster.nodes as [RedisServer, RedisServer, RedisServer]
    const { here, elsewhere } = await ownersOn(cluster, lost)
    const quick = { commandMs: patientMs }
    const both = [await open(t, cluster, quick), await open(t, cluster, quick)] as const
    const [model, user] = [ownWindow(here[0] as string, 20), ownWindow(elsewhere, 50)]
    const place = ownPlaces(elsewhere, 60)
    /** How many of `n` each gateway admits, one gateway after the other. */
    const all = async (n: number, demands: readonly LimitRequest[]) => {
      const admitted: number[] = []
      for (const { counters } of both) admitted.push(await admittedOf(counters, n, demands, 'local'))
      return admitted
    }
    t.same(await all(3, [user, place, model]), [3, 3])
    await lost.kill()
    t.same(
      await all(40, [user, place, model]),
      [17, 17],
      'each holds the limit of the model by itself, what it had counts',
    )
    t.ok(both.every(({ counters }) => !counters.healthy()))
    t.match(await both[0].counters.peek([user, place], 'refuse'), [{ remaining: 10 }, { remaining: 20 }])
    t.equal(sum(await all(40, [user])), 10, 'limits on other nodes are counted together, exactly')
    const [dead, alive] = [ownWindow(here[1] as string, 9), ownWindow(elsewhere, 7)]
    for (const { counters } of both) {
      t.equal(counters.known([alive], 'refuse'), undefined, 'of the living only they can say')
      const unknown = await errorOf(async () => counters.known([dead], 'refuse'))
      t.ok(unknown instanceof CountersDown, 'of the dead nobody can')
      t.ok(
        (await errorOf(async () => counters.take([alive, dead], 'refuse'))) instanceof CountersDown,
        'the living asked first',
      )
      t.ok(
        (await errorOf(async () => counters.take([dead, alive], 'refuse'))) instanceof CountersDown,
        'the living asked last',
      )
    }
    t.match(await both[1].counters.peek([alive], 'refuse'), [{ remaining: 7 }], 'its amounts are returned')
    t.equal(await admittedOf(both[0].counters, 9, [alive], 'refuse'), 7)
    const inFlight = ownPlaces(here[1] as string, 5)
    const held = ticketOf(await both[0].counters.take([inFlight, ownWindow(elsewhere, 5)], 'local'))
    const node = new URL(lost.url).host
    t.match(
      both[0].log.lines.filter(([level]) => level === 'error'),
      [['error', { node }, 'the counter store does not respond']],
    )
    await lost.start()
    for (const { counters } of both) await until(() => counters.healthy())
    const count = () => lost.command('ZCARD', `${tagOf(here[1])}:places:${inFlight.id}`)
    await until(async () => (await count()) === ':1')
    await both[0].counters.settle(held, [0, 0])
    t.equal(await count(), ':0', 'what is in flight it is told when it is back, and when that ends')
    t.equal(
      sum(await all(40, [ownWindow(here[1] as string, 30), ownWindow(elsewhere, 35)])),
      30,
      'and all is as before',
    )
    t.match(both[0].log.lines.at(-1), ['info', { node }, 'the counter store responds again'])
  },
)

t.test('a gateway that dies between its user and its model leaves one slot until its lease ends', { skip }, async t => {
  const cluster = shared
  const [frozen] = cluster.nodes.slice(-1) as [RedisServer]
  const { here, elsewhere } = await ownersOn(cluster, frozen)
  const file = fileURLToPath(new URL('../contract/counters-child.ts', import.meta.url))
  const dying = fork(file, [`${cluster.nodes[0]?.url}?cluster=spread`])
  t.teardown(() => dying.kill('SIGKILL'))
  await once(dying, 'message')
  const [place, requests] = [ownPlaces(elsewhere, 1), ownWindow(elsewhere, 1)]
  frozen.freeze()
  t.teardown(() => frozen.thaw())
  const job: Job = { demands: [place, requests, ownWindow(here[0] as string, 9)], times: 1 }
  dying.send(job)
  const tag = tagOf(elsewhere)
  const node = await cluster.nodeOf(tag)
  await until(async () => (await node.command('ZCARD', `${tag}:places:${place.id}`)) === ':1')
  dying.kill('SIGKILL')
  await once(dying, 'exit')
  frozen.thaw()
  let ahead = 0
  const { counters } = await open(t, cluster, { serverTime: () => Date.now() * 1_000 + ahead })
  t.equal((await counters.take([place], 'refuse')).ticket, undefined)
  t.equal((await counters.take([requests], 'refuse')).ticket, undefined)
  ahead = 30_000_001
  t.ok((await counters.take([place], 'refuse')).ticket)
  ahead = 60_000_001
  t.ok((await counters.take([requests], 'refuse')).ticket)
})

t.test('a replica replaces its node and continues its counts', { skip }, async t => {
  const cluster = await startRedisCluster(t)
  const [, , lost] = cluster.nodes as [RedisServer, RedisServer, RedisServer]
  const replica = await cluster.addReplica(lost)
  const { here } = await ownersOn(cluster, lost)
  const { counters, log } = await open(t, cluster, { commandMs: patientMs })
  const { counters: other } = await open(t, cluster)
  const requests = ownWindow(here[0] as string, 10)
  t.equal(await admittedOf(other, 6, [requests]), 6)
  const writtenTo = async (node: RedisServer) =>
    /(?:slave|master)_repl_offset:(\d+)/.exec(await node.text('INFO', 'replication'))?.[1]
  await until(async () => (await writtenTo(replica)) === (await writtenTo(lost)))
  await lost.kill()
  t.equal(await admittedOf(counters, 20, [requests], 'local'), 10, 'by itself')
  t.notOk(counters.healthy())
  await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER')
  await until(() => counters.healthy())
  // Requests in flight when the node died may arrive at the other node, which returns them a moment later.
  let admitted = 0
  await until(async () => (admitted += await admittedOf(other, 20, [requests], 'refuse')) >= 4)
  admitted += await admittedOf(other, 20, [requests], 'refuse')
  t.equal(admitted, 4, 'of the ten, six of which were told before')
  t.equal(counters.known([requests], 'refuse')?.[0]?.remaining, 0)
  t.match(log.lines.at(-1), ['info', { node: new URL(lost.url).host }, 'the counter store responds again'])
})
