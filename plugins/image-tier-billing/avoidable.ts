import type { ChargeRule, ChargeItem, Saving, TierRule } from '../../src/plugin-api/index.ts'
import { cheaperOf } from './mismatch.ts'
import { priceImage } from './price-image.ts'
import { comeOf } from './replay.ts'
import { tierOfSize } from './tier.ts'

/**
 * What an image cost more than it had to: its tier came from the size that was asked for, or from none, and what came back
 * is of a cheaper one. What it would have cost is rated as any image is, by the rule of its charge.
 */
export function avoidable(of: ChargeRule, line: ChargeItem): Saving | undefined {
  // Charges of this kind are written by this plugin alone.
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

/** The tier of the pixels that came back, and the size that they are. */
function sizeMade({ tiers }: TierRule, { width, height, told }: ChargeItem): TierRule['cheaper'] {
  const size = width === null || height === null ? told?.size : { width, height }
  const row = size && tierOfSize(size, tiers)
  return row && { tier: row.tier, size: `${size.width}x${size.height}` }
}
