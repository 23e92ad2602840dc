import type { OpenCharges } from './stores.ts'
import { formatMoney } from '../util/units.ts'

/** Charges with an unknown outcome that wait for a person. */
export type ReviewStatus = {
  readonly count: number
  /** The amount still held for them, by currency, as decimal text. */
  readonly held: readonly { readonly currency: string; readonly amount: string }[]
}

/** Sums the open charges that wait for a person. */
export function sumReviews(open: readonly OpenCharges[]): ReviewStatus {
  const reviews = open.filter(({ state }) => state === 'needs_review')
  return {
    count: reviews.reduce((sum, one) => sum + one.count, 0),
    held: reviews.map(({ currency, hold }) => ({ currency, amount: formatMoney(hold) })),
  }
}
