import type { Micros } from '../util/index.ts'

/** A decimal as a fraction of whole numbers. */
export type Factor = { readonly over: bigint; readonly under: bigint }

/**
 * An exact amount: whole micro-units, and the rest in parts of one. Smaller fractions are dropped, so that rounding the
 * amount is the only rounding.
 */
export type Exact = { readonly whole: number; readonly part: number }

export const one: Factor = { over: 1n, under: 1n }
/** The number of parts in a micro-unit. */
export const partsPerMicro = 1_000_000_000
const parts = BigInt(partsPerMicro)
const factorText = /^(\d{1,6})(?:\.(\d{1,6}))?$/
/** Parsed factors: a configuration has a few. */
const known = new Map<string, Factor>()
const knownMax = 256

/** Parses a factor such as `0.9`. @throws Error for text that is not a decimal of at most six places */
export function parseFactor(text: string): Factor {
  const seen = known.get(text)
  if (seen) return seen
  const match = factorText.exec(text)
  if (!match) throw new Error(`'${text}' is not a decimal of at most six places`)
  const places = match[2] ?? ''
  const factor = { over: BigInt((match[1] ?? '') + places), under: 10n ** BigInt(places.length) }
  if (known.size < knownMax) known.set(text, factor)
  return factor
}

export function multiplyFactors(factors: readonly Factor[]): Factor {
  let [over, under] = [1n, 1n]
  for (const factor of factors) {
    over *= factor.over
    under *= factor.under
  }
  return { over, under }
}

/** quantity × price ÷ per × factor. */
export function exactAmount(quantity: number, price: Micros, per: number, factor: Factor): Exact {
  const product = quantity * price
  if (factor.under === 1n && factor.over === 1n && product <= Number.MAX_SAFE_INTEGER) {
    const rest = product % per
    return { whole: (product - rest) / per, part: Math.floor((rest * partsPerMicro) / per) }
  }
  const over = BigInt(quantity) * BigInt(price) * factor.over * parts
  const under = BigInt(per) * factor.under
  const fine = over / under
  return { whole: Number(fine / parts), part: Number(fine % parts) }
}

/** Rounded half up to a whole micro-unit. */
export function roundHalfUp({ whole, part }: Exact): Micros {
  return part * 2 >= partsPerMicro ? whole + 1 : whole
}

export function roundUp({ whole, part }: Exact): Micros {
  return part > 0 ? whole + 1 : whole
}

/** quantity × price ÷ unit, rounded once, half up. */
export function priceQuantity(quantity: number, price: Micros, unit: number): Micros {
  return roundHalfUp(exactAmount(quantity, price, unit, one))
}

/** A price with factors, each a decimal such as `0.5`, rounded once, half up. */
export function multiply(price: Micros, factors: readonly string[]): Micros {
  return roundHalfUp(exactAmount(1, price, 1, multiplyFactors(factors.map(parseFactor))))
}

/**
 * Rounds the amounts of one charge together: rounds the sum of them and the carried remainder once, and rounds each
 * amount up or down so that they add up to it. `carried` is in parts of a micro-unit, from minus half to half a
 * micro-unit.
 * @returns the rounded amounts, and the remainder to carry to the next charge
 */
export function roundTogether(
  amounts: readonly Exact[],
  carried: number,
): { readonly prices: readonly Micros[]; readonly carried: number } {
  let sum = carried
  let rounded = 0
  const prices = amounts.map(({ whole, part }) => {
    const before = rounded
    sum += part
    rounded = Math.floor((sum + partsPerMicro / 2) / partsPerMicro)
    return whole + rounded - before
  })
  return { prices, carried: sum - rounded * partsPerMicro }
}
