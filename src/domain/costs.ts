import { type LabelKind, labelKinds } from './labels.ts'
import type { ChargeRule, ChargeItem } from './charge.ts'
import type { Micros } from '../util/units.ts'

/**
 * The dimensions by which costs are split and filtered. `tier` is an image's tier, or the unit of counted usage, such
 * as `input`.
 */
export const costParts = ['user', 'group', 'key', 'model', 'operation', 'upstream', 'tier'] as const
export type CostPart = (typeof costParts)[number]
/** The same with labels: one kind at a time, combined with any dimension. */
export const costSplits = [...costParts, ...labelKinds] as const
export type CostSplit = CostPart | LabelKind

/** Costs are stored in quarters of an hour: every day of every time zone begins with one. */
export const quarterMs = 900_000

export type CostQuery = {
  /** Charge times, in milliseconds since the epoch: whole quarters of an hour. */
  readonly since: number
  readonly until: number
  /**
   * Start times of bars, ascending, in whole quarters: days of a time zone, or hours. The first is `since`. Charges
   * refer to the index of their bar.
   */
  readonly bars: readonly number[]
  /** Null for one sum of everything. */
  readonly by: CostSplit | null
  readonly where: { readonly [P in CostSplit]?: string }
  /**
   * The separate parts of a split: the most expensive ones, or those with these names; all others are combined.
   * Absent: all parts.
   */
  readonly apart?: number | readonly string[]
}

/** The sum of charges of one part in one bar. `what` is empty without a split, and null for the combined others. */
export type CostRow = {
  readonly bar: number
  readonly what: string | null
  readonly currency: string
  readonly charges: number
  /** Images, whatever they cost; 0 for counted usage. */
  readonly images: number
  readonly amount: Micros
  /** The refunded part of `amount`, whatever the time of the refund. */
  readonly refunded: Micros
  /** The quantity of one unit, if costs are split or filtered by unit; else a meaningless sum of several units. */
  readonly quantity: number
  /** Input and output tokens of all kinds. */
  readonly tokens: number
  /** The upstream cost that hits of the answer cache avoided, less the price of the hits. Refunds do not change it. */
  readonly saved: Micros
}

/** A query without labels. */
export type PlainCostQuery = Omit<CostQuery, 'by' | 'where'> & {
  readonly by: CostPart | null
  readonly where: { readonly [P in CostPart]?: string }
}

export type Costs = {
  readonly rows: readonly CostRow[]
  /** Charges that were read individually, because they are not added up yet. */
  readonly tail: number
}

/** Images with the same size, rule and price, without refunds. */
export type RatedImages = {
  readonly model: string
  /** The requested size; null if none was requested. */
  readonly size: string | null
  readonly currency: string
  readonly rule: ChargeRule
  /** The line of any one of these charges. */
  readonly line: ChargeItem
  readonly images: number
}

/** The avoidable part of an image's cost. */
export type Saving = {
  /** The charged tier, and `file:line` of its price. */
  readonly billed: string
  readonly at: string
  /** The tier of the returned image. */
  readonly made: string
  /** A size with the same result that is charged at that tier. */
  readonly ask: string
  /** The saving per image. */
  readonly amount: Micros
}
