import type { ExtraLinePrice } from './extra-line-price.ts'
import type { SizeMismatch } from './explanation.ts'
import type { PriceConditions } from './usage.ts'

/** The list of all prices, computed by the functions that also charge. Money is a decimal string in `currency`. */
export type PriceList = { readonly currency: string; readonly models: readonly PricedModel[] }

export type PricedModel = {
  readonly name: string
  readonly family: string
  readonly operations: readonly string[]
  readonly free: boolean
  /** The day from which its vendor no longer serves it; absent if unknown. */
  readonly ends?: string
  /** Notes for clients, in sentences of each language. */
  readonly notes: { readonly en: readonly string[]; readonly zh: readonly string[] }
  /** Prices per image; null if images are not charged. */
  readonly images: ImagePrices | null
  /** Prices by unit; empty if only images are charged, and for free models. */
  readonly units: readonly UnitPrice[]
  /** Prices that replace those of `units`: the first entry whose conditions hold applies. */
  readonly overrides: readonly UnitOverride[]
  /** Factors of token prices; each applies if its conditions hold. */
  readonly times: readonly UnitFactor[]
}

export type ImagePrices = {
  /** In ascending order of long edge or pixels; one entry per combination if several values decide. */
  readonly tiers: readonly TierPrice[]
  /**
   * The sources of the tier, in this order: the size that the response reports, the returned image, the requested
   * size.
   */
  readonly tierFrom: readonly ('told' | 'output' | 'request')[]
  /** The tier if no source gives one. */
  readonly otherwise: string
  /** The names whose values select the price; absent if the tier selects it. */
  readonly by?: readonly string[]
  /** Factors of the price of an image, each with its condition. */
  readonly times?: readonly { readonly when: string; readonly by: string }[]
  /** Items that are charged in addition to images; absent without any. */
  readonly beside?: readonly (Omit<ExtraLinePrice, 'price'> & { readonly price: string })[]
  /** The prices of common sizes. */
  readonly sizes: readonly SizePrice[]
  /** Names of sizes that may be requested instead of pixels. */
  readonly labels: readonly string[]
}

export type TierPrice = {
  readonly tier: string
  /** In pixels; null for the last tier, which has no limit. */
  readonly longEdgeMax: number | null
  /** Width × height, if tiers depend on that; null for the last tier. */
  readonly pixelsMax?: number | null
  readonly price: string
  readonly reach: TierReach
}

/**
 * Whether images of a tier occur. If the image decides, the sizes in the family's table show it: all have about as many
 * pixels, so no long edge is shorter than the square's (`never`), and a longer one needs a shape that is not in the
 * table (`rare`). The reason is a sentence of each language.
 */
export type TierReach =
  | { readonly kind: 'yes' }
  | { readonly kind: 'never' | 'rare'; readonly reason: { readonly en: string; readonly zh: string } }

/** The price of one image of a size in one operation. */
export type SizePrice = {
  readonly operation: string
  /** As sent; null without a size. */
  readonly asked: string | null
  /** `<width>x<height>`; null without a row in the family's table. */
  readonly comesBack: string | null
  /** The resulting resolution; null if the family has no resolutions. */
  readonly resolution: string | null
  /** The resulting aspect ratio, as `16:9`; null if the model picks it, or it is not known. */
  readonly ratio: string | null
  /** Null if only the returned image shows it. */
  readonly tier: string | null
  readonly price: string | null
  readonly warning: string | null
  readonly mismatch: SizeMismatch | null
}

export type UnitPrice = {
  /** `input`, `cached_input`, `output`, `character`, `second`, `search_unit`, `request`. */
  readonly unit: string
  readonly price: string
  /** The number of units that the price is for. */
  readonly per: number
}

export type UnitOverride = { readonly if: PriceConditions; readonly units: readonly UnitPrice[] }

/** `by` is a decimal. */
export type UnitFactor = { readonly if: PriceConditions; readonly by: string }
