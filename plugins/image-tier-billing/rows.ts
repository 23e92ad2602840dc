import type { ExtraLinePrice, ChargeItemRule, TierRule } from '../../src/plugin-api/index.ts'

export type ImageRow = {
  /** A tier, or the name of a price. */
  readonly tier: string
  readonly longEdgeMax: number | null
  readonly pixelsMax?: number | null
  readonly price: number
  readonly at: string
}

/** Every price that one image may have. */
export function rowsOf({ tiers, prices }: Pick<TierRule, 'tiers' | 'prices'>): readonly ImageRow[] {
  return prices?.map(({ label, price, at }) => ({ tier: label, longEdgeMax: null, price, at })) ?? tiers
}

/** Every price of additional charges. */
export function extraLinesOf(lines: readonly ChargeItemRule[]): readonly ExtraLinePrice[] {
  return lines.flatMap(line => {
    const { name, price, at, once, per } = line
    const of = { per, once, unit: line.whole ? 1 : line.unit }
    return [...(line.first ? [{ ...line.first, ...of }] : []), { name, price, at, ...of }]
  })
}
