import { units } from '../../../domain/usage.ts'
import { amountOf } from '../../money.ts'
import type { Part } from './sheets.ts'

const million = 1_000_000

/**
 * The average cost of an image, or of so many units, after refunds. `unit`: null if a part has several; then tokens are
 * the unit. Undefined if images and units are mixed, or nothing was counted.
 */
export function unitCostOf(
  { net, images, quantity, tokens }: Pick<Part, 'net' | 'images' | 'quantity' | 'tokens'>,
  unit: string | null,
): { readonly amount: string; readonly per: number } | undefined {
  if (images > 0) return tokens > 0 || quantity > 0 ? undefined : averageOf(net, images, 1)
  return unit === null ? averageOf(net, tokens, million) : averageOf(net, quantity, units.get(unit)?.per ?? 1)
}

function averageOf(net: bigint, count: number, per: number) {
  if (count <= 0) return undefined
  const [all, many] = [net * BigInt(per), BigInt(count)]
  return { amount: amountOf((2n * all + many) / (2n * many)), per }
}
