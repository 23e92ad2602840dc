import {
  type Charge,
  type ChargeRule,
  factMembers,
  type TierSource,
  type ChargeItemFacts,
} from '../../domain/charge.ts'
import type { Columns } from '../../domain/shapes/member.ts'

const { id: _, keyId, user, group, rule: __, ...plain } = factMembers

/** The members of the payer, which are part of a charge's facts. */
export const payerMembers = { keyId, user, group } as const
/** The terms without the rule, which is JSON and is stored as text. */
export const termMembers = plain

/** The columns of a charge batch with one charge that sums in SQL need. */
export const aloneColumns = ['at', 'key_id', 'user_name', 'model', 'currency', 'amount'] as const

/** Items of a charge batch's text by the names of their columns in `charge`. */
export type Payer = Columns<typeof payerMembers> & {
  /** Ids of labels; absent without any. */
  readonly attribution?: string
}
export type Terms = Columns<typeof termMembers> & {
  readonly rule: ChargeRule
  readonly delivery: Charge['delivery']
  /** The lines without prices and quantities. */
  readonly lines: readonly (readonly [
    tier: string,
    source: TierSource,
    flags: readonly string[],
    told?: ChargeItemFacts,
  ])[]
}
