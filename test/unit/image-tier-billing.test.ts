import t from 'tap'
import { ImageHead } from '../../plugins/image-tier-billing/image-head.ts'
import { fingerprintOf, readIdempotencyKey } from '../../plugins/image-tier-billing/idempotency.ts'
import { inspect } from '../../plugins/image-tier-billing/inspect.ts'
import { headBytesMax, type Measured, measure, sizeOf as readSizeOf } from '../../plugins/image-tier-billing/measure.ts'
import { quote } from '../../plugins/image-tier-billing/quote.ts'
import { rateImage } from '../../plugins/image-tier-billing/rate-image.ts'
import { shapeFields, shapeTools } from '../../plugins/image-tier-billing/forward-fields.ts'
import { shapeNative } from '../../plugins/image-tier-billing/forward-native.ts'
import { readCount } from '../../plugins/image-tier-billing/read-count.ts'
import { imageTierBilling } from '../../plugins/image-tier-billing/plugin.ts'
import type { BillingFacet } from '../../plugins/image-tier-billing/schema.ts'
import { rateTier, requestedTierOf, tierOf } from '../../plugins/image-tier-billing/tier.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { replayCharge } from '../../src/gateway/replay.ts'
import {
  type Body,
  type Charge,
  type Family,
  type FilePart,
  type Json,
  type Model,
  readField,
  type TextPart,
} from '../../src/domain/index.ts'
import type { AskedSize } from '../../src/plugin-api/index.ts'
import { operationTraits } from '../../src/operations/index.ts'
import { someTarget } from '../harness/request-context.ts'
import {
  avifHead,
  bmpHead,
  gifHead,
  jpegHead,
  jpegProfiles,
  jpegSegment,
  pngHead,
  tiffHead,
  webpHead,
} from '../harness/image-heads.ts'
import { caseName } from '../harness/case-name.ts'
import { seed, seeded } from '../harness/seed.ts'

const mutations = Number(process.env['MUTATIONS'] ?? 10_000)

const tiers = [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K', long_edge_max: 2048 }, { tier: '4K' }]
const ofOutput: BillingFacet = {
  tiers,
  tier_from: ['output'],
  otherwise: '2K',
  on_caller_gone: 'bill',
  missing_usage: 'review',
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
    ['bmp', bmpHead],
    ['bmp upside down', (width, height) => bmpHead(width, -height)],
    ['bmp of OS/2', (width, height) => bmpHead(width, height, { core: true })],
    ['tiff II', tiffHead],
    ['tiff MM', (width, height) => tiffHead(width, height, { big: true })],
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
          caseName({ name, head, edge, tier }),
        )
      }
    }
  }
})

t.test('a header is accepted without decoding; impossible and non-images are undecodable', async t => {
  const cases: [string, Buffer, string][] = [
    ['a gigapixel', pngHead(65_535, 15_000), '65535x15000'],
    ['65535²', pngHead(65_535, 65_535), 'undecodable'],
    ['an edge of 65536', pngHead(65_536, 1), 'undecodable'],
    ['2^31−1', pngHead(2 ** 31 - 1, 2 ** 31 - 1), 'undecodable'],
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
    ['[6.9] 5 MB of profiles before it', jpegHead(1672, 941, { before: jpegProfiles(5e6) }), '1672x941'],
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
    bmpHead(300, 200),
    tiffHead(300, 200),
    tiffHead(300, 200, { big: true, at: 40 }),
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
  // Inputs of 64 KiB and 1 MiB that cost the most steps.
  for (const worst of [
    Buffer.concat([
      avifHead(1, 1).subarray(0, 24),
      Buffer.from('\0\xff\xff\xffmeta\0\0\0\0\0\xff\xff\xffiprp\0\xff\xff\xffipco', 'latin1'),
      Buffer.alloc(headBytesMax, Buffer.from('\0\0\0\x14ispe\0\0\0\0\0\0\0\x01\0\0\0\x01', 'latin1')),
    ]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(1024 * 1024, Buffer.from([0xff, 0xe0, 0, 2]))]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(1024 * 1024, 0xff)]),
    Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(1024 * 1024, Buffer.from([0xff, 0]))]),
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
      t.equal(head.mime, 'image/png', caseName({ name, text, step }))
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

/** Parses the head of an image that arrives as base64 in pieces of `step` characters. */
function headOf(image: Buffer, step = 1460, text = image.toString('base64')): ImageHead {
  const head = new ImageHead({ link: false })
  const raw = Buffer.from(text)
  for (let at = 0; at < raw.length; at += step) head.write(raw, at, Math.min(raw.length, at + step))
  return head
}

t.test('[6.9] a JPEG is read whatever precedes its frame, and a TIFF wherever its directory is', async t => {
  for (const bytes of [1_100_000, 3_000_000]) {
    const image = jpegHead(1672, 941, { before: jpegProfiles(bytes) })
    t.equal(sizeOf(headOf(Buffer.concat([image, Buffer.alloc(5_000)])).end()), '1672x941', `${bytes} bytes`)
  }
  const lines = jpegHead(1672, 941, { before: jpegProfiles(1_200_000) })
    .toString('base64')
    .replaceAll(/(.{76})/g, '$1\\n')
  t.equal(sizeOf(headOf(Buffer.alloc(0), 1460, lines).end()), '1672x941', 'in lines')
  for (const big of [false, true]) {
    const image = tiffHead(3000, 2000, { big, at: 2_000_000 })
    t.equal(sizeOf(headOf(image).end()), '3000x2000', `a TIFF with its directory behind, ${big ? 'MM' : 'II'}`)
    t.equal(sizeOf(headOf(image.subarray(0, -30)).end()), 'undecodable', 'cut before its height')
  }
  const endless = headOf(
    Buffer.alloc(0),
    65_536,
    Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(5e6, 0xff)]).toString('base64'),
  )
  t.match(endless.end(), { kind: 'undecodable', mime: 'image/jpeg' })
})

t.test("[6.9] a size that the image's bytes cannot carry is rejected", async t => {
  const cases: [string, Buffer, string][] = [
    ['a PNG of 2147483647²', Buffer.concat([pngHead(2 ** 31 - 1, 2 ** 31 - 1), Buffer.alloc(3_000)]), 'implausible'],
    ['a PNG of 30000² in 3 kB', Buffer.concat([pngHead(30_000, 30_000), Buffer.alloc(3_000)]), 'implausible'],
    ['a PNG of 30000² in 110 kB', Buffer.concat([pngHead(30_000, 30_000), Buffer.alloc(110_000)]), '30000x30000'],
    ['a blank PNG of 4096²', Buffer.concat([pngHead(4096, 4096), Buffer.alloc(2_100)]), '4096x4096'],
    ['the head of a GIF of 65535²', gifHead(65_535, 65_535), 'implausible'],
    ['a GIF of 4000² in 13 bytes', gifHead(4000, 4000), 'implausible'],
    ['a JPEG of 20000² in 1 kB', Buffer.concat([jpegHead(20_000, 20_000), Buffer.alloc(1_000)]), 'implausible'],
    ['a BMP of 1000² in 100 kB', Buffer.concat([bmpHead(1000, 1000), Buffer.alloc(100_000)]), 'implausible'],
    ['a BMP of 100²', Buffer.concat([bmpHead(100, 100), Buffer.alloc(30_000)]), '100x100'],
    ['a blank WebP of 16384²', webpHead('VP8L', 16_384, 16_384), '16384x16384'],
  ]
  for (const [name, image, expected] of cases)
    for (const step of [1, 64, 1460, 1e6]) {
      const measured = headOf(image, step).end()
      const outcome = measured.kind === 'undecodable' && measured.implausible ? 'implausible' : sizeOf(measured)
      t.equal(outcome, expected, `${name}, ${step} at a time`)
    }
  const { rule } = quote({ facet: ofOutput, family, model, requestedSize: noSize, n: 1 })
  const head = headOf(Buffer.concat([pngHead(2 ** 31 - 1, 2 ** 31 - 1), Buffer.alloc(3_000)]))
  const image = { index: 0, kind: 'bytes', ...readSizeOf(head.end()) } as const
  t.match(rateImage(image, { rule, n: 1, overReturn: 'bill' }), {
    tier: '2K',
    source: 'default',
    width: null,
    flags: ['undecodable', 'implausible'],
  })
})

t.test('[6.9] known unmeasured formats are named', async t => {
  const box = (kind: string) =>
    Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from(`ftyp${kind}`), Buffer.alloc(60)])
  const cases: [Buffer, string | null][] = [
    [box('heic'), 'image/heic'],
    [box('hevc'), 'image/heic'],
    [box('mif1'), 'image/heif'],
    [Buffer.from('\0\0\0\x0cJXL \r\n\x87\n\0\0\0\0', 'latin1'), 'image/jxl'],
    [Buffer.from('\xff\x0a\0\0\0\0\0\0\0\0\0\0', 'latin1'), 'image/jxl'],
    [Buffer.from('8BPS\0\x01\0\0\0\0\0\0\0\0'), 'image/vnd.adobe.photoshop'],
    [Buffer.from('\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0', 'latin1'), 'image/x-icon'],
    [Buffer.from('\ufeff<?xml version="1.0"?>\n<!-- a boat -->\n<svg width="9">'), 'image/svg+xml'],
    [Buffer.from('<html><body>no image</body></html>'), null],
    [Buffer.from('icns\0\0\0\0\0\0\0\0\0'), 'image/icns'],
    [Buffer.from('II+\0\x08\0\0\0\0\0\0\0\0'), 'image/tiff'],
    [tiffHead(5, 0), 'image/tiff'],
    [Buffer.from('BM, a maker of motors, says hello'), 'image/bmp'],
  ]
  for (const [bytes, mime] of cases) {
    const measured = headOf(bytes).end()
    t.match(measured, { kind: 'undecodable', mime }, String(mime))
    t.same(readSizeOf(measured).unread ?? [], mime === null ? [] : [mime], caseName({ bytes, mime }))
  }
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

t.test('family B is billed by the requested size (4.4.4), 2K without one', async t => {
  const cases: [AskedSize, string, 'request' | 'default'][] = [
    [noSize, '2K', 'default'],
    [label('1k'), '1K', 'request'],
    [label('2K'), '2K', 'request'],
    [pixels(1024, 1024), '1K', 'request'],
    [pixels(2048, 1152), '2K', 'request'],
    [pixels(3840, 2160), '4K', 'request'],
    [{ ...noSize, text: 'huge', size: { kind: 'unread' } }, '2K', 'default'],
  ]
  for (const [requested, tier, source] of cases) {
    const { rule, expected, atMost } = quote({ facet: ofRequest, family, model, requestedSize: requested, n: 3 })
    const line = rateImage({ index: 0, kind: 'link', size: null }, { rule, n: 3, overReturn: 'bill' })
    t.match(line, { tier, source, width: null, height: null, flags: [] }, String(requested.text))
    t.match(expected, { tier, source }, caseName({ requested, tier, source }))
    t.equal(atMost, 3 * line.price, 'exactly that is held')
  }
})

t.test('family A is billed by the returned image, whatever was requested; an unreadable one is 2K', async t => {
  const { rule, atMost } = quote({ facet: ofOutput, family, model, requestedSize: pixels(3840, 2160), n: 2 })
  t.equal(atMost, 160_000, 'the most expensive tier is held')
  const terms = { rule, n: 2, overReturn: 'bill' as const }
  for (const [width, height] of [
    [1254, 1254],
    [1672, 941],
    [1536, 1024],
  ] as const) {
    t.same(
      rateImage({ index: 0, kind: 'bytes', size: { width, height } }, terms),
      {
        index: 0,
        tier: '2K',
        source: 'output',
        width,
        height,
        price: 40_000,
        flags: [],
        quantity: null,
      },
      caseName({ width, height }),
    )
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
  const { rule } = quote({ facet, family, model, requestedSize: pixels(512, 512), n: 1 })
  t.match(rateTier(rule, { width: 3000, height: 1 }), { tier: '4K', source: 'output' })
  t.match(rateTier(rule, null), { tier: '1K', source: 'request' })
  const turned = quote({
    facet: { ...facet, tier_from: ['request', 'output'] },
    family,
    model,
    requestedSize: noSize,
    n: 1,
  })
  t.match(rateTier(turned.rule, { width: 10, height: 1 }), { tier: '1K', source: 'output' })
  t.equal(turned.atMost, 80_000)
})

t.test('more images than requested are billed and flagged, or capped', async t => {
  const { rule } = quote({ facet: ofRequest, family, model, requestedSize: noSize, n: 1 })
  const image = { index: 1, kind: 'link', size: null } as const
  t.match(rateImage(image, { rule, n: 1, overReturn: 'bill' }), { price: 40_000, flags: ['over_return'] })
  t.match(rateImage(image, { rule, n: 1, overReturn: 'cap' }), { price: 0, flags: ['over_return', 'capped'] })
})

t.test('a size that costs more than it returns is reported, with the cheaper one (4.4)', async t => {
  const dear = quote({
    facet: ofRequest,
    family,
    model,
    requestedSize: pixels(3840, 2160, { resolution: '2k', expected: { width: 2816, height: 1584 } }),
    n: 1,
  })
  t.match(dear.rule.warnings, [/3840x2160 is billed 4K .* no more than 2K .*2816x1584.*size 2048x1152 is billed 2K/])
  const wide = quote({
    facet: ofRequest,
    family,
    model,
    requestedSize: pixels(2048, 1152, { resolution: '2k', expected: { width: 2816, height: 1584 } }),
    n: 1,
  })
  t.match(wide.rule.warnings, [/2048x1152 is billed 2K by the requested size, although .* 2816x1584/])
  const small = quote({
    facet: ofOutput,
    family,
    model,
    requestedSize: pixels(512, 512, { expected: { width: 1254, height: 1254 } }),
    n: 1,
  })
  t.match(small.rule.warnings, [/512x512 does not set the price.*1254x1254.*2K/])
  t.match(small.expected, { tier: '2K', source: 'output', price: 40_000 })
  t.same(
    quote({ facet: ofRequest, family, model, requestedSize: pixels(1024, 1024, { resolution: '1k' }), n: 1 }).rule
      .warnings,
    [],
  )
})

t.test("a model without a tier's price is not used, a free one costs nothing", async t => {
  const poor = modelAt({ '1K': 1 })
  t.throws(() => quote({ facet: ofOutput, ...poor, requestedSize: noSize, n: 1 }), {
    code: 'price_missing',
    status: 503,
  })
  const free = modelAt({}, true)
  t.equal(quote({ facet: ofOutput, ...free, requestedSize: noSize, n: 4 }).atMost, 0)
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

t.test("n is a whole number from 1 to the family's maximum, 1 if absent", async t => {
  const right: [Body, number][] = [
    [json({}), 1],
    [json({ n: null }), 1],
    [json({ n: 1 }), 1],
    [json({ n: 10 }), 10],
    [form(), 1],
    [form(text('n', '2')), 2],
  ]
  for (const [body, count] of right) t.equal(readCount(body, 10), count, caseName({ body, count }))
  for (const n of [0, -1, 1.5, '2', '0', ' ', 1e9, true, [], {}, 2 ** 31, 11]) {
    t.throws(() => readCount(json({ n }), 10), { code: 'invalid_n', status: 400, param: 'n' }, JSON.stringify(n))
  }
  for (const n of [' ', '-1', '-0', '1.5', 'two', ' 2', '1e1', '11', '9999999999']) {
    t.throws(() => readCount(form(text('n', n)), 10), { code: 'invalid_n' }, `a form's ${n}`)
  }
})

t.test('[6.8] empty text is no number, nor is the 0 that some clients send in every form', async t => {
  for (const n of ['', '0', '00']) t.equal(readCount(form(text('n', n)), 10), 1, `a form's ${JSON.stringify(n)}`)
  t.equal(readCount(json({ n: '' }), 10), 1)
  const sent = (body: Body) => {
    const shaped = shapeFields(body, ['n', 'o.count'])
    const left = shaped.body.kind === 'json' ? JSON.parse(shaped.body.json.bytes.toString()) : shaped.body
    return { left, dropped: shaped.dropped }
  }
  const empty = { n: '', size: '', quality: '', response_format: '' }
  t.same(sent(json({ ...empty, prompt: '', user: '', o: { count: '' } })), {
    left: { prompt: '', o: {} },
    dropped: ['n', 'size', 'quality', 'response_format', 'user', 'o.count'],
  })
  const fields = [
    text('n', '0'),
    text('size', ''),
    text('quality', ''),
    text('response_format', ''),
    text('prompt', ''),
  ]
  t.match(sent(form(...fields)), {
    left: { parts: [text('prompt', '')] },
    dropped: ['n', ...Object.keys(empty).slice(1)],
  })
  t.match(sent(json({ n: 2, size: '1x1', quality: null })), { left: { n: 2, size: '1x1', quality: null }, dropped: [] })
})

t.test('[6.4] the count is the highest value of any declared path', async t => {
  const paths = ['n', 'options.max_images', 'a.b.c']
  const right: [Body, number][] = [
    [json({}), 1],
    [json({ options: { max_images: 7 } }), 7],
    [json({ n: 3, options: { max_images: 2 } }), 3],
    [json({ n: 2, options: { max_images: null }, a: { b: { c: 5 } } }), 5],
    [json({ n: 2, options: [{ max_images: 9 }], a: { b: 4 } }), 2],
    [form(text('n', '2'), text('options[max_images]', '4')), 4],
    [form(text('options.max_images', '5'), text('options[max_images]', '4')), 5],
    [form(text('options', '{"max_images":6}'), text('a', '{"b":{"c":2}}')), 6],
    [form(text('options', 'max_images')), 1],
  ]
  for (const [body, count] of right) t.equal(readCount(body, 10, paths), count, caseName({ body, count }))
  const wrong: [Body, string][] = [
    [json({ n: 1, options: { max_images: 11 } }), 'options.max_images'],
    [json({ options: { max_images: 0 } }), 'options.max_images'],
    [json({ options: { max_images: '3' } }), 'options.max_images'],
    [form(text('options[max_images]', '11')), 'options.max_images'],
    [form(text('options', '{"max_images":11}')), 'options.max_images'],
    [json({ a: { b: { c: 1.5 } } }), 'a.b.c'],
  ]
  for (const [body, param] of wrong) {
    const message = new RegExp(`^${param} must be a whole number from 1 to 10`)
    t.throws(
      () => readCount(body, 10, paths),
      { code: 'invalid_n', status: 400, param, message },
      caseName({ body, param }),
    )
  }
})

t.test('[6.4] an undeclared field that names a number is not forwarded, at any depth', async t => {
  const drop = (body: Body, paths: readonly string[] = ['n']) => {
    const { body: left, dropped } = shapeFields(body, paths)
    return [left.kind === 'json' ? JSON.parse(left.json.bytes.toString()) : left.kind === 'form' && left.parts, dropped]
  }
  const names =
    'num_images numImages NumImages number_of_images numberOfImages max_images batch_size batch_count samples sampleCount num_outputs num_samples candidateCount imageCount image_num quantity N Num count num-images'
  for (const name of names.split(' ')) {
    t.same(drop(json({ n: 1, [name]: 10 })), [{ n: 1 }, [name]], name)
    t.same(drop(json({ a: { [name]: 10, b: 1 } })), [{ a: { b: 1 } }, [`a.${name}`]], `${name} within`)
    t.same(drop(form(text(name, '10'), text('n', '2'))), [[text('n', '2')], [name]], `${name} in a form`)
    t.same(drop(form(text(`a[${name}]`, '10'))), [[], [`a.${name}`]], `${name} in brackets`)
  }
  const nested = { l: [{ x: 1, n: 2 }, [{ samples: 3 }]], sequential: { max_images: 10, n: 9 } }
  t.same(drop(json(nested)), [
    { l: [{ x: 1 }, [{}]], sequential: {} },
    ['l[].n', 'l[][].samples', 'sequential.max_images', 'sequential.n'],
  ])
  t.same(drop(json(nested), ['sequential.max_images']), [
    { l: [{ x: 1 }, [{}]], sequential: { max_images: 10 } },
    ['l[].n', 'l[][].samples', 'sequential.n'],
  ])
  t.same(drop(form(text('o', '{"max_images":3,"a":1}'), text('prompt', '{"n":3}'), text('n[]', '4'))), [
    [text('o', '{"a":1}'), text('prompt', '{"n":3}')],
    ['o.max_images', 'n[]'],
  ])
  const deep = `${'['.repeat(9_000)}${']'.repeat(9_000)}`
  t.same(drop(form(text('o', deep))), [[text('o', deep)], []], 'deep nesting is harmless')
  const harmless = { prompt: 'n', partial_images: 3, seed: 1, size: '1x1', num_inference_steps: 9, i: [{ name: 'n' }] }
  t.same(drop(json(harmless)), [harmless, []])
})

t.test('[6.4] an ambiguous declared number is refused', async t => {
  const raw = (value: string): Body => ({ kind: 'json', json: scanObject(Buffer.from(value)) })
  const paths = ['n', 'o.max']
  for (const body of ['{"o":{"max":10,"max":1}}', '{"o":{"m\u0061x":10,"max":1}}', '{"n":1,"o":{"max":1,"max":1}}'])
    t.throws(() => shapeFields(raw(body), paths), { code: 'count_repeated', status: 400, param: 'o.max' }, body)
  t.throws(() => shapeFields(raw('{"a":{"b":{"c":9},"b":{}}}'), ['a.b.c']), { code: 'count_repeated' })
  const shaped = shapeFields(form(text('o', '{"max":10,"max":1}')), paths).body
  t.match(shaped, { parts: [text('o', '{"max":1}')] }, 'a text of a form is written anew')
})

t.test('[6.4] tools that make images must not name a number', async t => {
  const tools = [
    { type: 'image_generation', n: 4, size: '1x1', o: { num_images: 2 } },
    { type: 'function', parameters: { properties: { n: 1, quantity: 2 } } },
  ]
  const { body, dropped } = shapeTools(json({ tools, n: 1 }))
  t.same(dropped, ['tools[].n', 'tools[].o.num_images'])
  t.same(readField(body, 'tools'), [{ type: 'image_generation', size: '1x1', o: {} }, tools[1]])
})

t.test('two requests are equal if path, fields and files are, whatever their bytes', async t => {
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
    t.throws(() => readIdempotencyKey(key), { code: 'invalid_idempotency_key', status: 400 }, caseName({ key }))
  }
})

t.test("[14.8] in a vendor's own format fields with other meanings than a number of images are forwarded", async t => {
  const sent = (value: { readonly [name: string]: Json }, paths: readonly string[] = []) => {
    const { body, dropped } = shapeNative(json(value), paths)
    return { left: body.kind === 'json' ? JSON.parse(body.json.bytes.toString()) : body, dropped }
  }
  const schema = { type: 'object', properties: { count: { type: 'integer', maximum: 3 }, n: { const: 2 } } }
  const kept = {
    model: 'm',
    contents: [{ parts: [{ functionCall: { name: 'buy', args: { count: 3, n: 4 } } }] }],
    tools: [{ functionDeclarations: [{ name: 'buy', parameters: schema }] }],
    generationConfig: { responseSchema: schema, temperature: 1 },
    response_format: { json_schema: { schema } },
    metadata: { count: '3' },
    count: { unit: 'pieces' },
  }
  t.same(sent(kept), { left: kept, dropped: [] })
  t.same(sent({ ...kept, n: 2, generationConfig: { ...kept.generationConfig, candidateCount: '4' } }), {
    left: kept,
    dropped: ['generationConfig.candidateCount', 'n'],
  })
  const request = { generationConfig: { candidateCount: 2 } }
  t.same(sent(request, ['generationConfig.candidateCount']), { left: request, dropped: [] })
  const twice = Buffer.from('{"o":{"n":{},"n":4,"a":1}}')
  t.same(shapeNative({ kind: 'json', json: scanObject(twice) }, []).dropped, ['o.n'], 'whichever of two is read')
  t.throws(() => shapeNative({ kind: 'json', json: scanObject(twice) }, ['o.n']), { code: 'count_repeated' })
})

t.test('[14.8] an impossible description of answers is refused', async t => {
  const everything = { kind: 'all', except: new Set<string>() } as const
  const native = { ...family, forward: new Map([['generate', everything]]), streams: new Set(['generate']) }
  const codes = (answers: NonNullable<BillingFacet['answers']>) =>
    inspect({ ...ofOutput, answers }, native, [], operationTraits).map(({ code, path }) => `${code} ${path.join('.')}`)
  const answer = { at: 'candidates.content.parts', picture: 'inlineData.data', stream: { each: 'answer' } } as const
  t.same(codes({ generate: answer }), [])
  t.same(codes({ generate: { ...answer, at: '.', picture: ['.', 'a.b'] } }), [])
  t.same(codes({ generate: { at: answer.at, picture: answer.picture } }), ['answer_stream_unknown answers.generate'])
  t.same(codes({ generate: answer, chat: answer }), ['answer_unserved answers.chat'])
  for (const [path, plain] of [
    ['candidates[].content.parts', 'candidates.content.parts'],
    ['$.candidates[0].content', 'candidates.content'],
    ['candidates.0.content', 'candidates.content'],
    ['a..b', 'a.b'],
  ] as const) {
    const answers = {
      generate: { ...answer, at: ['b', path], skip_if: { 'x[]': true }, refused: [{ if: { [path]: 'any' } }] },
    }
    const [first, ...others] = inspect({ ...ofOutput, answers }, native, [], operationTraits)
    t.match(first, { path: ['answers', 'generate', 'at', 1], remedy: new RegExp(`write ${plain}$`) }, path)
    t.same(
      others.map(one => one.path.slice(2)),
      [
        ['skip_if', 'x[]'],
        ['refused', 0, 'if', path],
      ],
      path,
    )
  }
})

t.test('a configuration that could bill wrongly is refused', async t => {
  const everything = { kind: 'all', except: new Set<string>() } as const
  const codes = (facet: BillingFacet, models: readonly Model[] = [model]): string[] =>
    inspect(facet, family, models, operationTraits).map(
      problem => `${problem.severity} ${problem.code} ${problem.path.join('.')}`,
    )
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
  t.match(inspect(ofOutput, wider, [], operationTraits), [
    { code: 'answer_shape_unknown', severity: 'error', path: ['answers'], message: /image\.variation/ },
    { code: 'answer_shape_unknown', message: /chat/ },
  ])
  t.same(inspect({ ...ofOutput, answers: { 'image.variation': 'data', chat: 'none' } }, wider, [], operationTraits), [])
  t.same(codes({ ...ofOutput, tiers: [{ tier: '1K' }, { tier: '2K', long_edge_max: 9 }] }), [
    'error tiers_end tiers.0',
    'error tiers_end tiers.1.long_edge_max',
    'note price_unused prices.4K',
  ])
  t.same(codes({ ...ofOutput, tiers: [{ tier: '2K', long_edge_max: 9 }, { tier: '2k' }] }, []), [
    'error tier_twice tiers.1.tier',
  ])
  t.same(codes(ofOutput, [modelAt({ '1K': 1, '2K': 2, '8K': 3 }).model]), [
    'error tier_unpriced prices.4K',
    'note price_unused prices.8K',
  ])
  t.same(codes(ofOutput, [modelAt({}, true).model]), [])
})

t.test('a stored charge is rated again from its stored facts', async t => {
  const { rule } = quote({ facet: ofOutput, family, model, requestedSize: noSize, n: 1 })
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
    vendorCost: null,
    delivery: 'confirmed',
    lines,
  }
  const replay = (one: Charge) => replayCharge(one, [imageTierBilling])
  t.same(replay(charge), [])
  const bent = {
    ...charge,
    amount: 1,
    lines: lines.map(line => ({ ...line, width: 100, tier: '2K', price: line.price })),
  }
  t.equal(replay(bent).length, 4)
  t.match(replay({ ...charge, amount: 1 }), ['charge req_1: the amount in micros is 1, but its own facts give 40000'])
})
