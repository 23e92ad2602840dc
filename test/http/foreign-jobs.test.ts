import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { png } from '../harness/pictures.ts'
import { type Edits, start } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'

const polled = (poll: string): Edits => [
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
    n_max: 1
    forward: { image.generate: { all: true } }
    calls: { image.generate: "/v1/{model}" }
    image-tier-billing: { tiers: [{ tier: 1K, long_edge_max: 1024 }, { tier: 2K }], tier_from: [output], otherwise: 2K }
    translate:
      request: { prompt: "{prompt}" }
      answer: { at: result, picture: sample }
      job:
        id: id
        keep: { poll_url: polling_url }
        poll: ${poll}
        state: status
        running: [Pending]
        done: [Ready]
        every: 10ms
        within: 20s
`,
  ],
  [
    '\nmodels:\n',
    '\nmodels:\n  maker-1: { family: maker-picture, upstream: maker, prices: { 1K: "0.01", 2K: "0.03" } }\n',
  ],
]
const ready = { status: 'Ready', result: { sample: png(512, 512).toString('base64') } }
const ask = { model: 'maker-1', prompt: 'a cat' }

t.test('[10.6] a job is polled at another host if the file names it, with the key if it says so', async t => {
  for (const [more, key] of [
    ['', undefined],
    [', with_credential: true', 'secret-1'],
  ] as const) {
    const elsewhere = await startUpstream(ready)
    t.teardown(() => elsewhere.close())
    const { post, upstream, charges } = await start(t, {
      edit: polled(`{ url: "{poll_url}", hosts: ["\${ELSEWHERE}"]${more} }`),
      upstreams: ['maker'],
      env: { ELSEWHERE: elsewhere.url },
    })
    upstream.answer({ id: 'job-1', polling_url: `${elsewhere.url}/result?id=job-1` })
    t.equal((await post('/v1/images/generations', ask)).status, 200, caseName({ more }))
    t.equal(elsewhere.received[0]?.url, '/result?id=job-1', caseName({ more }))
    t.equal(elsewhere.received[0]?.headers['x-maker-key'], key, caseName({ more }))
    t.match(await charges(), [{ state: 'settled', amount: '0.01' }], caseName({ more }))
  }
})

t.test('[10.6] a job at an unnamed host is not polled, with or without a key', async t => {
  const elsewhere = await startUpstream(ready)
  t.teardown(() => elsewhere.close())
  const { post, upstream } = await start(t, {
    edit: polled('{ url: "{poll_url}", hosts: ["*.maker.example"], with_credential: true }'),
    upstreams: ['maker'],
  })
  upstream.answer({ id: 'job-1', polling_url: `${elsewhere.url}/result?id=job-1` })
  const answer = await post('/v1/images/generations', ask)
  t.match(await answer.json(), { error: { code: 'upstream_address_refused' } })
  t.equal(elsewhere.received.length, 0)
})
