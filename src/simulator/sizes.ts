import { fail } from './errors.ts'
import type { Pixels } from './pictures/measure.ts'

/**
 * The only table of sizes of returned pictures. Measured sizes come from the rules (`docs/rules.md#sizes`). The other
 * sizes belong to the simulator, not to a vendor; they exist so that every ratio gives a picture.
 */
type SizeRow = { readonly ratio: string; readonly width: number; readonly height: number; readonly measured: boolean }

/** Family A: always about 1.57 megapixels. */
export const alphaSizes: readonly SizeRow[] = [
  { ratio: '1:1', width: 1254, height: 1254, measured: true },
  { ratio: '3:2', width: 1536, height: 1024, measured: true },
  { ratio: '2:3', width: 1024, height: 1536, measured: false },
  { ratio: '3:4', width: 1086, height: 1448, measured: false },
  { ratio: '16:9', width: 1672, height: 941, measured: true },
]
const alphaPixels = 1254 * 1254
/** "About 0.69MP" in `docs/rules.md#sizes`. */
const alphaPixelsMin = 690_000
const alphaTolerance = 0.01
/**
 * Family A's long edge practically never exceeds 2048 (`docs/rules.md#tiers-and-prices`), for any shape of a reference
 * image.
 */
const alphaLongEdgeMax = 2048

/** Family B at 2K. Of two ratios equally near, the first one in the list is used. */
export const betaSizes: readonly SizeRow[] = [
  { ratio: '1:1', width: 2048, height: 2048, measured: true },
  { ratio: '16:9', width: 2816, height: 1584, measured: true },
  { ratio: '9:16', width: 1584, height: 2816, measured: false },
  { ratio: '4:3', width: 2368, height: 1776, measured: false },
  { ratio: '3:4', width: 1776, height: 2368, measured: false },
  { ratio: '3:2', width: 2496, height: 1664, measured: true },
  { ratio: '2:3', width: 1664, height: 2496, measured: false },
  { ratio: '2:1', width: 2912, height: 1456, measured: false },
  { ratio: '1:2', width: 1456, height: 2912, measured: false },
  { ratio: '19.5:9', width: 3016, height: 1392, measured: false },
  { ratio: '9:19.5', width: 1392, height: 3016, measured: false },
  { ratio: '20:9', width: 3040, height: 1368, measured: false },
  { ratio: '9:20', width: 1368, height: 3040, measured: false },
]
const betaOneKEdgeMax = 1024
/** The model's default ratio, as measured in requests without a size. */
const betaOwnRatio = '3:2'

export type Resolution = '1k' | '2k'
export type BetaSize = { readonly resolution: Resolution; readonly ratio: string | undefined }

const pixelsText = /^\s*(\d{1,6})\s*[x×]\s*(\d{1,6})\s*$/i

/** Family A's result for a size: it refuses none, and unknown sizes give 1:1. */
export function alphaSize(size: string | undefined): Pixels {
  const requested = parsePixels(size ?? '')
  const row =
    requested && requested.width * requested.height >= alphaPixelsMin
      ? alphaSizes.find(row => distance(row, requested) <= Math.log(1 + alphaTolerance))
      : undefined
  return pixelsOf(row ?? alphaSizes[0])
}

/** The shape of a reference image with family A's number of pixels, and no edge above 2048. */
export function alphaSizeLike(reference: Pixels): Pixels {
  const known = alphaSizes.find(row => distance(row, reference) <= Math.log(1 + alphaTolerance))
  if (known) return pixelsOf(known)
  const shape = Math.sqrt(reference.width / reference.height)
  const edge = Math.sqrt(alphaPixels)
  const stretch = Math.min(alphaLongEdgeMax / edge, Math.max(edge / alphaLongEdgeMax, shape))
  return { width: Math.round(edge * stretch), height: Math.round(edge / stretch) }
}

/**
 * The resolution and ratio that family B uses for a raw size.
 * @throws Failure if the text is not a size
 */
export function readBetaSize(size: string): BetaSize {
  const word = size.trim().toLowerCase()
  if (word === '' || word === 'auto') return { resolution: '2k', ratio: undefined }
  if (word === '1k' || word === '2k') return { resolution: word, ratio: undefined }
  const requested = parsePixels(word)
  if (!requested) {
    throw fail(
      'invalid_value',
      { name: 'size', found: size, expected: "'<width>x<height>', '1k', '2k'" },
      { param: 'size' },
    )
  }
  const resolution = Math.max(requested.width, requested.height) <= betaOneKEdgeMax ? '1k' : '2k'
  return { resolution, ratio: nearestBetaRatio(requested) }
}

export function nearestBetaRatio(requested: Pixels): string {
  // The tolerance ignores differences in the last bits of a logarithm.
  const nearest = Math.min(...betaSizes.map(row => distance(row, requested)))
  return betaSizes.find(row => distance(row, requested) <= nearest + 1e-9)?.ratio ?? betaOwnRatio
}

/** Family B's pixels. Both edges at 1K are half of those at 2K: measured for 1:1, assumed for the other ratios. */
export function betaSize({ resolution, ratio }: BetaSize): Pixels {
  const { width, height } = pixelsOf(betaSizes.find(row => row.ratio === (ratio ?? betaOwnRatio)))
  return resolution === '2k' ? { width, height } : { width: width / 2, height: height / 2 }
}

function parsePixels(size: string): Pixels | undefined {
  const match = pixelsText.exec(size)
  const width = Number(match?.[1] ?? 0)
  const height = Number(match?.[2] ?? 0)
  return width > 0 && height > 0 ? { width, height } : undefined
}

/** The absolute value of the logarithm of the quotient of two aspect ratios. */
function distance({ ratio }: SizeRow, { width, height }: Pixels): number {
  const [across = 1, down = 1] = ratio.split(':').map(Number)
  return Math.abs(Math.log((width / height) * (down / across)))
}

function pixelsOf(row: SizeRow | undefined): Pixels {
  if (!row) throw new Error('the table of sizes has no such row')
  return { width: row.width, height: row.height }
}
