import { moneyText } from '../../util/units.ts'
import { monthDayMax, periodText, type ResetDay, resetDays, rollingMax } from '../budget-period.ts'

// JSON Schemas of single values in responses and requests.

export const text = { type: 'string' } as const
export const textOrNull = { type: ['string', 'null'] } as const
export const texts = { type: 'array', items: text } as const
export const textsOrNull = { type: ['array', 'null'], items: text } as const
export const whole = { type: 'integer', minimum: 0 } as const
export const wholeOrNull = { type: ['integer', 'null'] } as const
export const number = { type: 'number' } as const
export const truth = { type: 'boolean' } as const
/** ISO 8601 with a zone. */
export const moment = { type: 'string', format: 'date-time' } as const
export const momentOrNull = { type: ['string', 'null'], format: 'date-time' } as const

/** The period of a budget, without its reset day. */
export const period = {
  type: 'string',
  pattern: periodText.source,
  description: `Period of the budget: total, day, week, month, or the last 2 to ${rollingMax} days, such as 7d.`,
} as const
const dayOrNull: readonly (ResetDay | null)[] = [...resetDays, null]
export const resetsOnOrNull = {
  type: ['string', 'integer', 'null'],
  enum: dayOrNull,
  description: `First day of the period: a weekday for a week (default monday), 1 to ${monthDayMax} for a month (default 1). Null for other periods.`,
} as const

export const decimal = moneyText.source

/** A name that people choose, without control characters, which logs and terminals would interpret. */
export const label = { type: 'string', minLength: 1, maxLength: 100, pattern: String.raw`^[^\p{Cc}\p{Cf}]+$` } as const

/** Amounts by currency. */
export const moneyList = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['currency', 'amount'],
    properties: { currency: text, amount: text },
  },
} as const
