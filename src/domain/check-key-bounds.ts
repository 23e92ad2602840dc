import { parseAddressRange } from '../util/address-range.ts'
import { describePeriod, isPeriodWithin, showPeriod } from './budget-period.ts'
import { covers } from './model-names.ts'
import type { Limits } from './model.ts'
import type { FailureValues } from './errors.ts'
import type { BoundName, BoundValues, KeyBounds, UserBounds } from './shapes/bounds.ts'
import type { Key, KeySettings } from './shapes/key.ts'
import { formatMoney } from '../util/units.ts'

// Changes to a key by its holder: an administrator's setting is a bound, and holders may choose any value up to it.
// Changes are judged by the difference between the old key and the new one.

/** The settings of a key that can be chosen. */
export type Chosen = KeySettings & { readonly status: 'active' | 'disabled' }

/** The reason why a holder may not choose these settings. */
export type KeyRefusal = {
  /** The setting's name in requests. */
  readonly field: string
  /** The allowed value, for people: `at most 10.00 a day`. */
  readonly allowed: string
  /** The administrator who set the bound. */
  readonly by: string
  /** The allowed value as data, for a text in another language. */
  readonly values: FailureValues
}

/** A setting with an order: of two values, one may allow more. Null is unlimited. */
type Measure<T> = {
  readonly read: (key: Chosen) => T | null
  /** Whether the first value allows nothing that the second does not. */
  readonly within: (next: T, most: T) => boolean
  readonly describe: (most: T) => string
  readonly values: (most: T) => FailureValues
}

type Measures = { readonly [B in BoundName]: Measure<BoundValues[B]> }

const limitKinds = ['rpm', 'tpm', 'concurrency'] as const

const listed = {
  describe: (most: readonly string[]) => `some of ${most.join(', ')}`,
  values: (most: readonly string[]) => ({ names: most.join(', ') }),
}

export const measures: Measures = {
  budget: {
    // A soft budget is no bound.
    read: ({ budget, budgetPeriod, budgetSoft }) =>
      budget === null || budgetSoft ? null : { amount: budget, per: budgetPeriod },
    within: (next, most) => next.amount <= most.amount && isPeriodWithin(next.per, most.per),
    describe: ({ amount, per }) => `at most ${formatMoney(amount)} ${describePeriod(per)}`,
    values: ({ amount, per }) => ({ amount: formatMoney(amount), ...showPeriod(per) }),
  },
  limits: {
    read: ({ limits }) => (limitKinds.some(kind => limits[kind] !== undefined) ? limits : null),
    within: (next, most) => limitKinds.every(kind => (next[kind] ?? Infinity) <= (most[kind] ?? Infinity)),
    describe: most => `at most ${describeLimits(most)}`,
    values: ({ rpm = null, tpm = null, concurrency = null }) => ({ rpm, tpm, concurrency }),
  },
  models: {
    read: ({ models }) => models,
    // Checked one pattern at a time: whether two patterns together exclude a model is unknown.
    within: (next, most) => next.every(one => most.some(pattern => covers(pattern, one))),
    ...listed,
  },
  ips: {
    read: ({ ips }) => ips,
    within: (next, most) => next.every(one => most.some(range => holds(range, one))),
    describe: most => `addresses within ${most.join(', ')}`,
    values: listed.values,
  },
  expiresAt: {
    read: ({ expiresAt }) => expiresAt,
    within: (next, most) => next <= most,
    describe: most => `at latest ${new Date(most).toISOString()}`,
    values: most => ({ at: new Date(most).toISOString() }),
  },
  status: {
    read: ({ status }) => (status === 'disabled' ? status : null),
    within: () => true,
    describe: () => 'disabled until an administrator enables it',
    values: () => ({}),
  },
}

/** The bound for each setting; `free` for settings without bounds, `never` for settings that holders may not change. */
export const ruleOf: { readonly [M in keyof Chosen]: BoundName | 'free' | 'never' } = {
  name: 'free',
  group: 'never',
  expiresAt: 'expiresAt',
  models: 'models',
  ips: 'ips',
  tags: 'never',
  cache: 'never',
  limits: 'limits',
  budget: 'budget',
  budgetPeriod: 'budget',
  budgetSoft: 'budget',
  status: 'status',
}

const fields: { readonly [B in BoundName]: string } = {
  budget: 'budget',
  limits: 'limits',
  models: 'models',
  ips: 'ips',
  expiresAt: 'expires',
  status: 'status',
}

const boundNames = Object.keys(measures) as BoundName[]

/**
 * Judges a change of a key by its holder, or a new key if `was` is absent. A lower value is allowed even if the key is
 * above a bound that was set later. @returns undefined if the change is allowed.
 */
export function checkKeyBounds(
  was: Chosen | undefined,
  next: Chosen,
  bounds: readonly KeyBounds[],
): KeyRefusal | undefined {
  for (const [member, rule] of Object.entries(ruleOf) as [keyof Chosen, (typeof ruleOf)[keyof Chosen]][]) {
    if (rule === 'free' || (was && isSame(was[member], next[member]))) continue
    if (rule !== 'never') {
      for (const own of bounds) {
        const refusal = judgeOne(rule, was, next, own)
        if (refusal) return refusal
      }
    } else if (was || next[member] !== null) {
      const allowed = was ? 'as it is' : "the user's own"
      return { field: member, allowed, by: 'administrators alone', values: {} }
    }
  }
  return undefined
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

function judgeOne<B extends BoundName>(
  name: B,
  was: Chosen | undefined,
  next: Chosen,
  bounds: Pick<KeyBounds, B>,
): KeyRefusal | undefined {
  const bound = bounds[name]
  if (!bound) return undefined
  const { read, within, describe, values }: Measures[B] = measures[name]
  const { to, by } = bound
  const [before, after] = [was ? read(was) : null, read(next)]
  if (was && isSame(before, after)) return undefined
  const isLess = after !== null && (within(after, to) || (before !== null && within(after, before)))
  return isLess ? undefined : { field: fields[name], allowed: describe(to), by, values: values(to) }
}

/** The bounds of a key that an administrator created: all settings that they gave. */
export function boundsOfNew(by: string, key: Chosen): KeyBounds {
  return boundNames.reduce<KeyBounds>((set, name) => ({ ...set, ...boundOf(name, by, key) }), {})
}

/**
 * The bounds of a key that an administrator changed: the settings that they gave are bounds, even if the value was the
 * same before.
 */
export function boundsOfChanged(by: string, was: Chosen & Pick<Key, 'bounds'>, change: Partial<Chosen>): KeyBounds {
  const changed = new Set(Object.keys(change).map(member => ruleOf[member as keyof Chosen]))
  const next = { ...was, ...change }
  return boundNames.reduce<KeyBounds>(
    (set, name) => ({ ...set, ...(changed.has(name) ? boundOf(name, by, next) : keptOf(name, was.bounds)) }),
    {},
  )
}

/** Bounds that an administrator confirmed: the setting had the same value before, so the change does not show it. */
export function boundsConfirmed(
  was: Chosen & Pick<Key, 'bounds'>,
  became: Chosen & Pick<Key, 'bounds'>,
): { readonly was: KeyBounds; readonly became: KeyBounds } | undefined {
  const names = boundNames.filter(
    name =>
      isSame(measures[name].read(was), measures[name].read(became)) && !isSame(was.bounds[name], became.bounds[name]),
  )
  const some = ({ bounds }: Pick<Key, 'bounds'>) =>
    names.reduce<KeyBounds>((set, name) => ({ ...set, ...keptOf(name, bounds) }), {})
  return names.length === 0 ? undefined : { was: some(was), became: some(became) }
}

/** One bound by its name; undefined if there is none. */
function boundOf(name: BoundName, by: string, key: Chosen): KeyBounds {
  const to = measures[name].read(key)
  return to === null ? {} : { [name]: { to, by } }
}

function keptOf(name: BoundName, bounds: KeyBounds): KeyBounds {
  const kept = bounds[name]
  return kept ? { [name]: kept } : {}
}

/** The maximum settings of keys that a user creates, as given by an administrator. */
export function userBoundsSetBy(by: string, most: Omit<KeySettings, 'name' | 'group'>): UserBounds {
  return boundsOfNew(by, { ...most, name: '', group: null, status: 'active' })
}

/** The settings that a holder gives for a new key, with the maximum for all others. */
export function withinBounds<K extends Partial<KeySettings>>(given: K, bounds: UserBounds): K {
  const { budget, limits, models, ips, expiresAt } = bounds
  return {
    ...given,
    ...(budget && (given.budget ?? null) === null && { budget: budget.to.amount, budgetPeriod: budget.to.per }),
    ...(limits && { limits: { ...limits.to, ...given.limits } }),
    ...(models && (given.models ?? null) === null && { models: models.to }),
    ...(ips && (given.ips ?? null) === null && { ips: ips.to }),
    ...(expiresAt && (given.expiresAt ?? null) === null && { expiresAt: expiresAt.to }),
  }
}

export function describeLimits(limits: Limits): string {
  return limitKinds.flatMap(kind => (limits[kind] === undefined ? [] : [`${kind} ${limits[kind]}`])).join(', ')
}

/** Whether the first range contains every address of the second. An IPv4 address equals its IPv6-mapped form. */
function holds(range: string, inner: string): boolean {
  const [all, one] = [bitsOf(range), bitsOf(inner)]
  return all !== undefined && one !== undefined && one.startsWith(all)
}

/** The significant bits of the 128-bit address, as text; undefined for an invalid range. */
function bitsOf(text: string): string | undefined {
  const range = parseAddressRange(text)
  if (!range) return undefined
  const { address, bits, version } = range
  if (version === 'ipv4') return `${'0'.repeat(80)}${'1'.repeat(16)}${bitsOfIpv4(address)}`.slice(0, 96 + bits)
  // An IPv4-style last part counts as two groups.
  const plain = address
    .split('%', 1)
    .join('')
    .replace(/\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/, last => {
      const own = bitsOfIpv4(last)
      return `${Number.parseInt(own.slice(0, 16), 2).toString(16)}:${Number.parseInt(own.slice(16), 2).toString(16)}`
    })
  const [head = [], tail] = plain.split('::').map(half => (half === '' ? [] : half.split(':')))
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])]
  return groups
    .map(group => Number.parseInt(group, 16).toString(2).padStart(16, '0'))
    .join('')
    .slice(0, bits)
}

function bitsOfIpv4(address: string): string {
  return address
    .split('.')
    .map(part => Number(part).toString(2).padStart(8, '0'))
    .join('')
}
