import {
  type Charge,
  type Repriced,
  type RepriceAsk,
  rootOf,
  treeOf,
  units,
  type UsageRule,
} from '../../src/kit/index.ts'
import { exactLines, partsPerMicro, sumOf } from '../../src/pricing/index.ts'
import { isFree } from './is-free.ts'
import type { UsageFacet } from './schema.ts'
import { usageRule } from './usage-rule.ts'

/** What the use of a stored charge costs by other prices: each quantity as it was counted then. */
export function reprice(
  charge: Charge,
  { model, multiplier, operation, traits }: RepriceAsk,
  facet: UsageFacet,
): Repriced {
  if (model.free || isFree({ operation, traits }, facet)) return { amount: 0 }
  const rule = usageRule(model, multiplier)
  if (!rule) return { reason: 'charged_otherwise' }
  // Charges of this kind are written by this plugin alone.
  const old = charge.rule as UsageRule
  if (rule.prices.some(({ unit }) => !isKept(unit, old, charge))) return { reason: 'measure_not_kept' }
  const then = sumOf(exactLines(old, charge).filter(amount => amount !== undefined))
  const now = sumOf(exactLines(rule, charge).filter(amount => amount !== undefined))
  // What was rounded then stays as it was: without a change of prices, nothing changes.
  const rest = (now.part - then.part) / partsPerMicro
  return { amount: Math.max(0, charge.amount + now.whole - then.whole + Math.round(rest)) }
}

/**
 * Whether a charge knows how much of a unit was used: there was none where a unit that had a price has no line, and none of a
 * kind where there was none of the whole. Charges of earlier versions do not know kinds without prices.
 */
function isKept(unit: string, old: UsageRule, { lines }: Charge): boolean {
  const has = (name: string): boolean => lines.some(line => line.tier === name && (line.quantity ?? 0) > 0)
  if (has(unit) || old.prices.some(row => row.unit === unit) || old.counts === 'all') return true
  const parent = units.get(unit)?.parent
  return parent !== undefined && !treeOf(rootOf(parent)).some(has) && isKept(parent, old, { lines } as Charge)
}
