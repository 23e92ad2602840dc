import {
  foreignOrNull,
  json,
  moment,
  momentOrNull,
  money,
  oneOf,
  text,
  textOrNull,
  texts,
  type Values,
  whole,
  wholeOrNull,
} from './shapes/member.ts'
import type { Micros } from './units.ts'

export const chargeStates = ['reserved', 'settled', 'voided', 'needs_review'] as const
export type ChargeState = (typeof chargeStates)[number]
/** Where a tier came from: the bytes that came back, the size asked for, or neither. */
export const tierSources = ['output', 'request', 'default'] as const
export type TierSource = (typeof tierSources)[number]

/** The tier of a line whose price a person has decided; such a line has it for a flag too. */
export const decidedTier = 'decided'

/** The members of a line, in the order of its columns. */
export const lineMembers = {
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

/** One priced thing that the upstream returned. */
export type Line = Values<typeof lineMembers>

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
  /** Everything the rating needs beside the returned bytes: tier rows, prices, sources, where they stand in the file. */
  rule: json('rule', {}, (rule: ChargeRule) => rule),
} as const

export type ChargeFacts = Values<typeof factMembers>

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
  delivery: oneOf('delivery', ['unconfirmed', 'partial', 'confirmed']),
} as const

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

export type Charge = ChargeFacts &
  Values<typeof courseMembers> & {
    /** What of its hold is held of the key's budget now: until the charge ends, or somebody has decided about it. */
    readonly held: Micros
    readonly lines: readonly Line[]
  }

/** A charge as it ends: what plugins and figures are told. */
export type EndedCharge = ChargeFacts & Pick<Charge, 'state' | 'amount' | 'lines'>
