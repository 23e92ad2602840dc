import { request, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { until } from '../harness/edits.ts'
import { HandClock, KeptLog, RunningClock } from '../harness/request-context.ts'
import { seed, seeded } from '../harness/seed.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { type Edits, type Started, start, type StartOptions } from '../harness/start.ts'
import type { Reaction } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const skip = redisMissing()
/** `LEAK_REQUESTS=10000 node test/http/limits-faults.test.ts` for a long run. */
const requests = Number(process.env['LEAK_REQUESTS'] ?? 600)
const together = 20
const messages = [{ role: 'user', content: 'Say hello.' }]
const path = '/v1/chat/completions'
const body = { model: 'sim-chat', messages }

/** The shipped configuration with these limits, and an upstream with short timeouts. */
function limits(text: string): Edits {
  const upstream = 'url: "${TEXT_URL:-simulator:text}"'
  const impatient = 'timeouts: { connect: 5s, first_byte: 200ms, idle: 120s, total: 15m }'
  return [
    ['default: { rpm: 60, tpm: 500000, concurrency: 32 }', `default: { ${text} }`],
    [upstream, `${upstream}\n    concurrency: 24\n    cooldown: { failures: 1000000 }\n    ${impatient}`],
  ]
}

/** Counters with a long timeout for Redis, so that a slow machine does not change the result. */
function open(url: string): RedisCounters {
  return new RedisCounters({ url, clock: systemClock, log: new KeptLog(), commandMs: 20_000 })
}

/** One request that ends in one of many ways: answered, refused, cut by either side, or never answered. */
async function askAnyhow({ url, key }: Started, random: () => number): Promise<void> {
  const how = random()
  const stream = random() < 0.5
  const text =
    how < 0.1 ? '{"model": "sim-chat", ' : JSON.stringify({ ...body, stream, ...(how < 0.2 && { model: 'no' }) })
  const req = request(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    },
    agent: false,
  })
  req.on('error', () => undefined)
  const closed = new Promise(resolve => req.on('close', resolve))
  req.on('response', res => {
    res.on('error', () => undefined).resume()
    if (how > 0.9) res.once('data', () => req.destroy())
  })
  if (how > 0.2 && how < 0.25) {
    req.write(text.slice(0, 5))
    setImmediate(() => req.destroy())
  } else req.end(text)
  if (how > 0.25 && how < 0.35) setTimeout(() => req.destroy(), random() * 10)
  await closed
}

function reactAnyhow(random: () => number): Reaction {
  return async (res, received) => {
    const how = random()
    const isStream = received.json()['stream'] === true
    if (how < 0.1) res.destroy()
    else if (how < 0.2) res.writeHead(500).end('{}')
    else if (how < 0.3) res.writeHead(429, { 'retry-after': '0' }).end('{}')
    // The others get no answer: the gateway waits for the first byte in vain.
    else if (how > 0.32 && isStream) await streamAnyhow(res, how < 0.5)
    else if (how > 0.32)
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[],"usage":{"prompt_tokens":9}}')
  }
}

async function streamAnyhow(res: ServerResponse, isCut: boolean): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let i = 0; i < 4 && !res.destroyed; i++) {
    res.write(`data: {"choices":[{"index":0,"delta":{"content":"${'word '.repeat(i)}"}}]}\n\n`)
    await new Promise(resolve => setImmediate(resolve))
  }
  if (isCut) res.destroy()
  else res.end('data: [DONE]\n\n')
}

async function leaksNothing(t: Test, options: StartOptions): Promise<void> {
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  // Timeouts for missing answers use this clock.
  const clock = new RunningClock()
  const edit = limits('rpm: 100000, tpm: 100000000, concurrency: 22')
  const started = await start(t, { clock, edit, ...options })
  const { gateway, post, settled, upstreams } = started
  const text = upstreams['text'] as NonNullable<(typeof upstreams)['text']>
  text.answer(reactAnyhow(random))
  let left = requests
  const caller = async (): Promise<void> => {
    while (left-- > 0) await askAnyhow(started, random)
  }
  await Promise.all(Array.from({ length: together }, caller))
  await settled()
  t.equal(gateway.open, 0)
  // Every place is free again: exactly this many concurrent requests are admitted.
  const held: ServerResponse[] = []
  text.answer(res => void held.push(res))
  const pending = Array.from({ length: 22 }, () => post(path, body))
  await until(() => held.length === 22)
  t.equal((await post(path, body)).status, 429)
  for (const res of held) res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}')
  t.same([...new Set((await Promise.all(pending)).map(({ status }) => status))], [200])
  await settled()
  // A minute later no reservation is left.
  clock.move(60_000)
  text.answer(res => void res.writeHead(400).end('{}'))
  const last = await post(path, { ...body, max_tokens: 1 })
  const remaining = Number(last.headers.get('x-ratelimit-remaining-tokens'))
  t.ok(remaining > 100_000_000 - 100, `${remaining} tokens remain`)
  t.equal(last.headers.get('x-ratelimit-remaining-requests'), '99999')
}

t.test(`${requests} requests with every outcome leave every slot and every token free [R8] [LIM-3]`, async t => {
  await leaksNothing(t, {})
})

t.test(
  'of 1,000 concurrent requests at a limit of 100, 100 reach an upstream, and the rest wait as long as told [R1] [R5]',
  async t => {
    const clock = new HandClock()
    const started = await start(t, {
      clock,
      edit: [['default: { rpm: 60, tpm: 500000, concurrency: 32 }', 'default: { rpm: 100 }']],
    })
    const { post, upstreams } = started
    upstreams['text']?.answer({ choices: [] })
    const statuses = new Map<number, number>()
    let waitMs = 0
    for (let i = 0; i < 10; i++) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(path, body)))
      for (const { status, headers } of answers) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        waitMs = Math.max(waitMs, Number(headers.get('retry-after') ?? 0) * 1000)
      }
    }
    t.same(
      [...statuses],
      [
        [200, 100],
        [429, 900],
      ],
    )
    t.equal(upstreams['text']?.received.length, 100)
    // A commit in progress would seem to take the wait.
    await started.settled()
    clock.move(waitMs)
    t.equal((await post(path, body)).status, 200)
  },
)

t.test(
  'two gateways on one Redis share one limit; without Redis each applies it alone [R2] [R10]',
  { skip },
  async t => {
    const redis = await startRedis(t)
    const begin = () => start(t, { edit: limits('rpm: 10, tpm: 100000000, concurrency: 5'), counters: open(redis.url) })
    const [first, second] = await Promise.all([begin(), begin()])
    // Each gateway has a key of its own storage; the model's limit counts both.
    const edited: Edits = [['sim-chat: { ', 'sim-chat: { limits: { rpm: 10 }, ']]
    for (const { gateway, reload, upstreams } of [first, second]) {
      t.match(await reload(edited), { ok: true }, caseName({ gateway, reload, upstreams }))
      t.equal(gateway.plan.models.get('sim-chat')?.limits.rpm, 10, caseName({ gateway, reload, upstreams }))
      upstreams['text']?.answer({ choices: [] })
    }
    const ask = async (times: number) => {
      const each = [first, second].map(one => Promise.all(Array.from({ length: times }, () => one.post(path, body))))
      const answers = (await Promise.all(each)).flat()
      await Promise.all([first.settled(), second.settled()])
      return answers.map(({ status }) => status)
    }
    const count = (statuses: readonly number[], status: number) => statuses.filter(one => one === status).length
    const shared = await ask(4)
    t.same([count(shared, 200), count(shared, 429)], [8, 0])
    const full = await ask(4)
    t.equal(count(full, 200), 2, 'ten together')
    await redis.kill()
    const alone = await ask(20)
    t.equal(count(alone, 200) + 10, 20, 'and each by itself no more than ten')
    t.equal(count(alone, 429), 30)
    const metrics = await (await fetch(`${first.opsUrl}/metrics`)).text()
    t.match(metrics, /^tollgate_counters_up 0$/m)
    t.equal((await fetch(`${first.opsUrl}/readyz`)).status, 200, 'a gateway that holds its limits is ready')
  },
)

t.test('on_store_failure: refuse returns 503 while Redis is frozen, and recovers with it', { skip }, async t => {
  const redis = await startRedis(t)
  const refuse: Edits = [['[auth, ratelimit,', '[auth, { ratelimit: { on_store_failure: refuse } },']]
  const started = await start(t, { edit: refuse, env: { TOLLGATE_COUNTERS: redis.url } })
  const { post, get, upstreams } = started
  upstreams['text']?.answer({ choices: [] })
  t.equal((await post(path, body)).status, 200)
  redis.freeze()
  t.teardown(() => redis.thaw())
  for (let i = 0; i < 5; i++) {
    const answer = await post(path, body)
    t.equal(answer.status, 503, caseName({ i }))
    t.equal(answer.headers.get('retry-after'), '1', caseName({ i }))
    t.match(await answer.json(), { error: { code: 'counters_unavailable' } }, caseName({ i }))
  }
  t.equal((await get('/v1/models')).status, 200, 'an unlimited model is not refused')
  t.equal(upstreams['text']?.received.length, 1)
  redis.thaw()
  await until(async () => (await post(path, body)).status === 200)
})

t.test('slots in Redis are free again after requests with every outcome', { skip }, async t => {
  const redis = await startRedis(t)
  const edit = limits('rpm: 100000, tpm: 100000000, concurrency: 22')
  const started = await start(t, { edit, counters: open(redis.url) })
  const random = seeded(7)
  started.upstreams['text']?.answer(reactAnyhow(random))
  let left = 200
  const caller = async (): Promise<void> => {
    while (left-- > 0) await askAnyhow(started, () => 0.2 + 0.8 * random())
  }
  await Promise.all(Array.from({ length: together }, caller))
  await started.gateway.close()
  const taken = `local taken = 0
    for _, key in ipairs(redis.call('KEYS', '{tollgate}:places:*')) do taken = taken + redis.call('ZCARD', key) end
    return taken`
  t.equal(await redis.command('EVAL', taken, '0'), ':0')
})
