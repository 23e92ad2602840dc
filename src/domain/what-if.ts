import type { Incomparable } from './reprice.ts'
import type { Micros } from '../util/units.ts'

export type CostSpan = { readonly since: number; readonly until: number }

/** The charged amount and the amount at other prices, without refunds. */
export type CostPair = { readonly charges: number; readonly before: Micros; readonly after: Micros }

/** `name` is null for all names beyond the maximum number. */
export type CostPairOf = CostPair & { readonly name: string | null }

/** Charges whose cost at other prices is unknown, and their amount. */
export type NotComparable = {
  readonly reason: Incomparable
  readonly model: string | null
  readonly currency: string
  readonly charges: number
  readonly cost: Micros
}

/** The charges of a time range at other prices. Money in micro-units of `currency`. */
export type WhatIf = CostSpan &
  CostPair & {
    readonly currency: string
    readonly byModel: readonly CostPairOf[]
    readonly byGroup: readonly CostPairOf[]
    readonly byUser: readonly CostPairOf[]
    readonly notComparable: readonly NotComparable[]
    /** Models that are free now and would cost money. There are no charges for their requests. */
    readonly uncounted: readonly string[]
  }
