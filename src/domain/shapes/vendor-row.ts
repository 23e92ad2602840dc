import { money, text, type Values, whole } from './member.ts'
import { usageMembers } from './usage-row.ts'

/** The costs that vendors report for the requests of one model on one UTC day, next to the amounts charged here. */
export const vendorMembers = {
  day: usageMembers.day,
  model: text('model'),
  currency: text('currency'),
  /** Requests with a reported cost: settled ones, and voided ones that were free. */
  charges: whole('charges'),
  /** Settled requests without a reported cost. */
  untold: whole('untold'),
  /** The charged amount of the requests with a reported cost. */
  ours: money('ours'),
  theirs: money('theirs'),
} as const

export type VendorRow = Values<typeof vendorMembers>
