import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Counters, CountersDown, type LimitRequest, type WhenDown } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { openCounters } from '../../src/storage/counters/index.ts'
import { RedisCounters, type RedisCountersOptions } from '../../src/storage/counters/redis/counters.ts'
import { places, ticketOf, window } from '../contract/counters.ts'
import type { Job } from '../contract/counters-child.ts'
import { HandClock, KeptLog } from '../harness/request-context.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { caseName } from '../harness/case-name.ts'

const skip = redisMissing()
const minute = 60_000
/** `REPEATS=100 node test/unit/counters-redis.test.ts` for a long run. */
const repeats = Number(process.env['REPEATS'] ?? 20)
/** Limit for calls that must not hang; none here takes a tenth of it. */
const patienceMs = 10_000

async function open(t: Test, url: string, more: Partial<RedisCountersOptions> = {}) {
  const log = new KeptLog()
  // The timeout is long so that a slow machine does not change the result, unless a test sets one.
  const counters = new RedisCounters({ url, clock: systemClock, log, commandMs: 20_000, ...more })
  t.teardown(() => counters.close())
  await counters.ready()
  return { counters, log }
}

/** How many of `n` at once are admitted. */
async function count(counters: Counters, n: number, demands: readonly LimitRequest[], whenDown: WhenDown = 'local') {
  const takings = await Promise.all(Array.from({ length: n }, async () => counters.take(demands, whenDown)))
  return takings.filter(({ ticket }) => ticket).length
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it did not come about')
    await sleep(5)
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

t.test('four processes admit exactly 100 of 1,000 concurrent requests at a limit of 100 [R2]', { skip }, async t => {
  const redis = await startRedis(t)
  const file = fileURLToPath(new URL('../contract/counters-child.ts', import.meta.url))
  const children: ChildProcess[] = []
  t.teardown(() =>
    Promise.all(
      children.map(async child => {
        if (!child.connected) return
        child.disconnect()
        await once(child, 'exit')
      }),
    ),
  )
  for (let i = 0; i < 4; i++) children.push(fork(file, [redis.url]))
  await Promise.all(children.map(child => once(child, 'message')))
  const admitted = new Set<number>()
  for (let i = 0; i < repeats; i++) {
    const job: Job = { demands: [window(100)], times: 250 }
    const answers = children.map(async child => {
      const answer = once(child, 'message')
      child.send(job)
      return (await answer)[0] as number
    })
    admitted.add(sum(await Promise.all(answers)))
  }
  t.same([...admitted], [100])
})

t.test(
  'Redis killed: each process applies the limit alone, no request waits, and it recovers [R10]',
  { skip },
  async t => {
    const redis = await startRedis(t)
    const replicas = await Promise.all(Array.from({ length: 4 }, () => open(t, redis.url)))
    const requests = [window(20)]
    let admitted = sum(await Promise.all(replicas.map(({ counters }) => count(counters, 3, requests))))
    t.equal(admitted, 12)
    await redis.kill()
    admitted += sum(await Promise.all(replicas.map(({ counters }) => count(counters, 200, requests))))
    t.equal(admitted, 80, 'four times the limit, and not one more: those admitted before count')
    for (const { counters } of replicas) await until(() => !counters.healthy())
    await redis.start()
    for (const { counters } of replicas) await until(() => counters.healthy())
    admitted += sum(await Promise.all(replicas.map(({ counters }) => count(counters, 200, requests))))
    t.equal(admitted, 80, 'a flushed store grants no client a fresh minute')
    t.equal(
      sum(
        await Promise.all(
          replicas.map(({ counters }) =>
            count(
              counters,
              50,
              requests.map(one => ({ ...one, id: 'after' })),
            ),
          ),
        ),
      ),
      20,
    )
    const levels = replicas[0]?.log.lines
      .filter(([level]) => level !== 'debug')
      .map(([level, , text]) => `${level}: ${text}`)
    t.same(levels, ['error: the counter store does not respond', 'info: the counter store responds again'])
  },
)

t.test(
  'Redis frozen: limits hold under local, nothing is admitted under refuse, and nothing hangs',
  { skip },
  async t => {
    const redis = await startRedis(t)
    const { counters } = await open(t, redis.url, { commandMs: 200 })
    const [local, strict] = [[window(10)], [window(10)]]
    t.equal(await count(counters, 4, local), 4)
    redis.freeze()
    t.teardown(() => redis.thaw())
    const askStrictly = async () => counters.take(strict, 'refuse')
    const begun = performance.now()
    const [admitted, refused] = await Promise.all([
      count(counters, 50, local),
      askStrictly().catch((error: unknown) => error),
    ] as const)
    t.equal(admitted, 6)
    t.ok(refused instanceof CountersDown)
    t.notOk(counters.healthy())
    t.ok(performance.now() - begun < patienceMs, `${Math.round(performance.now() - begun)} ms`)
    await t.rejects(askStrictly, { message: 'the counters do not answer' })
    await t.rejects(async () => counters.peek(strict, 'refuse'), { message: 'the counters do not answer' })
    t.match(await counters.peek(local, 'local'), [{ remaining: 0 }])
    redis.thaw()
    await until(() => counters.healthy())
    t.equal(await count(counters, 20, strict, 'refuse'), 10, 'failed takes have been undone')
    const { counters: other } = await open(t, redis.url)
    t.equal(await count(other, 20, local), 6, 'and only counts made there count there')
  },
)

t.test('Redis flushed: no error, and at most one fresh window for each client [D8]', { skip }, async t => {
  const redis = await startRedis(t)
  const replicas = await Promise.all(Array.from({ length: 4 }, () => open(t, redis.url)))
  const [requests, place] = [[window(40)], [places(8)]]
  const all = async (n: number, demands: readonly LimitRequest[]) =>
    sum(await Promise.all(replicas.map(({ counters }) => count(counters, n, demands, 'refuse'))))
  t.equal(await all(5, requests), 20)
  t.equal(await all(5, place), 8)
  await redis.command('FLUSHALL')
  t.equal(await all(100, requests), 40, 'a fresh window, once')
  t.equal(await all(100, requests), 0)
  await redis.command('SCRIPT', 'FLUSH')
  t.equal(await all(1, [window(100)]), 4, 'a server that has forgotten the script is sent it again')
})

t.test(
  'slots of a dead process are free after their lease; those of a living one stay, also after a flush',
  { skip },
  async t => {
    const redis = await startRedis(t)
    let now = 1e15
    const options = { serverTime: () => now, leaseMs: 600 }
    const { counters: first } = await open(t, redis.url, options)
    const { counters: second } = await open(t, redis.url, options)
    const place = [places(1)]
    t.equal(await count(first, 3, place), 1)
    const key = `{tollgate}:places:${place[0]?.id}`
    for (let i = 0; i < 3; i++) {
      now += 500_000
      const wanted = String(now + 600_000)
      await until(async () => (await redis.command('ZCOUNT', key, wanted, wanted)) === ':1')
      t.equal(await count(second, 1, place), 0, 'renewed')
    }
    await redis.command('FLUSHALL')
    await until(async () => (await redis.command('ZCARD', key)) === ':1')
    t.equal(await count(second, 1, place), 0, 'reported again')
    await first.close()
    now += 600_001
    t.equal(await count(second, 3, place), 1, 'free when the lease is over')
  },
)

/** Relays connections to a Redis. `onAnswer` gets each answer and the connection that it is for. */
async function startRelay(t: Test, redisUrl: string, onAnswer: (answer: Buffer, inner: Socket) => void) {
  const sockets = new Set<Socket>()
  const relay = createServer(inner => {
    const outer = connect(Number(new URL(redisUrl).port), '127.0.0.1')
    for (const socket of [inner, outer]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => (inner.destroy(), outer.destroy()))
    }
    inner.pipe(outer)
    outer.on('data', answer => onAnswer(answer, inner))
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  return `redis://127.0.0.1:${(relay.address() as AddressInfo).port}`
}

t.test('a connection that has fallen silent is replaced, as after the loss of a host', { skip }, async t => {
  const redis = await startRedis(t)
  const silent = new Set<Socket>()
  let last: Socket | undefined
  const url = await startRelay(t, redis.url, (answer, inner) => {
    last = inner
    if (!silent.has(inner)) inner.write(answer)
  })
  const { counters, log } = await open(t, url, { commandMs: 100 })
  t.equal(await count(counters, 1, [window(10)], 'refuse'), 1)
  if (last) silent.add(last)
  await until(async () => {
    await counters.take([window(10)], 'local')
    return !counters.healthy()
  })
  await until(() => counters.healthy())
  t.equal(await count(counters, 1, [window(10)], 'refuse'), 1)
  t.match(JSON.stringify(log.lines), /does not respond.*responds again/)
})

t.test('a lost answer is requested again and counts once [D9]', { skip }, async t => {
  const redis = await startRedis(t)
  let cuts = false
  let lost = 0
  const url = await startRelay(t, redis.url, (answer, inner) => {
    if (cuts) {
      lost++
      inner.destroy()
    } else inner.write(answer)
    cuts = false
  })
  const { counters } = await open(t, url)
  const { counters: other } = await open(t, redis.url)
  const demands = [window(50), window(5_000, 100), places(50)]
  await counters.take(demands, 'refuse')
  for (let i = 1; i <= 10; i++) {
    await until(() => counters.healthy())
    cuts = true
    ticketOf(await counters.take(demands, 'refuse'))
    t.match(
      await other.peek(demands, 'refuse'),
      [{ remaining: 49 - i }, { remaining: 4_900 - 100 * i }, { remaining: 49 - i }],
      caseName({ i }),
    )
  }
  t.equal(lost, 10)
})

t.test(
  "the server's clock is set by an hour: no client is locked out, and this process keeps its admissions [R9]",
  { skip },
  async t => {
    const redis = await startRedis(t)
    const clock = new HandClock()
    let ahead = 0
    const serverTime = () => Math.round((1e9 + clock.tick() + ahead) * 1_000)
    const { counters } = await open(t, redis.url, { clock, serverTime })
    const { counters: other } = await open(t, redis.url, { clock, serverTime })
    for (const step of [-60 * minute, 60 * minute, -90 * minute]) {
      const requests = [window(10)]
      t.equal(await count(counters, 20, requests), 10, caseName({ step }))
      ahead += step
      t.equal(await count(counters, 20, requests), 0, caseName({ step }))
      const { standings } = await other.take(requests, 'refuse')
      t.ok((standings[0]?.waitMs ?? 0) <= minute, caseName({ step }))
      clock.move(minute)
      t.ok(ticketOf(await counters.take(requests, 'refuse')), caseName({ step }))
    }
  },
)

t.test('a client that waits the reported time gets tokens, also behind those of other processes', { skip }, async t => {
  const redis = await startRedis(t)
  const clock = new HandClock()
  const serverTime = () => Math.round((1e9 + clock.tick()) * 1_000)
  const [{ counters }, { counters: other }] = [
    await open(t, redis.url, { clock, serverTime }),
    await open(t, redis.url, { clock, serverTime }),
  ]
  const tokens = (amount: number) => [window(1_000, amount, { id: 'tokens' })]
  ticketOf(await counters.take(tokens(200), 'refuse'))
  clock.move(20_000)
  ticketOf(await counters.take(tokens(500), 'refuse'))
  clock.move(20_000)
  ticketOf(await other.take(tokens(200), 'refuse'))
  const { ticket, standings } = await counters.take(tokens(400), 'refuse')
  t.equal(ticket, undefined)
  t.match(standings, [{ remaining: 100, waitMs: 40_000 }])
  clock.move(39_999)
  t.equal((await counters.take(tokens(400), 'refuse')).ticket, undefined)
  clock.move(1)
  t.ok((await counters.take(tokens(400), 'refuse')).ticket)
})

t.test('everything in Redis expires: a million keys leave nothing behind [R11]', { skip }, async t => {
  const redis = await startRedis(t)
  const { counters } = await open(t, redis.url)
  for (let i = 0; i < 200; i++) {
    const { ticket } = await counters.take([window(5), window(1_000, 100), places(5)], 'refuse')
    if (ticket && i % 2 === 0) await counters.settle(ticket, [1, 900, 1])
  }
  const script = `local most = 0
    for _, key in ipairs(redis.call('KEYS', '*')) do
      local left = redis.call('PTTL', key)
      if left < 0 then return 'no expiry: ' .. key end
      most = math.max(most, left)
    end
    return most`
  const most = await redis.command('EVAL', script, '0')
  t.match(most, /^:\d+$/)
  t.ok(Number(most.slice(1)) <= minute, most)
})

t.test('a password is used, and never shown', { skip }, async t => {
  const redis = await startRedis(t, '--requirepass', 'hunter2/hunter@')
  const at = (password: string) => redis.url.replace('://', `://:${encodeURIComponent(password)}@`)
  const { counters } = await open(t, at('hunter2/hunter@'))
  t.equal(await count(counters, 3, [window(2)], 'refuse'), 2)
  const { counters: stranger, log } = await open(t, at('guessed-wrong'))
  t.notOk(stranger.healthy())
  t.equal(await count(stranger, 3, [window(2)]), 2)
  t.match(JSON.stringify(log.lines), /WRONGPASS/)
  t.notMatch(JSON.stringify(log.lines), /guessed-wrong|hunter/)
})

t.test('a read-only Redis is not used until it accepts writes', { skip }, async t => {
  const [redis, master] = await Promise.all([startRedis(t), startRedis(t)])
  const { counters, log } = await open(t, redis.url)
  const limit = [window(10)]
  t.equal(await count(counters, 4, limit), 4)
  await redis.command('REPLICAOF', '127.0.0.1', new URL(master.url).port)
  t.equal(await count(counters, 20, limit), 6, 'this process continues with its own counts')
  t.notOk(counters.healthy())
  const probesRefused = async () => {
    const all = await redis.text('INFO', 'commandstats')
    return Number(/cmdstat_evalsha:.*?failed_calls=(\d+)/.exec(all)?.[1] ?? 0)
  }
  const before = await probesRefused()
  await until(async () => (await probesRefused()) >= before + 3)
  t.notMatch(JSON.stringify(log.lines), /answers again/)
  await redis.command('REPLICAOF', 'NO', 'ONE')
  await until(() => counters.healthy())
  t.equal(await count(counters, 20, [window(10)], 'refuse'), 10)
})

t.test('a Redis without free memory is not used until it has some', { skip }, async t => {
  const redis = await startRedis(t)
  const { counters, log } = await open(t, redis.url)
  const probes = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.text('INFO', 'commandstats'))?.[1])
  await redis.command('CONFIG', 'SET', 'maxmemory', '1')
  t.equal(await count(counters, 20, [window(6)]), 6, 'this process uses its own counts')
  t.notOk(counters.healthy())
  const before = await probes()
  await until(async () => (await probes()) >= before + 3)
  t.notMatch(JSON.stringify(log.lines), /responds again/)
  await redis.command('CONFIG', 'SET', 'maxmemory', '0')
  await until(() => counters.healthy())
  t.equal(await count(counters, 20, [window(10)], 'refuse'), 10)
})

t.test('a value that no gateway has written is removed, and stops no limits', { skip }, async t => {
  const redis = await startRedis(t)
  const { counters, log } = await open(t, redis.url)
  const demands = [window(1_000), places(1_000)]
  const [counted, slots] = demands.map(({ kind, id }) => `{tollgate}:${kind}:${id}`) as [string, string]
  for (const words of [
    ['SET', counted, 'x'],
    ['ZADD', counted, String(Date.now() * 1_000), 'no amount'],
    ['SET', `${counted}:sum`, 'x'],
    ['LPUSH', `${counted}:sum`, 'x'],
    ['SET', slots, 'x'],
    ['SET', '{tollgate}:probe', 'x'],
  ]) {
    await redis.command('DEL', words[1] as string)
    await redis.command(...words)
    await counters.take(demands, 'local')
    await counters.take([...demands, window(5)], 'local')
    await until(() => counters.healthy())
    t.equal(await count(counters, 1, demands, 'refuse'), 1, caseName({ words }))
  }
  t.match(JSON.stringify(log.lines), new RegExp(`${slots}.*were removed`))
})

t.test('a missing Redis is not an error at the start', { skip }, async t => {
  const redis = await startRedis(t)
  await redis.kill()
  const { counters } = await open(t, redis.url)
  t.notOk(counters.healthy())
  t.equal(await count(counters, 9, [window(3)]), 3)
  await redis.start()
  await until(() => counters.healthy())
  t.equal(await count(counters, 9, [window(3)], 'refuse'), 3)
})

t.test('a cluster: all counters of a request are in one Redis slot', { skip }, async t => {
  const redis = await startRedis(t, '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
  await redis.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(async () => (await redis.command('SET', 'x', '1')) === '+OK')
  for (const url of [redis.url, `${redis.url}?cluster`]) {
    const { counters } = await open(t, url)
    const demands = [window(3), window(1_000, 10), places(9)]
    t.equal(await count(counters, 20, demands, 'refuse'), 3, url.replace(/\d+/g, ''))
  }
})

t.test('counters of another kind are refused, without a possible password', async t => {
  const log = new KeptLog()
  await t.rejects(openCounters({ url: 'memcached://:hunter2@h', clock: systemClock, log }), {
    message: "there are no counters of the kind 'memcached:'; memory: and redis: are known",
  })
})
