import type { Charge } from '../../src/kit/index.ts'
import { priceOf } from './quote.ts'
import { rateTier } from './tier.ts'

/**
 * Rates a stored charge again from what was stored with it: its rule, the tier of the size asked for, and the pixels of
 * each line. Returns one sentence for each difference; none means that it says today what it said then.
 */
export function replayCharge(charge: Charge): readonly string[] {
  const differences: string[] = []
  const { id, rule } = charge
  if (rule.kind !== 'tiers') return []
  const compare = (what: string, stored: string | number, rated: string | number) => {
    if (stored !== rated) differences.push(`charge ${id}: ${what} is ${stored}, but its own facts give ${rated}`)
  }
  let sum = 0
  for (const line of charge.lines) {
    const size = line.width === null || line.height === null ? null : { width: line.width, height: line.height }
    const { tier, source } = rateTier(rule, size)
    const price = line.flags.includes('capped') ? 0 : priceOf(rule, tier)
    sum += price
    compare(`the tier of line ${line.index}`, line.tier, tier)
    compare(`the source of line ${line.index}`, line.source, source)
    compare(`the price of line ${line.index} in micros`, line.price, price)
  }
  if (charge.state === 'settled') compare('the amount in micros', charge.amount, sum)
  if (charge.state === 'voided') compare('the amount in micros', charge.amount, 0)
  return differences
}
