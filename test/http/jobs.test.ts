import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { png } from '../harness/pictures.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start, type Started } from '../harness/start.ts'
import type { Received, Upstream } from '../harness/upstream.ts'

const job: Edits = [
  ['image-tier-billing, token-usage]', 'image-tier-billing, token-usage, translate]'],
  [
    '\nupstreams:\n',
    '\nupstreams:\n  maker:\n    url: "${MAKER_URL}"\n    credential: { header: x-maker-key, value: "secret-1" }\n',
  ],
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
  [
    '\nmodels:\n',
    '\nmodels:\n  maker-1: { family: maker-picture, upstream: maker, prices: { 1K: "0.01", 2K: "0.03" } }\n',
  ],
]

const small = png(512, 512).toString('base64')
const ask = (more: object = {}) => ({ model: 'maker-1', prompt: 'a cat', ...more })

/** An upstream whose jobs stand as a test says. */
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
  const asked = post('/v1/images/generations', ask({ n: 2 }))
  await until(() => works.polls >= 3)
  works.state = 'Ready'
  const res = await asked
  t.equal(res.status, 200)
  t.match(await res.json(), { data: [{ b64_json: small }, { b64_json: small }] })
  t.equal(works.submits, 2)
  const [charge] = await charges()
  t.match(charge, { state: 'settled', amount: '0.02' })
  t.match(await (await get(`/v1/jobs/${charge?.id}`)).json(), { status: 'succeeded' })
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
  const told = async () => (await (await get(`/v1/jobs/${id}`)).json()) as { status: string }
  await until(async () => (await told()).status !== 'running')
  t.match(await told(), { status: 'succeeded', response_status: 200, response: { data: [{ b64_json: small }] } })
  t.match(await charges(), [{ id, state: 'settled', amount: '0.01' }])
  const other = await started.newKey()
  const foreign = await get(`/v1/jobs/${id}`, { authorization: `Bearer ${other.key}` })
  t.equal(foreign.status, 404, "another key's job is none")
})

described('a job outlives the gateway that has taken it', async (t, started, works) => {
  const { post } = started
  const res = await post('/v1/images/generations', ask({ n: 2 }), { prefer: 'respond-async' })
  const { id } = (await res.json()) as { id: string }
  await until(() => works.polls >= 2)
  const again = await started.reopen()
  t.match(await again.charges(), [{ id, state: 'reserved' }], 'nobody has ended its charge')
  works.state = 'Ready'
  const told = async () =>
    (await (await again.get(`/v1/jobs/${id}`, { authorization: `Bearer ${started.key}` })).json()) as { status: string }
  await until(async () => (await told()).status !== 'running')
  t.match(await told(), { status: 'succeeded' })
  t.match(await again.charges(), [{ id, state: 'settled', amount: '0.02' }])
  t.equal(works.submits, 2, 'and nothing was made twice')
  return again
})
