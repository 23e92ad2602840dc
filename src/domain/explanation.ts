import type { CacheScope } from './answer-cache.ts'
import type { Json } from './json.ts'

/** A hypothetical request, with values as a client would send them; undefined for none. */
export type ImaginedRequest = {
  readonly model: string
  readonly operation: string
  readonly size: string | undefined
  readonly quality: string | undefined
  /** Undefined for requests without images; then no prompt is generated either. */
  readonly n: number | undefined
  /** Additional or replacing fields of its body. */
  readonly fields?: { readonly [name: string]: Json }
  /** Assumed usage by unit: `input`, `output`. */
  readonly uses?: { readonly [unit: string]: number }
  /** When it begins, in milliseconds since the epoch, for prices that depend on the time; now by default. */
  readonly at?: number
  /** The group whose multiplier applies, if prices use one; 1 by default. */
  readonly multiplier?: string
  /** Model aliases of the client's group. */
  readonly aliases?: ReadonlyMap<string, string> | undefined
}

/** The predicted handling and cost of a request, computed by the functions that serve real requests. */
export type RequestExplanation = {
  readonly model: string
  /** The client's name for it; null if it is the model's own name. */
  readonly alias: string | null
  readonly family: string
  readonly operation: string
  readonly upstream: string
  readonly route: string | null
  readonly forwarded: readonly string[]
  readonly dropped: readonly string[]
  /** Fields that the upstream gets in addition to, or instead of, the client's. */
  readonly sent: { readonly [field: string]: Json }
  /** The expected pixels by the family's table; null if the table has no row. */
  readonly expected_size: string | null
  /** The family's resolution label for the size; null if the family has no resolutions. */
  readonly expected_resolution: string | null
  /** The resulting aspect ratio, as `16:9`; null if the model picks it, or it is not known. */
  readonly expected_ratio: string | null
  readonly quote: {
    readonly currency: string
    readonly n: number
    readonly tier: string | null
    readonly source: string | null
    readonly price: string | null
    readonly price_at: string | null
    readonly expected: string | null
    /** The amount that is held before the upstream is called. */
    readonly at_most: string
    readonly prices: { readonly [tier: string]: string }
    /** Prices of counted usage, the factors that apply to them, and the cost of the known quantities. */
    readonly units?: readonly {
      readonly unit: string
      readonly price: string
      readonly per: number
      readonly price_at: string
      readonly times: readonly string[]
      readonly quantity: number | null
      readonly amount: string | null
    }[]
    /** Items that are charged in addition; absent for none. */
    readonly beside?: readonly {
      readonly name: string
      /** The counted unit. */
      readonly per: string
      /** The quantity that the price is for. */
      readonly unit: number
      readonly price: string
      readonly price_at: string
      readonly once: boolean
    }[]
  } | null
  /** The failures after which it is sent again; null if the model has no `retry_on`. */
  readonly retry: {
    readonly on: readonly (string | number)[]
    readonly attempts: number
    /** Whether it is sent again even if it may have been sold. */
    readonly if_sold: boolean
  } | null
  /** The caching of the response for equal requests; null if it is not cached. */
  readonly cache: {
    readonly for_ms: number
    /** The keys that share the response. */
    readonly per: CacheScope
    readonly keys: 'all' | 'opted_in'
    /** The price of a hit: `each`, plus `times` the answer's original cost; both 0 for free. */
    readonly each: string
    readonly times: string
    readonly price_at: string
    /** The price of a hit for the expected response; null if only the response decides. */
    readonly expected: string | null
  } | null
  /** The models that may answer instead, in their order; absent for none. */
  readonly fallbacks?: readonly ExplainedFallback[]
  readonly warnings: readonly string[]
  /** The values of a size warning, for texts in other languages. */
  readonly mismatch: SizeMismatch | null
}

/** The request that a fallback model would get, or the reason why it would get none. */
export type ExplainedFallback =
  | (Pick<RequestExplanation, 'model' | 'upstream' | 'operation' | 'dropped' | 'sent'> & {
      /** The maximum cost; null if it is free. */
      readonly at_most: string | null
    })
  | { readonly model: string; readonly refused: string }

/** The requested size and the returned image have different prices. Sizes as `<width>x<height>`. */
export type SizeMismatch = {
  /**
   * `ignored`: the returned image determines the price, whatever size was requested. `dearer`: the requested size
   * determines the price, and the image has a cheaper tier. `other`: the requested size determines the price, and the
   * image has another tier.
   */
  readonly kind: 'ignored' | 'dearer' | 'other'
  readonly asked: string
  /** The tier that is charged. */
  readonly billed: string
  /** The tier of the returned image. */
  readonly made: string
  /** The size of the returned image; null if the family's table has no row. */
  readonly returned: string | null
  /** For `dearer`: a size with the same result that is charged at the actual tier. */
  readonly cheaper: string | null
}
