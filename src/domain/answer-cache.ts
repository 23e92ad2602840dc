import type { Awaitable } from '../util/awaitable.ts'
import type { Micros } from '../util/units.ts'

/** The keys that share a cached answer: the key of the request, all keys of its user, or all keys of its group. */
export const cacheScopes = ['key', 'user', 'group'] as const
export type CacheScope = (typeof cacheScopes)[number]

/** Fields that identify the client and do not change the answer. */
export const attributionFields = ['user', 'safety_identifier', 'metadata', 'labels', 'prompt_cache_key'] as const

/** The caching of a model's answers for equal requests. */
export type CachePolicy = {
  readonly forMs: number
  readonly per: CacheScope
  /** Applies to all keys that do not opt out, or only to keys that opt in. */
  readonly keys: 'all' | 'opted_in'
  /** Whether image answers are cached too. */
  readonly images: boolean
  /** Fields of the request that may differ. */
  readonly ignore: ReadonlySet<string>
  /** The price of a hit: an amount, plus a share of the answer's original cost in millionths. Both 0: free. */
  readonly hit: { readonly each: Micros; readonly timesMicros: number; readonly at: string }
}

/** The result of the cache for a request: `hit`, `miss` (its answer may be cached), or `bypass` (it may not). */
export const cacheResults = ['hit', 'miss', 'bypass'] as const
export type CacheResult = (typeof cacheResults)[number]

/** Selects cached answers. Absent members match all. */
export type PurgeScope = { readonly model?: string; readonly keyId?: string }

/** Cached answers of requests that began up to `at` are invalid. An empty text matches all. */
export type AnswerPurge = { readonly model: string; readonly keyId: string; readonly at: number }

export type PurgeStore = {
  /** Also writes a row of the audit log. Every gateway on the storage applies it within a second. */
  add(scope: PurgeScope, by: string, reason: string | null): Promise<void>
  list(): Awaitable<readonly AnswerPurge[]>
}

/** Texts that all processes share for a limited time. */
export type SharedTexts = {
  /** Undefined if there is none, or the store is unreachable. Never rejects. */
  get(key: string): Promise<string | undefined>
  /** Never rejects: a value that cannot be stored is dropped. */
  put(key: string, text: string, ms: number): Promise<void>
}

/** The price of a hit, rounded half up. It uses BigInt, because the product may exceed the precision of a double. */
export function priceOfHit({
  full,
  each,
  timesMicros,
}: {
  /** The original cost of the answer at the upstream. */
  readonly full: Micros
  readonly each: Micros
  readonly timesMicros: number
}): Micros {
  return each + Number((BigInt(full) * BigInt(timesMicros) + 500_000n) / 1_000_000n)
}
