import { splitPeriod } from '../budget-period.ts'
import { showUserBounds, type UserBounds, userBoundsSchema } from './bounds.ts'
import { flag, json, moment, moneyOrNull, oneOf, period, text, type Values, wholeOrNull } from './member.ts'
import * as schemas from './schemas.ts'
import { computed, shownOf, viewOf } from './view.ts'

// All properties of a user: members and columns, settings, and JSON form.

/** Roles in the console: administrators may do everything; users with the role `user` see only their own data. */
export const roles = ['user', 'viewer', 'billing', 'admin'] as const

export type Role = (typeof roles)[number]

export const userMembers = {
  name: text('name'),
  group: text('group_name'),
  role: oneOf('role', roles),
  status: oneOf('status', ['active', 'disabled']),
  hasPassword: {
    column: 'password_hash',
    schema: schemas.truth,
    read: (cell: unknown): boolean => cell !== null,
    // The hash is written separately, and never read with the rest.
    write: (): string | null => null,
    show: (value: boolean) => value,
    parse: (value: boolean) => value,
  },
  createdAt: moment('created_at'),
  /** The maximum number of keys that the user may create; null for the group's setting. */
  keysMax: wholeOrNull('keys_max'),
  /** The bounds of such a key. */
  keyBounds: json('key_bounds', userBoundsSchema, (bounds: UserBounds) => showUserBounds(bounds)),
  /** The budget of all keys of the user; null for the group's default. */
  budget: moneyOrNull('budget'),
  budgetPeriod: period('budget_period'),
  /** The budget only reports and refuses nothing. */
  budgetSoft: flag('budget_soft'),
  /** The sum of top-ups; null without any: then requests need no balance. */
  balance: moneyOrNull('balance'),
} as const

export type User = Values<typeof userMembers>

/** The settings of a user that can be changed. */
export type UserSettings = Pick<
  User,
  'group' | 'role' | 'status' | 'keysMax' | 'keyBounds' | 'budget' | 'budgetPeriod' | 'budgetSoft'
>

const own = shownOf(userMembers, (user: User) => user)

/** The JSON form of a user in the console's API. */
export const userView = viewOf<User>()({
  name: own('name'),
  role: own('role'),
  group: own('group'),
  status: own('status'),
  has_password: computed(schemas.truth, (user: User) => user.hasPassword),
  created: own('createdAt'),
  keys_max: own('keysMax', 'Maximum number of keys of the user. Null for the setting of the group.'),
  key_bounds: own('keyBounds'),
  budget: own('budget'),
  budget_period: computed(schemas.period, (user: User) => splitPeriod(user.budgetPeriod).per),
  budget_resets_on: computed(schemas.resetsOnOrNull, (user: User) => splitPeriod(user.budgetPeriod).resetsOn),
  budget_soft: own('budgetSoft'),
})
