import {
  foreignOrNull,
  json,
  moment,
  momentOrNull,
  money,
  moneyOrNull,
  oneOf,
  text,
  textOrNull,
  texts,
  type Values,
  whole,
  wholeOrNull,
} from './shapes/member.ts'
import type { Micros } from '../util/units.ts'
import type { PriceConditions } from './usage.ts'

export const chargeStates = ['reserved', 'settled', 'voided', 'needs_review'] as const
export type ChargeState = (typeof chargeStates)[number]
/** The source of a tier: the response's report, the returned bytes, the requested size, or none of them. */
export const tierSources = ['told', 'output', 'request', 'default'] as const
export type TierSource = (typeof tierSources)[number]

/** The tier of a line with a price that a person decided; the line also has it as a flag. */
export const decidedTier = 'decided'

/** The members of a charge item, in the order of its columns. */
export const chargeItemMembers = {
  index: whole('idx'),
  tier: text('tier'),
  source: oneOf('source', tierSources),
  /** Pixels decoded from the returned bytes; null where none could be read. */
  width: wholeOrNull('width'),
  height: wholeOrNull('height'),
  price: money('price'),
  /** Irregularities of this line: `undecodable`, `over_return`, `estimated`. */
  flags: texts('flags'),
  /** The counted number of `tier` units; null for an image. */
  quantity: wholeOrNull('quantity'),
} as const

/** Facts in the response that determined the price of a line. */
export type ChargeItemFacts = {
  /** Width and height in pixels. */
  readonly size?: { readonly width: number; readonly height: number }
  /** By name, from the family's description. */
  readonly facts?: { readonly [name: string]: string }
}

/** One priced item that the upstream returned. */
export type ChargeItem = Values<typeof chargeItemMembers> & { readonly told?: ChargeItemFacts }

export function amountOfItems(lines: readonly Pick<ChargeItem, 'price'>[]): Micros {
  return lines.reduce((total, { price }) => total + price, 0)
}

/** The facts of a charge at its opening, in the order of its columns; enough to rate it again later. */
export const factMembers = {
  /** The request's id. */
  id: text('id'),
  keyId: text('key_id'),
  user: text('user_name'),
  group: text('group_name'),
  operation: text('operation'),
  model: text('model'),
  family: text('family'),
  upstream: text('upstream'),
  configRevision: text('config_revision'),
  currency: text('currency'),
  /** As the client sent it; null if absent. */
  size: foreignOrNull('size'),
  quality: foreignOrNull('quality'),
  n: whole('n'),
  /** All data for the rating except the returned bytes: tier rows, prices, sources, their places in the file. */
  rule: json('rule', {}, (rule: ChargeRule) => rule),
} as const

export type ChargeFacts = Values<typeof factMembers> & {
  /** Ids of its end user and tags (`labels.ts`); absent without any. */
  readonly attribution?: string | null
}

/** The course of a charge, and its end. */
export const courseMembers = {
  state: oneOf('state', chargeStates),
  reason: textOrNull('reason'),
  hold: money('hold'),
  amount: money('amount'),
  /** The sum of refund entries in the ledger, read with the row. */
  refunded: money('refunded'),
  createdAt: moment('created_at'),
  endedAt: momentOrNull('ended_at'),
  /** The cost that the upstream reports; null if it reports none. */
  vendorCost: moneyOrNull('vendor_cost'),
  delivery: oneOf('delivery', ['unconfirmed', 'partial', 'confirmed']),
} as const

/**
 * The rule of a charge, stored with it so that it can be explained and replayed after the configuration has changed.
 * `kind` identifies the plugin that reads the rest, which is JSON.
 */
export type ChargeRule = {
  readonly kind: string
  readonly warnings: readonly string[]
  /** The request buys nothing from an upstream. If its gateway dies, the charge is voided, without a review. */
  readonly nothingBought?: true
  readonly [fact: string]: unknown
}

/**
 * The saved amount of a charge: `full` in its rule is the regular price of the same response; absent for most charges.
 */
export function savedBy({ full }: Readonly<Record<string, unknown>>, amount: Micros): Micros {
  return typeof full === 'number' ? Math.max(0, full - amount) : 0
}

/** The price of one unit. */
export type UnitRow = {
  /** A name of `src/domain/usage.ts`. */
  readonly unit: string
  /** Micro-units of money for `per` units. */
  readonly price: Micros
  readonly per: number
  readonly at: string
}

/** Prices by usage: tokens, characters, seconds, requests, calls of tools. */
export type UsageRule = {
  readonly kind: 'usage'
  readonly prices: readonly UnitRow[]
  /** The first entry whose conditions hold replaces the prices that it lists, for the whole request. */
  readonly overrides?: readonly { readonly if: PriceConditions; readonly prices: readonly UnitRow[] }[]
  /** Factors for the whole request; each applies if its conditions hold. */
  readonly times?: readonly { readonly if: PriceConditions; readonly by: string; readonly at: string }[]
  /**
   * Lines contain every reported count, priced or not; absent for charges of versions that stored only priced counts.
   */
  readonly counts?: 'all'
  /** The group's factor at the time of the charge, as a decimal string. */
  readonly multiplier: string
  readonly warnings: readonly string[]
}

/** A price and its place in the file. */
export type PriceRow = { readonly price: Micros; readonly at: string }

/** Prices per image by size tiers, and prices of additional items. */
export type TierRule = {
  readonly kind: 'tiers'
  readonly tiers: readonly (PriceRow & {
    readonly tier: string
    readonly longEdgeMax: number | null
    /** Width × height, inclusive; absent if the long edge decides. */
    readonly pixelsMax?: number | null
  })[]
  readonly tierFrom: readonly ('told' | 'output' | 'request')[]
  /** The tier, or the name of the price, of an image if no source gives one. */
  readonly otherwise: string
  /** The tier of the requested size, if it has one. */
  readonly requestedTier: string | null
  /** The largest tier that the family expects in responses; absent if any tier may occur. */
  readonly largestOutput?: string
  readonly warnings: readonly string[]
  /**
   * Present if the requested size costs more than the actual image: the actual tier, and a size with the same result.
   */
  readonly cheaper?: { readonly tier: string; readonly size: string }
  /** The names whose values select the price of an image; absent if the tier selects it. */
  readonly by?: readonly string[]
  /** Prices of an image by the values of `by`, joined by a space; absent if the tiers have the prices. */
  readonly prices?: readonly (PriceRow & { readonly label: string })[]
  /** Requested values that prices depend on, by name; absent for none. */
  readonly asked?: { readonly [name: string]: string }
  /** The names whose values responses report; the response takes precedence over the request. */
  readonly facts?: readonly string[]
  /** The size of the requested images, in pixels. */
  readonly askedSize?: { readonly width: number; readonly height: number }
  readonly times?: readonly PriceFactor[]
  readonly lines?: readonly ChargeItemRule[]
  /** Prices of responses that are refusals, by the name of the price. */
  readonly refusals?: readonly (PriceRow & { readonly name: string })[]
}

/** A factor of the price of an image. It applies if all its conditions hold. */
export type PriceFactor = {
  readonly if: { readonly [name: string]: string | readonly string[] }
  /** A decimal with at most six places. */
  readonly by: string
}

/**
 * An item that is charged in addition to images. Quantities are whole numbers: pictures, steps, tokens, pixels,
 * milliseconds.
 */
export type ChargeItemRule = PriceRow & {
  readonly per: 'input_image' | 'request' | 'megapixel' | 'step' | 'second' | 'token'
  /** The name of its price, and the tier of its lines. */
  readonly name: string
  /** The quantity that the price is for. */
  readonly unit: number
  /** Once for the request, or with every image. */
  readonly once: boolean
  /** Partial units are rounded up. */
  readonly whole?: true
  /** The price of the first unit of each picture, if it differs. */
  readonly first?: PriceRow & { readonly name: string }
  /** The field with the quantity; absent if the output's pixels decide, or the request did. */
  readonly from?: string
  /** The quantity of the request: per picture, or in total for other items. Absent if unknown. */
  readonly asked?: readonly number[]
  /** The quantity if no source gives it. */
  readonly otherwise?: number
  /**
   * The rule if the response reports no quantity: the maximum is used, and the charge is settled or left for review.
   */
  readonly missing?: 'estimate' | 'review'
  /** Each of several responses to the request reports its own quantity, up to the maximum. */
  readonly each?: true
  /** The maximum charged quantity: per picture, or in total for other items. */
  readonly max?: number
  /** The family's number of free pictures, if pictures are counted; absent for none. */
  readonly free?: number
  readonly fields?: readonly string[]
}

export type Charge = ChargeFacts &
  Values<typeof courseMembers> & {
    /**
     * The part of the hold that the key's budget holds now: until the charge ends, or a person has decided about it.
     */
    readonly held: Micros
    readonly lines: readonly ChargeItem[]
  }

/** An ended charge, for plugins and metrics. */
export type EndedCharge = ChargeFacts & Pick<Charge, 'state' | 'amount' | 'lines'>
