import { type LabelKind, labelKinds } from './labels.ts'
import type { ChargeRule, ChargeItem } from './charge.ts'
import type { Micros } from '../util/units.ts'

/** What costs can be split by and narrowed to. `tier` is an image's tier, or the unit of what is counted, such as `input`. */
export const costParts = ['user', 'group', 'key', 'model', 'operation', 'upstream', 'tier'] as const
export type CostPart = (typeof costParts)[number]
/** And by labels: one of the two kinds at a time, together with any part. */
export const costSplits = [...costParts, ...labelKinds] as const
export type CostSplit = CostPart | LabelKind

/** Costs are kept by quarters of an hour: every day of every time zone begins with one. */
export const quarterMs = 900_000

export type CostQuery = {
  /** Moments at which charges were made, milliseconds since the epoch: whole quarters of an hour. */
  readonly since: number
  readonly until: number
  /**
   * Where bars begin, ascending, in whole quarters: days of a time zone, or hours. The first is `since`. Charges refer to
   * the number of their bar.
   */
  readonly bars: readonly number[]
  /** Null for one sum of everything. */
  readonly by: CostSplit | null
  readonly where: { readonly [P in CostSplit]?: string }
  /** The most expensive parts of a split, or some by name: the others are one. All of them if absent. */
  readonly apart?: number | readonly string[]
}

/** What charges came to in a bar, of one of what they are split by; `what` is empty where they are not split, and null for the others. */
export type CostRow = {
  readonly bar: number
  readonly what: string | null
  readonly currency: string
  readonly charges: number
  /** Images, whatever they cost; 0 for what is counted. */
  readonly images: number
  readonly amount: Micros
  /** Of that, what was given back since, whenever that was. */
  readonly refunded: Micros
  /** Of one unit, where costs are split by or narrowed to one; else the sum of several units, which means nothing. */
  readonly quantity: number
  /** Input and output tokens of all kinds. */
  readonly tokens: number
  /** What hits of the answer cache would have cost more at an upstream. A refund does not change it. */
  readonly saved: Micros
}

/** A question about no label. */
export type PlainCostQuery = Omit<CostQuery, 'by' | 'where'> & {
  readonly by: CostPart | null
  readonly where: { readonly [P in CostPart]?: string }
}

export type Costs = {
  readonly rows: readonly CostRow[]
  /** Charges that were read one by one, because they are not added up yet. */
  readonly tail: number
}

/** Images that were charged alike and not given back: for the same size, by the same rule, at the same price. */
export type RatedImages = {
  readonly model: string
  /** As clients requested it; null if they did not. */
  readonly size: string | null
  readonly currency: string
  readonly rule: ChargeRule
  /** Any one of theirs. */
  readonly line: ChargeItem
  readonly images: number
}

/** What an image cost more than it had to. */
export type Saving = {
  /** The tier that was charged, and `file:line` of its price. */
  readonly billed: string
  readonly at: string
  /** The tier of what came back. */
  readonly made: string
  /** A size that the same is made of, and that is charged so. */
  readonly ask: string
  /** Of one image. */
  readonly amount: Micros
}
