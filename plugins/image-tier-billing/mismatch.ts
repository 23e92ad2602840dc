import type { AskedSize, SizeMismatch, TierRule } from '../../src/plugin-api/index.ts'
import { longEdgeOf, type Size, tierOfLabel, tierOfSize } from './tier.ts'

type Row = Pick<TierRule['tiers'][number], 'tier' | 'longEdgeMax' | 'pixelsMax' | 'price'>

/**
 * The mismatch between the requested size and the picture (`docs/rules.md#tiers-and-prices`); null if none is known.
 */
export function findMismatch(
  rule: { readonly tiers: readonly Row[]; readonly requestedTier: string | null },
  { size, expected, resolution }: AskedSize,
  decidedByRequest: boolean,
): SizeMismatch | null {
  const requested = rule.tiers.find(row => row.tier === rule.requestedTier)
  if (size.kind !== 'pixels' || !requested) return null
  const come = expected && tierOfSize(expected, rule.tiers)
  const facts = { asked: write(size), returned: expected && write(expected), cheaper: null }
  if (!decidedByRequest) {
    if (!come || come.tier === requested.tier) return null
    return { ...facts, kind: 'ignored', billed: come.tier, made: come.tier }
  }
  const made = resolution ? tierOfLabel(resolution, rule.tiers) : come
  if (made && made.price < requested.price)
    return { ...facts, kind: 'dearer', billed: requested.tier, made: made.tier, cheaper: cheaperSize(size, made) }
  if (come && come.tier !== requested.tier) return { ...facts, kind: 'other', billed: requested.tier, made: come.tier }
  return null
}

/** The warning of a mismatch as a sentence. */
export function describeMismatch(mismatch: SizeMismatch, family: string): string {
  const { kind, asked, billed, made, returned, cheaper } = mismatch
  if (kind === 'ignored')
    return (
      `size ${asked} does not set the price: family ${family} returns ${returned}, ` +
      `and the returned image is billed (${billed})`
    )
  if (kind === 'dearer')
    return (
      `size ${asked} is billed ${billed} by the requested size, but family ${family} makes no more than ` +
      `${made} of it (${returned ?? `at most ${made}`}); size ${cheaper} is billed ${made}`
    )
  return (
    `size ${asked} is billed ${billed} by the requested size, although the returned image is ` +
    `${returned} (${made} by its long edge)`
  )
}

/** The part of a rule for a requested size that costs more than the returned image. */
export function cheaperBy({ made, cheaper }: SizeMismatch): Pick<TierRule, 'cheaper'> {
  return cheaper === null ? {} : { cheaper: { tier: made, size: cheaper } }
}

const dearer = /; size (\S+) is billed (\S+)$/

/** The same from any rule: older charges have it only in their warning. */
export function cheaperOf({ cheaper, warnings }: TierRule): TierRule['cheaper'] {
  if (cheaper) return cheaper
  for (const warning of warnings) {
    const [, size, tier] = dearer.exec(warning) ?? []
    if (size !== undefined && tier !== undefined) return { tier, size }
  }
  return undefined
}

function write({ width, height }: Size): string {
  return `${width}x${height}`
}

/** The largest size of the same shape that fits a tier. */
function cheaperSize(size: Size, row: Row): string {
  const { longEdgeMax, pixelsMax, tier } = row
  if (pixelsMax) return shrink(size, Math.sqrt(pixelsMax / (size.width * size.height)), Math.floor)
  return longEdgeMax === null ? tier.toLowerCase() : shrink(size, longEdgeMax / longEdgeOf(size), Math.round)
}

function shrink({ width, height }: Size, scale: number, whole: (pixels: number) => number): string {
  return `${Math.max(1, whole(width * scale))}x${Math.max(1, whole(height * scale))}`
}
