import type { Line, TierSource, UsageRule } from '../../src/kit/index.ts'
import { priceByRule } from './price-use.ts'

/** So much of one unit; `source` says who counted: the answer, the request, or an estimate of ours. */
export type Use = { readonly unit: string; readonly quantity: number; readonly source: TierSource }

/** One line for each unit that has a price and of which there was any, in the order of the prices. */
export function rateUse(rule: UsageRule, uses: readonly Use[], flags: readonly string[] = []): readonly Line[] {
  const lines: Line[] = []
  for (const { unit } of rule.prices) {
    const use = uses.find(one => one.unit === unit)
    if (!use || use.quantity === 0) continue
    lines.push({
      index: lines.length,
      tier: unit,
      source: use.source,
      width: null,
      height: null,
      price: priceByRule(rule, unit, use.quantity),
      flags: use.source === 'default' ? [...flags, 'estimated'] : flags,
      quantity: use.quantity,
    })
  }
  return lines
}
