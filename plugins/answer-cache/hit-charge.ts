import {
  type Account,
  type CachePolicy,
  type Charge,
  type ChargeItem,
  type ChargeRule,
  formatMoney,
  type Micros,
  priceOfHit,
  type Replayed,
} from '../../src/plugin-api/index.ts'
import type { CachedAnswer } from './cached-answer.ts'

/** The name of the rule for a cached answer, and of its charge item. */
export const hitRule = 'cached_response'

/** The rule of a charge for a cached answer. */
export type HitRule = ChargeRule & {
  readonly kind: typeof hitRule
  readonly nothingBought: true
  /** The cost of the answer when the upstream created it. */
  readonly full: Micros
  readonly each: Micros
  /** The factor on that cost, in millionths. */
  readonly timesMicros: number
  /** The line of the configuration. */
  readonly at: string
  /** The request that created the answer, and its time. */
  readonly of: string
  readonly keptAt: number
}

export function ruleOfHit({ hit }: CachePolicy, { amount = 0, requestId, keptAt }: CachedAnswer): HitRule {
  const { each, timesMicros, at } = hit
  return {
    kind: hitRule,
    nothingBought: true,
    warnings: [],
    full: amount,
    each,
    timesMicros,
    at,
    of: requestId,
    keptAt,
  }
}

export function itemOfHit(price: Micros): ChargeItem {
  const rest = { width: null, height: null, flags: [], quantity: 1 } as const
  return { index: 0, tier: hitRule, source: 'request', price, ...rest }
}

export function record({ rule, lines }: Charge): Account {
  // Only this plugin writes charges of this kind.
  const { full, each, timesMicros, at, of } = rule as HitRule
  const price = formatMoney(priceOfHit({ full, each, timesMicros }))
  return {
    text: lines.length === 0 ? '-' : '缓存命中 1',
    count: null,
    rule: {
      text: `a cached response, made by ${of} for ${formatMoney(full)}`,
      rows: [{ tier: hitRule, long_edge_max: null, price, per: 1, at }],
      multiplier: 'group multiplier not applied again: the price of the response contains it',
    },
    line: () => ({ why: whyPrice({ full, each, timesMicros }, price), at }),
  }
}

function whyPrice({ full, each, timesMicros }: Pick<HitRule, 'full' | 'each' | 'timesMicros'>, price: string): string {
  if (each === 0 && timesMicros === 0) return '1 cached response, free'
  const parts = [
    ...(each > 0 ? [formatMoney(each)] : []),
    ...(timesMicros > 0 ? [`${formatMoney(full)} × ${formatMoney(timesMicros)}`] : []),
  ]
  return `1 cached response: ${parts.join(' + ')} = ${price}`
}

export function replay({ rule, lines }: Charge): readonly Replayed[] {
  const price = priceOfHit(rule as HitRule)
  return lines.map(({ index, tier, source }) => ({ index, tier, source, price }))
}
