import type { Charge, ChargeItem, TierSource } from './charge.ts'

/**
 * The charging plugin's explanation of a charge. State, money and flags are the same for every charge, so they are not
 * part of it.
 */
export type Account = {
  /** In one line: the charged items. */
  readonly text: string
  /** The number of items charged one by one; null for charges by usage. */
  readonly count: number | null
  readonly rule: {
    /** The way the price was found. */
    readonly text: string
    readonly rows: readonly AccountRow[]
    /** Facts that prices depend on, if there are more than a tier or a unit. */
    readonly by?: readonly string[]
    /** Whether the group's factor was applied. */
    readonly multiplier: string
  }
  /** In one line: the reason for its price, and `file:line` of that price. */
  line(line: ChargeItem): { readonly why: string; readonly at: string | null }
}

export type AccountRow = {
  readonly tier: string
  /** Null for the last tier and for counted usage. */
  readonly long_edge_max: number | null
  /** Width × height, if tiers depend on that. */
  readonly pixels_max?: number
  /** Price for `per` units of `tier`. */
  readonly price: string
  readonly per: number
  readonly at: string
}

/**
 * A line of a stored charge, rated again today from its stored facts. `fault`: the reason why that is impossible, as
 * the rest of the text `line 0 …`.
 */
export type Replayed =
  | { readonly index: number; readonly tier: string; readonly source: TierSource; readonly price: number }
  | { readonly index: number; readonly fault: string }

/** The plugin that explains a charge: the one whose `rule` is the kind of the charge's rule. */
export function chargerOf<P extends { readonly rule?: string }>(
  known: readonly P[],
  { rule }: Pick<Charge, 'rule'>,
): P | undefined {
  return known.find(plugin => plugin.rule === rule.kind)
}
