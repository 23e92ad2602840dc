import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { png } from '../harness/pictures.ts'
import { startPostgres } from '../harness/postgres.ts'
import { redisMissing, startRedis } from '../harness/redis.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start, type Started } from '../harness/start.ts'
import type { Received, Upstream } from '../harness/upstream.ts'

const job: Edits = [
  ['image-tier-billing, token-usage]', 'image-tier-billing, token-usage, translate]'],
  { 'upstreams/maker': { url: '${MAKER_URL}', credential: { header: 'x-maker-key', value: 'secret-1' } } },
  [
    '\nfamilies:\n',
    `
families:
  maker-picture:
    n_max: 4
    forward: { image.generate: { all: true } }
    calls: { image.generate: "/v1/{model}" }
    image-tier-billing:
      tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }]
      tier_from: [output]
      otherwise: 2K
    translate:
      request: { prompt: "{prompt}" }
      fan_out: 2
      answer: { at: result, picture: sample }
      job:
        id: id
        keep: { poll_url: polling_url }
        poll: { url: "{poll_url}" }
        state: status
        running: [Pending]
        done: [Ready]
        failed: [Error, Moderated]
        every: 50ms
        within: 20s
`,
  ],
  { 'models/maker-1': { family: 'maker-picture', upstream: 'maker', prices: { '1K': '0.01', '2K': '0.03' } } },
]

const small = png(512, 512).toString('base64')
const ask = (more: object = {}) => ({ model: 'maker-1', prompt: 'a cat', ...more })

/** An upstream whose jobs have the state that the test sets. */
type Works = { state: string; words: string | undefined; polls: number; submits: number; readonly upstream: Upstream }

function working({ upstreams }: Started): Works {
  const upstream = upstreams['maker'] as Upstream
  const works: Works = { state: 'Pending', words: 'it says no', polls: 0, submits: 0, upstream }
  upstream.answer((res: ServerResponse, { method, url }: Received) => {
    res.setHeader('content-type', 'application/json')
    if (method === 'POST') {
      const id = `job-${++works.submits}`
      res.end(JSON.stringify({ id, polling_url: `${upstream.url}/poll?id=${id}` }))
      return
    }
    works.polls++
    const id = new URL(url, upstream.url).searchParams.get('id')
    const result = works.state === 'Ready' ? { sample: small } : null
    res.end(JSON.stringify({ id, status: works.state, result, message: works.words }))
  })
  return works
}

function described(title: string, run: (t: Test, started: Started, works: Works) => Promise<Started | void>): void {
  void t.test(`[10.5] ${title}`, async t => {
    const first = await start(t, { edit: job, upstreams: ['maker'] })
    const last = (await run(t, first, working(first))) ?? first
    await last.settled()
    t.strictSame(await checkBooks(last.gateway), [], 'the books hold')
  })
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2_000; i++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('it never came to that')
}

described('a job is waited for, and charged when it is done', async (t, { post, charges, get }, works) => {
  const pending = post('/v1/images/generations', ask({ n: 2 }))
  await until(() => works.polls >= 3)
  works.state = 'Ready'
  const res = await pending
  t.equal(res.status, 200)
  t.match(await res.json(), { data: [{ b64_json: small }, { b64_json: small }] })
  t.equal(works.submits, 2)
  const [charge] = await charges()
  t.match(charge, { state: 'settled', amount: '0.02' })
  t.match(await (await get(`/v1/jobs/${charge?.id}`)).json(), { status: 'succeeded' })
})

described('a retry with the same Idempotency-Key gets the result of the job', async (t, { post, charges }, works) => {
  const keyed = { 'idempotency-key': 'once', prefer: 'respond-async' }
  const taken = await post('/v1/images/generations', ask(), keyed)
  t.equal(taken.status, 202)
  t.match(await (await post('/v1/images/generations', ask(), keyed)).json(), {
    error: { code: 'idempotency_in_progress' },
  })
  works.state = 'Ready'
  await until(async () => (await charges())[0]?.state === 'settled')
  const again = await post('/v1/images/generations', ask(), { 'idempotency-key': 'once' })
  t.same([again.status, again.headers.get('idempotent-replayed')], [200, 'true'])
  t.match(await again.json(), { data: [{ b64_json: small }] })
  t.equal(works.submits, 1, 'it was bought once')
})

described('a job that failed costs nothing, and its caller reads why', async (t, { post, charges }, works) => {
  works.state = 'Moderated'
  const res = await post('/v1/images/generations', ask())
  t.equal(res.status, 422)
  t.match(await res.json(), { error: { message: 'it says no' } })
  t.match(await charges(), [{ state: 'voided' }])
})

described('a job that failed without a word is told by its state', async (t, { post }, works) => {
  works.state = 'Error'
  works.words = undefined
  const res = await post('/v1/images/generations', ask())
  t.equal(res.status, 422)
  t.match(await res.json(), { error: { message: "its job ended as 'Error'", code: 'job_failed' } })
})

described('who prefers not to wait is told of the job, and asks for it', async (t, started, works) => {
  const { post, get, charges } = started
  const res = await post('/v1/images/generations', ask(), { prefer: 'respond-async' })
  t.equal(res.status, 202)
  const { id } = (await res.json()) as { id: string }
  t.equal(res.headers.get('location'), `/v1/jobs/${id}`)
  t.match(await (await get(`/v1/jobs/${id}`)).json(), { id, object: 'job', status: 'running', response: null })
  t.match(await charges(), [{ id, state: 'reserved' }])
  works.state = 'Ready'
  const readJob = async () => (await (await get(`/v1/jobs/${id}`)).json()) as { status: string }
  await until(async () => (await readJob()).status !== 'running')
  t.match(await readJob(), { status: 'succeeded', response_status: 200, response: { data: [{ b64_json: small }] } })
  t.match(await charges(), [{ id, state: 'settled', amount: '0.01' }])
  const other = await started.newKey()
  const foreign = await get(`/v1/jobs/${id}`, { authorization: `Bearer ${other.key}` })
  t.equal(foreign.status, 404, "another key's job is not found")
})

described('a job outlives the gateway that has taken it', async (t, started, works) => {
  const { post } = started
  const res = await post('/v1/images/generations', ask({ n: 2 }), { prefer: 'respond-async' })
  const { id } = (await res.json()) as { id: string }
  await until(() => works.polls >= 2)
  const again = await started.reopen()
  t.match(await again.charges(), [{ id, state: 'reserved' }], 'its charge is still open')
  works.state = 'Ready'
  const readJob = async () =>
    (await (await again.get(`/v1/jobs/${id}`, { authorization: `Bearer ${started.key}` })).json()) as { status: string }
  await until(async () => (await readJob()).status !== 'running')
  t.match(await readJob(), { status: 'succeeded' })
  t.match(await again.charges(), [{ id, state: 'settled', amount: '0.02' }])
  t.equal(works.submits, 2, 'and nothing was made twice')
  return again
})

/** The shipped group with other limits. */
const limited = (limits: string): Edits => [...job, ['rpm: 60, tpm: 500000, concurrency: 32', `rpm: 6000, ${limits}`]]
const detached = { prefer: 'respond-async' }

t.test('[10.5] a job whose client does not wait counts as a concurrent request until it ends', async t => {
  const started = await start(t, { edit: limited('concurrency: 1'), upstreams: ['maker', 'text'] })
  const { post, get, charges } = started
  const works = working(started)
  const answers = await Promise.all(Array.from({ length: 120 }, () => post('/v1/images/generations', ask(), detached)))
  const taken = answers.filter(({ status }) => status === 202)
  t.equal(taken.length, 1, '1 of 120 is taken')
  t.equal(answers.filter(({ status }) => status === 429).length, 119)
  t.equal(works.submits, 1)
  const refused = answers.find(({ status }) => status === 429)
  t.equal(refused?.headers.get('x-ratelimit-scope'), 'key_concurrency')
  t.equal(refused?.headers.get('retry-after'), '1')
  t.equal((await charges(200)).length, 1, 'the others are charged nothing, and hold nothing')

  const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
  t.equal((await post('/v1/chat/completions', chat)).status, 429, 'nor is there room for another request')
  const [first] = taken as [Response]
  const { id } = (await first.json()) as { id: string }
  works.state = 'Ready'
  await until(async () => ((await (await get(`/v1/jobs/${id}`)).json()) as { status: string }).status !== 'running')
  works.state = 'Pending'
  t.equal((await post('/v1/images/generations', ask(), detached)).status, 202, 'it has ended')
})

t.test('[10.5] a key has at most as many open jobs as its group allows, also after a restart', async t => {
  const started = await start(t, { edit: limited('jobs: 3'), upstreams: ['maker'] })
  const works = working(started)
  const askMany = async ({ post }: Started) => {
    const headers = { ...detached, authorization: `Bearer ${started.key}` }
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('/v1/images/generations', ask(), headers)))
    const refused = answers.find(({ status }) => status === 429)
    if (refused) t.match(await refused.json(), { error: { message: /key_jobs reached: 3 open jobs/ } })
    return answers.filter(({ status }) => status === 202).length
  }
  t.equal(await askMany(started), 3)
  const other = await started.newKey()
  const own = await started.post('/v1/images/generations', ask(), { ...detached, authorization: `Bearer ${other.key}` })
  t.equal(own.status, 202, 'another key has separate ones')
  const again = await started.reopen()
  t.equal(await askMany(again), 0, 'they are open still')
  works.state = 'Ready'
  await until(async () => (await again.gateway.storage.jobs.openOf(started.keyId)) === 0)
  works.state = 'Pending'
  t.equal(await askMany(again), 3)
})

t.test(
  '[10.5] two gateways on one storage and one counter store both count the jobs of a key',
  { skip: redisMissing() },
  async t => {
    const redis = await startRedis(t)
    const postgres = await startPostgres(['fsync=off'])
    t.teardown(() => postgres.close())
    const env = { TOLLGATE_COUNTERS: redis.url, TOLLGATE_STORAGE: await postgres.createDatabase() }
    const first = await start(t, {
      edit: limited('concurrency: 2'),
      upstreams: ['maker', 'text'],
      env,
    })
    working(first)
    const taken = await Promise.all(
      Array.from({ length: 10 }, () => first.post('/v1/images/generations', ask(), detached)),
    )
    t.equal(taken.filter(({ status }) => status === 202).length, 2)
    const second = await start(t, {
      edit: limited('concurrency: 2'),
      upstreams: ['maker', 'text'],
      env,
    })
    working(second)
    const headers = { authorization: `Bearer ${first.key}` }
    t.equal((await second.post('/v1/images/generations', ask(), { ...headers, ...detached })).status, 429)
    const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'hi' }] }
    t.equal((await second.post('/v1/chat/completions', chat, headers)).status, 429, 'also a request that is not a job')
  },
)
