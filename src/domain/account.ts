import type { Charge, ChargeItem, TierSource } from './charge.ts'

/**
 * What the plugin that made a charge says of it: the words of its explanation. State, money and flags are said for every
 * charge alike.
 */
export type Account = {
  /** In one line: what was charged. */
  readonly text: string
  /** How many things were charged one by one; null for what is counted by use. */
  readonly count: number | null
  readonly rule: {
    /** How the price was found. */
    readonly text: string
    readonly rows: readonly AccountRow[]
    /** The facts that prices were looked up by, if there are more than a tier or a unit. */
    readonly by?: readonly string[]
    /** Whether the group's factor was applied. */
    readonly multiplier: string
  }
  /** Of one line: why it has its price, and `file:line` of that price. */
  line(line: ChargeItem): { readonly why: string; readonly at: string | null }
}

export type AccountRow = {
  readonly tier: string
  /** Null for the last tier, and for what is counted. */
  readonly long_edge_max: number | null
  /** Width × height, where tiers go by that. */
  readonly pixels_max?: number
  /** Of `per` of what `tier` names. */
  readonly price: string
  readonly per: number
  readonly at: string
}

/** A line of a stored charge as its own facts rate it today; `fault` if they cannot, as the rest of `line 0 …`. */
export type Replayed =
  | { readonly index: number; readonly tier: string; readonly source: TierSource; readonly price: number }
  | { readonly index: number; readonly fault: string }

/** The plugin that answers for a charge: the one whose `rule` is the kind of the charge's own. */
export function chargerOf<P extends { readonly rule?: string }>(
  known: readonly P[],
  { rule }: Pick<Charge, 'rule'>,
): P | undefined {
  return known.find(plugin => plugin.rule === rule.kind)
}
