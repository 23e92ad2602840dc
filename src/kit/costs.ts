import type { Micros } from './units.ts'

/** What costs can be split by and narrowed to. `tier` is an image's tier, or the unit of what is counted, such as `input`. */
export const costParts = ['user', 'group', 'key', 'model', 'operation', 'upstream', 'tier'] as const
export type CostPart = (typeof costParts)[number]

/** Costs are kept by quarters of an hour: every day of every time zone begins with one. */
export const quarterMs = 900_000

export type CostQuestion = {
  /** Moments at which charges were made, milliseconds since the epoch: whole quarters of an hour. */
  readonly since: number
  readonly until: number
  /**
   * Where bars begin, ascending, in whole quarters: days of a time zone, or hours. The first is `since`. Charges are told by the
   * number of their bar.
   */
  readonly bars: readonly number[]
  /** Null for one sum of everything. */
  readonly by: CostPart | null
  readonly where: { readonly [P in CostPart]?: string }
}

/** What charges came to in a bar, of one of what they are split by; `what` is empty where they are not split. */
export type CostRow = {
  readonly bar: number
  readonly what: string
  readonly currency: string
  readonly charges: number
  /** Images, whatever they cost; 0 for what is counted. */
  readonly images: number
  readonly amount: Micros
  /** Of that, what was given back since, whenever that was. */
  readonly refunded: Micros
}

export type Costs = {
  readonly rows: readonly CostRow[]
  /** Charges that were looked at one by one, for nobody has added them up yet. */
  readonly tail: number
}
