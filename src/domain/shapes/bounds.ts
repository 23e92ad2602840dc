import { type BudgetPeriod, showPeriod } from '../budget-period.ts'
import type { Limits } from '../model.ts'
import { formatMoney, type Micros } from '../../util/units.ts'
import { limitsSchema, showLimits } from './limits.ts'
import * as schemas from './schemas.ts'

/** The maximum of a setting, and the administrator who set it. */
export type Bound<T> = { readonly to: T; readonly by: string }

/** The settings that can have a bound, with the type of the maximum. */
export type BoundValues = {
  readonly budget: { readonly amount: Micros; readonly per: BudgetPeriod }
  readonly limits: Limits
  readonly models: readonly string[]
  readonly ips: readonly string[]
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** Disabled by an administrator: only an administrator can enable it again. */
  readonly status: 'disabled'
}

export type BoundName = keyof BoundValues

/** The bounds for changes by a key's holder, each with the administrator who set it. Absent: no bounds. */
export type KeyBounds = { readonly [B in BoundName]?: Bound<BoundValues[B]> }

/** Bounds that a user may have for all keys that they create or change themselves. */
export type UserBounds = Pick<KeyBounds, 'budget' | 'limits' | 'models' | 'ips' | 'expiresAt'>

function boundSchema<const S extends object>(to: S) {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['to', 'by'],
    properties: { to, by: schemas.text },
  } as const
}

const budget = {
  type: 'object',
  additionalProperties: false,
  required: ['amount', 'per', 'resets_on'],
  properties: { amount: schemas.text, per: schemas.period, resets_on: schemas.resetsOnOrNull },
} as const

const ofUser = {
  budget: boundSchema(budget),
  limits: boundSchema(limitsSchema),
  models: boundSchema(schemas.texts),
  ips: boundSchema(schemas.texts),
  expires: boundSchema(schemas.moment),
} as const

export const userBoundsSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Bounds for the keys that the user creates or changes. `to` is the maximum, `by` the administrator who set it. A setting without a bound is absent.',
  properties: ofUser,
} as const

export const keyBoundsSchema = {
  type: 'object',
  additionalProperties: false,
  description:
    'Bounds for changes by the owner of the key. `to` is the maximum, `by` the administrator who set it. A setting without a bound is absent.',
  properties: {
    ...ofUser,
    status: boundSchema({ type: 'string', enum: ['disabled'] } as const),
  },
} as const

export function showUserBounds({ budget, limits, models, ips, expiresAt }: UserBounds) {
  return {
    ...(budget && {
      budget: { to: { amount: formatMoney(budget.to.amount), ...showPeriod(budget.to.per) }, by: budget.by },
    }),
    ...(limits && { limits: { to: showLimits(limits.to), by: limits.by } }),
    ...(models && { models }),
    ...(ips && { ips }),
    ...(expiresAt && { expires: { to: new Date(expiresAt.to).toISOString(), by: expiresAt.by } }),
  }
}

export function showKeyBounds({ status, ...shared }: KeyBounds) {
  return {
    ...showUserBounds(shared),
    ...(status && { status }),
  }
}
