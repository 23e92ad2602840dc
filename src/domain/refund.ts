import type { Micros } from '../util/units.ts'

/** What of a charge was given back, by whom and why. */
export type Refund = {
  readonly amount: Micros
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly by: string
  readonly reason: string | null
}
