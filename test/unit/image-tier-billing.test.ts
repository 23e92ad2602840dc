import t from 'tap'
import { ImageHead } from '../../plugins/image-tier-billing/image-head.ts'
import { fingerprintOf, readIdempotencyKey } from '../../plugins/image-tier-billing/idempotency.ts'
import { inspect } from '../../plugins/image-tier-billing/inspect.ts'
import { headBytesMax, jpegHeadBytesMax, type Measured, measure } from '../../plugins/image-tier-billing/measure.ts'
import { quote } from '../../plugins/image-tier-billing/quote.ts'
import { rateImage } from '../../plugins/image-tier-billing/rate-image.ts'
import { readCount } from '../../plugins/image-tier-billing/read-count.ts'
import { replayCharge } from '../../plugins/image-tier-billing/replay.ts'
import type { BillingFacet } from '../../plugins/image-tier-billing/schema.ts'
import { rateTier, requestedTierOf, tierOf } from '../../plugins/image-tier-billing/tier.ts'
import { scanObject } from '../../src/engine/fields.ts'
import type { AskedSize, Body, Charge, Family, FilePart, Json, Model, TextPart } from '../../src/kit/index.ts'
import { seeded, someTarget } from '../harness/exchange.ts'
import { avifHead, gifHead, jpegHead, jpegProfiles, jpegSegment, pngHead, webpHead } from '../harness/image-heads.ts'

const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
const mutations = Number(process.env['MUTATIONS'] ?? 10_000)

const tiers = [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K', long_edge_max: 2048 }, { tier: '4K' }]
const ofOutput: BillingFacet = {
  tiers,
  tier_from: ['output'],
  otherwise: '2K',
  on_caller_gone: 'bill',
  over_return: 'bill',
}
const ofRequest: BillingFacet = { ...ofOutput, tier_from: ['request'] }
const rows = tiers.map(row => ({ tier: row.tier, longEdgeMax: row.long_edge_max ?? null }))

const sizeOf = (measured: Measured): string =>
  measured.kind === 'size' ? `${measured.size.width}x${measured.size.height}` : measured.kind

t.test('the long edge decides the tier: 1024 or less, 1025 to 2048, more (4.4.2), whatever the format', async t => {
  const edges: [number, string][] = [
    [1, '1K'],
    [1023, '1K'],
    [1024, '1K'],
    [1025, '2K'],
    [2047, '2K'],
    [2048, '2K'],
    [2049, '4K'],
    [8192, '4K'],
  ]
  const formats: [string, (width: number, height: number) => Buffer][] = [
    ['png', pngHead],
    ['png, CgBI', (width, height) => pngHead(width, height, { appleVariant: true })],
    ['jpeg', jpegHead],
    ['webp VP8', (width, height) => webpHead('VP8 ', width, height)],
    ['webp VP8L', (width, height) => webpHead('VP8L', width, height)],
    ['webp VP8X', (width, height) => webpHead('VP8X', width, height)],
    ['gif', gifHead],
    ['avif', avifHead],
  ]
  for (const [name, head] of formats) {
    for (const [edge, tier] of edges) {
      for (const [width, height] of [
        [edge, 1],
        [1, edge],
      ] as const) {
        const measured = measure(head(width, height))
        t.equal(sizeOf(measured), `${width}x${height}`, `${name} ${width}x${height}`)
        t.equal(
          measured.kind === 'size' &&
            rateTier(
              {
                tiers: rows.map(row => ({ ...row, price: 1, at: '' })),
                tierFrom: ['output'],
                otherwise: '2K',
                requestedTier: null,
              },
              measured.size,
            ).tier,
          tier,
        )
      }
    }
  }
})

t.test('a header is believed and nothing is decoded: huge claims are 4K, impossible ones undecodable', async t => {
  const cases: [string, Buffer, string][] = [
    ['65535²', pngHead(65_535, 65_535), '65535x65535'],
    ['2^31−1', pngHead(2 ** 31 - 1, 2 ** 31 - 1), '2147483647x2147483647'],
    ['beyond what a PNG may say', pngHead(2 ** 32 - 1, 1), 'undecodable'],
    ['width 0', pngHead(0, 1254), 'undecodable'],
    ['height 0, told by a DNL', jpegHead(1254, 0), 'undecodable'],
    ['gif of 0', gifHead(0, 5), 'undecodable'],
    ['truncated IHDR', pngHead(1254, 1254).subarray(0, 22), 'more'],
    ['truncated webp', webpHead('VP8X', 5, 5).subarray(0, 28), 'more'],
    ['VP8 without its start code', Buffer.from(webpHead('VP8 ', 5, 5)).fill(0, 23, 26), 'undecodable'],
    ['no IHDR first', Buffer.from(pngHead(5, 5)).fill(0x41, 12, 16), 'undecodable'],
    ['text', Buffer.from('this is not an image at all'), 'undecodable'],
    ['ICNS', Buffer.concat([Buffer.from('icns'), Buffer.alloc(60)]), 'undecodable'],
    ['HEIC', Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic'), Buffer.alloc(60)]), 'undecodable'],
    [
      'JXL',
      Buffer.concat([Buffer.from([0, 0, 0, 12]), Buffer.from('JXL \r\n\x87\n', 'latin1'), Buffer.alloc(60)]),
      'undecodable',
    ],
    ['TIFF', Buffer.concat([Buffer.from('II*\0'), Buffer.alloc(60)]), 'undecodable'],
    ['SVG', Buffer.from('<svg width="10" height="10" xmlns="…"></svg>'), 'undecodable'],
    ['PSD', Buffer.concat([Buffer.from('8BPS'), Buffer.alloc(60)]), 'undecodable'],
    ['nothing', Buffer.alloc(0), 'more'],
  ]
  for (const [name, head, expected] of cases) t.equal(sizeOf(measure(head)), expected, name)
})

t.test('a JPEG is walked by its segments', async t => {
  for (let sof = 0xc0; sof <= 0xcf; sof++) {
    const expected = sof === 0xc4 || sof === 0xc8 || sof === 0xcc ? 'more' : '1672x941'
    t.equal(sizeOf(measure(jpegHead(1672, 941, { sof }))), expected, `SOF ${sof.toString(16)}`)
  }
  const thumbnail = jpegSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), jpegHead(160, 120)]))
  const cases: [string, Buffer, string][] = [
    ['the SOF of a thumbnail is inside a segment', jpegHead(1672, 941, { before: thumbnail }), '1672x941'],
    ['fill bytes', jpegHead(1672, 941, { before: Buffer.from([0xff, 0xff, 0xff, 0xff]) }), '1672x941'],
    [
      'bytes between segments',
      jpegHead(1672, 941, { before: Buffer.concat([jpegSegment(0xe0, Buffer.alloc(4)), Buffer.alloc(99, 7)]) }),
      '1672x941',
    ],
    ['a segment of length 0', jpegHead(5, 5, { before: Buffer.from([0xff, 0xe0, 0, 0]) }), 'undecodable'],
    ['a segment of length 1', jpegHead(5, 5, { before: Buffer.from([0xff, 0xe0, 0, 1]) }), 'undecodable'],
    [
      'a scan without a frame',
      Buffer.concat([Buffer.from([0xff, 0xd8]), jpegSegment(0xda, Buffer.alloc(20))]),
      'undecodable',
    ],
    ['900 KiB of profiles before it', jpegHead(1672, 941, { before: jpegProfiles(900 * 1024) }), '1672x941'],
    ['5 MB of profiles before it', jpegHead(1672, 941, { before: jpegProfiles(5e6) }), 'undecodable'],
    ['a profile that has not come whole', jpegHead(5, 5, { before: jpegProfiles(50_000) }).subarray(0, 20_000), 'more'],
  ]
  for (const [name, head, expected] of cases) t.equal(sizeOf(measure(head)), expected, name)
})

t.test('no mutation of a header throws or loops', async t => {
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const heads = [
    pngHead(1254, 1254),
    pngHead(5, 5, { appleVariant: true }),
    jpegHead(1672, 941),
    jpegHead(9, 9, { before: jpegProfiles(3_000) }),
    webpHead('VP8 ', 5, 5),
    webpHead('VP8L', 5, 5),
    webpHead('VP8X', 5, 5),
    gifHead(7, 7),
    avifHead(2000, 1000),
  ]
  let slowest = 0
  for (let i = 0; i < mutations; i++) {
    const head = Buffer.from(heads[Math.floor(random() * heads.length)] as Buffer)
    for (let changes = 1 + random() * 4; changes > 0; changes--)
      head[Math.floor(random() * head.length)] = random() * 256
    const cut = head.subarray(0, random() < 0.3 ? Math.floor(random() * head.length) : head.length)
    const begun = performance.now()
    const measured = measure(cut)
    slowest = Math.max(slowest, performance.now() - begun)
    if (measured.kind === 'size' && !(measured.size.width >= 1 && measured.size.height >= 1))
      t.fail(cut.toString('hex'))
  }
  t.comment(`the slowest took ${slowest.toFixed(2)} ms`)
  // The most steps that 64 KiB and 1 MiB can be made to cost.
  for (const worst of [
    Buffer.concat([
      avifHead(1, 1).subarray(0, 24),
      Buffer.from('\0\xff\xff\xffmeta\0\0\0\0\0\xff\xff\xffiprp\0\xff\xff\xffipco', 'latin1'),
      Buffer.alloc(headBytesMax, Buffer.from('\0\0\0\x14ispe\0\0\0\0\0\0\0\x01\0\0\0\x01', 'latin1')),
    ]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(jpegHeadBytesMax, Buffer.from([0xff, 0xe0, 0, 2]))]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(jpegHeadBytesMax, 0xff)]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(jpegHeadBytesMax, Buffer.from([0xff, 0]))]),
  ]) {
    measure(worst)
    const begun = performance.now()
    t.ok(measure(worst), 'it ends')
    t.comment(`${worst.length} bytes of the worst took ${(performance.now() - begun).toFixed(2)} ms`)
  }
})

t.test('base64 is read leniently, in pieces of any size', async t => {
  const bytes = Buffer.concat([pngHead(1254, 941), Buffer.alloc(200, 0xfb)])
  const plain = bytes.toString('base64')
  const cases: [string, string][] = [
    ['as it is', plain],
    ['blanks', plain.replaceAll(/(.{7})/g, '$1 ')],
    ['escaped line ends', plain.replaceAll(/(.{19})/g, '$1\\r\\n')],
    ['url-safe', bytes.toString('base64url')],
    ['no padding', plain.replace(/=+$/, '')],
    ['a data: URL', `data:image/png;base64,${plain}`],
    ['a data: URL with parameters', ` data:image/PNG;charset=utf-8;BASE64,${plain}`],
    ['escaped slashes', plain.replaceAll('/', '\\/')],
    [
      'escaped letters',
      plain
        .split('')
        .map(char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    ],
  ]
  for (const [name, text] of cases) {
    for (const step of [1, 3, 1000]) {
      const head = new ImageHead({ link: false })
      const raw = Buffer.from(text)
      for (let at = 0; at < raw.length; at += step) head.write(raw, at, Math.min(raw.length, at + step))
      t.equal(sizeOf(head.end()), '1254x941', name)
      t.equal(head.mime, 'image/png')
    }
  }
  for (const text of ['', '=', 'data:', 'data:image/png;base64,', 'data:image/svg+xml,<svg/>', 'hello', '\\']) {
    const head = new ImageHead({ link: false })
    head.write(Buffer.from(text), 0, text.length)
    t.equal(sizeOf(head.end()), 'undecodable', text)
  }
  const long = Buffer.from(jpegHead(2000, 1000, { before: jpegProfiles(700_000) }).toString('base64'))
  const head = new ImageHead({ link: false })
  for (let at = 0; at < long.length; at += 1460) head.write(long, at, Math.min(long.length, at + 1460))
  t.equal(sizeOf(head.end()), '2000x1000', 'a JPEG with 700 kB of profiles')
  const endless = new ImageHead({ link: false })
  const spaces = Buffer.alloc(1024 * 1024, 0x20)
  for (let i = 0; i < 3; i++) endless.write(spaces, 0, spaces.length)
  t.ok(endless.settled, 'blanks without end are given up')
})

// Prices

const pixels = (width: number, height: number, more: Partial<AskedSize> = {}): AskedSize => ({
  text: `${width}x${height}`,
  size: { kind: 'pixels', width, height },
  expected: null,
  resolution: null,
  ...more,
})
const label = (text: string): AskedSize => ({
  text,
  size: { kind: 'label', label: text },
  expected: null,
  resolution: null,
})
const noSize: AskedSize = { text: null, size: { kind: 'none' }, expected: null, resolution: null }

function modelAt(
  prices: { readonly [tier: string]: number },
  free = false,
): { readonly family: Family; readonly model: Model } {
  const { family, model } = someTarget()
  const entries = Object.entries(prices).map(
    ([tier, micros]) => [tier, { micros, origin: { file: 'gateway.yaml', line: 40, col: 3 } }] as const,
  )
  return { family, model: { ...model, free, prices: new Map(entries) } }
}

const { family, model } = modelAt({ '1K': 20_000, '2K': 40_000, '4K': 80_000 })

t.test('family B is billed by the size asked for (4.4.4), 2K without one', async t => {
  const cases: [AskedSize, string, 'request' | 'default'][] = [
    [noSize, '2K', 'default'],
    [label('1k'), '1K', 'request'],
    [label('2K'), '2K', 'request'],
    [pixels(1024, 1024), '1K', 'request'],
    [pixels(2048, 1152), '2K', 'request'],
    [pixels(3840, 2160), '4K', 'request'],
    [{ ...noSize, text: 'huge', size: { kind: 'unread' } }, '2K', 'default'],
  ]
  for (const [asked, tier, source] of cases) {
    const { rule, expected, atMost } = quote({ facet: ofRequest, family, model, asked, n: 3 })
    const line = rateImage({ index: 0, kind: 'link', size: null }, { rule, n: 3, overReturn: 'bill' })
    t.match(line, { tier, source, width: null, height: null, flags: [] }, String(asked.text))
    t.match(expected, { tier, source })
    t.equal(atMost, 3 * line.price, 'exactly that is held')
  }
})

t.test('family A is billed by the image that came, whatever was asked for; one that cannot be read is 2K', async t => {
  const { rule, atMost } = quote({ facet: ofOutput, family, model, asked: pixels(3840, 2160), n: 2 })
  t.equal(atMost, 160_000, 'the dearest tier is held')
  const terms = { rule, n: 2, overReturn: 'bill' as const }
  for (const [width, height] of [
    [1254, 1254],
    [1672, 941],
    [1536, 1024],
  ] as const) {
    t.same(rateImage({ index: 0, kind: 'bytes', size: { width, height } }, terms), {
      index: 0,
      tier: '2K',
      source: 'output',
      width,
      height,
      price: 40_000,
      flags: [],
      quantity: null,
    })
  }
  t.same(rateImage({ index: 1, kind: 'bytes', size: null }, terms), {
    index: 1,
    tier: '2K',
    source: 'default',
    width: null,
    height: null,
    price: 40_000,
    flags: ['undecodable'],
    quantity: null,
  })
})

t.test('the order of sources is data', async t => {
  const facet: BillingFacet = { ...ofOutput, tier_from: ['output', 'request'] }
  const { rule } = quote({ facet, family, model, asked: pixels(512, 512), n: 1 })
  t.match(rateTier(rule, { width: 3000, height: 1 }), { tier: '4K', source: 'output' })
  t.match(rateTier(rule, null), { tier: '1K', source: 'request' })
  const turned = quote({ facet: { ...facet, tier_from: ['request', 'output'] }, family, model, asked: noSize, n: 1 })
  t.match(rateTier(turned.rule, { width: 10, height: 1 }), { tier: '1K', source: 'output' })
  t.equal(turned.atMost, 80_000)
})

t.test('more images than were asked for are billed and flagged, or capped', async t => {
  const { rule } = quote({ facet: ofRequest, family, model, asked: noSize, n: 1 })
  const image = { index: 1, kind: 'link', size: null } as const
  t.match(rateImage(image, { rule, n: 1, overReturn: 'bill' }), { price: 40_000, flags: ['over_return'] })
  t.match(rateImage(image, { rule, n: 1, overReturn: 'cap' }), { price: 0, flags: ['over_return', 'capped'] })
})

t.test('a size that costs more than it gives is said, with the cheaper one (decision 12)', async t => {
  const dear = quote({
    facet: ofRequest,
    family,
    model,
    asked: pixels(3840, 2160, { resolution: '2k', expected: { width: 2816, height: 1584 } }),
    n: 1,
  })
  t.match(dear.rule.warnings, [/3840x2160 is billed 4K .* no more than 2K .*2816x1584.*size 2048x1152 is billed 2K/])
  const wide = quote({
    facet: ofRequest,
    family,
    model,
    asked: pixels(2048, 1152, { resolution: '2k', expected: { width: 2816, height: 1584 } }),
    n: 1,
  })
  t.match(wide.rule.warnings, [/2048x1152 is billed 2K by the requested size, although .* 2816x1584/])
  const small = quote({
    facet: ofOutput,
    family,
    model,
    asked: pixels(512, 512, { expected: { width: 1254, height: 1254 } }),
    n: 1,
  })
  t.match(small.rule.warnings, [/512x512 does not set the price.*1254x1254.*2K/])
  t.match(small.expected, { tier: '2K', source: 'output', price: 40_000 })
  t.same(
    quote({ facet: ofRequest, family, model, asked: pixels(1024, 1024, { resolution: '1k' }), n: 1 }).rule.warnings,
    [],
  )
})

t.test('a model without the price of a tier is not used, a free one costs nothing', async t => {
  const poor = modelAt({ '1K': 1 })
  t.throws(() => quote({ facet: ofOutput, ...poor, asked: noSize, n: 1 }), { code: 'price_missing', status: 503 })
  const free = modelAt({}, true)
  t.equal(quote({ facet: ofOutput, ...free, asked: noSize, n: 4 }).atMost, 0)
})

t.test('tiers are found by edge and by name', async t => {
  t.equal(tierOf(1024, rows)?.tier, '1K')
  t.equal(tierOf(9e9, rows)?.tier, '4K')
  t.equal(requestedTierOf(label('4k'), rows)?.tier, '4K')
  t.equal(requestedTierOf(label('hd'), rows), undefined)
})

// Requests

const json = (fields: { readonly [name: string]: Json }): Body => ({
  kind: 'json',
  json: scanObject(Buffer.from(JSON.stringify(fields))),
})
const text = (name: string, value: string): TextPart => ({ kind: 'text', name, value })
const form = (...parts: (TextPart | FilePart)[]): Body => ({
  kind: 'form',
  parts,
  encode: () => {
    throw new Error('not sent here')
  },
  discard: () => undefined,
})

t.test('n is a whole number from 1 to what the family takes, 1 when absent', async t => {
  const right: [Body, number][] = [
    [json({}), 1],
    [json({ n: null }), 1],
    [json({ n: 1 }), 1],
    [json({ n: 10 }), 10],
    [form(), 1],
    [form(text('n', '2')), 2],
  ]
  for (const [body, count] of right) t.equal(readCount(body, 10), count)
  for (const n of [0, -1, 1.5, '2', 1e9, true, [], {}, 2 ** 31, 11]) {
    t.throws(() => readCount(json({ n }), 10), { code: 'invalid_n', status: 400, param: 'n' }, JSON.stringify(n))
  }
  for (const n of ['', '0', '-1', '1.5', 'two', ' 2', '1e1', '11', '9999999999']) {
    t.throws(() => readCount(form(text('n', n)), 10), { code: 'invalid_n' }, `a form's ${n}`)
  }
})

t.test('two requests are one when path, fields and files are, whatever their bytes', async t => {
  const one = await fingerprintOf('/v1/images/generations', json({ model: 'm', prompt: 'a', size: { a: 1, b: [2] } }))
  t.equal(await fingerprintOf('/v1/images/generations', json({ size: { b: [2], a: 1 }, prompt: 'a', model: 'm' })), one)
  t.not(await fingerprintOf('/v1/images/generations', json({ model: 'm', prompt: 'b', size: { a: 1, b: [2] } })), one)
  t.not(await fingerprintOf('/v1/images/edits', json({ model: 'm', prompt: 'a', size: { a: 1, b: [2] } })), one)
  const file = (sha: string): FilePart => ({
    kind: 'file',
    name: 'image',
    bytes: 1,
    head: Buffer.alloc(0),
    sha256: async () => sha,
    open: () => {
      throw new Error('not opened')
    },
  })
  const sent = await fingerprintOf('/e', form(text('model', 'm'), file('aa')))
  t.equal(await fingerprintOf('/e', form(text('model', 'm'), file('aa'))), sent)
  t.not(await fingerprintOf('/e', form(text('model', 'm'), file('bb'))), sent)
  t.not(await fingerprintOf('/e', form(file('aa'), text('model', 'm'))), sent)
  t.equal(readIdempotencyKey(undefined), null)
  t.equal(readIdempotencyKey('a'.repeat(255)), 'a'.repeat(255))
  for (const key of ['', 'a'.repeat(256), 'ä', 'a\u0000b', ['a', 'b']]) {
    t.throws(() => readIdempotencyKey(key), { code: 'invalid_idempotency_key', status: 400 })
  }
})

t.test('a configuration that could bill wrongly is refused', async t => {
  const everything = { kind: 'all', except: new Set<string>() } as const
  const codes = (facet: BillingFacet, models: readonly Model[] = [model]): string[] =>
    inspect(facet, family, models).map(problem => `${problem.severity} ${problem.code} ${problem.path.join('.')}`)
  t.same(codes(ofOutput), [])
  t.same(codes({ ...ofOutput, otherwise: '3K' }), ['error tier_unknown otherwise'])
  t.same(
    codes({
      ...ofOutput,
      tiers: [{ tier: '1K', long_edge_max: 2048 }, { tier: '2K', long_edge_max: 1024 }, { tier: '4K' }],
    }),
    ['error tiers_not_rising tiers.1.long_edge_max'],
  )
  const forward = new Map(['image.generate', 'image.variation', 'chat'].map(name => [name, everything] as const))
  const wider = { ...family, forward }
  t.match(inspect(ofOutput, wider, []), [
    { code: 'answer_shape_unknown', severity: 'error', path: ['answers'], message: /image\.variation/ },
    { code: 'answer_shape_unknown', message: /chat/ },
  ])
  t.same(inspect({ ...ofOutput, answers: { 'image.variation': 'data', chat: 'none' } }, wider, []), [])
  t.same(codes({ ...ofOutput, tiers: [{ tier: '1K' }, { tier: '2K', long_edge_max: 9 }] }), [
    'error tiers_end tiers.0',
    'error tiers_end tiers.1.long_edge_max',
    'note price_unused prices.4K',
  ])
  t.same(codes({ ...ofOutput, tiers: [{ tier: '2K', long_edge_max: 9 }, { tier: '2k' }] }, []), [
    'error tier_twice tiers.1.tier',
  ])
  t.same(codes(ofOutput, [modelAt({ '1K': 1, '2K': 2, '8K': 3 }).model]), [
    'error tier_unpriced prices',
    'note price_unused prices.8K',
  ])
  t.same(codes(ofOutput, [modelAt({}, true).model]), [])
})

t.test('a stored charge is rated again from what was stored with it', async t => {
  const { rule } = quote({ facet: ofOutput, family, model, asked: noSize, n: 1 })
  const lines = [1254, 3000].map((width, index) =>
    rateImage({ index, kind: 'bytes', size: { width, height: 9 } }, { rule, n: 1, overReturn: 'cap' }),
  )
  const charge: Charge = {
    id: 'req_1',
    keyId: 'k',
    user: 'u',
    group: 'g',
    operation: 'image.generate',
    model: 'm',
    family: 'f',
    upstream: 'u',
    configRevision: 'r',
    currency: 'USD',
    size: null,
    quality: null,
    n: 1,
    rule,
    state: 'settled',
    reason: null,
    hold: 80_000,
    held: 0,
    amount: 40_000,
    refunded: 0,
    createdAt: 1,
    endedAt: 2,
    delivery: 'confirmed',
    lines,
  }
  t.same(replayCharge(charge), [])
  const bent = {
    ...charge,
    amount: 1,
    lines: lines.map(line => ({ ...line, width: 100, tier: '2K', price: line.price })),
  }
  t.equal(replayCharge(bent).length, 4)
  t.match(replayCharge({ ...charge, amount: 1 }), [
    'charge req_1: the amount in micros is 1, but its own facts give 40000',
  ])
})
