import { money, text, type Values, whole } from './member.ts'
import { usageMembers } from './usage-row.ts'

/** What the vendors of one model report as their charge for the requests of one day of UTC, next to what was charged here. */
export const vendorMembers = {
  day: usageMembers.day,
  model: text('model'),
  currency: text('currency'),
  /** Those with a reported cost: settled ones, and voided ones that were free. */
  charges: whole('charges'),
  /** Settled ones of which it did not. */
  untold: whole('untold'),
  /** Of those of which it did. */
  ours: money('ours'),
  theirs: money('theirs'),
} as const

export type VendorRow = Values<typeof vendorMembers>
