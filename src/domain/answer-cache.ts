import type { Awaitable } from '../util/awaitable.ts'
import type { Micros } from '../util/units.ts'

/** Who gets an answer that is kept: the key whose request made it, all keys of its user, all of its group. */
export const cacheScopes = ['key', 'user', 'group'] as const
export type CacheScope = (typeof cacheScopes)[number]

/** Fields that name the caller, and change no answer. */
export const attributionFields = ['user', 'safety_identifier', 'metadata', 'labels', 'prompt_cache_key'] as const

/** How answers of a model are kept for equal requests. */
export type CachePolicy = {
  readonly forMs: number
  readonly per: CacheScope
  /** Of all keys that do not opt out, or of those alone that opt in. */
  readonly keys: 'all' | 'opted_in'
  /** Answers that are images are kept too. */
  readonly images: boolean
  /** Fields of the request that need not be equal. */
  readonly ignore: ReadonlySet<string>
  /** What a hit costs: an amount, and a part of what the answer has cost, in millionths. Both 0: nothing. */
  readonly hit: { readonly each: Micros; readonly timesMicros: number; readonly at: string }
}

/** What the cache did for a request: `hit`, `miss` (and its answer may be kept), or `bypass` (it may not). */
export const cacheResults = ['hit', 'miss', 'bypass'] as const
export type CacheResult = (typeof cacheResults)[number]

/** Whose cached answers are meant; what is absent is not restricted. */
export type PurgeScope = { readonly model?: string; readonly keyId?: string }

/** Cached answers of requests that began up to `at` are not used any more. An empty text is all. */
export type AnswerPurge = { readonly model: string; readonly keyId: string; readonly at: number }

export type PurgeStore = {
  /** Writes it to the audit trail too. Every gateway on the storage heeds it within a second. */
  add(scope: PurgeScope, by: string, reason: string | null): Promise<void>
  list(): Awaitable<readonly AnswerPurge[]>
}

/** Texts that all processes share, for a while. */
export type SharedTexts = {
  /** Undefined if there is none, or the store does not answer. Never rejects. */
  get(key: string): Promise<string | undefined>
  /** Never rejects: what the store does not take is not there. */
  put(key: string, text: string, ms: number): Promise<void>
}

/** Rounded half up, in whole numbers: their product may be larger than a double holds. */
export function priceOfHit({
  full,
  each,
  timesMicros,
}: {
  /** What the answer has cost when it was requested from the upstream. */
  readonly full: Micros
  readonly each: Micros
  readonly timesMicros: number
}): Micros {
  return each + Number((BigInt(full) * BigInt(timesMicros) + 500_000n) / 1_000_000n)
}
