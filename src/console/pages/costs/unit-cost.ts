import { units } from '../../../domain/usage.ts'
import { amountOf } from '../../money.ts'
import type { Part } from './currency-costs.ts'

const million = 1_000_000

type Counts = Pick<Part, 'net' | 'images' | 'quantity' | 'tokens'>
type Average = { readonly amount: string; readonly per: number }

/**
 * The average cost of an image, or of a number of units, after refunds. `unit`: null if a part has several; the unit is
 * then a token. Undefined if images and units are mixed, or nothing was counted.
 */
export function unitCostOf({ net, images, quantity, tokens }: Counts, unit: string | null): Average | undefined {
  if (images > 0) return tokens > 0 || quantity > 0 ? undefined : averageOf(net, images, 1)
  return unit === null ? averageOf(net, tokens, million) : averageOf(net, quantity, units.get(unit)?.per ?? 1)
}

export const unitsOfCosts = ['image', 'tokens', 'request'] as const
export type UnitOfCosts = (typeof unitsOfCosts)[number]

/** The average costs of an image, of a million tokens and of a request; undefined if others are mixed with them. */
export function unitCostsOf(part: Counts & Pick<Part, 'charges'>): {
  readonly [unit in UnitOfCosts]: string | undefined
} {
  const { net, images, tokens, charges } = part
  return {
    image: tokens > 0 || images === 0 ? undefined : averageOf(net, images, 1)?.amount,
    tokens: images > 0 ? undefined : averageOf(net, tokens, million)?.amount,
    request: averageOf(net, charges, 1)?.amount,
  }
}

function averageOf(net: bigint, count: number, per: number): Average | undefined {
  if (count <= 0) return undefined
  const [all, many] = [net * BigInt(per), BigInt(count)]
  return { amount: amountOf((2n * all + many) / (2n * many)), per }
}
