import t, { type Test } from 'tap'
import type { Json } from '../../src/domain/index.ts'
import { explainRequest } from '../../src/gateway/explain.ts'
import { replayCharge } from '../../src/gateway/replay.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { form } from '../harness/forms.ts'
import { picture, png } from '../harness/pictures.ts'
import { allCharges, checkBooks } from '../harness/shop.ts'
import { start, type Started } from '../harness/start.ts'
import { createTelling, type ReportedFacts } from '../harness/reporting.ts'

/** A gateway with one family, whose prices the test sets. */
function yamlOf(section: string, prices: string, more = '', forward = '{ all: true }'): string {
  return `
version: 1
currency: USD
server: { listen: "\${TOLLGATE_LISTEN}", ops: "\${TOLLGATE_OPS}" }
storage: "\${TOLLGATE_STORAGE}"
counters: "memory:"
groups: { default: { rpm: 100000 } }
upstreams: { alpha: { url: "\${ALPHA_URL}" } }
pipeline: [auth, ratelimit, multipart-rewrite, size-normalize, image-tier-billing, telling]
families:
  pictures:
    n_max: 4
    forward: { image.generate: ${forward}, image.edit: ${forward} }
    multipart-rewrite: { files: { image: { send_as: "image[]" } } }
    telling: { ${more} }
    image-tier-billing: ${section}
models:
  m-1:
    family: pictures
    upstream: alpha
    prices: ${prices}
routes:
  - { match: POST /v1/images/generations, operation: image.generate, dialect: openai }
  - { match: POST /v1/images/edits, operation: image.edit, dialect: openai, body: form }
  - { match: "GET /v1/charges/{id}", operation: charges, dialect: openai, serve: charge }
`
}

type Sold = Started & {
  /** Sets the output facts in the next answer. */
  readonly report: (facts: ReportedFacts) => void
  /** Sends a request whose answer has these pictures and output facts; returns its status and text. */
  readonly buy: (
    fields: { readonly [name: string]: Json },
    facts: ReportedFacts,
    answer: object,
    status?: number,
  ) => Promise<{ readonly status: number; readonly text: string }>
  readonly quoteOf: (
    fields: { readonly [name: string]: Json },
    n?: number,
  ) => ReturnType<typeof explainRequest>['quote']
}

/** A test of a family's prices. At its end, it verifies the books, and rates every charge again to the same amount. */
function sold(title: string, yaml: string, run: (t: Test, shop: Sold) => Promise<void>): void {
  void t.test(`[10.3] ${title}`, async t => {
    const telling = createTelling()
    const started = await start(t, { yaml, upstreams: ['alpha'], plugins: [telling.plugin] })
    await run(t, {
      ...started,
      report: telling.next,
      async buy(fields, facts, answer, status = 200) {
        telling.next(facts)
        started.upstream.answerOnce(res => {
          res.writeHead(status, { 'content-type': 'application/json' })
          res.end(JSON.stringify(answer))
        })
        const answered = await started.post('/v1/images/generations', { model: 'm-1', prompt: 'a boat', ...fields })
        return { status: answered.status, text: await answered.text() }
      },
      quoteOf: (fields, n = 1) =>
        explainRequest(started.plan, {
          model: 'm-1',
          operation: 'image.generate',
          size: undefined,
          quality: undefined,
          n,
          fields,
        }).quote,
    })
    await started.settled()
    t.strictSame(await checkBooks(started.gateway), [], 'the books hold')
    for (const charge of await allCharges(started.gateway.storage.books)) {
      t.strictSame(replayCharge(charge, started.plan.plugins.known), [], charge.id)
      if (charge.n >= charge.lines.filter(line => line.quantity === null).length)
        t.ok(charge.amount <= charge.hold, `${charge.amount} of ${charge.hold} that were held`)
    }
  })
}

const grid = '{ "low 1k": "0.04", "low 2k": "0.06", "high 1k": "0.08", "high 2k": "0.12" }'

sold(
  'quality and resolution set the price, and what has no price is refused before an upstream hears of it',
  yamlOf('{ price_by: [quality, resolution] }', grid),
  async (t, { buy, charges, quoteOf, upstream, get, key, url }) => {
    const data = [picture(64, 64), picture(3000, 64)]
    t.match(await buy({ quality: 'high', resolution: '2K', n: 2 }, {}, { data }), { status: 200 })
    const [charge] = await charges(1)
    t.match(charge, {
      state: 'settled',
      tier: 'high 2k',
      source: 'request',
      amount: '0.24',
      count: 2,
      sum: '2 × 0.12 = 0.24 USD',
    })
    t.match(charge?.lines[0], { why: 'quality high, resolution 2K → high 2k', at: /gateway\.yaml:21$/ })
    t.match(quoteOf({ quality: 'high', resolution: '2K' }, 2), { tier: 'high 2k', expected: '0.24', at_most: '0.24' })
    const heard = upstream.received.length
    const refused = await buy({ quality: 'ultra', resolution: '1k' }, {}, { data })
    t.equal(refused.status, 400)
    t.match(refused.text, /no price for quality ultra\. It has prices for low, high/)
    t.match(JSON.parse(refused.text), { error: { code: 'price_unknown', param: 'quality' } })
    const page = async (fields: string) =>
      (await fetch(`${url}/pricing?lang=en&model=m-1&n=2&operation=image.generate${fields}`)).text()
    t.match(await page('&field.quality=low&field.resolution=2k'), /2 × 0\.06 = .*0\.12/s)
    t.match(await page('&field.quality=low'), 'no price for resolution not given')
    t.equal(upstream.received.length, heard, 'nothing was sent')
    const response = await get(`/v1/charges/${charge?.id}`, { authorization: `Bearer ${key}` })
    t.match(await response.json(), { vendor_cost: null, tier: 'high 2k' })
  },
)

sold(
  'lines beside images, from a form with files',
  yamlOf(
    '{ lines: [{ per: input_image, free: 1 }, { per: megapixel, of: input, price: input_megapixel, round: up, otherwise: 1 }, { per: request }] }',
    '{ image: "0.03", input_image: "0.003", input_megapixel: "0.01", request: "0.0005" }',
  ),
  async (t, { upstream, url, key, charges }) => {
    upstream.answerOnce({ data: [picture(9, 9), picture(9, 9)] })
    const files = { 'image[0]': png(1000, 1000), 'image[1]': png(1200, 1000), 'image[2]': png(64, 64) }
    const { body, contentType } = form({ model: 'm-1', prompt: 'a boat', n: 2, ...files })
    const answered = await fetch(`${url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': contentType },
      body: new Uint8Array(body),
    })
    t.equal(answered.status, 200, await answered.text())
    const [charge] = await charges(1)
    t.match(charge, { state: 'settled', amount: '0.1065', count: 2, tier: 'image' })
    t.match(
      charge?.lines.map(({ tier, quantity, price }) => [tier, quantity, price]),
      [
        ['image', null, '0.03'],
        ['input_image', 2, '0.006'],
        ['input_megapixel', 4, '0.04'],
        ['request', 1, '0.0005'],
        ['image', null, '0.03'],
      ],
    )
  },
)

sold(
  'files that do not reach the upstream are not charged',
  yamlOf(
    '{ lines: [{ per: input_image }, { per: megapixel, of: input, price: input_megapixel, round: up, otherwise: 4 }] }',
    '{ image: "0.03", input_image: "0.003", input_megapixel: "0.01" }',
  ).replace('files: { image: { send_as: "image[]" } }', 'files: { image: { keep: first } }'),
  async (t, { upstream, url, key, charges }) => {
    upstream.answerOnce({ data: [picture(9, 9)] })
    const files = { image: png(64, 64), 'image[]': png(3000, 1000), images: png(64, 64), 'images[]': png(64, 64) }
    const { body, contentType } = form({ model: 'm-1', prompt: 'a boat', ...files })
    const answered = await fetch(`${url}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': contentType },
      body: new Uint8Array(body),
    })
    t.equal(answered.status, 200, await answered.text())
    t.equal([...((await upstream.received.at(-1)?.form()) ?? [])].length, 3, 'the model, the prompt and one file')
    t.match(await charges(1), [{ state: 'settled', amount: '0.043' }])
  },
)

const telled = yamlOf(
  `
      price_by: [quality, tier]
      tiers: [{ tier: 1k, long_edge_max: 1024 }, { tier: 2k }]
      tier_from: [told, output]
      otherwise: "high 2k"
      over_return: cap
      lines: [{ per: token, from: tokens, price: input_text, max: 10000 }, { per: megapixel, max: 16, round: up }]
      times: [{ if: { draft: true }, by: "0.5" }]`,
  '{ "low 1k": "0.04", "low 2k": "0.06", "high 1k": "0.08", "high 2k": "0.12", input_text: "5", megapixel: "0.001", refusal: "0.02" }',
  'facts: { quality: quality, tokens: tokens, draft: draft }, refused: [{ charge: refusal }]',
)

sold('what the answer tells decides, and stands with the lines', telled, async (t, { buy, charges, gateway }) => {
  const data = [{ url: 'https://files.example/1.png' }, { url: 'https://files.example/2.png' }]
  const facts = {
    sizes: [
      [1000, 1000],
      [2048, 1000],
    ] as const,
    facts: { quality: 'low', tokens: 999, draft: true },
    cost: '0.0734567',
  }
  t.match(await buy({ quality: 'high', n: 2 }, facts, { data }), { status: 200 })
  const [charge] = await charges(1)
  t.match(charge, { state: 'settled', amount: '0.058995', vendor_cost: '0.073457', source: 'told' })
  t.match(
    charge?.lines.map(({ tier, source, size, quantity, price }) => [tier, source, size, quantity, price]),
    [
      ['low 1k', 'told', '1000x1000', null, '0.02'],
      ['megapixel', 'told', '1000x1000', 1, '0.001'],
      ['low 2k', 'told', '2048x1000', null, '0.03'],
      ['megapixel', 'told', '2048x1000', 3, '0.003'],
      ['input_text', 'told', null, 999, '0.004995'],
    ],
  )
  t.match(
    charge?.lines[0]?.why,
    'quality low (reported in the response), told long edge 1000 ≤ 1024 (1k) → low 1k × 0.5 (draft: true)',
  )
  const listed = async (source: 'told' | 'output' | 'request') =>
    (await gateway.storage.journal.list({ limit: 9, source })).length
  t.same(
    [await listed('told'), await listed('output'), await listed('request')],
    [1, 0, 0],
    'the log finds it by its source',
  )
})

sold('a refusal that costs has one line, and one that does not is void', telled, async (t, { buy, charges }) => {
  const error = { error: { message: 'no such boats', code: 'moderation' } }
  for (const status of [200, 400]) {
    const { status: shown } = await buy({ quality: 'low' }, { refusal: 'refusal', cost: '0.05' }, error, status)
    t.equal(shown, 400, caseName({ status }))
    const [charge] = await charges(1)
    t.match(
      charge,
      { state: 'settled', reason: 'refused', amount: '0.02', vendor_cost: '0.05', count: 0, flags: ['refused'] },
      caseName({ status }),
    )
    t.match(
      charge?.lines,
      [{ tier: 'refusal', source: 'told', price: '0.02', at: /gateway\.yaml:\d+$/ }],
      caseName({ status }),
    )
    await buy({ quality: 'low' }, { cost: '0.05' }, error, status)
    t.match(await charges(1), [{ state: 'voided', amount: '0.00', vendor_cost: '0.05' }], caseName({ status }))
    await buy({ quality: 'low' }, { refusal: 'no such price' }, error, status)
    t.match(await charges(1), [{ state: 'voided', amount: '0.00', vendor_cost: null }], caseName({ status }))
  }
})

sold('the vendor counts fewer than came, and no more are charged', telled, async (t, { buy, charges }) => {
  await buy({ quality: 'low', n: 3 }, { count: 1 }, { data: [picture(9, 9), picture(9, 9)] })
  const [charge] = await charges(1)
  t.match(
    charge?.lines.map(({ tier, price, flags }) => [tier, price, flags.join(' ')]),
    [
      ['low 1k', '0.04', ''],
      ['megapixel', '0.001', ''],
      ['low 1k', '0.00', 'uncounted capped'],
      ['input_text', '0.05', 'untold estimated'],
    ],
  )
})

sold('usage --against-vendor lays ours beside theirs', telled, async (t, { buy, settled, folder }) => {
  const data = [picture(9, 9)]
  await buy({ quality: 'low' }, { cost: '0.05', facts: { tokens: 0 } }, { data })
  await buy({ quality: 'low' }, { cost: '0.01', facts: { draft: true, tokens: 0 } }, { data })
  await buy({ quality: 'low' }, { facts: { tokens: 0 } }, { data })
  await settled()
  const run = async (format: string) =>
    (await runCli({ folder }, 'usage', '--against-vendor', '--format', format)).stdout
  const day = new Date().toISOString().slice(0, 10)
  t.equal(
    await run('csv'),
    `day,model,currency,charges,untold,ours,vendor,difference\n${day},m-1,USD,2,1,0.062,0.06,0.002\n`,
  )
  t.match(JSON.parse(await run('json')), {
    model: 'm-1',
    charges: 2,
    untold: 1,
    ours: '0.062',
    vendor: '0.06',
    difference: '0.002',
  })
  await buy({ quality: 'low' }, { cost: '0.09', facts: { tokens: 0 } }, { data })
  await settled()
  t.match(await run('csv'), /,-0\.0\d+\n$/, 'a negative amount is a number, which no spreadsheet takes for a formula')
  t.match(await run('json'), /"difference":"-0\.0\d+"/)
})

sold('the price list and explain say all of it', telled, async (t, { url, quoteOf }) => {
  const list = (await (await fetch(`${url}/api/pricing`)).json()) as { models: unknown }
  t.match(list.models, [
    {
      name: 'm-1',
      price_by: ['quality', 'tier'],
      tiers: [{ tier: 'low 1k', price: '0.04' }, {}, {}, { tier: 'high 2k', price: '0.12' }],
      times: [{ when: 'draft: true', by: '0.5' }],
      beside: [
        { name: 'input_text', per: 'token', unit: 1_000_000, price: '5.00', once: true },
        { name: 'megapixel', per: 'megapixel', unit: 1, price: '0.001', once: false },
      ],
    },
  ])
  t.match(quoteOf({ quality: 'low' }, 2), {
    tier: null,
    expected: null,
    at_most: '0.322',
    prices: { 'low 1k': '0.04', 'high 2k': '0.12' },
    beside: [{ name: 'input_text', price_at: /gateway\.yaml:\d+$/ }, {}],
  })
  const calculated = async (query: string) =>
    (await fetch(`${url}/pricing?lang=en&model=m-1&n=2&size=512x512&operation=image.generate${query}`)).text()
  t.match(
    await calculated('&field.quality=low'),
    /≤ .*0\.322/s,
    'the calculator reckons with the fields that prices go by',
  )
  t.match(await calculated('&field.quality=high'), /≤ .*0\.322/s)
  t.match(await calculated(''), /≤ .*0\.322/s, 'a missing value has the `otherwise` price')
})

sold(
  'an explained request names its factors, and expects no amount for inputs that it cannot measure',
  yamlOf(
    '{ times: [{ if: { draft: true }, by: "0.5" }], lines: [{ per: megapixel, of: input, price: each, otherwise: 4 }] }',
    '{ image: "0.04", each: "0.01" }',
  ),
  async (t, { plan, buy, charges, quoteOf }) => {
    const data = [picture(64, 64)]
    const explain = (fields: { readonly [name: string]: Json }) =>
      explainRequest(plan, {
        model: 'm-1',
        operation: 'image.generate',
        size: undefined,
        quality: undefined,
        n: 1,
        fields,
      })
    t.match(explain({ draft: true }), {
      quote: { price: '0.02', expected: '0.02' },
      warnings: ['times 0.5 for draft: true'],
    })
    t.strictSame(explain({ draft: false }).warnings, [])
    const image = png(1000, 500).toString('base64')
    t.match(quoteOf({ image }), { expected: null, at_most: '0.08' })
    await buy({ image }, {}, { data })
    t.match(await charges(1), [{ amount: '0.045' }])
  },
)

const streamed = yamlOf(
  '{ lines: [{ per: request }, { per: megapixel, max: 4 }, { per: second, from: seconds, max: 60 }] }',
  '{ image: "0.01", request: "0.001", megapixel: "0.1", second: "0.0001" }',
  'facts: { seconds: metrics.seconds }',
).replace('    n_max: 4', '    n_max: 4\n    streams: [image.generate]')

sold(
  'images of a stream are charged as they pass, with what belongs to each, and a cut one for what came',
  streamed,
  async (t, { upstream, post, charges, report }) => {
    const event = (size: number) =>
      `event: image_generation.completed\ndata: ${JSON.stringify({ type: 'image_generation.completed', ...picture(size, size) })}\n\n`
    const rows = async () =>
      (await charges(1))[0]?.lines.map(({ index, tier, quantity, price, flags }) => [
        index,
        tier,
        quantity,
        price,
        ...flags,
      ])
    for (const whole of [true, false]) {
      report({ facts: { seconds: 2.5 } })
      upstream.answerOnce(res => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write(event(1000))
        res.write(event(500), () => (whole ? res.end('data: [DONE]\n\n') : res.destroy()))
      })
      const answered = await post('/v1/images/generations', { model: 'm-1', prompt: 'a boat', n: 2, stream: true })
      await answered.text().catch(() => undefined)
      t.same(
        await rows(),
        [
          [0, 'image', null, '0.01'],
          [1, 'megapixel', 1_000_000, '0.10'],
          [2, 'request', 1, '0.001'],
          [3, 'image', null, '0.01'],
          [4, 'megapixel', 250_000, '0.025'],
          [5, 'second', 2500, '0.00025'],
        ],
        caseName({ whole }),
      )
      t.match(
        await charges(1),
        [{ state: 'settled', amount: '0.14625', count: 2, delivery: whole ? /confirmed/ : 'partial' }],
        caseName({ whole }),
      )
    }
  },
)

const described = yamlOf(
  `
      price_by: [quality, tier]
      tiers: [{ tier: 1k, pixels_max: 1048576 }, { tier: 2k }]
      tier_from: [told, output]
      otherwise: "high 2k"
      over_return: cap
      lines: [{ per: token, from: tokens, price: input_text, max: 10000 }]`,
  '{ "low 1k": "0.04", "low 2k": "0.06", "high 1k": "0.08", "high 2k": "0.12", input_text: "5", refusal: "0.02" }',
)
  .replace('token-usage, ', '')
  .replace('image-tier-billing, telling]', 'image-tier-billing, translate]')
  .replace(
    '    telling: {  }\n',
    `    translate:
      answer: { at: pictures, picture: base64, size: [w, h] }
      facts: { quality: made.quality, tokens: made.tokens }
      count: made.count
      cost: { at: made.ticks, unit: "0.0000000001" }
      refused: [{ if: { blocked: any }, charge: refusal, message: blocked }]
`,
  )

sold(
  'a vendor described in the file: sizes, facts, count, cost and refusals of its own words',
  described,
  async (t, { buy, charges, quoteOf }) => {
    t.match(quoteOf({ quality: 'low' }, 2), { at_most: '0.29', expected: null })
    const base64 = (size: number) => png(size, size).toString('base64')
    const pictures = [
      { base64: base64(64), w: 1696, h: 960 },
      { base64: base64(64), w: 512, h: 512 },
    ]
    const made = { quality: 'low', tokens: 1000, count: 2, ticks: 1_234_567_890 }
    const bought = await buy({ quality: 'high', n: 2 }, {}, { pictures, made })
    t.equal(bought.status, 200, bought.text)
    const [charge] = await charges(1)
    t.match(charge, { state: 'settled', amount: '0.105', vendor_cost: '0.123457', flags: [] })
    t.match(
      charge?.lines.map(({ tier, source, size, price }) => [tier, source, size, price]),
      [
        ['low 2k', 'told', '64x64', '0.06'],
        ['low 1k', 'told', '64x64', '0.04'],
        ['input_text', 'told', null, '0.005'],
      ],
    )
    t.match(
      charge?.lines[0]?.why,
      'quality low (reported in the response), told 1696 × 960 = 1628160 pixels > 1048576 (2k) → low 2k',
    )
    const refused = await buy({ quality: 'low' }, {}, { blocked: 'boats' })
    t.equal(refused.status, 400)
    t.match(await charges(1), [{ state: 'settled', reason: 'refused', amount: '0.02', lines: [{ tier: 'refusal' }] }])
  },
)
