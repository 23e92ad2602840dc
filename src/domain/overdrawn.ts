import type { FailureValues } from './errors.ts'
import type { HoldResult } from './stores.ts'
import { formatMoney, type Micros } from '../util/units.ts'

type Overdrawn = Extract<HoldResult, { kind: 'overdrawn' }>

const whose: { readonly [level in Exclude<Overdrawn['level'], 'end_user'>]: string } = {
  key: "the key's budget",
  user: "the user's budget",
  balance: "the user's prepaid balance",
  group: "the group's budget",
}

const whoseOf = ({ level, called = '' }: Overdrawn): string =>
  level === 'end_user' ? `the budget of the end user '${called}'` : whose[level]

/** An exceeded budget as data, for the log. */
export function overdrawnValues(
  { level, called, availableMicros, heldMicros, renewsAt }: Overdrawn,
  hold: Micros,
  currency: string,
): FailureValues {
  return {
    budget: level,
    ...(called !== undefined && { end_user: called }),
    hold: formatMoney(hold),
    available: formatMoney(availableMicros),
    held: formatMoney(heldMicros),
    currency,
    renews: renewsAt === null ? null : new Date(renewsAt).toISOString(),
  }
}

/** The parameters of `insufficient_quota`, for a budget with too little left for a hold. */
export function describeOverdrawn(overdrawn: Overdrawn, hold: Micros, currency: string) {
  const { availableMicros, heldMicros, renewsAt, lastDays } = overdrawn
  const next = renewsAt === null ? '' : new Date(renewsAt).toISOString()
  const renewal =
    lastDays === undefined
      ? next && `; it renews at ${next}`
      : `; it counts the last ${lastDays} days, and the earliest of them no longer at ${next}`
  const held =
    heldMicros === 0
      ? ''
      : ` (${formatMoney(heldMicros)} ${currency} is held for running requests or charges that need review)`
  return {
    whose: whoseOf(overdrawn),
    hold: formatMoney(hold),
    available: formatMoney(availableMicros),
    held,
    currency,
    renewal,
  }
}
