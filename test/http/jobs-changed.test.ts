import t from 'tap'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start } from '../harness/start.ts'

const model = '\n  maker-1: { family: maker-picture, upstream: maker, prices: { 1K: "0.01", 2K: "0.03" } }\n'
const job: Edits = [
  ['image-tier-billing, token-usage]', 'image-tier-billing, token-usage, translate]'],
  { 'upstreams/maker': { url: '${MAKER_URL}' } },
  [
    '\nfamilies:\n',
    `
families:
  maker-picture:
    forward: { image.generate: { all: true } }
    calls: { image.generate: "/v1/{model}" }
    image-tier-billing: { tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }], tier_from: [output], otherwise: 2K }
    translate:
      request: { prompt: "{prompt}", n: "{n}" }
      answer: { at: result, picture: sample }
      job: { id: id, poll: { path: "/poll/{id}" }, state: status, running: [Pending], done: [Ready], every: 50ms, within: 2s }
`,
  ],
  ['\nmodels:\n', `\nmodels:${model}`],
]

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2_000; i++) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  throw new Error('it never came to that')
}

t.test('[10.5] a job whose model was removed ends, and its charge waits for a person', async t => {
  // Failed polls are retried for a minute of the gateway's time, which passes faster than the test's.
  let ahead = 0
  const clock = { now: () => Date.now() + ahead, tick: () => performance.now() + ahead }
  const first = await start(t, { edit: job, upstreams: ['maker'], clock })
  first.upstreams['maker']?.answer({ id: 'a', status: 'Pending' })
  const res = await first.post(
    '/v1/images/generations',
    { model: 'maker-1', prompt: 'a cat' },
    { prefer: 'respond-async' },
  )
  t.equal(res.status, 202)
  const { id } = (await res.json()) as { id: string }
  t.match(await first.reload([[model, '\n']]), { ok: true })
  const again = await first.reopen()
  const readJob = async () =>
    (await (await again.get(`/v1/jobs/${id}`, { authorization: `Bearer ${first.key}` })).json()) as { status: string }
  await until(async () => {
    ahead += 1_000
    return (await readJob()).status !== 'running'
  })
  t.match(await readJob(), { status: 'failed' })
  const { ledger, books } = again.gateway.storage
  t.match(await ledger.find(id), { id, state: 'needs_review' })
  await books.resolve(id, 'void', 'a person', 'x')
  t.strictSame(await checkBooks(again.gateway), [], 'the books hold')
})
