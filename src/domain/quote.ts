import type { CachePolicy } from './answer-cache.ts'
import type { ExtraLinePrice } from './extra-line-price.ts'
import type { Body } from './body.ts'
import type { TierSource } from './charge.ts'
import type { ImaginedRequest, RequestExplanation, SizeMismatch } from './explanation.ts'
import type { Family, Model } from './model.ts'
import type { OperationTraits } from './operation.ts'
import type { ImagePrices, UnitFactor, UnitOverride, UnitPrice } from './price-list.ts'
import type { Slots } from './slots.ts'
import type { Micros } from '../util/units.ts'

/** A hypothetical request for quotes. Plugins quote in the pipeline's order; nothing is held or sent. */
export type Imagined = {
  readonly operation: string
  /** The known traits of the operation; undefined if no route has it. */
  readonly traits: OperationTraits | undefined
  readonly model: Model
  readonly family: Family
  /** The body as the client would send it. */
  readonly body: Body
  /** The body for the upstream, as changed by earlier plugins. */
  readonly out: Body
  /** The slots of earlier plugins, as in a request. */
  readonly slots: Slots
  /** Assumed usage, the start, and the group whose factor applies; as in `ImaginedRequest`. */
  readonly uses?: { readonly [unit: string]: number }
  readonly at: number
  readonly multiplier?: string
}

/** A plugin's prediction for a request, without parts that do not apply. */
export type Quote = {
  /** The body as this plugin sends it on. */
  readonly out?: Body
  /** Fields that it removes. */
  readonly dropped?: readonly string[]
  /** The expected result, in the terms of the explanation. */
  readonly expected?: {
    /** `<width>x<height>` */
    readonly size: string | null
    readonly resolution: string | null
    readonly ratio: string | null
  }
  readonly price?: PriceQuote
  readonly warnings?: readonly string[]
  readonly mismatch?: SizeMismatch | null
  /** The caching of the model's responses, if this plugin caches them. */
  readonly kept?: CachePolicy
}

/** The expected cost of a request. */
export type PriceQuote = {
  /** The number of requested items of one price. */
  readonly n: number
  /** The expected price row; null if only the response decides. */
  readonly tier: string | null
  readonly source: TierSource | null
  /** The price of one item. */
  readonly price: Micros | null
  /** `file:line` of that price. */
  readonly priceAt: string | null
  /** The expected amount for all items; null if only the response decides. */
  readonly expected: Micros | null
  /** The amount that is held before the upstream is called. */
  readonly atMost: Micros
  /** Every price row that may apply to an item; empty for usage priced by unit. */
  readonly prices: readonly { readonly tier: string; readonly price: Micros }[]
  /** Prices by unit, their factors, and the known quantity of each; absent if nothing is counted. */
  readonly units?: readonly {
    readonly unit: string
    readonly price: Micros
    readonly per: number
    readonly at: string
    readonly times: readonly string[]
    readonly quantity: number | null
    readonly amount: Micros | null
  }[]
  /** Items that are charged in addition; absent without any. */
  readonly beside?: readonly ExtraLinePrice[]
  /** Whether it is charged only if the prices of earlier plugins are not; else in addition to them. */
  readonly instead?: boolean
}

/** A request for the prices of a model. */
export type PriceAsk = {
  readonly model: Model
  readonly family: Family
  /** The operations that the model offers. */
  readonly operations: readonly string[]
  /** The slots of earlier plugins. */
  readonly slots: Slots
  /** Predicts a request for this model. @throws Failure the one that a client would get */
  explain(this: void, request: Omit<ImaginedRequest, 'model'>): RequestExplanation
}

/** One plugin's prices for a model, for the price page. */
export type Prices = {
  /** Prices per image. */
  readonly images?: ImagePrices
  /** Prices by usage. */
  readonly units?: readonly UnitPrice[]
  /** As in `PricedModel`. */
  readonly overrides?: readonly UnitOverride[]
  readonly times?: readonly UnitFactor[]
}
