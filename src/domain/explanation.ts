import type { CacheScope } from './answer-cache.ts'
import type { Json } from './json.ts'

/** A request that has not been made yet. Values as a client would send them; undefined for none. */
export type ImaginedRequest = {
  readonly model: string
  readonly operation: string
  readonly size: string | undefined
  readonly quality: string | undefined
  /** Undefined of what is no image: then no prompt is made up either. */
  readonly n: number | undefined
  /** More fields of its body, or others than these. */
  readonly fields?: { readonly [name: string]: Json }
  /** Assumed use by unit: `input`, `output`. */
  readonly uses?: { readonly [unit: string]: number }
  /** Whose multiplier applies, where prices know one; 1 by default. */
  readonly multiplier?: string
  /** Names that the caller's group gives to models. */
  readonly aliases?: ReadonlyMap<string, string> | undefined
}

/** What would become of a request, and what it would cost: by the same functions that the gateway itself runs. */
export type RequestExplanation = {
  readonly model: string
  /** The name that the caller used for it; null for its own. */
  readonly alias: string | null
  readonly family: string
  readonly operation: string
  readonly upstream: string
  readonly route: string | null
  readonly forwarded: readonly string[]
  readonly dropped: readonly string[]
  /** Fields that the upstream gets in addition to or instead of the caller's. */
  readonly sent: { readonly [field: string]: Json }
  /** The expected pixels by the family's table; null without a row. */
  readonly expected_size: string | null
  /** The resolution label that the family makes of the size, if it has resolutions. */
  readonly expected_resolution: string | null
  /** The resulting shape, as `16:9`; null where the model picks it, or it is not known. */
  readonly expected_ratio: string | null
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
    /** Prices of what is used, where things are counted, and the cost of the given quantities. */
    readonly units?: readonly {
      readonly unit: string
      readonly price: string
      readonly per: number
      readonly price_at: string
      readonly quantity: number | null
      readonly amount: string | null
    }[]
    /** Items that are charged in addition; absent without any. */
    readonly beside?: readonly {
      readonly name: string
      /** What is counted. */
      readonly per: string
      /** How many of its quantity the price is for. */
      readonly unit: number
      readonly price: string
      readonly price_at: string
      readonly once: boolean
    }[]
  } | null
  /** Whether and after which failures it is sent again; null where the model has no `retry_on`. */
  readonly retry: {
    readonly on: readonly (string | number)[]
    readonly attempts: number
    /** Also if it may have been sold; otherwise only if it was certainly not. */
    readonly if_sold: boolean
  } | null
  /** Whether equal requests get this answer later; null if it is not cached. */
  readonly cache: {
    readonly for_ms: number
    /** Whose requests share it. */
    readonly per: CacheScope
    readonly keys: 'all' | 'opted_in'
    /** A hit costs `each`, plus `times` what the answer has cost; both 0 for nothing. */
    readonly each: string
    readonly times: string
    readonly price_at: string
    /** Of a hit of the expected answer; null where only the answer decides. */
    readonly expected: string | null
  } | null
  /** The models that may answer instead, in their order; absent for none. */
  readonly fallbacks?: readonly ExplainedFallback[]
  readonly warnings: readonly string[]
  /** The values of a size warning, for texts in other languages. */
  readonly mismatch: SizeMismatch | null
}

/** What a fallback of the model would get, or why it would not get the request. */
export type ExplainedFallback =
  | (Pick<RequestExplanation, 'model' | 'upstream' | 'operation' | 'dropped' | 'sent'> & {
      /** What it may cost; null if it is free. */
      readonly at_most: string | null
    })
  | { readonly model: string; readonly refused: string }

/** The requested size and the returned picture differ in price. Sizes as `<width>x<height>`. */
export type SizeMismatch = {
  /**
   * `ignored`: the picture sets the price, whatever size was requested. `dearer`: the requested size sets the price, and the
   * picture is of a cheaper tier. `other`: the requested size sets the price, and the picture is of another tier.
   */
  readonly kind: 'ignored' | 'dearer' | 'other'
  readonly asked: string
  /** The tier that is charged. */
  readonly billed: string
  /** The tier of what is made. */
  readonly made: string
  /** Its pixels; null without a row in the family's table. */
  readonly returned: string | null
  /** Of `dearer`: a size that comes to the same and is charged the tier that is made. */
  readonly cheaper: string | null
}
