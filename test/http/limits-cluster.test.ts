import t, { type Test } from 'tap'
import type { LimitRequest } from '../../src/domain/index.ts'
import { systemClock } from '../../src/util/index.ts'
import { RedisCounters } from '../../src/storage/counters/redis/counters.ts'
import { caseName } from '../harness/case-name.ts'
import { KeptLog } from '../harness/request-context.ts'
import { redisMissing } from '../harness/redis.ts'
import { type RedisCluster, startRedisCluster } from '../harness/redis-cluster.ts'
import { type Edits, type Started, start } from '../harness/start.ts'

const skip = redisMissing()
const path = '/v1/chat/completions'
const body = { model: 'sim-chat', messages: [{ role: 'user', content: 'Say hello.' }] }
const rpm = { key: 30, model: 10 }

async function open(t: Test, { nodes }: RedisCluster): Promise<RedisCounters> {
  const url = `${nodes[0]?.url}?cluster=spread`
  // The timeout is long so that a slow machine does not change the result.
  const counters = new RedisCounters({ url, clock: systemClock, log: new KeptLog(), commandMs: 20_000 })
  t.teardown(() => counters.close())
  await counters.ready()
  return counters
}

async function begin(t: Test, cluster: RedisCluster): Promise<Started> {
  const edit: Edits = [
    [
      'default: { rpm: 60, tpm: 500000, concurrency: 32 }',
      `default: { rpm: ${rpm.key}, tpm: 500000, concurrency: 50 }`,
    ],
    ['sim-chat: { ', `sim-chat: { limits: { rpm: ${rpm.model} }, `],
    { 'upstreams/text/concurrency': 40 },
  ]
  const started = await start(t, { edit, counters: await open(t, cluster) })
  started.upstreams['text']?.answer({ choices: [] })
  return started
}

t.test(
  'two gateways on a cluster share the limit of a model, and a refused client keeps the rest of its own [13.6]',
  { skip },
  async t => {
    const cluster = await startRedisCluster(t)
    const both = [await begin(t, cluster), await begin(t, cluster)]
    const answers = await Promise.all(both.flatMap(({ post }) => Array.from({ length: 12 }, () => post(path, body))))
    const admitted = answers.filter(({ status }) => status === 200)
    t.equal(admitted.length, rpm.model)
    for (const [i, refused] of answers.filter(({ status }) => status !== 200).entries()) {
      t.equal(refused.status, 429, caseName({ i }))
      t.equal(refused.headers.get('x-ratelimit-scope'), 'model_rpm', caseName({ i }))
      t.equal(refused.headers.get('x-ratelimit-remaining-requests'), '0', caseName({ i }))
      t.match(refused.headers.get('retry-after'), /^(5\d|60)$/, caseName({ i }))
      t.match(await refused.json(), { error: { code: 'rate_limit_exceeded' } }, caseName({ i }))
    }
    await Promise.all(both.map(({ settled }) => settled()))
    const counters = await open(t, cluster)
    const left = both.map(async ({ keyId }) => {
      const owner = `key ${keyId}`
      const requests: LimitRequest = {
        id: `rpm ${owner}`,
        owner,
        kind: 'window',
        limit: rpm.key,
        amount: 1,
        shadow: false,
      }
      const place: LimitRequest = { ...requests, id: `concurrency ${owner}`, kind: 'places' }
      return counters.peek([requests, place], 'refuse')
    })
    const used = (await Promise.all(left)).map(([requests, place]) => {
      t.equal(place?.remaining, rpm.key, caseName({ requests, place }))
      return rpm.key - (requests?.remaining ?? 0)
    })
    t.equal(
      used.reduce((all, one) => all + one, 0),
      rpm.model,
      caseName({ used }),
    )
    const places = (await cluster.keys()).flat().filter(name => name.includes(':places:concurrency'))
    t.same(places, [], 'nothing is in flight, of keys nor of the upstream')
  },
)

t.test('each of 20 keys is refused for its own limit, and no node counts them all [13.6]', { skip }, async t => {
  const cluster = await startRedisCluster(t)
  const started = await begin(t, cluster)
  const edited = await started.reload([
    [`limits: { rpm: ${rpm.model} }, `, ''],
    [`{ rpm: ${rpm.key},`, '{ rpm: 2,'],
  ])
  t.match(edited, { ok: true })
  const keys = await Promise.all(Array.from({ length: 20 }, () => started.newKey()))
  for (const { key, id } of keys) {
    const authorization = `Bearer ${key}`
    const statuses: number[] = []
    for (let i = 0; i < 3; i++) statuses.push((await started.post(path, body, { authorization })).status)
    t.same(statuses, [200, 200, 429], caseName({ id }))
  }
  const names = await cluster.keys()
  const owners = names.map(some => new Set(some.map(name => /\{tollgate:key (.*?)\}/.exec(name)?.[1]).filter(Boolean)))
  t.equal(
    owners.reduce((all, one) => all + one.size, 0),
    keys.length,
  )
  for (const [node, some] of owners.entries()) t.ok(some.size < keys.length, caseName({ node, keys: some.size }))
})
