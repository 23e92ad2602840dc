import t from 'tap'
import { measureInputs } from '../../plugins/image-tier-billing/input-pixels.ts'
import { inspect } from '../../plugins/image-tier-billing/inspect.ts'
import { imageTierBilling } from '../../plugins/image-tier-billing/plugin.ts'
import { priceQuantity, multiply } from '../../src/pricing/index.ts'
import { quote, type Quote } from '../../plugins/image-tier-billing/quote.ts'
import { rateImage, rateWithImage } from '../../plugins/image-tier-billing/rate-image.ts'
import { rateLines } from '../../plugins/image-tier-billing/rate-lines.ts'
import type { BillingFacet } from '../../plugins/image-tier-billing/schema.ts'
import { scanObject } from '../../src/engine/fields.ts'
import { replayCharge } from '../../src/gateway/replay.ts'
import {
  billingRecord,
  type Body,
  type Charge,
  type Diagnostic,
  type Family,
  type ForwardRule,
  type Json,
  type ChargeItem,
  type Model,
  type TierRule,
} from '../../src/domain/index.ts'
import { type AskedSize, createResponseMetadata, type ResponseMetadata } from '../../src/plugin-api/index.ts'
import { readCost } from '../../src/util/index.ts'
import { operationTraits } from '../../src/operations/index.ts'
import { caseName } from '../harness/case-name.ts'
import { someTarget } from '../harness/request-context.ts'
import { jpegHead, jpegProfiles, pngHead } from '../harness/image-heads.ts'
import { seed, seeded } from '../harness/seed.ts'

const all: ForwardRule = { kind: 'all', except: new Set() }
const none: AskedSize = { text: null, size: { kind: 'none' }, expected: null, resolution: null }

type Prices = { readonly [label: string]: number }
type Shop = { readonly family: Family; readonly model: Model }

/**
 * A model whose prices are on lines 10, 11 … in order. `told`: the output facts that some plugin says answers report.
 */
function shopOf(prices: Prices, reading: object = {}, forward: ForwardRule = all): Shop {
  const some = someTarget()
  const facets = new Map<string, unknown>([['reads-answers', reading]])
  const family = { ...some.family, name: 'pictures', nMax: 4, facets, forward: new Map([['image.generate', forward]]) }
  const rows = Object.entries(prices).map(([label, micros], i) => {
    return [label, { micros, origin: { file: 'gateway.yaml', line: 10 + i, col: 1 } }] as const
  })
  return { family, model: { ...some.model, name: 'm-1', family, prices: new Map(rows), free: false } }
}

function facetOf(more: Partial<BillingFacet>): BillingFacet {
  return { on_caller_gone: 'bill', over_return: 'bill', missing_usage: 'review', ...more }
}

function bodyOf(fields: { readonly [name: string]: Json }): Body {
  return { kind: 'json', json: scanObject(Buffer.from(JSON.stringify({ prompt: 'a boat', ...fields }))) }
}

type Ask = { readonly fields?: { readonly [name: string]: Json }; readonly asked?: AskedSize; readonly n?: number }

function ask({ family, model }: Shop, facet: BillingFacet, { fields = {}, asked = none, n = 1 }: Ask = {}): Quote {
  const sent = { body: bodyOf(fields), family, operation: 'image.generate' }
  return quote({ facet, family, model, requestedSize: asked, n, sent })
}

function toldOf(more: {
  facts?: { readonly [name: string]: string | number | boolean }
  sizes?: readonly (readonly [number, number])[]
  count?: number
}): ResponseMetadata {
  const metadata = createResponseMetadata()
  for (const [name, value] of Object.entries(more.facts ?? {})) metadata.facts.set(name, value)
  more.sizes?.forEach(([width, height], i) => metadata.sizes.set(i, { width, height }))
  metadata.count = more.count
  return metadata
}

/** The lines of an answer with images of these sizes (null: a link), in the form of a charge. */
function rate(
  rule: TierRule,
  sizes: readonly (readonly [number, number] | null)[],
  metadata?: ResponseMetadata,
  terms: { readonly n: number; readonly overReturn: 'bill' | 'cap' } = { n: sizes.length, overReturn: 'bill' },
): readonly ChargeItem[] {
  const lines: Omit<ChargeItem, 'index'>[] = []
  sizes.forEach((pixels, index) => {
    const size = pixels && { width: pixels[0], height: pixels[1] }
    const image = { index, kind: size ? 'bytes' : 'link', size } as const
    const line = rateImage(image, { rule, ...terms }, metadata)
    lines.push(line, ...rateWithImage(image, line, { rule, ...terms }, metadata))
    const come = { output: size, reported: metadata?.sizes.get(index) ?? null, facts: metadata?.facts }
    if (index === 0) lines.push(...rateLines(rule, 'first', come))
  })
  lines.push(...rateLines(rule, 'end', { output: null, reported: null, facts: metadata?.facts }))
  return lines.map((line, index) => ({ ...line, index }))
}

function chargeOf(rule: TierRule, lines: readonly ChargeItem[], hold = 0): Charge {
  const amount = lines.reduce((sum, { price }) => sum + price, 0)
  // As a database returns it: parsed from JSON.
  const kept = JSON.parse(JSON.stringify({ rule, lines })) as { rule: TierRule; lines: ChargeItem[] }
  return {
    id: 'req_1',
    keyId: 'k',
    user: 'u',
    group: 'g',
    operation: 'image.generate',
    model: 'm-1',
    family: 'pictures',
    upstream: 'u',
    configRevision: 'r',
    currency: 'USD',
    size: null,
    quality: null,
    n: 1,
    state: 'settled',
    reason: null,
    hold,
    held: 0,
    amount,
    refunded: 0,
    createdAt: 1,
    endedAt: 2,
    vendorCost: null,
    delivery: 'confirmed',
    ...kept,
  }
}

const replayed = (charge: Charge) => replayCharge(charge, [imageTierBilling])
const explained = (charge: Charge) => billingRecord(charge, [imageTierBilling])
const short = (lines: readonly ChargeItem[]) =>
  lines.map(({ tier, source, price, quantity }) => [tier, source, price, quantity])
const found = (facet: BillingFacet, shop: Shop): readonly string[] =>
  inspect(facet, shop.family, [shop.model], operationTraits).map(
    ({ severity, code, path }: Diagnostic) => `${severity} ${code} ${path.join('.')}`,
  )

t.test('[10.3] a tier may end by pixels, inclusive, whatever the shape', t => {
  const facet = facetOf({
    tiers: [{ tier: 'std', pixels_max: 2_610_000 }, { tier: 'high' }],
    tier_from: ['output'],
    otherwise: 'high',
  })
  const { rule } = ask(shopOf({ std: 30_000, high: 60_000 }), facet)
  const cases: [number, number, string][] = [
    [1024, 1024, 'std'],
    [1696, 960, 'std'],
    [2610, 1000, 'std'],
    [1000, 2610, 'std'],
    [2611, 1000, 'high'],
    [9000, 290, 'std'],
    [9001, 290, 'high'],
  ]
  for (const [width, height, tier] of cases) {
    const lines = rate(rule, [[width, height]])
    t.match(lines, [{ tier, source: 'output' }], caseName({ width, height, tier }))
    t.same(replayed(chargeOf(rule, lines)), [], caseName({ width, height, tier }))
  }
  const { lines, rule: explainedRule } = explained(chargeOf(rule, rate(rule, [[1696, 960]])))
  t.match(lines, [{ why: '1696 × 960 = 1628160 pixels ≤ 2610000 → std', at: 'gateway.yaml:10' }])
  t.match(explainedRule.rows, [{ tier: 'std', pixels_max: 2_610_000, price: '0.03' }, { tier: 'high' }])
  t.end()
})

t.test('[10.3] the rule of plain tiers is stored in the original form', t => {
  const facet = facetOf({
    tiers: [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K' }],
    tier_from: ['output', 'request'],
    otherwise: '2K',
  })
  const { rule } = ask(shopOf({ '1K': 1, '2K': 2 }), facet, { fields: { quality: 'high' } })
  t.equal(
    JSON.stringify(rule),
    '{"kind":"tiers","tiers":[{"tier":"1K","longEdgeMax":1024,"price":1,"at":"gateway.yaml:10"},{"tier":"2K","longEdgeMax":null,"price":2,"at":"gateway.yaml:11"}],"tierFrom":["output","request"],"otherwise":"2K","requestedTier":null,"warnings":[]}',
  )
  t.same(rate(rule, [[1024, 5]]), [
    { index: 0, tier: '1K', source: 'output', width: 1024, height: 5, price: 1, flags: [], quantity: null },
  ])
  t.end()
})

t.test('[16] a hold covers the largest expected output, and the price of an unreadable image', t => {
  const tiers = [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K', long_edge_max: 2048 }, { tier: '4K' }]
  const prices = { '1K': 1, '2K': 2, '4K': 9 }
  const of = (more: Partial<BillingFacet>): BillingFacet =>
    facetOf({ tiers, tier_from: ['output'], otherwise: '1K', ...more })
  const large: AskedSize = { ...none, text: '4096x4096', size: { kind: 'pixels', width: 4096, height: 4096 } }
  const rows: readonly (readonly [facet: BillingFacet, asked: AskedSize, most: number])[] = [
    [of({}), none, 9],
    [of({ largest_output: '2K' }), none, 2],
    [of({ largest_output: '1K' }), none, 1],
    [of({ largest_output: '4K' }), none, 9],
    [of({ largest_output: '1K', otherwise: '2K' }), none, 2],
    [of({ largest_output: '2K', otherwise: '4K' }), none, 9],
    [of({ largest_output: '2K' }), large, 2],
    [of({ largest_output: '2K', tier_from: ['output', 'request'] }), large, 9],
    [of({ largest_output: '2K', tier_from: ['request', 'output'] }), large, 9],
    [of({ largest_output: '2K', tier_from: ['request'] }), large, 9],
  ]
  for (const [facet, asked, most] of rows) {
    const quoted = ask(shopOf(prices), facet, { asked, n: 2 })
    t.equal(quoted.atMost, 2 * most, caseName({ facet: JSON.stringify(facet), asked: asked.text }))
    // An image without the flag never costs more than its hold.
    for (const edge of [512, 2048, 4096]) {
      const [line] = rate(quoted.rule, [[edge, edge]])
      t.ok(line && (line.price <= most || line.flags.includes('larger_than_expected')), caseName({ edge, most }))
    }
  }
  const byTier = of({ largest_output: '2K', price_by: ['quality', 'tier'], otherwise: '1K' })
  const named = { 'high 1K': 1, 'high 2K': 2, 'high 4K': 9 }
  const quoted = ask(shopOf(named), byTier, { fields: { quality: 'high' } })
  t.equal(quoted.atMost, 2)
  t.match(rate(quoted.rule, [[4096, 4096]]), [{ tier: 'high 4K', price: 9, flags: ['larger_than_expected'] }])
  t.match(rate(quoted.rule, [[2048, 1]]), [{ tier: 'high 2K', price: 2, flags: [] }])

  const { family, model } = shopOf(prices)
  const check = (facet: BillingFacet) => inspect(facet, family, [model], operationTraits)
  t.same(check(of({ largest_output: '2K' })), [])
  t.match(check(of({ largest_output: '8K' })), [{ severity: 'error', path: ['largest_output'] }])
  t.match(check(facetOf({ largest_output: '2K' })), [{ severity: 'error', path: ['largest_output'] }])
  t.end()
})

t.test('[10.3] the size that the answer reports may come first, and is stored with the item', t => {
  const facet = facetOf({
    tiers: [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K' }],
    tier_from: ['told', 'output', 'request'],
    otherwise: '1K',
  })
  const { rule, atMost } = ask(shopOf({ '1K': 10, '2K': 20 }), facet)
  t.equal(atMost, 20)
  const metadata = toldOf({ sizes: [[1760, 2368]] })
  const lines = rate(rule, [null, [1000, 1000], null], metadata)
  t.same(short(lines), [
    ['2K', 'told', 20, null],
    ['1K', 'output', 10, null],
    ['1K', 'default', 10, null],
  ])
  t.same(lines[0]?.told, { size: { width: 1760, height: 2368 } })
  const charge = chargeOf(rule, lines)
  t.same(replayed(charge), [])
  const bill = explained(charge)
  t.match(bill.lines[0], {
    source: 'told',
    size: '1760x2368',
    why: 'told long edge 2368 > 1024 → 2K',
    at: 'gateway.yaml:11',
  })
  t.match(bill.text, /来源 应答所述×1, 输出尺寸×1, 默认×1, 实际尺寸 1760x2368×1/)
  // If both are known, the line keeps the measured size of the picture.
  t.match(rate(rule, [[1000, 1000]], metadata), [{ tier: '2K', source: 'told', width: 1000, height: 1000 }])
  t.end()
})

const grid = { 'low 1k': 40, 'low 2k': 60, 'high 1k': 80, 'high 2k': 120 }

t.test('[10.3] a price depends on several fields of the request, in any case', t => {
  const facet = facetOf({ price_by: ['quality', 'options.resolution'] })
  const shop = shopOf(grid)
  const one = ask(shop, facet, { fields: { quality: 'HIGH', options: { resolution: '2K' } }, n: 3 })
  t.match(one, { expected: { tier: 'high 2k', source: 'request', price: 120 }, expectedAmount: 360, atMost: 360 })
  const lines = rate(one.rule, [[64, 64], null])
  t.same(short(lines), [
    ['high 2k', 'request', 120, null],
    ['high 2k', 'request', 120, null],
  ])
  const charge = chargeOf(one.rule, lines)
  t.same(replayed(charge), [])
  t.match(explained(charge).lines, [
    { why: 'quality HIGH, options.resolution 2K → high 2k', at: 'gateway.yaml:13' },
    {},
  ])
  t.equal(explained(charge).rule.text, 'each image is priced by quality and options.resolution; default image')
  t.end()
})

t.test('[10.3] a combination without a price is refused before it costs, or has the `otherwise` price', t => {
  const shop = shopOf({ 'low 1k': 40, 'high 2k': 120 })
  const closed = facetOf({ price_by: ['quality', 'resolution'] })
  const cases: [{ [name: string]: Json }, RegExp, string | undefined][] = [
    [{ quality: 'ultra', resolution: '1k' }, /no price for quality ultra\. It has prices for low, high/, 'quality'],
    [{ quality: 'low' }, /no price for resolution not given\. It has prices for 1k, 2k/, 'resolution'],
    [{ quality: null, resolution: '1k' }, /quality not given/, 'quality'],
    [
      { quality: 'low', resolution: '2k' },
      /no price for quality, resolution low 2k\. It has prices for low 1k, high 2k/,
      undefined,
    ],
    [{ quality: 'low 1k', resolution: '1k' }, /quality low 1k/, 'quality'],
    [{ quality: ' low', resolution: '1k' }, /quality {2}low/, 'quality'],
    [{ quality: { a: 1 }, resolution: '1k' }, /quality \{"a":1\}/, 'quality'],
  ]
  for (const [fields, message, param] of cases)
    t.throws(
      () => ask(shop, closed, { fields }),
      { code: 'price_unknown', status: 400, message, ...(param && { param }) },
      caseName({ fields }),
    )
  const open = facetOf({ price_by: ['quality', 'resolution'], otherwise: 'other' })
  const rich = shopOf({ 'low 1k': 40, 'high 2k': 120, other: 500 })
  for (const [fields] of cases) {
    const { rule, atMost, expected } = ask(rich, open, { fields })
    t.match([atMost, expected], [500, { tier: 'other', source: 'default' }], caseName({ fields }))
    t.same(short(rate(rule, [[9, 9]])), [['other', 'default', 500, null]], caseName({ fields }))
    t.same(replayed(chargeOf(rule, rate(rule, [[9, 9]]))), [], caseName({ fields }))
  }
  t.match(ask(rich, open, { fields: { quality: 'low', resolution: '1k' } }), { atMost: 40 })
  t.end()
})

t.test('[10.3] a field that is not forwarded decides no price', t => {
  const shop = shopOf(grid, {}, { kind: 'only', names: new Set(['prompt', 'resolution']) })
  const facet = facetOf({ price_by: ['quality', 'resolution'] })
  t.throws(() => ask(shop, facet, { fields: { quality: 'low', resolution: '1k' } }), {
    code: 'price_unknown',
    param: 'quality',
  })
  t.end()
})

t.test('[10.3] a form field with two different values is refused', t => {
  const { family, model } = shopOf(grid)
  const part = (name: string, value: string) => ({ kind: 'text', name, value }) as const
  const form = (...parts: readonly ReturnType<typeof part>[]): Body => {
    const unused = () => {
      throw new Error('not asked for')
    }
    return { kind: 'form', parts, encode: unused, discard: () => undefined }
  }
  const facet = facetOf({ price_by: ['quality', 'resolution'] })
  const of = (body: Body) =>
    quote({ facet, family, model, requestedSize: none, n: 1, sent: { body, family, operation: 'image.generate' } })
  t.equal(of(form(part('quality', 'low'), part('resolution', '2k'))).atMost, 60)
  t.equal(of(form(part('quality', 'low'), part('quality', 'low'), part('resolution', '2k'))).atMost, 60)
  t.throws(() => of(form(part('quality', 'low'), part('quality', 'high'), part('resolution', '2k'))), {
    code: 'price_field_repeated',
    param: 'quality',
  })
  const all = { ...family, forward: new Map() }
  const ofAll = (body: Body) => {
    const sent = { body, family: all, operation: 'image.generate' }
    return quote({ facet, family: all, model, requestedSize: none, n: 1, sent })
  }
  // Some upstreams read the names of a list as the field.
  for (const name of ['resolution[]', 'resolution[0]', 'resolution.0']) {
    t.equal(ofAll(form(part('quality', 'low'), part(name, '2k'))).atMost, 60, caseName({ name }))
    t.throws(
      () => ofAll(form(part('quality', 'low'), part('resolution', '1k'), part(name, '2k'))),
      { code: 'price_field_repeated', param: 'resolution' },
      caseName({ name }),
    )
  }
  const only = { kind: 'only', names: new Set(['options', 'resolution']) } as const
  const narrow = { ...family, forward: new Map([['image.generate', only]]) }
  const nested = facetOf({ price_by: ['options.quality', 'resolution'] })
  const body = form(part('options[quality]', 'low'), part('resolution', '2k'))
  const sent = { body, family: narrow, operation: 'image.generate' }
  t.throws(
    () => quote({ facet: nested, family: narrow, model, requestedSize: none, n: 1, sent }),
    { code: 'price_unknown', param: 'options.quality' },
    'options[quality] is not forwarded',
  )
  t.end()
})

t.test('[10.3] ambiguous members, and look-alike letters, set no price', t => {
  const { family, model } = shopOf(grid)
  const facet = facetOf({ price_by: ['quality', 'options.resolution'] })
  const of = (body: Body) =>
    quote({ facet, family, model, requestedSize: none, n: 1, sent: { body, family, operation: 'image.generate' } })
      .atMost
  const json = (text: string): Body => ({ kind: 'json', json: scanObject(Buffer.from(text)) })
  const form = (value: string): Body => {
    const unused = () => {
      throw new Error('not asked for')
    }
    const parts = [
      { kind: 'text', name: 'quality', value: 'low' },
      { kind: 'text', name: 'options', value },
    ] as const
    return { kind: 'form', parts, encode: unused, discard: () => undefined }
  }
  t.equal(of(json('{"quality":"low","options":{"resolution":"2k"}}')), 60)
  t.equal(of(form('{"resolution":"2k"}')), 60)
  const doubled = { code: 'price_field_repeated', status: 400, param: 'options.resolution' }
  t.throws(() => of(json('{"quality":"low","options":{"resolution":"2k","resolution":"1k"}}')), doubled)
  t.throws(() => of(json('{"quality":"low","options":{"resolution":"2k","resol\\u0075tion":"1k"}}')), doubled)
  t.throws(() => of(form('{"resolution":"2k","resolution":"1k"}')), doubled)
  t.throws(() => of(form('{"resolution":"2k","resol\\u0075tion":"1k"}')), doubled)
  // The sign of Kelvin is a k in lower case.
  t.throws(() => of(json('{"quality":"low","options":{"resolution":"1\u212a"}}')), { code: 'price_unknown' })
  t.equal(of(json('{"quality":"LOW","options":{"resolution":"1K"}}')), 40)
  t.end()
})

t.test("[10.3] the answer's value precedes the requested one, and is held for", t => {
  const shop = shopOf({ ...grid, other: 200 }, { facts: { quality: 'quality' } })
  const facet = facetOf({ price_by: ['quality', 'resolution'], otherwise: 'other' })
  const { rule, atMost, expected } = ask(shop, facet, { fields: { quality: 'low', resolution: '1k' } })
  t.match([atMost, expected], [200, null], 'a quality that has no price may come')
  t.same(short(rate(rule, [[9, 9]])), [['low 1k', 'request', 40, null]], 'nothing was reported')
  const lines = rate(rule, [[9, 9]], toldOf({ facts: { quality: 'high', unrelated: 1 } }))
  t.same(short(lines), [['high 1k', 'told', 80, null]])
  t.same(lines[0]?.told, { facts: { quality: 'high' } })
  t.same(replayed(chargeOf(rule, lines)), [])
  t.match(explained(chargeOf(rule, lines)).lines, [
    { why: 'quality high (reported in the response), resolution 1k → high 1k' },
  ])
  const odd = rate(rule, [[9, 9]], toldOf({ facts: { quality: 'ultra' } }))
  t.same(short(odd), [['other', 'default', 200, null]])
  t.same(replayed(chargeOf(rule, odd)), [])
  const undeclared = ask(shopOf({ ...grid, other: 200 }), facet, { fields: { quality: 'low', resolution: '1k' } })
  t.same(
    short(rate(undeclared.rule, [[9, 9]], toldOf({ facts: { quality: 'high' } }))),
    [['low 1k', 'request', 40, null]],
    'a fact that the family does not name moves no price',
  )
  t.end()
})

t.test('[10.3] a tier may be one of the values', t => {
  const facet = facetOf({
    price_by: ['quality', 'tier'],
    tiers: [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K' }],
    tier_from: ['output'],
    otherwise: '1K',
  })
  const { rule, atMost } = ask(shopOf(grid), facet, { fields: { quality: 'low' }, n: 2 })
  t.equal(atMost, 120, 'any tier of that quality, and no other')
  const lines = rate(rule, [[1024, 8], [1025, 8], null])
  t.same(short(lines), [
    ['low 1k', 'output', 40, null],
    ['low 2k', 'output', 60, null],
    ['low 1k', 'default', 40, null],
  ])
  t.same(replayed(chargeOf(rule, lines)), [])
  t.match(explained(chargeOf(rule, lines)).lines, [{ why: 'quality low, long edge 1024 ≤ 1024 (1K) → low 1k' }, {}, {}])
  const label = { ...facet, otherwise: 'high 2k' }
  const open = ask(shopOf(grid), label, { fields: { quality: 'low' } })
  t.equal(open.atMost, 120, 'an image without a tier has the `otherwise` price')
  t.same(short(rate(open.rule, [null])), [['high 2k', 'default', 120, null]])
  t.end()
})

t.test('[10.3] factors multiply the price of an image exactly, and it is rounded once, half up', t => {
  const times: BillingFacet['times'] = [
    { if: { layers: true }, by: '0.5' },
    { if: { character: 'any', quality: ['low', 'medium'] }, by: '1.25' },
    { if: { seed: 'none' }, by: '1.000001' },
  ]
  const facet = facetOf({ price_by: ['quality'], times })
  const shop = shopOf({ low: 1_000_001, high: 3 }, { facts: { layers: 'layers' } })
  const cases: [{ [name: string]: Json }, { readonly [name: string]: boolean }, number][] = [
    [{ quality: 'low', seed: 1 }, {}, 1_000_001],
    [{ quality: 'low', seed: 1, layers: true }, {}, 500_001],
    [{ quality: 'low', seed: 1, layers: 'TRUE' }, {}, 500_001],
    [{ quality: 'low', seed: 1, layers: true, character: 'x' }, {}, 625_001],
    [{ quality: 'low', seed: 1, layers: true }, { layers: false }, 1_000_001],
    [{ quality: 'low' }, {}, 1_000_002],
    [{ quality: 'high', seed: 1 }, { layers: true }, 2],
  ]
  for (const [fields, facts, price] of cases) {
    const { rule, atMost } = ask(shop, facet, { fields })
    const lines = rate(rule, [[9, 9]], toldOf({ facts }))
    t.equal(lines[0]?.price, price, caseName({ fields, facts }))
    t.ok(atMost >= price, caseName({ fields, facts }))
    t.same(replayed(chargeOf(rule, lines)), [], caseName({ fields, facts }))
  }
  const { rule } = ask(shop, facet, { fields: { quality: 'low', seed: 1, layers: true } })
  t.match(explained(chargeOf(rule, rate(rule, [[9, 9]]))).lines, [{ why: 'quality low → low × 0.5 (layers: true)' }])
  t.equal(multiply(3, ['0.5']), 2)
  t.equal(multiply(1, ['0.499999']), 0)
  t.equal(multiply(9_000_000_000_000, ['1.000001', '0.999999']), 8_999_999_999_991)
  t.end()
})

t.test('[10.3] input pictures are charged, except free ones', t => {
  const facet = facetOf({ lines: [{ per: 'input_image', free: 1 }] })
  const shop = shopOf({ image: 1000, input_image: 30 })
  const cases: [{ [name: string]: Json }, number][] = [
    [{}, 0],
    [{ image: 'data:image/png;base64,AA' }, 0],
    [{ image: ['a', 'b', 'c'] }, 2],
    [{ images: [{ url: 'https://a' }, { url: 'https://b' }] }, 1],
    [{ image: 'a', images: ['b', 'c'] }, 2],
    [{ image: null, images: [] }, 0],
    [{ image: '', images: ['a', 'b'] }, 1],
  ]
  for (const [fields, counted] of cases) {
    const { rule, atMost, expectedAmount } = ask(shop, facet, { fields, n: 2 })
    const lines = rate(rule, [
      [9, 9],
      [9, 9],
    ])
    const own = lines.filter(line => line.tier === 'input_image')
    t.same(short(own), counted === 0 ? [] : [['input_image', 'request', counted * 30, counted]], caseName({ fields }))
    const amount = 2000 + counted * 30
    t.same([atMost, expectedAmount], [amount, amount], caseName({ fields }))
    t.same(replayed(chargeOf(rule, lines)), [], caseName({ fields }))
  }
  const each = facetOf({ lines: [{ per: 'input_image', once: false, price: 'reference', fields: ['photo'] }] })
  const { rule, atMost } = ask(shopOf({ image: 1000, reference: 7 }), each, { fields: { photo: ['a', 'b'] }, n: 3 })
  t.equal(atMost, 3 * (1000 + 14))
  const lines = rate(rule, [
    [9, 9],
    [9, 9],
    [9, 9],
  ])
  t.equal(lines.filter(line => line.tier === 'reference' && line.price === 14).length, 3)
  t.match(explained(chargeOf(rule, lines)).lines.at(-1), {
    why: '2 input images (as requested) → reference',
    at: 'gateway.yaml:11',
  })
  t.end()
})

t.test('[10.3] megapixels: of each image, rounded up or exact, the first at its own price', t => {
  const up = facetOf({ lines: [{ per: 'megapixel', round: 'up', first: 'first_megapixel', max: 4 }] })
  const shop = shopOf({ megapixel: 15_000, first_megapixel: 30_000 })
  const { rule, atMost } = ask(shop, up, { n: 2 })
  t.equal(atMost, 2 * (30_000 + 3 * 15_000))
  t.same(
    short(
      rate(rule, [
        [1024, 1024],
        [1000, 1000],
      ]),
    ),
    [
      ['image', 'default', 0, null],
      ['first_megapixel', 'output', 30_000, 1],
      ['megapixel', 'output', 15_000, 1],
      ['image', 'default', 0, null],
      ['first_megapixel', 'output', 30_000, 1],
    ],
  )
  const many = rate(rule, [[3000, 3000]])
  t.match(many.slice(1), [{ price: 30_000 }, { price: 45_000, quantity: 3, flags: ['capped'] }])
  t.same(replayed(chargeOf(rule, many)), [])
  const bill = explained(chargeOf(rule, many))
  t.equal(
    bill.lines[2]?.why,
    '3 megapixels (3000x3000, of the returned image, after the first of each picture) → megapixel',
  )
  t.equal(bill.count, 1)
  t.equal(bill.tier, 'image')
  const plain = facetOf({ lines: [{ per: 'megapixel', pixels: 1_048_576, max: 4, otherwise: 1 }] })
  const exact = ask(shop, plain, {})
  const lines = rate(exact.rule, [[1024, 1024], [512, 512], [1, 1], null])
  t.same(short(lines.filter(line => line.quantity !== null)), [
    ['megapixel', 'output', 15_000, 1_048_576],
    ['megapixel', 'output', 3_750, 262_144],
    ['megapixel', 'output', 0, 1],
    ['megapixel', 'default', 15_000, 1_048_576],
  ])
  t.same(replayed(chargeOf(exact.rule, lines)), [])
  const charged = rate(exact.rule, [null], toldOf({ sizes: [[1024, 512]] }))
  t.same(short(charged.slice(1)), [['megapixel', 'told', 7_500, 524_288]])
  t.same(replayed(chargeOf(exact.rule, charged)), [])
  const asked: AskedSize = { ...none, size: { kind: 'pixels', width: 512, height: 1024 } }
  const byRequest = ask(shop, plain, { asked, n: 2 })
  t.equal(byRequest.expectedAmount, 15_000)
  const linked = rate(byRequest.rule, [null])
  t.same(short(linked.slice(1)), [['megapixel', 'request', 7_500, 524_288]])
  t.same(replayed(chargeOf(byRequest.rule, linked)), [])
  t.end()
})

t.test('[10.3] megapixels of input pictures, from their bytes', async t => {
  const facet = facetOf({
    lines: [{ per: 'megapixel', of: 'input', price: 'input_megapixel', round: 'up', otherwise: 4 }],
  })
  const { family, model } = shopOf({ input_megapixel: 15_000 })
  const dataUrl = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`
  const pictures = [
    dataUrl(pngHead(1000, 1000)),
    { image_url: dataUrl(jpegHead(2000, 1001)) },
    'https://elsewhere.example/a.png',
  ]
  const sent = { body: bodyOf({ images: pictures }), family, operation: 'image.generate' }
  const measured = await measureInputs(facet, sent)
  const { rule, atMost } = quote({ facet, family, model, requestedSize: none, n: 2, sent, measured })
  t.equal(atMost, (1 + 3 + 4) * 15_000)
  const lines = rate(rule, [
    [9, 9],
    [9, 9],
  ])
  t.same(short(lines.filter(line => line.quantity !== null)), [['input_megapixel', 'request', 120_000, 8]])
  t.same(replayed(chargeOf(rule, lines)), [])
  t.equal(await measureInputs(facetOf({ lines: [{ per: 'request' }] }), sent), undefined, 'nothing is read for others')
})

t.test('[10.3] an input picture is measured however it is written, and after any profile', async t => {
  const facet = facetOf({ lines: [{ per: 'megapixel', of: 'input', price: 'input_megapixel', otherwise: 4 }] })
  const { family } = shopOf({ input_megapixel: 15_000 })
  const base64 = pngHead(1000, 1000).toString('base64')
  const camera = jpegHead(1000, 1000, { before: jpegProfiles(300_000) }).toString('base64')
  const cases: { readonly [name: string]: Json } = {
    'a data: URL': `data:image/png;base64,${base64}`,
    'capitals in the scheme': `DATA:image/png;BASE64,${base64}`,
    'base64 with line breaks': base64.replaceAll(/.{20}/g, '$&\r\n'),
    'as in a chat': { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
    'after long profiles': `data:image/jpeg;base64,${camera}`,
  }
  for (const [name, written] of Object.entries(cases)) {
    const sent = { body: bodyOf({ image: written }), family, operation: 'image.generate' }
    const measured = await measureInputs(facet, sent)
    t.same([...(measured?.values() ?? [])], [[{ width: 1000, height: 1000 }]], caseName({ name }))
  }
})

t.test('[10.3] steps, seconds, tokens and requests, by the count of the request or answer', t => {
  const facet = facetOf({
    lines: [
      { per: 'request' },
      { per: 'step', from: 'steps', otherwise: 4 },
      { per: 'second', from: 'seconds', max: 100 },
      { per: 'token', from: 'text_in', price: 'input_text', max: 50_000 },
      { per: 'token', from: 'image_out', price: 'output_image', max: 50_000, otherwise: 1000 },
    ],
  })
  const shop = shopOf(
    { image: 0, request: 500, step: 7, second: 1000, input_text: 5_000_000, output_image: 40_000_000 },
    { facts: { seconds: 'metrics.time', text_in: 'usage.text', image_out: 'usage.image' } },
  )
  const { rule, atMost, expectedAmount } = ask(shop, facet, { fields: { steps: 28 }, n: 2 })
  t.equal(atMost, 500 + 2 * 28 * 7 + 100 * 1000 + 250_000 + 2_000_000)
  t.equal(expectedAmount, null, "the answer's facts are not known before")
  const metadata = toldOf({ facts: { seconds: 3.5218, text_in: '13', image_out: 4160 } })
  const lines = rate(
    rule,
    [
      [9, 9],
      [9, 9],
    ],
    metadata,
  )
  t.same(short(lines.filter(line => line.quantity !== null)), [
    ['step', 'request', 196, 28],
    ['request', 'request', 500, 1],
    ['step', 'request', 196, 28],
    ['second', 'told', 3522, 3522],
    ['input_text', 'told', 65, 13],
    ['output_image', 'told', 166_400, 4160],
  ])
  t.same(replayed(chargeOf(rule, lines)), [])
  const { lines: explainedLines } = explained(chargeOf(rule, lines))
  t.match(
    explainedLines.map(({ why }) => why),
    [
      'one price for every image → image',
      '28 steps (as requested) → step',
      '1 request (as requested) → request',
      'one price for every image → image',
      '28 steps (as requested) → step',
      '3.522 seconds (seconds 3.5218, reported in the response) → second',
      '13 tokens (text_in 13, reported in the response) → input_text',
      '4160 tokens (image_out 4160, reported in the response) → output_image',
    ],
  )
  const silent = rate(ask(shop, facet).rule, [[9, 9]], toldOf({ facts: { text_in: 'many', image_out: -5 } }))
  t.match(
    silent.filter(line => line.quantity !== null),
    [
      { tier: 'step', source: 'default', quantity: 4 },
      { tier: 'request' },
      { tier: 'second', price: 0, quantity: 0, flags: ['untold'] },
      { tier: 'input_text', price: 0, quantity: 0, flags: ['untold'] },
      { tier: 'output_image', source: 'default', quantity: 1000 },
    ],
    'what is no number says nothing',
  )
  t.same(replayed(chargeOf(ask(shop, facet).rule, silent)), [])
  for (const steps of [-1, '-1', 1e300, 'many', 4e6, true])
    t.throws(
      () => ask(shop, facet, { fields: { steps } }),
      { code: 'invalid_quantity', status: 400, param: 'steps' },
      caseName({ steps }),
    )
  t.end()
})

t.test('[10.3] quantities, factors and costs are computed exactly', t => {
  t.equal(priceQuantity(1, 1, 2), 1, 'half is up')
  t.equal(priceQuantity(1, 1, 3), 0)
  t.equal(priceQuantity(999_999_937, 999_999_000_001, 1_000_000_000), 999_998_937_001)
  const costs: [string, number | undefined][] = [
    ['0.02', 20_000],
    ['0.0000005', 1],
    ['0.00000049999999', 0],
    ['3', 3_000_000],
    ['-1', undefined],
    ['1e-5', undefined],
    ['', undefined],
    ['NaN', undefined],
    ['9999999999', undefined],
  ]
  for (const [text, micros] of costs) t.equal(readCost(text), micros, caseName({ text }))
  t.end()
})

t.test("[10.3] the vendor's count bounds the charge with over_return: cap", t => {
  const facet = facetOf({ price_by: ['quality'] })
  const { rule } = ask(shopOf({ low: 5 }), facet, { fields: { quality: 'low' } })
  const sizes = [
    [9, 9],
    [9, 9],
    [9, 9],
  ] as const
  const priced = (count: number, overReturn: 'bill' | 'cap') =>
    rate(rule, sizes, toldOf({ count }), { n: 3, overReturn }).map(({ price, flags }) => [price, flags.join(' ')])
  t.same(priced(2, 'cap'), [
    [5, ''],
    [5, ''],
    [0, 'uncounted capped'],
  ])
  t.same(
    priced(2, 'bill'),
    [
      [5, ''],
      [5, ''],
      [5, 'uncounted'],
    ],
    'each that came back is billed, and it is seen',
  )
  t.same(
    priced(9, 'cap'),
    [
      [5, ''],
      [5, ''],
      [5, ''],
    ],
    'never more than were found',
  )
  t.same(
    priced(0, 'cap'),
    [
      [5, ''],
      [5, ''],
      [5, ''],
    ],
    'a count of none beside images is no count',
  )
  t.end()
})

t.test('[10.3] check finds unreachable prices, combinations without a price, and counts without a bound', t => {
  const tiers = [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K' }]
  const cases: [string, BillingFacet, Shop, readonly string[]][] = [
    ['as it should be', facetOf({ price_by: ['quality', 'resolution'] }), shopOf(grid), []],
    ['flat', facetOf({}), shopOf({ image: 1 }), []],
    [
      'flat without a price',
      facetOf({}),
      shopOf({ picture: 1 }),
      ['error image_unpriced prices.image', 'note price_unused prices.picture'],
    ],
    [
      'mixed bounds',
      facetOf({
        tiers: [{ tier: '1K', long_edge_max: 9 }, { tier: '2K', pixels_max: 99 }, { tier: '4K' }],
        tier_from: ['output'],
        otherwise: '1K',
      }),
      shopOf({ '1K': 1, '2K': 1, '4K': 1 }),
      ['error tiers_mixed tiers.0.long_edge_max'],
    ],
    [
      'falling pixels',
      facetOf({
        tiers: [{ tier: '1K', pixels_max: 99 }, { tier: '2K', pixels_max: 9 }, { tier: '4K' }],
        tier_from: ['output'],
        otherwise: '1K',
      }),
      shopOf({ '1K': 1, '2K': 1, '4K': 1 }),
      ['error tiers_not_rising tiers.1.pixels_max'],
    ],
    ['no source', facetOf({ tiers, otherwise: '1K' }), shopOf({ '1K': 1, '2K': 1 }), ['error tier_from_missing tiers']],
    [
      'no default',
      facetOf({ tiers, tier_from: ['output'] }),
      shopOf({ '1K': 1, '2K': 1 }),
      ['error otherwise_missing tiers'],
    ],
    ['no tiers', facetOf({ price_by: ['tier'] }), shopOf({ '1K': 1 }), ['error tiers_missing price_by']],
    [
      'tiers for nothing',
      facetOf({ price_by: ['quality'], tiers, tier_from: ['output'] }),
      shopOf({ low: 1 }),
      ['error tiers_unused tiers'],
    ],
    [
      'a gap of the request',
      facetOf({ price_by: ['quality', 'resolution'] }),
      shopOf({ 'low 1k': 1, 'high 2k': 1 }),
      ['note combination_unpriced prices'],
    ],
    [
      'a gap of the answer',
      facetOf({ price_by: ['quality', 'tier'], tiers, tier_from: ['output'], otherwise: '1K' }),
      shopOf({ 'low 1K': 1, 'low 2K': 1, 'high 1K': 1 }),
      ['error combination_unpriced prices'],
    ],
    [
      'a gap that has a price',
      facetOf({ price_by: ['quality', 'tier'], tiers, tier_from: ['output'], otherwise: 'else' }),
      shopOf({ 'low 1K': 1, else: 9 }),
      [],
    ],
    [
      'unreachable',
      facetOf({ price_by: ['quality', 'tier'], tiers, tier_from: ['output'], otherwise: '1K' }),
      shopOf({ 'low 1K': 1, 'low 2K': 1, 'low 8K': 1, low: 1 }),
      ['note price_unused prices.low 8K', 'note price_unused prices.low'],
    ],
    ['twice', facetOf({ price_by: ['quality'] }), shopOf({ low: 1, LOW: 2 }), ['error price_twice prices.LOW']],
    [
      'told without otherwise',
      facetOf({ price_by: ['quality'] }),
      shopOf({ low: 1 }, { facts: { quality: 'q' } }),
      ['error combination_open price_by.0'],
    ],
    [
      'otherwise of nothing',
      facetOf({ price_by: ['quality'], otherwise: 'else' }),
      shopOf({ low: 1 }),
      ['error otherwise_unpriced prices.else'],
    ],
    [
      'a field that nobody sends',
      facetOf({ price_by: ['quality'] }),
      shopOf({ low: 1 }, {}, { kind: 'only', names: new Set(['prompt']) }),
      ['error price_field_unseen price_by.0'],
    ],
    [
      'a condition that nobody sends',
      facetOf({ times: [{ if: { hd: true }, by: '2' }] }),
      shopOf({ image: 1 }, {}, { kind: 'only', names: new Set(['prompt']) }),
      ['note condition_unseen times.0.if.hd'],
    ],
    [
      'lines without prices',
      facetOf({ lines: [{ per: 'request' }] }),
      shopOf({ image: 1 }),
      ['error line_unpriced prices.request'],
    ],
    [
      'one name for two',
      facetOf({ lines: [{ per: 'request' }, { per: 'input_image', price: 'request' }] }),
      shopOf({ image: 1, request: 1 }),
      ['error line_twice lines.1'],
    ],
    [
      'keys of others',
      facetOf({
        lines: [
          { per: 'request', round: 'up' },
          { per: 'megapixel', once: true, max: 4 },
        ],
      }),
      shopOf({ request: 1, megapixel: 1 }),
      ['error line_key_unused lines.0.round', 'error line_key_unused lines.1.once'],
    ],
    [
      'unbounded',
      facetOf({ lines: [{ per: 'megapixel' }, { per: 'second', from: 'time' }] }),
      shopOf({ megapixel: 1, second: 1 }, { facts: { time: 't' } }),
      ['error line_unbounded lines.0', 'error line_unbounded lines.1'],
    ],
    [
      'uncounted',
      facetOf({ lines: [{ per: 'step' }, { per: 'token', from: 'in' }] }),
      shopOf({ step: 1, token: 1 }),
      ['error line_uncounted lines.0', 'error line_unnamed lines.1', 'error line_otherwise_missing lines.1'],
    ],
    [
      'a picture without a size',
      facetOf({ lines: [{ per: 'megapixel', of: 'input' }] }),
      shopOf({ megapixel: 1 }),
      ['error line_otherwise_missing lines.0'],
    ],
    [
      'a refusal without a price',
      facetOf({}),
      shopOf({ image: 1 }, { refused: [{ if: {}, charge: 'refusal' }] }),
      ['error line_unpriced prices.refusal'],
    ],
  ]
  for (const [title, facet, shop, expected] of cases) t.same(found(facet, shop), expected, caseName({ title }))
  t.end()
})

t.test(`[10.3] in any family items add up, replay equally, and never exceed the hold (SEED=${seed})`, t => {
  const random = seeded(seed)
  const whole = (below: number): number => Math.floor(random() * below)
  const pick = <T>(list: readonly T[]): T => list[whole(list.length)] as T
  const maybe = <T extends object>(some: T): T | Record<never, never> => (random() < 0.5 ? some : {})
  const words = ['low', 'high', '1k', '2K', 'x y', '', 'nothing']
  for (let round = 0; round < 400; round++) {
    const by = pick([undefined, ['quality'], ['tier'], ['quality', 'tier'], ['tier', 'style', 'quality'], []])
    const tiers =
      by === undefined || by.includes('tier')
        ? pick([
            [{ tier: '1K', long_edge_max: 1024 }, { tier: '2K' }],
            [{ tier: '1K', pixels_max: 1_000_000 }, { tier: '2K' }],
          ])
        : undefined
    const priceBy = by?.length === 0 ? undefined : by
    const values: readonly (readonly string[])[] = (priceBy ?? []).map(name =>
      name === 'tier' ? ['1K', '2K'] : name === 'style' ? ['ink'] : ['low', 'high'],
    )
    let labels = ['']
    for (const some of values) labels = labels.flatMap(label => some.map(word => `${label} ${word}`.trim()))
    const named = [
      ...(priceBy ? labels : (tiers?.map(row => row.tier) ?? ['image'])),
      'else',
      'a',
      'b',
      'c',
      'd',
      'e',
      'f',
      'refusal',
    ]
    const shop = shopOf(Object.fromEntries(named.map(name => [name, whole(2_000_000)])), {
      facts: { ...maybe({ quality: 'q' }), ...maybe({ hd: 'h' }), ...maybe({ steps: 's' }), tokens: 't' },
      ...maybe({ refused: [{ charge: 'refusal' }] }),
    })
    const once = maybe({ once: random() < 0.5 })
    const lines: BillingFacet['lines'] = [
      { per: 'input_image', price: 'a', ...maybe({ free: 1 }), ...once },
      {
        per: 'megapixel',
        price: 'b',
        max: 1 + whole(5),
        ...maybe({ first: 'c' }),
        ...maybe({ round: 'up' as const }),
        ...maybe({ otherwise: 1 }),
      },
      { per: 'step', price: 'd', from: 'steps', otherwise: whole(9), max: 50, ...once },
      { per: 'token', price: 'e', from: 'tokens', max: 5000, ...maybe({ otherwise: 77 }) },
      { per: 'megapixel', of: 'input', price: 'f', otherwise: 2, ...maybe({ round: 'up' as const }) },
    ]
    const facet = facetOf({
      ...(priceBy && { price_by: priceBy, otherwise: 'else' }),
      ...(tiers && {
        tiers,
        tier_from: pick([
          ['output'],
          ['request'],
          ['told', 'output'],
          ['request', 'output'],
          ['output', 'told', 'request'],
        ]),
        otherwise: priceBy ? pick(['else', '1K']) : '1K',
      }),
      ...maybe({ lines: lines.filter(() => random() < 0.6) }),
      ...maybe({
        times: [
          { if: { hd: true }, by: pick(['0.5', '2.25', '1']) },
          { if: { quality: 'high' }, by: pick(['0.333333', '3']) },
        ],
      }),
    })
    const fields = {
      ...maybe({ quality: pick(words) }),
      ...maybe({ style: pick(['ink', 'oil']) }),
      ...maybe({ hd: random() < 0.5 }),
      ...maybe({ steps: whole(50) }),
      ...maybe({ image: ['a', 'b'].slice(whole(2)) }),
    }
    const n = 1 + whole(4)
    const asked: AskedSize =
      random() < 0.5
        ? none
        : { ...none, text: '', size: { kind: 'pixels', width: 1 + whole(2000), height: 1 + whole(2000) } }
    let quoted: Quote
    try {
      quoted = ask(shop, facet, { fields, asked, n })
    } catch (error) {
      t.match(error, { code: 'price_unknown' }, caseName({ round, facet, fields }))
      continue
    }
    const size = (): readonly [number, number] | null => (random() < 0.2 ? null : [1 + whole(4000), 1 + whole(4000)])
    const facts = {
      ...maybe({ quality: pick(words) }),
      ...maybe({ hd: random() < 0.5 }),
      ...maybe({ steps: pick([3, '7', 'x', 900]) }),
      ...maybe({ tokens: whole(9000) }),
    }
    const metadata =
      random() < 0.3
        ? undefined
        : toldOf({
            facts,
            sizes: [
              [1 + whole(4000), 9],
              [9, 1 + whole(4000)],
            ],
            count: whole(5),
          })
    const rated = rate(quoted.rule, Array.from({ length: n }, size), metadata, { n, overReturn: pick(['bill', 'cap']) })
    const charge = chargeOf(quoted.rule, rated, quoted.atMost)
    const title = caseName({ round, facet, fields, facts, n })
    t.same(replayed(charge), [], title)
    t.ok(charge.amount <= quoted.atMost, `${charge.amount} ≤ ${quoted.atMost}: ${title}`)
    t.ok(
      rated.every(({ price }) => Number.isSafeInteger(price) && price >= 0),
      title,
    )
    t.equal(
      explained(charge).lines.every(({ at, price }) => at !== null || price === '0.00'),
      true,
      title,
    )
    if (quoted.expectedAmount !== null) t.ok(quoted.expectedAmount <= quoted.atMost, title)
  }
  t.end()
})
