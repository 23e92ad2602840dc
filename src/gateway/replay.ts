import { type KnownPlugin, type Charge, chargerOf, decidedTier } from '../domain/index.ts'

/**
 * Rates a charge again from its stored data, with the plugin that created it; returns a sentence for each difference.
 * `known`: the plugins that may have created it.
 */
export function replayCharge(charge: Charge, known: readonly KnownPlugin[]): readonly string[] {
  const { id, lines, rule, state } = charge
  if (lines.some(line => line.tier === decidedTier)) return replayDecision(charge)
  const rated = chargerOf(known, charge)?.replay?.(charge)
  if (!rated) return [`charge ${id}: no configured plugin can recompute its rule '${rule.kind}'`]
  const differences: string[] = []
  const compare = (what: string, stored: string | number, found: string | number) => {
    if (stored !== found) differences.push(`charge ${id}: ${what} is ${stored}, but its own facts give ${found}`)
  }
  let sum = 0
  for (const line of lines) {
    const { index } = line
    const found = rated.find(one => one.index === index) ?? { index, fault: 'cannot be recomputed' }
    if ('fault' in found) {
      differences.push(`charge ${id}: line ${index} ${found.fault}`)
      continue
    }
    sum += found.price
    compare(`the tier of line ${index}`, line.tier, found.tier)
    compare(`the source of line ${index}`, line.source, found.source)
    compare(`the price of line ${index} in micros`, line.price, found.price)
  }
  if (state === 'settled') compare('the amount in micros', charge.amount, sum)
  if (state === 'voided') compare('the amount in micros', charge.amount, 0)
  return differences
}

/** A charge that a person decided can only be compared with its own items and with its hold, which is its limit. */
function replayDecision({ id, lines, amount, hold }: Charge): readonly string[] {
  const sum = lines.reduce((total, line) => total + line.price, 0)
  const differences: string[] = []
  if (sum !== amount)
    differences.push(`charge ${id}: the amount in micros is ${amount}, but the sum of its lines is ${sum}`)
  if (amount > hold) differences.push(`charge ${id}: the amount in micros is ${amount}, but ${hold} was its hold`)
  return differences
}
