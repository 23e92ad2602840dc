import type { Charge } from '../../src/kit/index.ts'
import { priceByRule } from './price-use.ts'

/**
 * Prices a stored charge again from what was stored with it: its rule and the quantity of each line. Returns one sentence
 * for each difference; none means that it says today what it said then.
 */
export function replayUsage(charge: Charge): readonly string[] {
  const { id, rule } = charge
  if (rule.kind !== 'usage') return []
  const differences: string[] = []
  const compare = (what: string, stored: number, rated: number) => {
    if (stored !== rated) differences.push(`charge ${id}: ${what} is ${stored}, but its own facts give ${rated}`)
  }
  let sum = 0
  for (const line of charge.lines) {
    if (!rule.prices.some(row => row.unit === line.tier)) {
      differences.push(`charge ${id}: line ${line.index} is for ${line.tier}, which its own prices do not have`)
      continue
    }
    const price = priceByRule(rule, line.tier, line.quantity ?? 0)
    sum += price
    compare(`the price of line ${line.index} in micros`, line.price, price)
  }
  if (charge.state === 'settled') compare('the amount in micros', charge.amount, sum)
  if (charge.state === 'voided') compare('the amount in micros', charge.amount, 0)
  return differences
}
