import type { Micros } from '../util/units.ts'

/** Who gets an answer that is kept: the key whose request made it, all keys of its user, all of its group. */
export const cacheScopes = ['key', 'user', 'group'] as const
export type CacheScope = (typeof cacheScopes)[number]

/** Fields that name who asks, and change no answer. */
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
