import type { Micros } from './units.ts'

export type ChargeState = 'reserved' | 'settled' | 'voided' | 'needs_review'
/** Where a tier came from: the bytes that came back, the size asked for, or neither. */
export type TierSource = 'output' | 'request' | 'default'

/** The tier of a line whose price a person has decided; such a line has it for a flag too. */
export const decidedTier = 'decided'

/** One priced thing that the upstream returned. */
export type Line = {
  readonly index: number
  readonly tier: string
  readonly source: TierSource
  /** Pixels decoded from the returned bytes; null where none could be read. */
  readonly width: number | null
  readonly height: number | null
  readonly price: Micros
  /** What is odd about this one: `undecodable`, `over_return`, `estimated`. */
  readonly flags: readonly string[]
  /** How many of what `tier` names were used, where things are counted and not taken one by one; null for an image. */
  readonly quantity: number | null
}

/** What is known of a charge when it is opened; enough to rate it again later. */
export type ChargeFacts = {
  /** The request's id. */
  readonly id: string
  readonly keyId: string
  readonly user: string
  readonly group: string
  readonly operation: string
  readonly model: string
  readonly family: string
  readonly upstream: string
  readonly configRevision: string
  readonly currency: string
  /** As the caller sent them; null when absent. */
  readonly size: string | null
  readonly quality: string | null
  readonly n: number
  /** Everything the rating needs beside the returned bytes: tier rows, prices, sources, where they stand in the file. */
  readonly rule: ChargeRule
}

/**
 * The rule of a charge, kept with it so that it can be explained and replayed when the configuration has moved on. `kind`
 * names the plugin that reads the rest, which is JSON.
 */
export type ChargeRule = {
  readonly kind: string
  readonly warnings: readonly string[]
  readonly [fact: string]: unknown
}

/** Prices by what was used: tokens, characters, seconds, requests. */
export type UsageRule = {
  readonly kind: 'usage'
  readonly prices: readonly {
    /** `input`, `cached_input`, `output`, `request`, `character`, `second`, `search_unit`. */
    readonly unit: string
    /** Micro-units of money for `per` of them. */
    readonly price: Micros
    readonly per: number
    readonly at: string
  }[]
  /** The group's factor at that time, as a decimal string. */
  readonly multiplier: string
  readonly warnings: readonly string[]
}

/** Prices by tiers of size, one image at a time. */
export type TierRule = {
  readonly kind: 'tiers'
  readonly tiers: readonly {
    readonly tier: string
    readonly longEdgeMax: number | null
    readonly price: Micros
    readonly at: string
  }[]
  readonly tierFrom: readonly ('output' | 'request')[]
  readonly otherwise: string
  /** The tier that the requested size gives, when it gives one. */
  readonly requestedTier: string | null
  readonly warnings: readonly string[]
}

export type Charge = ChargeFacts & {
  readonly state: ChargeState
  readonly reason: string | null
  readonly hold: Micros
  /** What of it is held of the key's budget now: until the charge ends, or somebody has decided about it. */
  readonly held: Micros
  readonly amount: Micros
  readonly refunded: Micros
  readonly createdAt: number
  readonly endedAt: number | null
  readonly delivery: 'unconfirmed' | 'partial' | 'confirmed'
  readonly lines: readonly Line[]
}

/** A charge as it ends: what plugins and figures are told. */
export type EndedCharge = ChargeFacts & Pick<Charge, 'state' | 'amount' | 'lines'>
