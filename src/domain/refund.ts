import type { Micros } from '../util/units.ts'

/** One refund of a charge, by whom and why. */
export type Refund = {
  readonly amount: Micros
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly by: string
  readonly reason: string | null
}

export type PartialRefund = {
  /** All that is left by default. */
  readonly amount?: Micros
  /** What was refunded before: if it is another amount, nothing is. Makes a repeated refund safe. */
  readonly refunded?: Micros
}
