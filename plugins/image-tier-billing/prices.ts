import {
  Failure,
  formatMoney,
  imageOperations,
  type PriceAsk,
  type PriceFactor,
  type Prices,
  type SizePrice,
  sizeTableSlot,
  type TierReach,
} from '../../src/plugin-api/index.ts'
import { quote } from './quote.ts'
import { extraLinesOf, rowsOf } from './rows.ts'
import type { BillingFacet } from './schema.ts'

/** Common sizes: squares and formats of screens and photographs, small to large. */
const commonSizes = [
  '512x512',
  '600x800',
  '1024x1024',
  '1024x1536',
  '1536x1024',
  '2048x1152',
  '2048x2048',
  '3840x2160',
] as const

type Size = { readonly width: number; readonly height: number }

/** The tiers of a model and the prices of common sizes, by the computation that charges use. */
export function prices(ask: PriceAsk, facet: BillingFacet): Prices {
  const { family, model, operations, slots } = ask
  const nothing = { text: null, size: { kind: 'none' }, resolution: null, expected: null } as const
  const { rule } = quote({ facet, family, model, requestedSize: nothing, n: 1 })
  const { labels, sizes: known } = slots.get(sizeTableSlot) ?? { labels: [], sizes: [] }
  // If prices depend on more than a size, a size alone has no price.
  const bySize = facet.tiers !== undefined && !facet.price_by?.some(name => name !== 'tier')
  const sizes = bySize ? [null, ...labels, ...commonSizes] : [null]
  return {
    images: {
      tiers: rowsOf(rule).map(({ tier, longEdgeMax, pixelsMax, price }, i) => ({
        tier,
        longEdgeMax,
        ...(pixelsMax !== undefined && { pixelsMax }),
        price: formatMoney(price),
        reach: reachOf(facet, known, { tier, longEdgeMax, above: rule.tiers[i - 1]?.longEdgeMax ?? 0 }),
      })),
      tierFrom: rule.tierFrom,
      otherwise: rule.otherwise,
      ...(rule.by && { by: rule.by }),
      ...(rule.times && {
        times: rule.times.map(({ if: conditions, by }) => ({ when: conditionsText(conditions), by })),
      }),
      ...(rule.lines && { beside: extraLinesOf(rule.lines).map(row => ({ ...row, price: formatMoney(row.price) })) }),
      sizes: imageOperations
        .filter(operation => operations.includes(operation))
        .flatMap(operation => sizes.map(size => priceSize(ask, operation, size))),
      labels,
    },
  }
}

function conditionsText(conditions: PriceFactor['if']): string {
  return Object.entries(conditions)
    .map(([name, wanted]) => `${name}: ${String(wanted)}`)
    .join(', ')
}

/**
 * Whether images of a tier occur, from the sizes in the family's table. `above`: the largest long edge of the previous
 * tier.
 */
function reachOf(
  facet: BillingFacet,
  known: readonly Size[],
  { tier, longEdgeMax, above }: { readonly tier: string; readonly longEdgeMax: number | null; readonly above: number },
): TierReach {
  if (facet.price_by || !facet.tier_from || facet.tiers?.some(row => row.pixels_max !== undefined))
    return { kind: 'yes' }
  if (
    facet.tier_from.includes('told') ||
    facet.tier_from.includes('request') ||
    tier === facet.otherwise ||
    known.length === 0
  )
    return { kind: 'yes' }
  const shortest = Math.floor(Math.sqrt(Math.min(...known.map(({ width, height }) => width * height))))
  if (longEdgeMax !== null && longEdgeMax < shortest) return { kind: 'never', reason: whyNever(shortest) }
  const longest = Math.max(...known.map(({ width, height }) => Math.max(width, height)))
  return above >= longest ? { kind: 'rare', reason: whyRarely(longest) } : { kind: 'yes' }
}

function whyNever(shortest: number) {
  return {
    en: `Cannot occur: the long edge of these images is never below ${shortest} px.`,
    zh: `不会出现：这类图片的长边不会小于 ${shortest} 像素。`,
  }
}

function whyRarely(longest: number) {
  return {
    en: `Practically never: the longest edge in the table of sizes is ${longest} px.`,
    zh: `实际上不会出现：大小对照表中最长的边为 ${longest} 像素。`,
  }
}

function priceSize({ explain }: PriceAsk, operation: string, size: string | null): SizePrice {
  try {
    const explained = explain({ operation, size: size ?? undefined, quality: undefined, n: 1 })
    const { quote: quoted, warnings, mismatch } = explained
    return {
      operation,
      asked: size,
      comesBack: explained.expected_size,
      resolution: explained.expected_resolution,
      ratio: explained.expected_ratio,
      tier: quoted?.tier ?? null,
      price: quoted?.price ?? null,
      warning: warnings[0] ?? null,
      mismatch,
    }
  } catch (error) {
    // A family that refuses this size has no price for it; the reason is the client's error.
    if (!(error instanceof Failure)) throw error
    const none = { comesBack: null, resolution: null, ratio: null, tier: null, price: null, mismatch: null }
    return { operation, asked: size, ...none, warning: error.message }
  }
}
