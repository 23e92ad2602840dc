import t, { type Test } from 'tap'
import { type LimitRequest, windowMs } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { turnScript } from '../../src/storage/counters/redis/scripts.ts'
import { Turn } from '../../src/storage/counters/redis/turn.ts'
import { fresh, places, ticketOf, window } from '../contract/counters.ts'
import { KeptLog } from '../harness/request-context.ts'
import { type RedisServer, redisMissing, startRedis } from '../harness/redis.ts'

const skip = redisMissing()

async function open(t: Test, { url }: RedisServer): Promise<RedisCounters> {
  const counters = new RedisCounters({ url, clock: systemClock, log: new KeptLog(), commandMs: 20_000 })
  t.teardown(() => counters.close())
  await counters.ready()
  return counters
}

/** The number of Redis commands that `work` runs, by name, including those inside scripts. */
async function commandsOf(redis: RedisServer, work: () => Promise<void>): Promise<Map<string, number>> {
  await redis.command('CONFIG', 'RESETSTAT')
  await work()
  const commands = new Map<string, number>()
  for (const [, name, calls] of (await redis.text('INFO', 'commandstats')).matchAll(/cmdstat_(\w+)[^:]*:calls=(\d+)/g))
    if (name !== undefined && name !== 'config') commands.set(name, Number(calls))
  return commands
}

/** Requests and tokens of a key, a model's requests, and a place. */
function fourLimits(): readonly LimitRequest[] {
  return [window(100), window(10_000, 500), window(1_000), places(10)]
}

t.test(
  'a request with four limits is two scripts and 19 commands, from its admission to its end [13.6]',
  { skip },
  async t => {
    const redis = await startRedis(t)
    const counters = await open(t, redis)
    const demands = fourLimits()
    const request = async () => {
      const ticket = ticketOf(await counters.take(demands, 'refuse'))
      await counters.settle(ticket, [1, 500, 1, 0])
    }
    // The first request finds no counters; later ones find those of a key in use.
    await request()
    const commands = await commandsOf(redis, request)
    t.equal(commands.get('evalsha'), 2)
    commands.delete('evalsha')
    const calls = [...commands.values()].reduce((all, one) => all + one, 0)
    t.equal(calls, 19, JSON.stringify([...commands]))
  },
)

t.test('one turn is one script, in which settled amounts are free for new takes [13.6]', { skip }, async t => {
  const redis = await startRedis(t)
  const counters = await open(t, redis)
  const place = [places(2)]
  const held = [ticketOf(await counters.take(place, 'refuse')), ticketOf(await counters.take(place, 'refuse'))]
  const model = window(30)
  const taken: boolean[] = []
  const commands = await commandsOf(redis, async () => {
    const settled = held.map(async ticket => counters.settle(ticket, [0]))
    const takings = [...Array.from({ length: 40 }, () => [model]), place, place, place].map(async demands =>
      counters.take(demands, 'refuse'),
    )
    await Promise.all(settled)
    for (const { ticket } of await Promise.all(takings)) taken.push(ticket !== undefined)
  })
  t.equal(commands.get('evalsha'), 1)
  t.equal(taken.slice(0, 40).filter(Boolean).length, 30, 'exactly the limit')
  t.same(taken.slice(40), [true, true, false])
})

t.test("calls beyond one script's maximum go in several, in order", { skip }, async t => {
  const redis = await startRedis(t)
  const counters = await open(t, redis)
  const limit = [window(150)]
  let admitted = 0
  const commands = await commandsOf(redis, async () => {
    const takings = await Promise.all(Array.from({ length: 200 }, async () => counters.take(limit, 'refuse')))
    admitted = takings.filter(({ ticket }) => ticket).length
  })
  t.equal(admitted, 150)
  t.equal(commands.get('evalsha'), 4)
})

t.test('a closing process first sends pending reports', { skip }, async t => {
  const redis = await startRedis(t)
  const [counters, other] = [await open(t, redis), await open(t, redis)]
  const demands = [window(1_000, 400), places(1)]
  const ticket = ticketOf(await counters.take(demands, 'refuse'))
  void counters.settle(ticket, [100, 0])
  await counters.close()
  t.match(await other.peek(demands, 'refuse'), [{ remaining: 900 }, { remaining: 1, waitMs: 0 }])
})

t.test('an earlier version next to this one shares its keys and counts', { skip }, async t => {
  const redis = await startRedis(t)
  const counters = await open(t, redis)
  const [tokens, place] = [window(1_000, 300, { id: fresh() }), places(2)]
  const [key, placesKey] = [`{tollgate}:window:${tokens.id}`, `{tollgate}:places:${place.id}`]
  const now = Date.now() * 1_000
  await redis.command('ZADD', key, String(now - 1_000_000), 'other.1:500')
  await redis.command('SET', `${key}:sum`, '500', 'PX', '59000')
  await redis.command('ZADD', placesKey, String(now + 20_000_000), 'other.1')
  const { ticket, standings } = await counters.take([tokens, place], 'refuse')
  t.match(standings, [{ remaining: 200 }, { remaining: 0 }])
  t.equal(await redis.command('GET', `${key}:sum`), '$3')
  t.match(await redis.text('GET', `${key}:sum`), '800')
  t.match(await redis.text('ZRANGE', key, '0', '-1'), /other\.1:500\r\n\$\d+\r\n[\w-]+\.0:300\r\n/)
  t.match(await redis.text('ZRANGE', placesKey, '0', '-1'), /other\.1\r\n\$\d+\r\n[\w-]+\.0\r\n/)
  t.equal((await counters.take([place], 'refuse')).ticket, undefined)
  if (ticket) await counters.settle(ticket, [700, 0])
  t.match(await redis.text('GET', `${key}:sum`), '1200')
  t.match(await counters.peek([{ ...tokens, amount: 1 }, place], 'refuse'), [{ remaining: 0 }, { remaining: 1 }])
})

t.test(
  'a turn whose answer was lost is repeated and counts once, also if it filled its limits [13.6]',
  { skip },
  async t => {
    const redis = await startRedis(t)
    const turn = new Turn('{tollgate}', async (keys, args) => {
      const words = ['EVAL', turnScript, keys.length, ...keys, '', windowMs * 1_000, 30_000_000, ...args].map(String)
      await redis.text(...words)
      return Array.from((await redis.text(...words)).matchAll(/^:(\d+)/gm), ([, number]) => Number(number))
    })
    const [request, tokens, place] = [window(1), window(100, 60), places(1)]
    t.match(await turn.ask('take', 'one.0', [request, tokens, place]), {
      taken: true,
      statuses: [
        { remaining: 0, waitMs: 0 },
        { remaining: 40, waitMs: 0 },
        { remaining: 0, waitMs: 0 },
      ],
    })
    t.match(await turn.ask('take', 'one.1', [request, tokens, place]), { taken: false })
    await turn.settle('one.0', [
      [tokens, 90],
      [place, 0],
    ])
    t.match(await turn.ask('peek', '', [request, tokens, place]), {
      statuses: [{ remaining: 0 }, { remaining: 10 }, { remaining: 1 }],
    })
  },
)
