import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { png } from '../harness/pictures.ts'
import { start } from '../harness/start.ts'

const facts = `
      facts: { text_in: usage.input_tokens_details.text_tokens, image_out: usage.output_tokens }`
const tokens = (more: string, ofOutput = ''): string => `
    forward: { image.generate: { all: true } }
    image-tier-billing:
      render: b64_json${more}
      lines:
        - { per: token, from: text_in, price: text_in, max: 1000 }
        - { per: token, from: image_out, price: image_out${ofOutput}, max: 10000 }
    translate:${facts}`
const prices = 'prices: { text_in: "5", image_out: "30" }'
const yaml = `
version: 1
currency: USD
server: { listen: "127.0.0.1:0", ops: "127.0.0.1:0" }
storage: "\${TOLLGATE_STORAGE}"
groups: { default: {} }
upstreams:
  maker: { url: "\${MAKER_URL}" }
pipeline: [auth, ratelimit, multipart-rewrite, size-normalize, image-tier-billing, token-usage, translate]
families:
  left:${tokens('')}
  guessed:${tokens('\n      missing_usage: estimate')}
  known:${tokens('', ', otherwise: 4000')}
  area:
    forward: { image.generate: [model, prompt, n, size] }
    size-normalize: { rule: ratio, ratios: ["1:1"], otherwise: "1:1" }
    image-tier-billing:
      lines: [{ per: megapixel, round: up, max: 16 }]
      tier_from: [told, request]
    translate:
      request: { prompt: "{prompt}", num_images: "{n}", image_size: { width: "{width}", height: "{height}" } }
      values: { width: { absent: 1024 }, height: { absent: 1024 } }
      answer: { at: images, picture: url, size: [width, height] }
      links: { do: pass }
models:
  by-tokens-left: { family: left, upstream: maker, ${prices} }
  by-tokens-guessed: { family: guessed, upstream: maker, ${prices} }
  by-tokens-known: { family: known, upstream: maker, ${prices} }
  by-area: { family: area, upstream: maker, prices: { megapixel: "0.025" } }
routes:
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai }
`
const { post, upstreams, charges, gateway } = await start(t, { yaml, upstreams: ['maker'] })
const picture = { b64_json: png(64, 64).toString('base64') }
const ask = async (model: string, answer: object, more: object = {}) => {
  upstreams['maker']?.answerOnce(answer)
  const { status } = await post('/v1/images/generations', { model, prompt: 'a boat', ...more })
  const [charge] = await charges(1)
  return { status, charge }
}

t.test('an image priced by tokens is never free if the answer reports no usage', async t => {
  const rows = [
    ['by-tokens-left', { state: 'needs_review', reason: 'usage_missing', amount: '0.305' }],
    ['by-tokens-guessed', { state: 'settled', amount: '0.305' }],
    ['by-tokens-known', { state: 'needs_review', reason: 'usage_missing' }],
  ] as const
  for (const [model, expected] of rows)
    for (const usage of [undefined, null, {}]) {
      const name = caseName({ model, usage: JSON.stringify(usage) })
      const answer = { created: 1, data: [picture], ...(usage !== undefined && { usage }) }
      const { status, charge } = await ask(model, answer)
      t.equal(status, 200, name)
      t.match(charge, expected, name)
      t.match(JSON.stringify(charge), /untold/, name)
    }
  const usage = { output_tokens: 1000, input_tokens_details: { text_tokens: 10 } }
  const byReport = await ask('by-tokens-left', { created: 1, data: [picture], usage })
  t.match(byReport.charge, { state: 'settled', amount: '0.03005' })
})

t.test('an image priced by area costs the size that the gateway sent if the answer reports none', async t => {
  const url = 'https://pictures.test/a.png'
  const unsaid = await ask('by-area', { images: [{ url }] })
  t.match(unsaid.charge, { state: 'settled', amount: '0.05' })
  t.match(JSON.stringify(unsaid.charge), /untold/)
  t.match(upstreams['maker']?.received.at(-1)?.json(), { image_size: { width: 1024, height: 1024 } })
  const byRequest = await ask('by-area', { images: [{ url: `${url}?2` }] }, { size: '512x512' })
  t.match(byRequest.charge, { state: 'settled', amount: '0.025' })
  const byAnswer = await ask('by-area', { images: [{ url: `${url}?3`, width: 2000, height: 2000 }] })
  t.match(byAnswer.charge, { state: 'settled', amount: '0.1' })
  t.notMatch(JSON.stringify(byAnswer.charge), /untold/)
})

t.test('replay rates every charge unchanged', async t => {
  const { replayCharge } = await import('../../src/index.ts')
  for (const charge of await gateway.storage.books.all(null, 100))
    t.strictSame(await replayCharge(charge), [], charge.id)
})
