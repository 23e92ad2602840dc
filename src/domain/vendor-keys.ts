import type { Awaitable } from '../util/awaitable.ts'
import type { PlainPeriod } from './budget-period.ts'
import type { VendorKey } from './model.ts'
import type { CompiledConfig } from './compiled-config.ts'
import type { Micros } from '../util/units.ts'

export const keyStates = ['active', 'cooling', 'suspended'] as const
export type KeyState = (typeof keyStates)[number]
export const keyReasons = ['invalid', 'no_credit', 'operator', 'limited', 'model'] as const
export type KeyReason = (typeof keyReasons)[number]

/** The state of a key, or of one model of it. */
export type KeyStatus = {
  readonly upstream: string
  readonly key: string
  /** The model of this state; '' for all models. */
  readonly model: string
  readonly hash: string
  readonly state: KeyState
  readonly reason: KeyReason | null
  /** The vendor's machine-readable words: `401 invalid_api_key`. */
  readonly code: string | null
  /** Milliseconds since the epoch, as all times here. */
  readonly since: number
  /** The time when it is used or tried again; null if only a person decides. */
  readonly until: number | null
  /** The number of consecutive limit refusals or failed probes. */
  readonly tries: number
  readonly changedAt: number
}

/**
 * The outcomes of a request with a key. `refused`: because of the client's request; `unable`: because of the vendor's
 * current state; `unreached`: never sent; `unknown`: may have been sold.
 */
export const keyOutcomes = [
  'answered',
  'refused',
  'invalid',
  'no_credit',
  'limited',
  'model',
  'unable',
  'unreached',
  'unknown',
] as const
export type KeyOutcome = (typeof keyOutcomes)[number]
export type KeyOutcomes = { readonly [outcome in KeyOutcome]: number }

/**
 * The amount spent with a key in one period. `from`: the start of the period, as in a `PeriodSpending`; 0 for the
 * lifetime.
 */
export type KeySpending = {
  readonly upstream: string
  readonly key: string
  readonly per: PlainPeriod
  readonly from: number
  readonly spent: Micros
}

/** The report about an upstream's key. Times are milliseconds since the epoch. */
export type KeyReport = {
  readonly name: string
  /** The end of its secret; empty for a short one. */
  readonly hint: string
  /** The state of the whole key, or active if only some models are affected. */
  readonly state: KeyState
  /** Whether it is active, has a weight, and has budget left. */
  readonly isAvailable: boolean
  readonly reason: KeyReason | null
  /** The vendor's message. */
  readonly code: string | null
  /** The reason of the person who suspended it. */
  readonly note: string | null
  readonly since: number | null
  /** The time when it is used or tried again; null if it is in use, or if only a person decides. */
  readonly until: number | null
  readonly weight: number
  /** The models that it serves; null for all. */
  readonly serves: readonly string[] | null
  readonly limits: { readonly [kind in 'rpm' | 'tpm' | 'concurrency']: number | null }
  readonly budget: {
    readonly amount: Micros
    readonly per: PlainPeriod
    readonly spent: Micros
    readonly renews: number | null
  } | null
  /** The models for which it is currently not used. */
  readonly resting: readonly Pick<KeyStatus, 'model' | 'code' | 'since' | 'until'>[]
  /** The number of requests that used it in this process since the start. */
  readonly requests: number
  /** The outcomes of these requests in the last hour. */
  readonly lately: KeyOutcomes
}

/**
 * The keys of an upstream that are in use, including or excluding one key. If all of them are suspended or have spent
 * their budgets, no key is left.
 */
export type OtherKeys = readonly Pick<VendorKey, 'name' | 'hash' | 'budget'>[]

/** A person's decision about a vendor key. */
export type KeyDecision = {
  readonly upstream: string
  readonly key: string
  readonly hash: string
  readonly state: 'suspended' | 'active'
  /** The time when it is used again automatically; null: a person has to resume it. */
  readonly until: number | null
  /** The reason, in one line. */
  readonly note: string | null
  /** Undefined for a key without weight, which is not used anyway. */
  readonly others: OtherKeys | undefined
}

/** The result of a free probe of a key. */
export type KeyTrial = {
  readonly upstream: string
  readonly key: string
  /** `unclear`: the path does not exist, which proves nothing about the key. */
  readonly result: 'good' | 'bad' | 'unclear'
  /** The response: a status with the vendor's code, or the reason why there was none. */
  readonly answer: string
  /** The address of the probe, called with GET. */
  readonly path: string
  readonly ms: number
}

/** Stores the states of vendor keys, for restarts and other processes. */
export type VendorKeyStore = {
  list(): Awaitable<readonly KeyStatus[]>
  /**
   * If two changes of a state conflict, the one with the later `changedAt` wins; a person's decision wins over both.
   * Writes an event when the key is suspended or active again, and when it was the last active one of its upstream.
   */
  put(status: KeyStatus, others?: OtherKeys): Promise<void>
  /**
   * Stores a person's decision for all gateways on the storage, and its row of the audit log. False: the key to resume
   * is already in use.
   */
  decide(decision: KeyDecision, by: string): Promise<boolean>
  spent(): Awaitable<readonly KeySpending[]>
  /** Adds to the lifetime sum, and to the day and the month of `at`. */
  spend(spending: {
    readonly upstream: string
    readonly key: string
    readonly amount: Micros
    readonly at: number
    /** The key's budget, and the keys in use, for the event that reports a spent budget. Absent if no event is sent. */
    readonly bound?: { readonly budget: NonNullable<VendorKey['budget']>; readonly others: OtherKeys | undefined }
  }): Promise<void>
}

/** The models of each upstream that runs any. */
export function modelsByUpstream({ models }: Pick<CompiledConfig, 'models'>): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>()
  for (const { name, upstreams } of models.values())
    for (const upstream of new Set(upstreams.map(one => one.upstream.name))) {
      const own = names.get(upstream)
      if (own) own.push(name)
      else names.set(upstream, [name])
    }
  return names
}

/** All keys of all upstreams. */
export function keysOf({ upstreams }: Pick<CompiledConfig, 'upstreams'>): readonly VendorKey[] {
  return [...upstreams.values()].flatMap(({ keys = [] }) => keys)
}

/** A person's decision about a vendor key of a configuration, in the form for the storage. */
export function decisionOn(
  plan: Pick<CompiledConfig, 'upstreams'>,
  key: VendorKey,
  word: Pick<KeyDecision, 'state' | 'until' | 'note'>,
): KeyDecision {
  return { upstream: key.upstream.name, key: key.name, hash: key.hash, ...word, others: othersOf(plan, key) }
}

/** The keys of a key's upstream that are in use, including the key itself; undefined if the key is not in use. */
export function othersOf({ upstreams }: Pick<CompiledConfig, 'upstreams'>, key: VendorKey): OtherKeys | undefined {
  if (key.weight === 0) return undefined
  const { keys = [] } = upstreams.get(key.upstream.name) ?? {}
  return keys.flatMap(({ name, hash, weight, budget }) =>
    weight === 0 ? [] : { name, hash, ...(budget && { budget }) },
  )
}
