import type { ChargeFacts, ChargeItem, Settlement } from '../../domain/index.ts'
import type { Micros } from '../../util/index.ts'

/** A charge that is known wholly: what it is for, and what it comes to. */
export type Posting = {
  readonly facts: ChargeFacts
  readonly lines: readonly ChargeItem[]
  readonly delivery: Settlement['delivery']
  readonly at: number
  /** What the upstream reports that it charges; absent where it reports nothing. */
  readonly vendorCost?: Micros
}
