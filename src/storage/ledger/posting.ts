import type { ChargeFacts, ChargeItem, Settlement } from '../../domain/index.ts'
import type { Micros } from '../../util/index.ts'

/** A charge with a known amount. */
export type Posting = {
  readonly facts: ChargeFacts
  readonly lines: readonly ChargeItem[]
  readonly delivery: Settlement['delivery']
  readonly at: number
  /** The cost that the upstream reports; absent if it reports none. */
  readonly vendorCost?: Micros
}
