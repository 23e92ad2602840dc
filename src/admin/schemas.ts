import { decimal, label } from '../domain/shapes/schemas.ts'
import { userMembers } from '../domain/shapes/user.ts'
import { chosenNamePattern, userNamePattern } from '../domain/user-name.ts'
import type { Reason } from './reasons.ts'

// Fields that several endpoints accept or return. Every object rejects unknown fields, so that no client can set a role
// or a balance by sending one.

export { decimal, moment, truth } from '../domain/shapes/schemas.ts'

export const userName = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  pattern: userNamePattern,
} as const
export const chosenName = { ...userName, pattern: chosenNamePattern } as const
export const password = { type: 'string', minLength: 12, maxLength: 128 } as const
/** A password to compare with a hash; a wrong password may have any length. */
export const passwordGuess = { type: 'string', maxLength: 1024 } as const
export const reason = { type: 'string', minLength: 3, maxLength: 500, pattern: String.raw`^[^\p{Cc}]+$` } as const
export const pageLimit = { type: 'integer', minimum: 1, maximum: 200, default: 50 } as const
/** For lists that return all rows without it, as before they had pages. */
export const optionalLimit = {
  type: 'integer',
  minimum: 1,
  maximum: 200,
  description: 'Maximum number of rows. Without it, all rows.',
} as const
export const rowId = { type: 'string', pattern: '^[a-z]+_[0-9a-z]{1,40}$' } as const
/** The `next` of an earlier page, by the list. */
export const cursors = {
  keys: { type: 'string', pattern: '^key_[0-9a-z]{1,40}$' },
  logs: { type: 'string', pattern: '^req_[0-9a-z]{1,40}$' },
  trail: { type: 'string', pattern: '^trail_[0-9a-z]{1,40}$' },
} as const
export const day = {
  type: 'string',
  pattern: String.raw`^\d{4}-\d\d-\d\d$`,
  description: 'A date, such as 2026-11-21.',
} as const
export const month = {
  type: 'string',
  pattern: '^\\d{4}-(0[1-9]|1[0-2])$',
  description: 'Month, such as 2026-11. The default is the current month.',
} as const
export const names = {
  type: 'string',
  minLength: 1,
  maxLength: 1_000,
  // Commas alone would be no filter.
  pattern: '[^,]',
  description: 'One value, or several separated by commas.',
} as const

/** The reason for refusing a text that does not match a pattern, by pattern. */
export const patternReasons: ReadonlyMap<string, Reason> = new Map([
  [label.pattern, 'not_label'],
  [userName.pattern, 'not_user_name'],
  [chosenName.pattern, 'not_chosen_name'],
  [reason.pattern, 'not_line'],
  [rowId.pattern, 'not_id'],
  ...Object.values(cursors).map(({ pattern }): [string, Reason] => [pattern, 'not_position']),
  [day.pattern, 'day'],
  [month.pattern, 'month'],
  [names.pattern, 'missing'],
  [decimal, 'not_decimal'],
])

export const role = userMembers.role.schema
export const userStatus = userMembers.status.schema
