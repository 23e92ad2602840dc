import { type Charge, type ChargeRule, decidedTier, type Line, type TierSource } from './charge.ts'
import { formatMoney } from './units.ts'

/** The billing part of a log record, field for field as `contract.md` names it. */
export type BillingRecord = {
  readonly state: Charge['state']
  readonly size: string | null
  readonly quality: string | null
  /** Of images; null for what is not taken one by one. */
  readonly count: number | null
  readonly tier: string | null
  readonly source: TierSource | null
  readonly actual_size: string | null
  readonly currency: string
  readonly amount: string
  /** What is held for it now: of a charge that is open, or under review with its hold kept. */
  readonly held: string
  readonly refunded: string
  readonly flags: readonly string[]
  readonly warnings: readonly string[]
  readonly reason: string | null
  readonly delivery: Charge['delivery']
  readonly lines: readonly {
    readonly index: number
    readonly tier: string
    readonly source: TierSource
    readonly width: number | null
    readonly height: number | null
    /** How many of what `tier` names were used; null for an image. */
    readonly quantity: number | null
    readonly price: string
    readonly flags: readonly string[]
    /** Why this price, in words. */
    readonly why: string
    /** `file:line` of the price that was applied. */
    readonly at: string | null
  }[]
  readonly text: string
  /** `2 × 0.04 = 0.08 USD`. */
  readonly sum: string
  /** What the price was taken from: the rows as they were then, and how one of them was chosen, in words. */
  readonly rule: {
    readonly kind: ChargeRule['kind']
    readonly text: string
    readonly rows: readonly {
      readonly tier: string
      /** Null for the last tier, and for what is counted. */
      readonly long_edge_max: number | null
      /** Of `per` of what `tier` names. */
      readonly price: string
      readonly per: number
      readonly at: string
    }[]
    /** Whether the group's factor was applied. */
    readonly multiplier: string
  }
}

/** The labels of requirement 2.5, as the console prints them. */
export const sourceLabels: { readonly [source in TierSource]: string } = {
  output: '输出尺寸',
  request: '请求尺寸',
  default: '默认',
}

/** What use is counted in, as the console prints it. */
export const unitLabels: { readonly [unit: string]: string } = {
  input: '输入',
  cached_input: '缓存输入',
  output: '输出',
  character: '字符',
  second: '秒',
  search_unit: '检索单元',
  request: '请求',
}

/**
 * The one explanation of a charge. The log record, the details view, `GET /v1/charges/{id}` and the command line all
 * print this; none computes its own.
 */
export function billingRecord(charge: Charge): BillingRecord {
  const { lines } = charge
  const byUse = charge.rule.kind === 'usage'
  const tiers = lines.map(line => line.tier)
  const sources = lines.map(line => line.source)
  const sizes = lines.map(line => actualSize(line))
  const amount = formatMoney(charge.amount)
  return {
    state: charge.state,
    size: charge.size,
    quality: charge.quality,
    count: byUse ? null : lines.length,
    tier: byUse ? null : same(tiers),
    source: byUse ? null : same(sources),
    actual_size: same(sizes),
    currency: charge.currency,
    amount,
    held: formatMoney(charge.held),
    refunded: formatMoney(charge.refunded),
    flags: [...new Set(lines.flatMap(line => line.flags))],
    warnings: charge.rule.warnings,
    reason: charge.reason,
    delivery: charge.delivery,
    lines: lines.map(line => ({
      index: line.index,
      tier: line.tier,
      source: line.source,
      width: line.width,
      height: line.height,
      quantity: line.quantity,
      price: formatMoney(line.price),
      flags: line.flags,
      why: whyTier(charge, line),
      at: priceOrigin(charge.rule, line.tier),
    })),
    text: byUse ? useText(lines) : imageText(charge, { tiers, sources, sizes }),
    sum: sumText(charge, amount),
    rule: describeRule(charge.rule),
  }
}

function sumText({ lines, currency }: Charge, amount: string): string {
  const counts = new Map<string, number>()
  for (const line of lines) {
    const price = formatMoney(line.price)
    counts.set(price, (counts.get(price) ?? 0) + 1)
  }
  const parts = [...counts].map(([price, count]) => (count === 1 ? price : `${count} × ${price}`))
  return parts.length === 0 ? `${amount} ${currency}` : `${parts.join(' + ')} = ${amount} ${currency}`
}

const tierFromText = {
  output: 'the long edge of the image that came back',
  request: 'the long edge of the requested size',
} as const

function describeRule(rule: ChargeRule): BillingRecord['rule'] {
  if (rule.kind === 'usage')
    return {
      kind: 'usage',
      text: 'what was used, at the price of each',
      rows: rule.prices.map(({ unit, price, per, at }) => {
        return { tier: unit, long_edge_max: null, price: formatMoney(price), per, at }
      }),
      multiplier: `the group's multiplier ${rule.multiplier} is applied`,
    }
  const from = rule.tierFrom.map(source => tierFromText[source]).join(', else ')
  return {
    kind: 'tiers',
    text: `one price for each image, by the tier of ${from}; ${rule.otherwise} where there is none`,
    rows: rule.tiers.map(({ tier, longEdgeMax, price, at }) => {
      return { tier, long_edge_max: longEdgeMax, price: formatMoney(price), per: 1, at }
    }),
    multiplier: 'group multiplier not applied: the configured price of an image is the price',
  }
}

/** The six labels of requirement 2.5. */
function imageText(
  charge: Charge,
  {
    tiers,
    sources,
    sizes,
  }: {
    readonly tiers: readonly string[]
    readonly sources: readonly TierSource[]
    readonly sizes: readonly (string | null)[]
  },
): string {
  return [
    `大小 ${charge.size ?? '-'}`,
    `请求品质 ${charge.quality ?? '-'}`,
    `生成数量 ${charge.lines.length}`,
    `图片档位 ${grouped(tiers)}`,
    `来源 ${grouped(sources.map(source => sourceLabels[source]))}`,
    `实际尺寸 ${grouped(sizes.map(size => size ?? '-'))}`,
  ].join(', ')
}

/** `输入 12, 输出 34`; `-` when nothing was used. */
function useText(lines: readonly Line[]): string {
  const uses = lines.map(({ tier, quantity }) => `${unitLabels[tier] ?? tier} ${quantity ?? 0}`)
  return uses.length === 0 ? '-' : uses.join(', ')
}

function actualSize(line: Line): string | null {
  return line.width === null || line.height === null ? null : `${line.width}x${line.height}`
}

/** The one value that all share, else null. */
function same<T>(values: readonly T[]): T | null {
  const [first] = values
  return first !== undefined && values.every(value => value === first) ? first : null
}

/** `2K`, or `2K×3, 4K×1` when they differ; `-` when there are none. */
function grouped(values: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  if (counts.size === 0) return '-'
  if (counts.size === 1) return String(values[0])
  return [...counts].map(([value, count]) => `${value}×${count}`).join(', ')
}

/** `file:line` of the price that a line was charged by. */
function priceOrigin(rule: ChargeRule, tier: string): string | null {
  const row =
    rule.kind === 'tiers' ? rule.tiers.find(one => one.tier === tier) : rule.prices.find(one => one.unit === tier)
  return row?.at ?? null
}

function whyTier(charge: Charge, line: Line): string {
  if (line.tier === decidedTier) return `decided by a person: ${charge.reason ?? 'no reason given'}`
  const { rule } = charge
  if (rule.kind === 'usage') {
    const row = rule.prices.find(one => one.unit === line.tier)
    const factor = rule.multiplier === '1' ? '' : ` × ${rule.multiplier}`
    const counted = line.source === 'default' ? ' (estimated)' : ''
    return `${line.quantity ?? 0} ${line.tier}${counted} × ${formatMoney(row?.price ?? 0)} per ${row?.per ?? 1}${factor}`
  }
  if (line.source === 'default') return `no size could be read → ${line.tier} by default`
  if (line.source === 'request') return `requested size ${charge.size} → ${line.tier}`
  const edge = Math.max(line.width ?? 0, line.height ?? 0)
  const row = rule.tiers.findIndex(tier => tier.tier === line.tier)
  const max = rule.tiers[row]?.longEdgeMax ?? null
  const below = row > 0 ? (rule.tiers[row - 1]?.longEdgeMax ?? null) : null
  const bound = max === null ? `> ${below ?? 0}` : `≤ ${max}`
  return `long edge ${edge} ${bound} → ${line.tier}`
}
