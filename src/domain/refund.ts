import type { Micros } from '../util/units.ts'

/** One refund of a charge, with its author and reason. */
export type Refund = {
  readonly amount: Micros
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly by: string
  readonly reason: string | null
}

export type PartialRefund = {
  /** The amount; by default all that is left. */
  readonly amount?: Micros
  /** The expected sum of earlier refunds; nothing is refunded if it differs. This makes a repeated refund safe. */
  readonly refunded?: Micros
}
