import { form } from '../harness/forms.ts'
import { jpeg, picture, png, webp } from '../harness/pictures.ts'
import { billed, type Shop } from '../harness/shop.ts'
import { caseName } from '../harness/case-name.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const beta = { model: 'beta-imagine-image', prompt: 'a boat' }
const priceOf: { readonly [tier: string]: number } = { '1K': 20_000, '2K': 40_000, '4K': 80_000 }
const link = (name: string) => ({ url: `https://pictures.test/${name}.png` })

function money(micros: number): string {
  const text = (micros / 1_000_000).toFixed(6).replace(/0+$/, '')
  return text.replace(/\.(\d?)$/, (_all, digit: string) => `.${digit.padEnd(2, '0')}`)
}

const formats = { png, jpeg, webp } as const
for (const [format, make] of Object.entries(formats)) {
  billed(
    `the long edge of the returned ${format} sets the tier, to the pixel, landscape or portrait [I1]`,
    {},
    async (t, shop) => {
      const borders = [
        [1, '1K'],
        [1023, '1K'],
        [1024, '1K'],
        [1025, '2K'],
        [2047, '2K'],
        [2048, '2K'],
        [2049, '4K'],
      ] as const
      for (const [edge, tier] of borders) {
        for (const [width, height] of [
          [edge, Math.ceil(edge / 3)],
          [Math.ceil(edge / 3), edge],
        ] as const) {
          shop.upstreams['alpha']?.answer({ data: [picture(width, height, make)] })
          await shop.ask(alpha)
          t.match(
            await shop.charges(1),
            [
              {
                state: 'settled',
                tier,
                source: 'output',
                actual_size: `${width}x${height}`,
                amount: money(priceOf[tier] ?? 0),
              },
            ],
            `${width}x${height} is ${tier}`,
          )
        }
      }
    },
  )
}

const multipliers = ['0', '0.5', '3'] as const
const groupLines = multipliers.map((factor, i) => `  group-${i}: { rpm: 1000000, multiplier: "${factor}" }\n`).join('')
billed(
  'a price is the sum over the returned images, whatever n and the group multiplier are [B1] [B8]',
  { edit: [[/ {2}partner: .*\n/, groupLines]] },
  async (t, shop) => {
    const keys = await Promise.all(multipliers.map((_factor, i) => shop.newKey({ group: `group-${i}` })))
    let turn = 0
    const sizes = [undefined, '1024x1024', '2048x1152', '3840x2160'] as const
    const returned = { '1K': [1024, 512], '2K': [1254, 1254], '4K': [3000, 100] } as const
    const requested = { none: '2K', '1024x1024': '1K', '2048x1152': '2K', '3840x2160': '4K' } as const
    for (const family of ['alpha', 'beta'] as const) {
      for (const kind of ['generate', 'edit'] as const) {
        for (const size of sizes) {
          for (const [tier, [width, height]] of Object.entries(returned)) {
            for (const [n, count] of [
              [1, 1],
              [2, 1],
              [2, 2],
              [2, 3],
              [2, 0],
            ] as const) {
              const { key } = keys[turn++ % keys.length] as { key: string }
              shop.upstreams[family]?.answer({ data: Array.from({ length: count }, () => picture(width, height)) })
              const fields = { ...(family === 'alpha' ? alpha : beta), n, ...(size && { size }) }
              const request =
                family === 'beta' && kind === 'generate' ? { ...fields, response_format: 'b64_json' } : fields
              const answer =
                kind === 'generate' ? await shop.ask(request, { key }) : await shop.ask(...edit(request, key))
              if (answer.status !== 200) t.fail(`${answer.status} ${answer.text}`)
              const billedTier = family === 'alpha' ? tier : requested[size ?? 'none']
              const wanted =
                count === 0
                  ? { state: 'voided', count: 0, amount: '0.00', reason: 'zero_images' }
                  : {
                      state: 'settled',
                      count,
                      tier: billedTier,
                      amount: money(count * (priceOf[billedTier] ?? 0)),
                      source: sourceOf(family, size),
                    }
              const [charge] = await shop.charges(1)
              const facts = Object.fromEntries(Object.keys(wanted).map(name => [name, charge?.[name as 'count']]))
              t.strictSame(facts, wanted, `${family} ${kind} ${size} gives ${count} of ${n} at ${tier}`)
            }
          }
        }
      }
    }
  },
)

function sourceOf(family: 'alpha' | 'beta', size: string | undefined): string {
  if (family === 'alpha') return 'output'
  return size === undefined ? 'default' : 'request'
}

function edit(fields: object, key: string): Parameters<Shop['ask']> {
  const { body, contentType } = form({ ...fields, image: png(8, 8) })
  return [body, { key, path: '/v1/images/edits', headers: { 'content-type': contentType } }]
}

billed(
  'images of different tiers in one answer are priced separately, and shown in groups [B22]',
  {},
  async (t, shop) => {
    const data = [picture(1254, 1254), picture(3000, 100), picture(1672, 941), picture(1254, 1254)]
    shop.upstreams['alpha']?.answer({ data })
    const answer = await shop.ask({ ...alpha, n: 4, size: '1024x1024', quality: 'low' })
    const [charge] = await shop.charges(1)
    t.match(charge, { count: 4, tier: null, source: 'output', actual_size: null, amount: '0.20', state: 'settled' })
    t.equal(
      charge?.text,
      '大小 1024x1024, 请求品质 low, 生成数量 4, 图片档位 2K×3, 4K×1, 来源 输出尺寸, 实际尺寸 1254x1254×2, 3000x100×1, 1672x941×1',
    )
    t.match(charge?.lines, [
      { index: 0, tier: '2K', width: 1254, height: 1254, price: '0.04' },
      { index: 1, tier: '4K', width: 3000, height: 100, price: '0.08' },
      { index: 2, tier: '2K', width: 1672, height: 941, price: '0.04' },
      { index: 3, tier: '2K', width: 1254, height: 1254, price: '0.04' },
    ])
    const shown = (await (await shop.get(`/v1/charges/${answer.id}`)).json()) as object
    const { id: _id, ...record } = charge ?? { id: '' }
    t.strictSame(shown, record, 'the client gets the same object')
    const { key } = await shop.newKey()
    t.equal(
      (await shop.get(`/v1/charges/${answer.id}`, { authorization: `Bearer ${key}` })).status,
      404,
      'and nobody else',
    )
  },
)

billed(
  'an image without a readable size next to one with a size: the sources are shown in groups too [B22]',
  {},
  async (t, shop) => {
    shop.upstreams['alpha']?.answer({
      data: [picture(1254, 1254), { b64_json: Buffer.from('not a picture').toString('base64') }],
    })
    await shop.ask({ ...alpha, n: 2 })
    const [charge] = await shop.charges(1)
    t.match(charge, { count: 2, tier: '2K', source: null, actual_size: null, amount: '0.08', flags: ['undecodable'] })
    t.equal(
      charge?.text,
      '大小 -, 请求品质 -, 生成数量 2, 图片档位 2K, 来源 输出尺寸×1, 默认×1, 实际尺寸 1254x1254×1, -×1',
    )
  },
)

billed('the details record shows what was sent, what was returned and what it cost [B22]', {}, async (t, shop) => {
  const rows = [
    {
      ask: { ...alpha, size: '3840x2160', quality: 'high' },
      data: [picture(1672, 941)],
      text: '大小 3840x2160, 请求品质 high, 生成数量 1, 图片档位 2K, 来源 输出尺寸, 实际尺寸 1672x941',
    },
    {
      ask: { ...alpha, quality: 'no such quality' },
      data: [picture(1024, 1024)],
      text: '大小 -, 请求品质 no such quality, 生成数量 1, 图片档位 1K, 来源 输出尺寸, 实际尺寸 1024x1024',
    },
    {
      ask: beta,
      data: [link('one'), link('two')],
      text: '大小 -, 请求品质 -, 生成数量 2, 图片档位 2K, 来源 默认, 实际尺寸 -',
    },
    {
      ask: { ...beta, size: '3840x2160' },
      data: [link('one')],
      text: '大小 3840x2160, 请求品质 -, 生成数量 1, 图片档位 4K, 来源 请求尺寸, 实际尺寸 -',
    },
    {
      ask: { ...beta, size: ' 1K ', response_format: 'b64_json' },
      data: [picture(2816, 1584)],
      text: '大小  1K , 请求品质 -, 生成数量 1, 图片档位 1K, 来源 请求尺寸, 实际尺寸 2816x1584',
    },
    {
      ask: { ...alpha, size: 'huge' },
      data: [],
      text: '大小 huge, 请求品质 -, 生成数量 0, 图片档位 -, 来源 -, 实际尺寸 -',
    },
  ]
  for (const { ask, data, text } of rows) {
    shop.upstreams[ask.model.startsWith('alpha') ? 'alpha' : 'beta']?.answer({ data })
    await shop.ask(ask)
    const [charge] = await shop.charges(1)
    t.equal(charge?.text, text, caseName({ ask, data, text }))
  }
})

billed(
  'the tier of family B follows the requested size, 2K without one, 4K for 3840x2160 [I3]',
  {},
  async (t, shop) => {
    const rows = [
      [undefined, '2K', 'default'],
      ['1k', '1K', 'request'],
      ['2k', '2K', 'request'],
      ['1024x1024', '1K', 'request'],
      ['2048x1152', '2K', 'request'],
      ['3840x2160', '4K', 'request'],
      ['', '2K', 'default'],
      ['auto', '2K', 'default'],
      ['1024X1024', '1K', 'request'],
      ['1025×16', '2K', 'request'],
    ] as const
    for (const [size, tier, source] of rows) {
      shop.upstreams['beta']?.answer({ data: [picture(2816, 1584)] })
      await shop.ask({ ...beta, response_format: 'b64_json', ...(size !== undefined && { size }) })
      t.match(
        await shop.charges(1),
        [{ tier, source, actual_size: '2816x1584', amount: money(priceOf[tier] ?? 0) }],
        `size ${size}`,
      )
    }
  },
)

billed('more images than requested are each billed, and flagged [B17]', {}, async (t, shop) => {
  shop.upstreams['alpha']?.answer({ data: [1, 2, 3, 4].map(() => picture(1254, 1254)) })
  await shop.ask({ ...alpha, n: 2 })
  const [charge] = await shop.charges(1)
  t.match(charge, { count: 4, amount: '0.16', flags: ['over_return'] })
  t.strictSame(
    charge?.lines.map(line => line.flags),
    [[], [], ['over_return'], ['over_return']],
  )
})

billed(
  'with over_return: cap, images beyond n are shown and cost nothing [B17]',
  { edit: [['on_caller_gone: bill ', 'over_return: cap ']] },
  async (t, shop) => {
    shop.upstreams['alpha']?.answer({ data: [1, 2, 3].map(() => picture(1254, 1254)) })
    await shop.ask({ ...alpha, n: 2 })
    const [charge] = await shop.charges(1)
    t.match(charge, { count: 3, amount: '0.08', flags: ['over_return', 'capped'] })
  },
)

billed(
  'an unreadable image is billed as the default tier and flagged, without a general decoder [I8] [B17]',
  {},
  async (t, shop) => {
    const icns = Buffer.concat([Buffer.from('icns\0\0\0\x40ic07\0\0\0\0'), Buffer.alloc(48)])
    const rows: readonly [string, Buffer][] = [
      ['ICNS with an entry of length 0', icns],
      ['HEIC', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic\0\0\0\0')],
      ['TIFF', Buffer.from('II*\0\x08\0\0\0\0\0\0\0\0\0\0\0')],
      ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>')],
      ['PSD', Buffer.from('8BPS\0\x01\0\0\0\0\0\0\0\x03\0\0\x04\0\0\0\x04\0')],
      ['text', Buffer.from('this is not a picture at all')],
      ['one byte', Buffer.from([0])],
      ['a PNG of width 0', png(0, 0)],
    ]
    for (const [name, bytes] of rows) {
      shop.upstreams['alpha']?.answer({ data: [{ b64_json: bytes.toString('base64') }] })
      await shop.ask({ ...alpha, size: '512x512' })
      t.match(
        await shop.charges(1),
        [{ count: 1, tier: '2K', source: 'default', flags: ['undecodable'], amount: '0.04' }],
        name,
      )
    }
    // For one of them the test's own reader returns 0x0.
    shop.overrule(shop.produced.map(() => 'unread'))
  },
)

billed('base64 in any notation is the same image [I9]', {}, async (t, shop) => {
  const bytes = png(1254, 1254)
  const plain = bytes.toString('base64')
  const texts: readonly [string, string][] = [
    ['as it is', plain],
    ['without padding', plain.replace(/=+$/, '')],
    ['url-safe', bytes.toString('base64url')],
    ['with line ends', plain.replace(/(.{76})/g, '$1\\n')],
    ['with blanks', plain.replace(/(.{40})/g, '$1 ')],
    ['with escaped slashes', plain.replaceAll('/', '\\/')],
    ['with an escaped letter', plain.replace('i', '\\u0069')],
    ['as a data: URL', `data:image/png;base64,${plain}`],
  ]
  for (const [name, text] of texts) {
    shop.upstreams['alpha']?.answer(
      (res, _got) =>
        void res.writeHead(200, { 'content-type': 'application/json' }).end(`{"data":[{"b64_json":"${text}"}]}`),
    )
    const answer = await shop.ask(alpha)
    t.match(answer.json(), { data: [{ b64_json: /./ }] }, `${name}: passes`)
    t.match(await shop.charges(1), [{ count: 1, actual_size: '1254x1254', flags: [] }], name)
  }
  shop.upstreams['alpha']?.answer({ data: [{ b64_json: '' }, { url: '' }, { b64_json: null }] })
  await shop.ask(alpha)
  t.match(await shop.charges(1), [{ count: 0, state: 'voided' }], 'empty strings are no images')
  // The test's own reader does not decode escapes.
  shop.overrule(texts.map(() => '1254x1254'))
})

billed('an element counts once, whatever its members and their order [I11]', {}, async (t, shop) => {
  const { b64_json: b64 } = picture(1254, 1254)
  const rows: readonly [string, string, number][] = [
    ['the image first', `{"data":[{"b64_json":"${b64}","revised_prompt":"x"}]}`, 1],
    ['the image last', `{"created":1,"data":[{"revised_prompt":"x","b64_json":"${b64}"}],"usage":{}}`, 1],
    ['both image and link', `{"data":[{"url":"https://pictures.test/1","b64_json":"${b64}"}]}`, 1],
    [
      'a name inside a string',
      `{"data":[{"revised_prompt":"\\"b64_json\\":\\"${b64.slice(0, 40)}\\"","b64_json":"${b64}"}]}`,
      1,
    ],
    ['an error in a 200', '{"error":{"message":"no","code":"moderation_blocked"}}', 0],
  ]
  for (const [name, body, count] of rows) {
    shop.upstreams['alpha']?.answer(res => void res.writeHead(200, { 'content-type': 'application/json' }).end(body))
    const answer = await shop.ask(alpha)
    t.equal(answer.text, body, `${name}: passes as it is`)
    t.match(await shop.charges(1), [{ count, state: count === 0 ? 'voided' : 'settled' }], name)
  }
  shop.overrule(rows.flatMap(([, , count]) => Array.from({ length: count }, () => '1254x1254')))
})

billed(
  'a free model takes no money and keeps its items',
  { edit: [['beta, prices: { 1K: "0.02", 2K: "0.04", 4K: "0.08" }', 'beta, price: free']] },
  async (t, shop) => {
    shop.upstreams['beta']?.answer({ data: [link('one')] })
    const { key } = await shop.newKey({ budget: 0 })
    t.equal((await shop.ask(beta, { key })).status, 200)
    t.match(await shop.charges(1), [{ state: 'settled', count: 1, amount: '0.00' }])
  },
)

const finished = (index: number, width: number, more: object = {}) =>
  `event: image_generation.completed\ndata: ${JSON.stringify({ type: 'image_generation.completed', index, ...picture(width, 100), ...more })}\n\n`
const partial = `event: image_generation.partial_image\ndata: ${JSON.stringify({ type: 'image_generation.partial_image', partial_image_index: 0, ...picture(1254, 1254) })}\n\n`

billed(
  'events: previews are not billed, finished images are, a cut one is not, a repeated one is billed once [B16]',
  {},
  async (t, shop) => {
    const cut = finished(0, 1254).slice(0, -30)
    const rows: readonly [string, string, 'end' | 'cut', object][] = [
      [
        'three previews and the image',
        partial.repeat(3) + finished(0, 1254),
        'end',
        { state: 'settled', count: 1, amount: '0.04' },
      ],
      ['two images', finished(0, 1254) + finished(1, 3000), 'end', { state: 'settled', count: 2, amount: '0.12' }],
      [
        'two of one index',
        finished(0, 1254) + finished(0, 1254),
        'end',
        { state: 'settled', count: 1, amount: '0.04' },
      ],
      ['previews only', partial.repeat(3), 'end', { state: 'voided', count: 0 }],
      ['cut before the image is finished', partial + cut, 'cut', { state: 'needs_review', count: 0 }],
      [
        'cut after one of two',
        finished(0, 1254) + finished(1, 3000).slice(0, -30),
        'cut',
        { state: 'settled', count: 1, amount: '0.04' },
      ],
    ]
    for (const [name, events, how, charge] of rows) {
      shop.upstreams['alpha']?.answer(res => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        if (how === 'end') res.end(events)
        else res.write(events, () => res.socket?.resetAndDestroy())
      })
      const answer = await shop.ask({ ...alpha, n: 2, stream: true, partial_images: 3 })
      if (how === 'end') t.equal(answer.text, events, `${name}: passes byte for byte`)
      else t.match(answer.text, /data: \{"error"/, `${name}: the reader is told`)
      t.match(await shop.charges(1), [charge], name)
    }
    // An image that was reported twice counts once.
    shop.overrule(['1254x100', '1254x100', '3000x100', '1254x100', '1254x100'])
  },
)

billed('a thousand concurrent requests are a thousand charges, each with its own id [B2]', {}, async (t, shop) => {
  shop.upstreams['beta']?.answer({ data: [link('one')] })
  const ids = new Set<string>()
  let left = 1_000
  const worker = async (): Promise<void> => {
    while (left-- > 0) ids.add((await shop.ask({ ...beta, size: '1k' })).id)
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  t.equal(ids.size, 1_000)
  await shop.settled()
  const { charges, lines, problems } = await shop.gateway.storage.books.verify()
  t.match({ charges, lines, problems: problems.length }, { charges: 1_000, lines: 1_000, problems: 0 })
})

billed(
  'exactly ten of 200 concurrent requests on a budget for ten images are admitted, and never more is spent [B9]',
  {},
  async (t, shop) => {
    const { key, id } = await shop.newKey({ budget: 400_000 })
    const gate = Promise.withResolvers<void>()
    shop.upstreams['beta']?.answer(async res => {
      await gate.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [link('one')] }))
    })
    let refused = 0
    const all = Array.from({ length: 200 }, async () => {
      const answer = await shop.ask(beta, { key })
      if (answer.status === 402 && ++refused === 190) gate.resolve()
      return answer
    })
    const answers = await Promise.all(all)
    t.equal(answers.filter(answer => answer.status === 200).length, 10)
    const [no] = answers.filter(answer => answer.status === 402)
    t.match(no?.json(), { error: { code: 'insufficient_quota', type: 'insufficient_quota' } })
    t.match(no?.headers, { 'x-should-retry': 'false' })
    t.equal(shop.upstreams['beta']?.received.length, 10, 'nothing else reached the upstream')
    await shop.settled()
    const kept = (await shop.gateway.storage.keys.list({ limit: 1_000 })).find(one => one.id === id)
    t.match(kept, { spent: 400_000, held: 0, budget: 400_000 })
  },
)

billed(
  'a hold covers the most expensive possible tier, and the rest is released [B9]',
  { edit: [[/\n +largest_output:.*/, '']] },
  async (t, shop) => {
    const { key } = await shop.newKey({ budget: 160_000 })
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    t.equal((await shop.ask({ ...alpha, n: 3 }, { key })).status, 402, 'three may cost 0.24')
    t.equal((await shop.ask({ ...alpha, n: 2 }, { key })).status, 200, 'two may cost 0.16, and one came, for 0.04')
    t.equal((await shop.ask({ ...alpha, n: 2 }, { key })).status, 402, '0.12 are left')
    t.equal((await shop.ask({ ...alpha, n: 1 }, { key })).status, 200)
  },
)

billed(
  'a hold covers the largest expected output, and a larger image is charged in full and flagged [16]',
  {},
  async (t, shop) => {
    const { key, id } = await shop.newKey({ budget: 50_000 })
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    t.equal((await shop.ask({ ...alpha, n: 2 }, { key })).status, 402, 'two may cost 0.08')
    t.equal((await shop.ask(alpha, { key })).status, 200, 'a budget of 0.05 admits an image of 0.04')
    t.match(await shop.charges(1), [{ amount: '0.04', flags: [] }])
    t.equal((await shop.ask(alpha, { key })).status, 402, '0.01 is left')

    const other = await shop.newKey({ budget: 100_000 })
    shop.upstreams['alpha']?.answer({ data: [picture(3000, 2000), picture(2048, 1024)] })
    const answer = await shop.ask({ ...alpha, n: 2 }, { key: other.key })
    t.equal(answer.status, 200)
    t.equal((answer.json() as { data: unknown[] }).data.length, 2, 'both are delivered')
    const [charge] = await shop.charges(1)
    t.match(charge, { count: 2, amount: '0.12', flags: ['larger_than_expected'] })
    t.match(charge?.lines, [
      { tier: '4K', price: '0.08', flags: ['larger_than_expected'] },
      { tier: '2K', price: '0.04', flags: [] },
    ])
    await shop.settled()
    const keys = await shop.gateway.storage.keys.list({ limit: 1_000 })
    t.match(
      keys.find(one => one.id === other.id),
      { spent: 120_000, held: 0 },
    )
    t.match(
      keys.find(one => one.id === id),
      { spent: 40_000, held: 0 },
    )
  },
)

billed(
  'a request in flight is charged the price at its admission, the next one the new price [B15]',
  {},
  async (t, shop) => {
    const gate = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    let waiting = 0
    shop.upstreams['alpha']?.answer(async res => {
      if (++waiting === 20) arrived.resolve()
      await gate.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1254, 1254)] }))
    })
    const inFlight = Array.from({ length: 20 }, () => shop.ask(alpha))
    await arrived.promise
    const before = shop.gateway.plan.revision
    const reloaded = await shop.reload([{ 'models/alpha-image-2/prices/2K': '0.05' }])
    t.equal(reloaded.ok, true)
    gate.resolve()
    await Promise.all(inFlight)
    const charges = await shop.charges(50)
    t.strictSame([...new Set(charges.map(charge => charge.amount))], ['0.04'])
    await shop.ask(alpha)
    t.match(await shop.charges(1), [{ amount: '0.05' }])
    const [newest, older] = await shop.gateway.storage.journal.list({ limit: 2 })
    t.equal(older?.charge?.configRevision, before)
    t.not(newest?.charge?.configRevision, before)
  },
)

billed(
  'a model removed and a key revoked in flight: an admitted request is finished and charged [B15]',
  {},
  async (t, shop) => {
    const { key, id } = await shop.newKey()
    const gate = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    shop.upstreams['beta']?.answer(async res => {
      arrived.resolve()
      await gate.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [link('one')] }))
    })
    const inFlight = shop.ask(beta, { key })
    await arrived.promise
    t.equal((await shop.reload([[/ {2}beta-imagine-image: .*\n/, '']])).ok, true)
    await shop.gateway.storage.keys.revoke(id)
    gate.resolve()
    t.equal((await inFlight).status, 200)
    t.match(await shop.charges(1), [{ state: 'settled', count: 1, amount: '0.04' }])
    t.equal((await shop.ask(beta, { key })).status, 401)
    t.equal((await shop.ask(beta)).status, 404)
  },
)
