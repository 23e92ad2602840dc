import type { Incomparable } from './reprice.ts'
import type { Micros } from '../util/units.ts'

export type CostSpan = { readonly since: number; readonly until: number }

/** What charges came to, and what they would have: less what was given back. */
export type CostPair = { readonly charges: number; readonly before: Micros; readonly after: Micros }

/** `name` is null for all that came after the bound of names. */
export type CostPairOf = CostPair & { readonly name: string | null }

/** Charges whose cost by other prices is not known, and what they cost. */
export type NotComparable = {
  readonly reason: Incomparable
  readonly model: string | null
  readonly currency: string
  readonly charges: number
  readonly cost: Micros
}

/** The charges of some time under other prices. Money in micro-units of `currency`. */
export type WhatIf = CostSpan &
  CostPair & {
    readonly currency: string
    readonly byModel: readonly CostPairOf[]
    readonly byGroup: readonly CostPairOf[]
    readonly byUser: readonly CostPairOf[]
    readonly notComparable: readonly NotComparable[]
    /** Models that cost nothing now and would: there are no charges of their requests. */
    readonly uncounted: readonly string[]
  }
