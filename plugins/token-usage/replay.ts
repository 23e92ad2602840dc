import type { Charge, Replayed, UsageRule } from '../../src/plugin-api/index.ts'
import { type Exact, exactLines, partsPerMicro, roundHalfUp } from '../../src/pricing/index.ts'

/**
 * Prices a stored charge again from its rule and the quantity of each item. Items of one charge are rounded together,
 * with the remainder of the key's earlier charges: each is its exact amount rounded up or down, and their sum differs
 * from the exact sum by at most one micro-unit.
 */
export function replay(charge: Charge): readonly Replayed[] {
  // Only this plugin writes charges of this kind.
  const rule = charge.rule as UsageRule
  const exact = exactLines(rule, charge)
  const isTogether = differs(charge, exact) <= 1
  return charge.lines.map(({ index, tier, source, price }, i) => {
    const amount = exact[i]
    if (!amount) return { index, fault: `is for ${tier}, which its own prices do not have` }
    const isRounded = price === amount.whole || (price === amount.whole + 1 && amount.part > 0)
    return { index, tier, source, price: isRounded && isTogether ? price : roundHalfUp(amount) }
  })
}

/** The difference in micro-units between the items of a charge and their exact sum. */
function differs({ lines }: Charge, exact: readonly (Exact | undefined)[]): number {
  let whole = 0
  let part = 0
  lines.forEach(({ price }, i) => {
    const amount = exact[i]
    if (!amount) return
    whole += price - amount.whole
    part += amount.part
  })
  return Math.abs(whole - part / partsPerMicro)
}
