import type { AskedSize, TierRule, TierSource } from '../../src/plugin-api/index.ts'

/** Width and height in pixels. */
export type Size = { readonly width: number; readonly height: number }

type TierRow = { readonly tier: string; readonly longEdgeMax: number | null; readonly pixelsMax?: number | null }

/**
 * The tier of a long edge (`docs/rules.md#tiers-and-prices`): the first row whose maximum it does not exceed;
 * undefined if it exceeds all.
 */
export function tierOf<Row extends TierRow>(longEdge: number, rows: readonly Row[]): Row | undefined {
  return rows.find(row => row.longEdgeMax === null || longEdge <= row.longEdgeMax)
}

/** The tier of a size: by its pixels if the rows use pixels, else by its long edge. */
export function tierOfSize<Row extends TierRow>(size: Size, rows: readonly Row[]): Row | undefined {
  if (rows[0]?.pixelsMax === undefined) return tierOf(longEdgeOf(size), rows)
  const pixels = size.width * size.height
  return rows.find(({ pixelsMax }) => pixelsMax === null || pixelsMax === undefined || pixels <= pixelsMax)
}

/** The tier of a label such as `1k`: the row with that name, ignoring case. */
export function tierOfLabel<Row extends TierRow>(label: string, rows: readonly Row[]): Row | undefined {
  const wanted = label.toLowerCase()
  return rows.find(row => row.tier.toLowerCase() === wanted)
}

/** The tier of the requested size (`docs/rules.md#tiers-and-prices`), or undefined if it sets none. */
export function requestedTierOf<Row extends TierRow>(requested: AskedSize, rows: readonly Row[]): Row | undefined {
  const { size } = requested
  if (size.kind === 'pixels') return tierOfSize(size, rows)
  return size.kind === 'label' ? tierOfLabel(size.label, rows) : undefined
}

export function longEdgeOf(size: Size): number {
  return Math.max(size.width, size.height)
}

/** The source of an image's tier, by the rule of its charge; a size is null if none could be read or was reported. */
export function rateTier(
  rule: Pick<TierRule, 'tiers' | 'tierFrom' | 'otherwise' | 'requestedTier'>,
  output: Size | null,
  reported: Size | null = null,
): { readonly tier: string; readonly source: TierSource } {
  for (const source of rule.tierFrom) {
    const size = source === 'told' ? reported : output
    const tier = source === 'request' ? rule.requestedTier : size && (tierOfSize(size, rule.tiers)?.tier ?? null)
    if (tier !== null) return { tier, source }
  }
  return { tier: rule.otherwise, source: 'default' }
}
