import type { Micros, UsageRule } from '../../src/kit/index.ts'

/** A decimal as a fraction of whole numbers. */
export type Factor = { readonly over: number; readonly under: number }

/** Multipliers that have been read: a configuration has a few. */
const known = new Map<string, Factor>()
const knownMax = 256
const factorText = /^(\d{1,6})(?:\.(\d{1,6}))?$/

/** Reads a multiplier such as `0.9`: 9 over 10. @throws Error when it is no decimal, which a checked configuration never holds */
export function parseFactor(text: string): Factor {
  const seen = known.get(text)
  if (seen) return seen
  const factor = readFactor(text)
  if (known.size < knownMax) known.set(text, factor)
  return factor
}

function readFactor(text: string): Factor {
  const match = factorText.exec(text)
  if (!match) throw new Error(`'${text}' is no multiplier: a decimal of at most six places is`)
  const places = match[2] ?? ''
  return { over: Number((match[1] ?? '') + places), under: 10 ** places.length }
}

/**
 * What so much of something costs, in whole micro-units: quantity × price ÷ per × factor, exact, and rounded once at the
 * end, half up.
 */
export function priceUse(quantity: number, price: Micros, per: number, factor: Factor): Micros {
  const whole = 2 * quantity * price * factor.over
  const part = 2 * per * factor.under
  if (whole + part <= Number.MAX_SAFE_INTEGER) {
    const sum = whole + part / 2
    return (sum - (sum % part)) / part
  }
  const exact = 2n * BigInt(quantity) * BigInt(price) * BigInt(factor.over)
  return Number((exact + BigInt(part / 2)) / BigInt(part))
}

/** The same by the rule of a charge. @throws Error when the rule has no price for it */
export function priceByRule(rule: UsageRule, unit: string, quantity: number): Micros {
  const row = rule.prices.find(one => one.unit === unit)
  if (!row) throw new Error(`'${unit}' is not one of the charge's own prices`)
  return priceUse(quantity, row.price, row.per, parseFactor(rule.multiplier))
}
