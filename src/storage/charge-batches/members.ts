import {
  type Charge,
  type ChargeRule,
  factMembers,
  type TierSource,
  type ChargeItemFacts,
} from '../../domain/charge.ts'
import type { Columns } from '../../domain/shapes/member.ts'

const { id: _, keyId, user, group, rule: __, ...plain } = factMembers

/** Who pays: of a charge's facts. */
export const payerMembers = { keyId, user, group } as const
/** What for, without the rule, which is JSON and is in the text as it is. */
export const termMembers = plain

/** Of a segment with one charge: what sums by SQL need of it. */
export const aloneColumns = ['at', 'key_id', 'user_name', 'model', 'currency', 'amount'] as const

/** Items of a segment's text by the names of their columns in `charge`. */
export type Payer = Columns<typeof payerMembers>
export type Terms = Columns<typeof termMembers> & {
  readonly rule: ChargeRule
  readonly delivery: Charge['delivery']
  /** Of each line what is not counted. */
  readonly lines: readonly (readonly [
    tier: string,
    source: TierSource,
    flags: readonly string[],
    told?: ChargeItemFacts,
  ])[]
}
