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
/** Where a tier came from: what the answer reports, the bytes that came back, the requested size, or none of them. */
export const tierSources = ['told', 'output', 'request', 'default'] as const
export type TierSource = (typeof tierSources)[number]

/** The tier of a line whose price a person has decided; such a line has it for a flag too. */
export const decidedTier = 'decided'

/** The members of a line, in the order of its columns. */
export const chargeItemMembers = {
  index: whole('idx'),
  tier: text('tier'),
  source: oneOf('source', tierSources),
  /** Pixels decoded from the returned bytes; null where none could be read. */
  width: wholeOrNull('width'),
  height: wholeOrNull('height'),
  price: money('price'),
  /** What is odd about this one: `undecodable`, `over_return`, `estimated`. */
  flags: texts('flags'),
  /** How many of what `tier` names were used, where things are counted and not taken one by one; null for an image. */
  quantity: wholeOrNull('quantity'),
} as const

/** What the answer said of itself that a line was rated by. */
export type ChargeItemFacts = {
  /** Width and height in pixels. */
  readonly size?: { readonly width: number; readonly height: number }
  /** By the names that the family's description gives them. */
  readonly facts?: { readonly [name: string]: string }
}

/** One priced thing that the upstream returned. */
export type ChargeItem = Values<typeof chargeItemMembers> & { readonly told?: ChargeItemFacts }

export function amountOfItems(lines: readonly Pick<ChargeItem, 'price'>[]): Micros {
  return lines.reduce((total, { price }) => total + price, 0)
}

/** What is known of a charge when it is opened, in the order of its columns; enough to rate it again later. */
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
  /** As the caller sent them; null when absent. */
  size: foreignOrNull('size'),
  quality: foreignOrNull('quality'),
  n: whole('n'),
  /** Everything the rating needs besides the returned bytes: tier rows, prices, sources, their places in the file. */
  rule: json('rule', {}, (rule: ChargeRule) => rule),
} as const

export type ChargeFacts = Values<typeof factMembers> & {
  /** Ids of its end user and tags (`labels.ts`); absent without any. */
  readonly attribution?: string | null
}

/** What becomes of a charge. */
export const courseMembers = {
  state: oneOf('state', chargeStates),
  reason: textOrNull('reason'),
  hold: money('hold'),
  amount: money('amount'),
  /** A sum of the ledger's entries, read with the row. */
  refunded: money('refunded'),
  createdAt: moment('created_at'),
  endedAt: momentOrNull('ended_at'),
  /** The cost that the upstream reports; null if it reports none. */
  vendorCost: moneyOrNull('vendor_cost'),
  delivery: oneOf('delivery', ['unconfirmed', 'partial', 'confirmed']),
} as const

/**
 * The rule of a charge, kept with it so that it can be explained and replayed when the configuration has moved on. `kind`
 * names the plugin that reads the rest, which is JSON.
 */
export type ChargeRule = {
  readonly kind: string
  readonly warnings: readonly string[]
  /** The request buys nothing from an upstream. If its gateway dies, the charge is voided, and no person need decide. */
  readonly nothingBought?: true
  readonly [fact: string]: unknown
}

/** What a charge has saved: `full` of its rule is what the same response would have cost; absent for most charges. */
export function savedBy({ full }: Readonly<Record<string, unknown>>, amount: Micros): Micros {
  return typeof full === 'number' ? Math.max(0, full - amount) : 0
}

/** The price of one unit. */
export type UnitRow = {
  /** A name of `src/domain/usage.ts`. */
  readonly unit: string
  /** Micro-units of money for `per` of them. */
  readonly price: Micros
  readonly per: number
  readonly at: string
}

/** Prices by what was used: tokens, characters, seconds, requests, calls of tools. */
export type UsageRule = {
  readonly kind: 'usage'
  readonly prices: readonly UnitRow[]
  /** The first whose conditions hold replaces those prices that it names, for the whole request. */
  readonly overrides?: readonly { readonly if: PriceConditions; readonly prices: readonly UnitRow[] }[]
  /** Factors of the whole request; all apply whose conditions hold. */
  readonly times?: readonly { readonly if: PriceConditions; readonly by: string; readonly at: string }[]
  /** Lines hold every count that was reported, priced or not; absent for charges of versions that kept only what was priced. */
  readonly counts?: 'all'
  /** The group's factor at that time, as a decimal string. */
  readonly multiplier: string
  readonly warnings: readonly string[]
}

/** A price that can be applied, and its place. */
export type PriceRow = { readonly price: Micros; readonly at: string }

/** Prices by tiers of size, one image at a time, and of what is charged in addition. */
export type TierRule = {
  readonly kind: 'tiers'
  readonly tiers: readonly (PriceRow & {
    readonly tier: string
    readonly longEdgeMax: number | null
    /** Width × height, the bound included; absent where the long edge decides. */
    readonly pixelsMax?: number | null
  })[]
  readonly tierFrom: readonly ('told' | 'output' | 'request')[]
  /** The tier, or the name of the price, of an image for which nothing gives one. */
  readonly otherwise: string
  /** The tier that the requested size gives, when it gives one. */
  readonly requestedTier: string | null
  /** The largest tier that the family expects to come back; absent where any may. */
  readonly largestOutput?: string
  readonly warnings: readonly string[]
  /** The requested size is dearer than what is made of it: the tier of that, and a size with the same result. */
  readonly cheaper?: { readonly tier: string; readonly size: string }
  /** The names that the price of an image is looked up by; absent for its tier. */
  readonly by?: readonly string[]
  /** Prices of an image by the values of `by`, joined by a blank; absent if they are with the tiers. */
  readonly prices?: readonly (PriceRow & { readonly label: string })[]
  /** The names of the request that prices depend on; absent without any. */
  readonly asked?: { readonly [name: string]: string }
  /** Those names that answers report; the answer takes precedence over the request. */
  readonly facts?: readonly string[]
  /** The size of the requested images, in pixels. */
  readonly askedSize?: { readonly width: number; readonly height: number }
  readonly times?: readonly PriceFactor[]
  readonly lines?: readonly ChargeItemRule[]
  /** What answers cost that are refusals, by the name of the price. */
  readonly refusals?: readonly (PriceRow & { readonly name: string })[]
}

/** A factor of the price of an image, where all its conditions hold. */
export type PriceFactor = {
  readonly if: { readonly [name: string]: string | readonly string[] }
  /** A decimal of at most six places. */
  readonly by: string
}

/** Something that is charged in addition to images. Quantities are whole numbers: pictures, steps, tokens, pixels, milliseconds. */
export type ChargeItemRule = PriceRow & {
  readonly per: 'input_image' | 'request' | 'megapixel' | 'step' | 'second' | 'token'
  /** The name of its price, which its lines have for a tier. */
  readonly name: string
  /** How much of a quantity the price is for. */
  readonly unit: number
  /** Once for the request, or with every image. */
  readonly once: boolean
  /** Parts of a unit count as a whole one. */
  readonly whole?: true
  /** Of the first unit of a picture, where that has a price of its own. */
  readonly first?: PriceRow & { readonly name: string }
  /** The field with the quantity; absent if the pixels of the output decide, or the request has given it. */
  readonly from?: string
  /** The quantity of the request: for each picture or, of anything else, in total. Absent if unknown. */
  readonly asked?: readonly number[]
  /** The quantity if nothing gives it. */
  readonly otherwise?: number
  /** Where an answer reports no quantity at all: it is estimated as the most, and settled or left to a person. */
  readonly missing?: 'estimate' | 'review'
  /** The most that a line is charged. */
  readonly max?: number
  /** The number of free pictures, where pictures are counted, by the family; absent without one. */
  readonly free?: number
  readonly fields?: readonly string[]
}

export type Charge = ChargeFacts &
  Values<typeof courseMembers> & {
    /** How much of its hold the key's budget holds now: until the charge ends, or a person has decided about it. */
    readonly held: Micros
    readonly lines: readonly ChargeItem[]
  }

/** A charge as it ends, for plugins and metrics. */
export type EndedCharge = ChargeFacts & Pick<Charge, 'state' | 'amount' | 'lines'>
