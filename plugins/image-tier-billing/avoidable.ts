import type { ChargeRule, ChargeItem, Saving, TierRule } from '../../src/plugin-api/index.ts'
import { cheaperOf } from './mismatch.ts'
import { priceImage } from './price-image.ts'
import { comeOf } from './replay.ts'
import { tierOfSize } from './tier.ts'

/**
 * The avoidable part of an image's price: its tier came from the requested size or the default, and the returned image
 * has a cheaper tier. The cheaper price is computed by the rule of its charge, like any price.
 */
export function avoidable(of: ChargeRule, line: ChargeItem): Saving | undefined {
  // Only this plugin writes charges of this kind.
  const rule = of as TierRule
  const { tier, source, price } = line
  if (line.quantity !== null || rule.by || !rule.tierFrom.includes('request')) return undefined
  if (source !== 'request' && source !== 'default') return undefined
  const other = (source === 'request' ? cheaperOf(rule) : undefined) ?? sizeMade(rule, line)
  const billed = rule.tiers.find(row => row.tier === tier)
  if (!other || !billed) return undefined
  const again = priceImage({ ...rule, requestedTier: other.tier }, comeOf(line))
  if (again.label !== other.tier || again.price >= price) return undefined
  return { billed: tier, at: billed.at, made: other.tier, ask: other.size, amount: price - again.price }
}

/** The tier of the returned pixels, and their size. */
function sizeMade({ tiers }: TierRule, { width, height, told }: ChargeItem): TierRule['cheaper'] {
  const size = width === null || height === null ? told?.size : { width, height }
  const row = size && tierOfSize(size, tiers)
  return row && { tier: row.tier, size: `${size.width}x${size.height}` }
}
