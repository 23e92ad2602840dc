import type { Awaitable } from '../util/awaitable.ts'
import type { PlainPeriod } from './budget-period.ts'
import type { Model, VendorKey } from './model.ts'
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
  /** Milliseconds since the epoch, as are the others. */
  readonly since: number
  /** When it is used, or tried, again; null if only a person decides. */
  readonly until: number | null
  /** The number of consecutive limit refusals or failed probes. */
  readonly tries: number
  readonly changedAt: number
}

/**
 * The outcomes of a request that is sent with a key: `refused` is for what the caller sent, `unable` for what the vendor
 * cannot do now; `unreached` was never sent, `unknown` may have been sold.
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

/** The amount spent with a key in one period; `from` is its name, as of a `Spell`, and 0 for its lifetime. */
export type KeySpending = {
  readonly upstream: string
  readonly key: string
  readonly per: PlainPeriod
  readonly from: number
  readonly spent: Micros
}

/** One key of an upstream, for people. Moments are milliseconds since the epoch. */
export type KeyReport = {
  readonly name: string
  /** The end of its secret; empty for a short one. */
  readonly hint: string
  /** The state of the whole key, or active if only some models are affected. */
  readonly state: KeyState
  /** It is active, has a weight, and its budget has room. */
  readonly isAvailable: boolean
  readonly reason: KeyReason | null
  /** The vendor's message. */
  readonly code: string | null
  /** The reason of the person who suspended it. */
  readonly note: string | null
  readonly since: number | null
  /** When it is used or tried again; null if it is in use, or if only a person decides. */
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
  /** Models that it is not used for now. */
  readonly resting: readonly Pick<KeyStatus, 'model' | 'code' | 'since' | 'until'>[]
  /** Requests that used it here since the start. */
  readonly requests: number
  /** The outcomes of these requests in the last hour. */
  readonly lately: KeyOutcomes
}

/**
 * The keys of an upstream that are used besides one, which may be among them: where each of them is suspended or has spent its
 * budget too, none is left.
 */
export type OtherKeys = readonly Pick<VendorKey, 'name' | 'hash' | 'budget'>[]

/** A person's decision about a vendor key. */
export type KeyDecision = {
  readonly upstream: string
  readonly key: string
  readonly hash: string
  readonly state: 'suspended' | 'active'
  /** When it is used again by itself; null for when a person resumes it. */
  readonly until: number | null
  /** Why, in one line. */
  readonly note: string | null
  /** Absent for a key that is not used anyhow. */
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
   * Of two that change one, the later `changedAt` wins, and a person's decision wins over both. Writes an event when the key is
   * suspended or active again, and when it was the last active one of its upstream.
   */
  put(status: KeyStatus, others?: OtherKeys): Promise<void>
  /** A person's decision, for all gateways on the storage, with its row of the audit trail. False: it is in use already. */
  decide(decision: KeyDecision, by: string): Promise<boolean>
  spent(): Awaitable<readonly KeySpending[]>
  /** Adds to the lifetime sum, and to the day and the month of `at`. */
  spend(spending: {
    readonly upstream: string
    readonly key: string
    readonly amount: Micros
    readonly at: number
    /** What the key may spend, and which keys are used next to it: an event reports that it is spent. Absent where none is sent. */
    readonly bound?: { readonly budget: NonNullable<VendorKey['budget']>; readonly others: OtherKeys | undefined }
  }): Promise<void>
}

/** The models that run on an upstream. */
export function modelsOn({ models }: Pick<CompiledConfig, 'models'>, name: string): readonly string[] {
  const isHere = (model: Model): boolean => model.upstreams.some(({ upstream }) => upstream.name === name)
  return [...models.values()].filter(isHere).map(model => model.name)
}

/** All keys of all upstreams. */
export function keysOf({ upstreams }: Pick<CompiledConfig, 'upstreams'>): readonly VendorKey[] {
  return [...upstreams.values()].flatMap(({ keys = [] }) => keys)
}

/** A person's decision about a vendor key of a compiled config, as the storage takes it. */
export function decisionOn(
  plan: Pick<CompiledConfig, 'upstreams'>,
  key: VendorKey,
  word: Pick<KeyDecision, 'state' | 'until' | 'note'>,
): KeyDecision {
  return { upstream: key.upstream.name, key: key.name, hash: key.hash, ...word, others: othersOf(plan, key) }
}

/** The keys of one's upstream that are in use, it among them; undefined where that one is not. */
export function othersOf({ upstreams }: Pick<CompiledConfig, 'upstreams'>, key: VendorKey): OtherKeys | undefined {
  if (key.weight === 0) return undefined
  const { keys = [] } = upstreams.get(key.upstream.name) ?? {}
  return keys.flatMap(({ name, hash, weight, budget }) =>
    weight === 0 ? [] : { name, hash, ...(budget && { budget }) },
  )
}
