import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { ticketOf } from '../contract/counters.ts'
import { caseName } from '../harness/case-name.ts'
import { KeptLog } from '../harness/request-context.ts'
import { type RedisServer, redisMissing, startRedis } from '../harness/redis.ts'
import { start } from '../harness/start.ts'

const skip = redisMissing()
const rpm = 20
const path = '/v1/chat/completions'
const body = { model: 'sim-chat', messages: [{ role: 'user', content: 'Say hello.' }] }

function open(t: Test, { url }: RedisServer): RedisCounters {
  const counters = new RedisCounters({ url, clock: systemClock, log: new KeptLog(), commandMs: 20_000 })
  t.teardown(() => counters.close())
  return counters
}

async function startLimited(t: Test) {
  const redis = await startRedis(t)
  const edit = [
    ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', `default: { rpm: ${rpm}, tpm: 500000 }`],
  ] as const
  const started = await start(t, { edit, counters: open(t, redis) })
  started.upstreams['text']?.answer({ choices: [] })
  return { redis, started }
}

/** Uses up the rest of the only key's minute from another process. */
async function useUp(t: Test, redis: RedisServer): Promise<void> {
  const id = /\{tollgate\}:window:(rpm key \S+?)(?::sum)?\r\n/.exec(await redis.text('KEYS', '*rpm key *'))?.[1] ?? ''
  const other = open(t, redis)
  await other.ready()
  const demand = { id, kind: 'window', limit: rpm, amount: rpm - 1, shadow: false } as const
  ticketOf(await other.take([demand], 'refuse'))
}

async function scriptsRun(redis: RedisServer): Promise<number> {
  const stats = await redis.text('INFO', 'commandstats')
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

t.test('a short request calls Redis once for admission, and once to report its usage [13.6]', { skip }, async t => {
  const { redis, started } = await startLimited(t)
  t.equal((await started.post(path, body)).status, 200)
  await started.settled()
  const before = await scriptsRun(redis)
  const answer = await started.post(path, body)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('x-ratelimit-remaining-requests'), String(rpm - 2))
  await started.settled()
  t.equal(await scriptsRun(redis), before + 2)
})

t.test(
  'a key whose limit was used up elsewhere is refused before it uploads 32 MiB, with or without a length [13.6]',
  { skip },
  async t => {
    const { redis, started } = await startLimited(t)
    t.equal((await started.post(path, body)).status, 200)
    await started.settled()
    await useUp(t, redis)
    for (const length of [{ 'content-length': 32 * 1024 * 1024 }, { 'transfer-encoding': 'chunked' }]) {
      const req = request(started.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${started.key}`, 'content-type': 'application/json', ...length },
        agent: false,
      })
      req.on('error', () => undefined)
      req.flushHeaders()
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      t.equal(res.statusCode, 429, caseName({ length }))
      t.equal(res.headers['x-ratelimit-scope'], 'user_rpm', caseName({ length }))
      req.destroy()
    }
    const short = await started.post(path, body)
    t.equal(short.status, 429, 'a short body is refused after it has arrived')
    t.equal(short.headers.get('x-ratelimit-scope'), 'user_rpm')
    t.ok(Number(short.headers.get('retry-after')) > 0)
    t.equal(started.upstreams['text']?.received.length, 1)
  },
)

t.test('a limit that this process has filled alone refuses without calling Redis', { skip }, async t => {
  const { redis, started } = await startLimited(t)
  const statuses: number[] = []
  for (let i = 0; i < rpm; i++) statuses.push((await started.post(path, body)).status)
  t.same([...new Set(statuses)], [200])
  await started.settled()
  const before = await scriptsRun(redis)
  t.equal((await started.post(path, body)).status, 429)
  await started.settled()
  t.equal(await scriptsRun(redis), before)
})
