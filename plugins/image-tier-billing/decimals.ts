import type { Micros } from '../../src/kit/index.ts'

/** What so much of something costs: quantity × price ÷ unit, exact, and rounded once, half up. */
export function priceQuantity(quantity: number, price: Micros, unit: number): Micros {
  const exact = 2n * BigInt(quantity) * BigInt(price) + BigInt(unit)
  return Number(exact / (2n * BigInt(unit)))
}

/** A price with factors, each a decimal such as `0.5`: exact, and rounded once, half up. */
export function multiply(price: Micros, factors: readonly string[]): Micros {
  let over = BigInt(price)
  let under = 1n
  for (const factor of factors) {
    const [whole = '', places = ''] = factor.split('.')
    over *= BigInt(whole + places)
    under *= 10n ** BigInt(places.length)
  }
  return Number((2n * over + under) / (2n * under))
}

/** Whether a factor makes dearer. */
export function raises(factor: string): boolean {
  return Number(factor) > 1
}

const decimal = /^(\d{1,9})(?:\.(\d{1,30}))?$/

/** A decimal of any number of places in micro-units, rounded half up; undefined when it is none. */
export function readCost(text: string): Micros | undefined {
  const match = decimal.exec(text)
  if (!match) return undefined
  const [, whole = '', places = ''] = match
  const kept = Number(whole + places.slice(0, 6).padEnd(6, '0'))
  return kept + (Number(places[6] ?? 0) >= 5 ? 1 : 0)
}
