/**
 * Splits a whole amount into whole parts in proportion to weights; the sum of the parts is the amount. If all weights
 * are 0, the last part gets it.
 */
export function splitAmount(amount: number, weights: readonly number[]): readonly number[] {
  const all = weights.reduce((sum, weight) => sum + BigInt(weight), 0n)
  if (all === 0n) return weights.map((_, i) => (i === weights.length - 1 ? amount : 0))
  let weight = 0n
  let given = 0n
  return weights.map(one => {
    weight += BigInt(one)
    const upTo = (BigInt(amount) * weight) / all
    const part = Number(upTo - given)
    given = upTo
    return part
  })
}

/**
 * The parts of a refund for the items of its charge. `before`: the sum of earlier refunds. The parts of all refunds of
 * a charge add up to those of one refund of their sum.
 */
export function splitRefund(amount: number, before: number, prices: readonly number[]): readonly number[] {
  const upTo = splitAmount(before + amount, prices)
  if (before === 0) return upTo
  const until = splitAmount(before, prices)
  return upTo.map((part, i) => part - (until[i] ?? 0))
}
