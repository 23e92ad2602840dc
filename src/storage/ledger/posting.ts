import type { ChargeFacts, Line, Settlement } from '../../kit/index.ts'

/** A charge that is known wholly: what it is for, and what it comes to. */
export type Posting = {
  readonly facts: ChargeFacts
  readonly lines: readonly Line[]
  readonly delivery: Settlement['delivery']
  readonly at: number
}
