import type { Json } from './json.ts'

/** A request that has not been made yet. Values as a caller would send them; undefined where nothing is sent. */
export type ImaginedRequest = {
  readonly model: string
  readonly operation: string
  readonly size: string | undefined
  readonly quality: string | undefined
  readonly n: number
}

/** What would become of a request, and what it would cost: by the same functions that the gateway itself runs. */
export type RequestExplanation = {
  readonly model: string
  readonly family: string
  readonly operation: string
  readonly upstream: string
  readonly route: string | null
  readonly forwarded: readonly string[]
  readonly dropped: readonly string[]
  /** Fields that the upstream gets beside or instead of the caller's. */
  readonly sent: { readonly [field: string]: Json }
  /** Pixels that the family's table says will come back; null where it does not say. */
  readonly expected_size: string | null
  readonly quote: {
    readonly currency: string
    readonly n: number
    readonly tier: string | null
    readonly source: string | null
    readonly price: string | null
    readonly price_at: string | null
    readonly expected: string | null
    /** What is held before the upstream is called. */
    readonly at_most: string
    readonly prices: { readonly [tier: string]: string }
  } | null
  readonly warnings: readonly string[]
}
