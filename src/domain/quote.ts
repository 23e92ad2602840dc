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

/** A hypothetical request that plugins quote in the pipeline's order: nothing is held or sent for it. */
export type Imagined = {
  readonly operation: string
  /** What is known of the operation; undefined where no route has it. */
  readonly traits: OperationTraits | undefined
  readonly model: Model
  readonly family: Family
  /** As the client would send it. */
  readonly body: Body
  /** As it would go upstream, as far as the plugins above have shaped it. */
  readonly out: Body
  /** Slots that earlier plugins have put, as in a request. */
  readonly slots: Slots
  /** Assumed usage, and the group whose factor applies; as in `ImaginedRequest`. */
  readonly uses?: { readonly [unit: string]: number }
  readonly multiplier?: string
}

/** A plugin's prediction for a request; parts that do not apply are absent. */
export type Quote = {
  /** The body as this plugin sends it on. */
  readonly out?: Body
  /** Fields that it does not send on. */
  readonly dropped?: readonly string[]
  /** The expected result, in the words of the explanation. */
  readonly expected?: {
    /** `<width>x<height>` */
    readonly size: string | null
    readonly resolution: string | null
    readonly ratio: string | null
  }
  readonly price?: PriceQuote
  readonly warnings?: readonly string[]
  readonly mismatch?: SizeMismatch | null
  /** How the model's responses are cached, if this plugin caches them. */
  readonly kept?: CachePolicy
}

/** The predictable cost of a request. */
export type PriceQuote = {
  /** The number of requested items of one price. */
  readonly n: number
  /** The expected price row; null if only the response decides. */
  readonly tier: string | null
  readonly source: TierSource | null
  /** Of one. */
  readonly price: Micros | null
  /** `file:line` of that price. */
  readonly priceAt: string | null
  /** Of all; null where only the answer decides. */
  readonly expected: Micros | null
  /** What is held before the upstream is called. */
  readonly atMost: Micros
  /** Every price row that may apply to an item; none for usage priced by unit. */
  readonly prices: readonly { readonly tier: string; readonly price: Micros }[]
  /** Prices by unit, and the given quantity of each; absent if nothing is counted. */
  readonly units?: readonly {
    readonly unit: string
    readonly price: Micros
    readonly per: number
    readonly at: string
    readonly quantity: number | null
    readonly amount: Micros | null
  }[]
  /** Items that are charged in addition; absent without any. */
  readonly beside?: readonly ExtraLinePrice[]
}

/** A model whose prices are requested. */
export type PriceAsk = {
  readonly model: Model
  readonly family: Family
  /** The operations that the model offers. */
  readonly operations: readonly string[]
  /** Slots that earlier plugins have put. */
  readonly slots: Slots
  /** The prediction for a request for this model. @throws Failure the one that a client would get */
  explain(this: void, request: Omit<ImaginedRequest, 'model'>): RequestExplanation
}

/** One plugin's prices for a model, for the price page. */
export type Prices = {
  /** By the image. */
  readonly images?: ImagePrices
  /** By what is used. */
  readonly units?: readonly UnitPrice[]
  /** As `PricedModel` has them. */
  readonly overrides?: readonly UnitOverride[]
  readonly times?: readonly UnitFactor[]
}
