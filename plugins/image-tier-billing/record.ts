import {
  type Account,
  actualSize,
  type Charge,
  formatMoney,
  decidedTier,
  type ChargeItem,
  type ChargeItemRule,
  sourceLabels,
  type TierRule,
} from '../../src/plugin-api/index.ts'
import { conditionsText, factorsOf } from './price-image.ts'
import { ruleOf } from './replay.ts'
import { extraLinesOf, rowsOf } from './rows.ts'
import { rateTier, type Size } from './tier.ts'

const tierFromText = {
  told: 'the size reported in the response',
  output: 'the long edge of the returned image',
  request: 'the long edge of the requested size',
} as const

/** Explains a charge of images: the six labels, the prices as they were, and the tier of each image. */
export function record(charge: Charge): Account {
  // Only this plugin writes charges of this kind.
  const rule = charge.rule as TierRule
  const rows = rowsOf(rule)
  const extraLines = extraLinesOf(rule.lines ?? [])
  return {
    text: imageText(charge),
    count: imagesOf(charge).length,
    rule: {
      text: describeRule(rule),
      rows: [
        ...rows.map(({ tier, longEdgeMax, pixelsMax, price, at }) => {
          return {
            tier,
            long_edge_max: longEdgeMax,
            ...(pixelsMax && { pixels_max: pixelsMax }),
            price: formatMoney(price),
            per: 1,
            at,
          }
        }),
        ...extraLines.map(({ name, price, unit, at }) => ({
          tier: name,
          long_edge_max: null,
          price: formatMoney(price),
          per: unit,
          at,
        })),
      ],
      ...(rule.by && { by: rule.by }),
      multiplier: 'group multiplier not applied: the configured price of an image is final',
    },
    line: line => ({ why: whyPrice(charge, rule, line), at: placeOf(rule, line) }),
  }
}

function placeOf(rule: TierRule, { tier, quantity, flags }: ChargeItem): string | null {
  if (quantity === null) return rowsOf(rule).find(row => row.tier === tier)?.at ?? null
  if (flags.includes('refused')) return rule.refusals?.find(({ name }) => name === tier)?.at ?? null
  return extraLinesOf(rule.lines ?? []).find(({ name }) => name === tier)?.at ?? null
}

/** The images of a charge; additional charges have a quantity. */
function imagesOf({ lines }: Charge): readonly ChargeItem[] {
  return lines.filter(({ quantity, tier }) => quantity === null || tier === decidedTier)
}

/** The six labels of `docs/rules.md#billing-labels`. */
function imageText(charge: Charge): string {
  const { size, quality } = charge
  const lines = imagesOf(charge)
  return [
    `大小 ${size ?? '-'}`,
    `请求品质 ${quality ?? '-'}`,
    `生成数量 ${lines.length}`,
    `图片档位 ${grouped(lines.map(line => line.tier))}`,
    `来源 ${grouped(lines.map(line => sourceLabels[line.source]))}`,
    `实际尺寸 ${grouped(lines.map(line => actualSize(line) ?? '-'))}`,
  ].join(', ')
}

/** `2K`, or `2K×3, 4K×1` when they differ; `-` when there are none. */
function grouped(values: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  if (counts.size === 0) return '-'
  if (counts.size === 1) return String(values[0])
  return [...counts].map(([value, count]) => `${value}×${count}`).join(', ')
}

function whyPrice(charge: Charge, rule: TierRule, line: ChargeItem): string {
  if (line.quantity !== null) return whyExtraLine(rule, line)
  const why = rule.by ? whyCombination(charge, rule, rule.by, line) : whyTier(charge, rule, line)
  return `${why}${whyFactors(rule, line)}`
}

function whyTier(charge: Charge, rule: TierRule, line: ChargeItem): string {
  if (line.source === 'default') return `no size could be read → ${line.tier} by default`
  if (line.source === 'request') return `requested size ${charge.size} → ${line.tier}`
  const size = (line.source === 'told' ? line.told?.size : null) ?? { width: line.width ?? 0, height: line.height ?? 0 }
  const row = rule.tiers.findIndex(tier => tier.tier === line.tier)
  return `${line.source === 'told' ? 'told ' : ''}${boundText(rule, row, size)} → ${line.tier}`
}

/** The measure that determined the tier, and the bound of that tier. */
function boundText({ tiers }: TierRule, row: number, { width, height }: Size): string {
  const byPixels = tiers[0]?.pixelsMax !== undefined
  const boundOf = (at: number) => (byPixels ? tiers[at]?.pixelsMax : tiers[at]?.longEdgeMax) ?? null
  const max = boundOf(row)
  const bound = max === null ? `> ${(row > 0 ? boundOf(row - 1) : null) ?? 0}` : `≤ ${max}`
  return byPixels
    ? `${width} × ${height} = ${width * height} pixels ${bound}`
    : `long edge ${Math.max(width, height)} ${bound}`
}

function whyCombination(charge: Charge, rule: TierRule, by: readonly string[], line: ChargeItem): string {
  if (by.length === 0) return `one price for every image → ${line.tier}`
  const facts = line.told?.facts
  const values = by.map(name => {
    if (name === 'tier') return whyTierOf(charge, rule, line)
    const fact = facts?.[name]
    return fact === undefined
      ? `${name} ${rule.asked?.[name] ?? 'not given'}`
      : `${name} ${fact} (reported in the response)`
  })
  const end = line.source === 'default' ? `${line.tier}, as what has no price of its own` : line.tier
  return `${values.join(', ')} → ${end}`
}

function whyTierOf(charge: Charge, rule: TierRule, { width, height, told }: ChargeItem): string {
  const output = width === null || height === null ? null : { width, height }
  const { tier, source } = rateTier(rule, output, told?.size)
  const row = rule.tiers.findIndex(one => one.tier === tier)
  if (source === 'default' || row < 0) return 'no size could be read'
  if (source === 'request') return `requested size ${charge.size} (${tier})`
  const size = source === 'told' ? told?.size : output
  return size ? `${source === 'told' ? 'told ' : ''}${boundText(rule, row, size)} (${tier})` : tier
}

function whyFactors(rule: TierRule, { told }: ChargeItem): string {
  const facts = told?.facts && new Map(Object.entries(told.facts))
  return factorsOf(rule, facts)
    .map(one => ` × ${one.by} (${conditionsText(one.if)})`)
    .join('')
}

function whyExtraLine(rule: TierRule, { tier, quantity, source, flags, width, height, told }: ChargeItem): string {
  if (flags.includes('refused')) return `the answer is a refusal that is charged → ${tier}`
  const own = ruleOf(rule, tier)
  if (!own) return `${tier} ${quantity}`
  const [fact] = Object.entries(told?.facts ?? {})
  const size = told?.size ?? (width === null || height === null ? null : { width, height })
  const from = fact
    ? `${fact[0]} ${fact[1]}, reported in the response`
    : size
      ? `${size.width}x${size.height}, ${sourceText[source]}`
      : sourceText[source]
  const other = own.first
    ? own.first.name === tier
      ? ', the first of each picture'
      : ', after the first of each picture'
    : ''
  return `${countText(own, quantity ?? 0)} (${from}${other}) → ${tier}`
}

const sourceText = {
  told: 'reported in the response',
  output: 'of the returned image',
  request: 'as requested',
  default: 'no number given',
} as const

function countText({ per, unit, whole }: ChargeItemRule, quantity: number): string {
  const count = whole ? quantity : per === 'token' ? quantity : quantity / unit
  return `${Number(count.toFixed(6))} ${per.replace('_', ' ')}${count === 1 ? '' : 's'}`
}

function describeRule(rule: TierRule): string {
  const { by, tierFrom, otherwise, lines, times } = rule
  const from = tierFrom
    .map(source =>
      source === 'output' && isByPixels(rule) ? 'the pixels of the returned image' : tierFromText[source],
    )
    .join(', else ')
  const image = by
    ? describeBy(by, from, otherwise)
    : `each image is priced by the tier of ${from}; default ${otherwise}`
  const factors = times ? `; times ${times.map(one => one.by).join(', ')} where that applies` : ''
  const extraLines = lines
    ? `; in addition ${lines.map(({ name, once }) => `${name} ${once ? 'once' : 'for each image'}`).join(', ')}`
    : ''
  return `${image}${factors}${extraLines}`
}

function describeBy(by: readonly string[], from: string, otherwise: string): string {
  if (by.length === 0) return 'every image has one price'
  const tier = by.includes('tier') && from ? `, the tier being that of ${from}` : ''
  return `each image is priced by ${by.join(' and ')}${tier}; default ${otherwise}`
}

function isByPixels({ tiers }: TierRule): boolean {
  return tiers[0]?.pixelsMax !== undefined
}
