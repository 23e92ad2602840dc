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

/** An imagined request, which plugins quote in the pipeline's order: nothing is held or sent for it. */
export type Imagined = {
  readonly operation: string
  /** What is known of the operation; undefined where no route has it. */
  readonly traits: OperationTraits | undefined
  readonly model: Model
  readonly family: Family
  /** As the caller would send it. */
  readonly body: Body
  /** As it would go upstream, as far as the plugins above have shaped it. */
  readonly out: Body
  /** What the plugins above have given, as in a request. */
  readonly slots: Slots
  /** Assumed use, and whose factor applies; as in `ImaginedRequest`. */
  readonly uses?: { readonly [unit: string]: number }
  readonly multiplier?: string
}

/** What a plugin knows of a request before it is made; each part where there is one. */
export type Quote = {
  /** The body as this plugin sends it on. */
  readonly out?: Body
  /** Fields that it does not send on. */
  readonly dropped?: readonly string[]
  /** What comes back, in the words of the explanation. */
  readonly expected?: {
    /** `<width>x<height>` */
    readonly size: string | null
    readonly resolution: string | null
    readonly ratio: string | null
  }
  readonly price?: PriceQuote
  readonly warnings?: readonly string[]
  readonly mismatch?: SizeMismatch | null
  /** How the model's answers are kept, where this plugin keeps them. */
  readonly kept?: CachePolicy
}

/** What a request costs as far as it can be known before it is made. */
export type PriceQuote = {
  /** How many things of one price are requested. */
  readonly n: number
  /** The row of the prices that is expected; null where only the answer decides. */
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
  /** Every row that one may come to; none where what is used is priced by the unit. */
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
  /** What the model is offered for. */
  readonly operations: readonly string[]
  /** What the plugins above have given. */
  readonly slots: Slots
  /** What would become of a request for this model. @throws Failure the one that a caller would be answered with */
  explain(this: void, request: Omit<ImaginedRequest, 'model'>): RequestExplanation
}

/** What one plugin charges for a model, for the page of prices. */
export type Prices = {
  /** By the image. */
  readonly images?: ImagePrices
  /** By what is used. */
  readonly units?: readonly UnitPrice[]
  /** As `PricedModel` has them. */
  readonly overrides?: readonly UnitOverride[]
  readonly times?: readonly UnitFactor[]
}
