import { fileURLToPath } from 'node:url'
import { toFile } from 'openai'
import t, { type Test } from 'tap'
import { definePlugin, explainRequest } from '../../src/index.ts'
import { type Edited, filesOf, startEdits, textsOf, until } from '../harness/edits.ts'
import { form } from '../harness/forms.ts'
import { picture, png } from '../harness/pictures.ts'
import { checkBooks } from '../harness/shop.ts'
import { type Edits, start } from '../harness/start.ts'
import { sha256 } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

/** The gateway's complete knowledge of a vendor that no code mentions. */
const third: Edits = [
  [
    '\nupstreams:\n',
    `
upstreams:
  gamma:
    url: "\${GAMMA_URL}"
    credential: { header: x-gamma-key, value: "\${GAMMA_API_KEY}" }
    headers: { x-gamma-version: "2026-09-01" }
`,
  ],
  [
    '\nfamilies:\n',
    `
families:
  gamma-sketch:
    n_max: 6
    forward:
      image.generate: [prompt, model, n, size, style, seed]
      image.edit: [prompt, model, n, size, style, strength]
    multipart-rewrite:
      files: { photo: { send_as: "reference[]" }, outline: { send_as: contour, keep: first } }
    size-normalize:
      rule: snap
      resolutions: [{ label: s, long_edge_max: 768 }, { label: m, long_edge_max: 1600 }, { label: l }]
      ratios: ["1:1", "5:4", "4:5", "21:9"]
      otherwise: m
      send: { width_class: "class-{resolution}", shape: "{ratio}" }
      pixels: { "s 1:1": 640x640, "m 5:4": 1500x1200, "l 21:9": 3360x1440 }
    image-tier-billing:
      tiers: [{ tier: S, long_edge_max: 640 }, { tier: M, long_edge_max: 1500 }, { tier: L, long_edge_max: 3000 }, { tier: XL }]
      tier_from: [output, request]
      otherwise: M
      on_caller_gone: free
      over_return: cap
`,
  ],
  [
    '\nmodels:\n',
    `
models:
  gamma-sketch-1: { family: gamma-sketch, upstream: gamma, send_as: vendor/sketch-v1-20260901, prices: { S: "0.011", M: "0.025", L: "0.05", XL: "0.12" } }
`,
  ],
]

const names = ['alpha', 'beta', 'gamma']

/** A test of the third family; at its end, it verifies the books. */
function sketched(title: string, run: (t: Test, edited: Edited) => Promise<void>): void {
  void t.test(`a third family, in YAML only: ${title}`, async t => {
    const edited = await startEdits(t, { edit: third, upstreams: names })
    await run(t, edited)
    await edited.settled()
    t.strictSame(await checkBooks(edited.gateway), [], 'the books hold')
  })
}

/** Requested size → size sent to the upstream → size of its output → billed size. */
const rows: readonly {
  readonly size: string | undefined
  readonly heard: { readonly width_class: string; readonly shape?: string }
  readonly back: readonly [width: number, height: number]
  readonly tier: string
  readonly amount: string
}[] = [
  { size: '640x640', heard: { width_class: 'class-s', shape: '1:1' }, back: [640, 640], tier: 'S', amount: '0.011' },
  { size: '768x600', heard: { width_class: 'class-s', shape: '5:4' }, back: [641, 512], tier: 'M', amount: '0.025' },
  { size: '600x769', heard: { width_class: 'class-m', shape: '4:5' }, back: [1200, 1500], tier: 'M', amount: '0.025' },
  { size: '1601x640', heard: { width_class: 'class-l', shape: '21:9' }, back: [1501, 640], tier: 'L', amount: '0.05' },
  { size: '5000x5000', heard: { width_class: 'class-l', shape: '1:1' }, back: [3000, 3000], tier: 'L', amount: '0.05' },
  { size: 'L', heard: { width_class: 'class-l' }, back: [3001, 9], tier: 'XL', amount: '0.12' },
  { size: undefined, heard: { width_class: 'class-m' }, back: [9, 640], tier: 'S', amount: '0.011' },
]

sketched('its fields, its sizes, its tiers and its prices', async (t, { post, upstreams, charges, get, logs }) => {
  for (const { size, heard, back, tier, amount } of rows) {
    upstreams['gamma']?.answer({ data: [picture(...back)] })
    const answered = await post('/v1/images/generations', {
      model: 'gamma-sketch-1',
      prompt: 'a boat',
      n: 1,
      style: 'ink',
      quality: 'high',
      response_format: 'url',
      ...(size && { size }),
    })
    t.equal(answered.status, 200, `${size}`)
    t.strictSame(await answered.json(), { data: [picture(...back)] }, 'without render: the answer passes as it is')
    const received = upstreams['gamma']?.received.at(-1)
    const { model, ...sent } = received?.json() ?? {}
    t.equal(model, 'vendor/sketch-v1-20260901', "under the upstream's name")
    t.strictSame(sent, { prompt: 'a boat', n: 1, style: 'ink', ...heard }, `${size}`)
    t.match(
      received?.headers,
      { 'x-gamma-key': 'upstream-secret-of-gamma', 'x-gamma-version': '2026-09-01' },
      caseName({ size, heard, back, tier }),
    )
    t.equal(received?.headers.authorization, undefined, caseName({ size, heard, back, tier }))
    const [width, height] = back
    t.match(
      await charges(1),
      [{ state: 'settled', size: size ?? null, tier, source: 'output', actual_size: `${width}x${height}`, amount }],
      caseName({ size, heard, back, tier }),
    )
  }
  t.match(await logs(1), [{ model: 'gamma-sketch-1', upstream: 'gamma' }])
  t.strictSame(new Set((await logs(1))[0]?.dropped), new Set(['quality', 'response_format']))
  const listed = (await (await get('/v1/models')).json()) as { data: { id: string }[] }
  t.ok(listed.data.some(({ id }) => id === 'gamma-sketch-1'))
})

sketched(
  'the size asked for decides where no bytes come back, and neither is the default',
  async (t, { post, upstreams, charges }) => {
    const link = { url: 'https://pictures.test/1.png' }
    const cases = [
      [{ size: '640x640' }, link, 'S', 'request', '0.011'],
      [{ size: '3000x300' }, link, 'L', 'request', '0.05'],
      [{ size: 'm' }, link, 'M', 'request', '0.025'],
      [{ size: '3001x300' }, { b64_json: Buffer.from('no picture').toString('base64') }, 'XL', 'request', '0.12'],
      [{}, link, 'M', 'default', '0.025'],
    ] as const
    for (const [requested, image, tier, source, amount] of cases) {
      upstreams['gamma']?.answer({ data: [image] })
      const answered = await post('/v1/images/generations', { model: 'gamma-sketch-1', prompt: 'a boat', ...requested })
      t.strictSame(await answered.json(), { data: [image] }, caseName({ requested, image, tier, source }))
      t.match(await charges(1), [{ tier, source, actual_size: null, amount }], JSON.stringify(requested))
    }
  },
)

sketched('its edits have file fields of its own', async (t, { postForm, openai, sent, upstreams, charges, logs }) => {
  upstreams['gamma']?.answer({ data: [picture(1500, 1200)] })
  const photos = [png(9, 9), png(9, 10), png(9, 11)] as const
  const { body, contentType } = form({
    'photo[2]': photos[0],
    prompt: 'a boat',
    outline: png(3, 3),
    photo: photos[1],
    strength: '0.4',
    background: 'opaque',
    image: png(4, 4),
    'photo[]': photos[2],
    'outline[1]': png(3, 4),
    size: '1500x1200',
    model: 'gamma-sketch-1',
  })
  t.equal((await postForm(body, contentType)).status, 200)
  const parts = await sent('gamma')
  t.strictSame(
    filesOf(parts, 'reference').map(file => [file.name, file.fileName, file.sha256]),
    photos.map((bytes, i) => ['reference[]', `photo-${i}.png`, sha256(bytes)]),
  )
  t.match(filesOf(parts, 'contour'), [{ name: 'contour', sha256: sha256(png(3, 3)) }])
  t.strictSame([filesOf(parts, 'image'), filesOf(parts, 'photo'), filesOf(parts, 'outline')], [[], [], []])
  t.strictSame(textsOf(parts), {
    prompt: 'a boat',
    strength: '0.4',
    model: 'vendor/sketch-v1-20260901',
    width_class: 'class-m',
    shape: '5:4',
  })
  t.match(await charges(), [{ size: '1500x1200', tier: 'M', source: 'output', amount: '0.025' }])
  t.strictSame(new Set((await logs(1))[0]?.dropped), new Set(['background', 'image']))

  // The SDK's field `image` does not exist in this family.
  await openai.images.edit({ model: 'gamma-sketch-1', prompt: 'p', image: await toFile(png(9, 9), 'a.png') })
  t.strictSame(filesOf(await sent('gamma'), 'image'), [])
})

sketched('over_return cap bills no more images than were asked for', async (t, { post, upstreams, charges }) => {
  upstreams['gamma']?.answer({ data: [picture(640, 640), picture(1500, 9), picture(3001, 9)] })
  const answered = await post('/v1/images/generations', { model: 'gamma-sketch-1', prompt: 'a boat', n: 2 })
  t.equal(((await answered.json()) as { data: unknown[] }).data.length, 3, 'all of them are the caller’s')
  t.match(await charges(), [
    {
      count: 3,
      amount: '0.036',
      flags: ['over_return', 'capped'],
      lines: [
        { tier: 'S', price: '0.011', flags: [] },
        { tier: 'M', price: '0.025', flags: [] },
        { tier: 'XL', price: '0.00', flags: ['over_return', 'capped'] },
      ],
    },
  ])
  const seven = await post('/v1/images/generations', { model: 'gamma-sketch-1', prompt: 'a boat', n: 7 })
  t.equal(seven.status, 400)
  t.match(await seven.json(), { error: { code: 'invalid_n' } })
})

sketched(
  'on_caller_gone free breaks the call off and charges nothing',
  async (t, { url, key, upstreams, charges, logs, gateway }) => {
    const aborted = Promise.withResolvers<void>()
    upstreams['gamma']?.answer((res, _received, req) => {
      // Never answered: the gateway closes the connection.
      res.on('close', () => aborted.resolve())
      req.on('error', () => undefined)
    })
    const leaving = new AbortController()
    const asking = fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gamma-sketch-1', prompt: 'a boat' }),
      signal: leaving.signal,
    })
    await until(() => upstreams['gamma']?.received.length === 1)
    leaving.abort()
    await t.rejects(asking)
    await aborted.promise
    await until(() => gateway.open === 0)
    t.match(await charges(), [{ state: 'voided', reason: 'caller_gone', amount: '0.00', count: 0 }])
    t.match(await logs(1), [{ outcome: 'caller_gone' }])
  },
)

t.test('a reload adds a third family to a running gateway, and explain shows it', async t => {
  const { post, upstreams, charges, reload, gateway } = await startEdits(t, { upstreams: names })
  const request = { model: 'gamma-sketch-1', prompt: 'a boat', size: '1500x1200' }
  t.equal((await post('/v1/images/generations', request)).status, 404)
  const result = await reload(third)
  t.match(result, { ok: true })
  t.match(result.ok && result.changes.join('\n'), /model gamma-sketch-1 added \(S 0\.011 USD, .*XL 0\.12 USD\)/)
  upstreams['gamma']?.answer({ data: [picture(1500, 1200)] })
  t.equal((await post('/v1/images/generations', request)).status, 200)
  t.match(await charges(), [{ tier: 'M', amount: '0.025' }])
  const explained = await explainRequest(gateway.plan, {
    model: 'gamma-sketch-1',
    operation: 'image.generate',
    size: '1500x1200',
    quality: undefined,
    n: 2,
  })
  t.match(explained, {
    family: 'gamma-sketch',
    sent: { model: 'vendor/sketch-v1-20260901', width_class: 'class-m', shape: '5:4' },
    expected_size: '1500x1200',
    quote: { tier: 'M', expected: '0.05', at_most: '0.24' },
  })
})

const houseRules = fileURLToPath(new URL('../fixtures/house-rules.ts', import.meta.url))
const inPipeline = (options: string): Edits => [
  ['size-normalize, image-tier-billing', `size-normalize, { "${houseRules}": ${options} }, image-tier-billing`],
]

t.test('a third-party plugin, named by its path, uses its own options and sections', async t => {
  const section: Edits = [['\n  alpha-image:\n', '\n  alpha-image:\n    house-rules: { words: [dragon] }\n']]
  const { post, upstreams, charges, reload } = await startEdits(t, {
    edit: [...inPipeline('{ signature: tollgate-house }'), ...section],
  })
  for (const upstream of Object.values(upstreams)) upstream.answer({ data: [picture(1254, 1254)] })
  const send = (model: string, prompt: string) => post('/v1/images/generations', { model, prompt })
  const passed = await send('alpha-image-2', 'a boat')
  t.equal(passed.status, 200)
  t.equal(passed.headers.get('x-house'), 'tollgate-house', 'seen by the caller')
  t.equal(upstreams['alpha']?.received[0]?.headers['x-house'], 'tollgate-house', 'seen by the upstream')
  const refused = await send('alpha-image-2', 'a Dragon')
  t.equal(refused.status, 403)
  t.match(await refused.json(), { error: { code: 'house_rules', message: /dragon/ } })
  t.equal(upstreams['alpha']?.received.length, 1)
  t.equal((await charges()).length, 1, 'refused before anything is held')
  const other = await send('beta-imagine-image', 'a dragon')
  t.equal(other.status, 200, 'it ignores a family without the section')
  t.equal(other.headers.get('x-house'), null)

  for (const [title, edit, wanted] of [
    ['its options', [['signature: tollgate-house', 'signatur: x']], { message: /signatur/ }],
    [
      'its section',
      [
        ['signatur: x', 'signature: tollgate-house'],
        ['words: [dragon]', 'wordz: [dragon]'],
      ],
      { message: /wordz/ },
    ],
    ['what its section means', [['wordz: [dragon]', 'words: [Dragon]']], { message: /lower case/, remedy: /dragon/ }],
  ] as const) {
    const result = await reload(edit)
    t.match(result, { ok: false, findings: [wanted] }, title)
    if (!result.ok) t.ok(Number(result.findings[0]?.line) > 1, `${title}: with its place`)
  }
})

t.test('a reload that fails half-way leaves nothing running, and the old configuration stays', async t => {
  let open = 0
  const watching = definePlugin({
    name: 'watching',
    create() {
      open++
      return { close: () => void open-- }
    },
  })
  const moody = definePlugin({
    name: 'moody',
    options: { type: 'object', properties: { fails: { type: 'boolean' } } } as const,
    create({ fails }) {
      if (fails) throw new Error('not in the mood')
      return {}
    },
  })
  const { reload, get, gateway, plan } = await start(t, {
    plugins: [watching, moody],
    edit: [['pipeline: [auth', 'pipeline: [watching, { moody: { fails: false } }, auth']],
  })
  t.match(await reload([['fails: false', 'fails: true']]), {
    ok: false,
    findings: [
      { code: 'plugin_failed', message: "the plugin 'moody' cannot be created: not in the mood", line: Number },
    ],
  })
  t.equal(open, 1)
  t.equal(gateway.plan, plan)
  t.equal((await get('/v1/models')).status, 200)
  t.match(await reload([['fails: true', 'fails: false']]), { ok: true }, 'and the next one is not held up')
  t.equal(open, 1)
})
