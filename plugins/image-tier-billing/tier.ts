import type { AskedSize, TierRule, TierSource } from '../../src/kit/index.ts'

/** Width and height in pixels. */
export type Size = { readonly width: number; readonly height: number }

type TierRow = { readonly tier: string; readonly longEdgeMax: number | null }

/**
 * The tier of a long edge (`docs/rules.md#tiers-and-prices`): the first row that it does not exceed; undefined when it
 * exceeds all.
 */
export function tierOf<Row extends TierRow>(longEdge: number, rows: readonly Row[]): Row | undefined {
  return rows.find(row => row.longEdgeMax === null || longEdge <= row.longEdgeMax)
}

/** The tier of a label such as `1k`: the row of that name, in any case. */
export function tierOfLabel<Row extends TierRow>(label: string, rows: readonly Row[]): Row | undefined {
  const wanted = label.toLowerCase()
  return rows.find(row => row.tier.toLowerCase() === wanted)
}

/** The tier that the size asked for gives (`docs/rules.md#tiers-and-prices`), or undefined when it gives none. */
export function requestedTierOf<Row extends TierRow>(asked: AskedSize, rows: readonly Row[]): Row | undefined {
  const { size } = asked
  if (size.kind === 'pixels') return tierOf(longEdgeOf(size), rows)
  return size.kind === 'label' ? tierOfLabel(size.label, rows) : undefined
}

export function longEdgeOf(size: Size): number {
  return Math.max(size.width, size.height)
}

/** Where an image's tier comes from, by the rule of its charge; `output` is null where no pixels could be read. */
export function rateTier(
  rule: Pick<TierRule, 'tiers' | 'tierFrom' | 'otherwise' | 'requestedTier'>,
  output: Size | null,
): { readonly tier: string; readonly source: TierSource } {
  for (const source of rule.tierFrom) {
    const tier =
      source === 'request' ? rule.requestedTier : output && (tierOf(longEdgeOf(output), rule.tiers)?.tier ?? null)
    if (tier !== null) return { tier, source }
  }
  return { tier: rule.otherwise, source: 'default' }
}
