import { money, text, type Values, whole } from './member.ts'
import * as schemas from './schemas.ts'
import { computed, shownOf, viewOf } from './view.ts'

const dayMs = 86_400_000
const asItIs = (day: string): string => day

/** The usage of one model by one key on one UTC day. */
export const usageMembers = {
  /** As in `2026-11-21`; in its column the days since the epoch. */
  day: {
    column: 'day',
    schema: schemas.text,
    read: (cell: unknown): string => new Date(Number(cell) * dayMs).toISOString().slice(0, 10),
    write: (day: string): number => Date.parse(day) / dayMs,
    show: asItIs,
    parse: asItIs,
  },
  user: text('user_name'),
  keyId: text('key_id'),
  model: text('model'),
  requests: whole('requests'),
  images: whole('images'),
  /** As in the log; for rows that are added up, as in the log at that time. */
  inputTokens: whole('input_tokens'),
  outputTokens: whole('output_tokens'),
  currency: text('currency'),
  amount: money('amount'),
  /** The refunded part of `amount`. */
  refunded: money('refunded'),
} as const

export type UsageRow = Values<typeof usageMembers>

/** The dimensions of the sums. */
type Place = Pick<UsageRow, 'day' | 'user' | 'keyId' | 'model' | 'currency'>
/** The summed values. */
export type UsageCounts = Omit<UsageRow, keyof Place>

const nothing: UsageCounts = { requests: 0, images: 0, inputTokens: 0, outputTokens: 0, amount: 0, refunded: 0 }
const counts = Object.keys(nothing) as (keyof UsageCounts)[]

/** A row with zero sums. */
export function beginUse(place: Place): UsageRow {
  return { ...place, ...nothing }
}

/** Adds values to a row. */
export function addUse(row: UsageRow, more: Partial<UsageCounts>): UsageRow {
  return { ...row, ...Object.fromEntries(counts.map(name => [name, row[name] + (more[name] ?? 0)])) }
}

const own = shownOf(usageMembers, (row: UsageRow) => row)

/** The JSON form of a row of usage in the console's API. */
export const usageView = viewOf<UsageRow>()({
  day: computed({ ...schemas.text, description: 'UTC day, such as 2026-11-21.' }, (row: UsageRow) => row.day),
  user: own('user'),
  key_id: own('keyId'),
  model: own('model'),
  requests: own('requests'),
  images: own('images'),
  input_tokens: own('inputTokens'),
  output_tokens: own('outputTokens'),
  currency: own('currency'),
  amount: own('amount'),
  refunded: own('refunded'),
})
