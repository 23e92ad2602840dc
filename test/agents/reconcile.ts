import type { LogRecord } from '../../src/domain/index.ts'

const micros = (amount: string): bigint => {
  const [whole = '0', part = ''] = amount.split('.')
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0').slice(0, 6))
}

/**
 * Returns faults in the bill of one agent: each row must be answered and settled, and each charge must match its
 * counts.
 */
export function findBillFaults(rows: readonly LogRecord[], least: number): readonly string[] {
  if (rows.length < least) return [`it made ${rows.length} requests of at least ${least}`]
  return rows.flatMap(row => {
    const { id, outcome, status, billing, usage } = row
    if (outcome !== 'answered' || status !== 200) return [`${id}: ${outcome}, status ${status}`]
    // Requests that count tokens are free.
    if (!billing) return row.operation?.endsWith('.count') ? [] : [`${id}: no charge`]
    const faults: string[] = []
    if (billing.state !== 'settled') faults.push(`${id}: charge ${billing.state}`)
    const prices = new Map(billing.rule?.rows.map(({ tier, price, per }) => [tier, { price, per: BigInt(per ?? 1) }]))
    let sum = 0n
    for (const { tier, quantity, price } of billing.lines) {
      sum += micros(price)
      const known = prices.get(tier)
      // Rounding is carried to the next charge of a key, so a line may differ by one micro-unit.
      const exact = known ? (micros(known.price) * BigInt(quantity ?? 0)) / known.per : -1n
      const off = micros(price) - exact
      if (off < -1n || off > 1n) faults.push(`${id}: ${quantity} ${tier} cost ${price}, not ${exact} micro-units`)
    }
    if (sum !== micros(billing.amount)) faults.push(`${id}: its lines sum to ${sum}, its charge is ${billing.amount}`)
    const output = billing.lines.find(({ tier }) => tier === 'output')?.quantity ?? 0
    if (output !== usage.output_tokens) faults.push(`${id}: billed ${output} output tokens of ${usage.output_tokens}`)
    return faults
  })
}
