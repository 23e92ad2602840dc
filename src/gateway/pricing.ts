import { type BillingFacet, quote } from '../../plugins/image-tier-billing/index.ts'
import { imageOperations, readRule, type Size, type SizeFacet } from '../../plugins/size-normalize/index.ts'
import { usageRule } from '../../plugins/token-usage/index.ts'
import { explainRequest } from './explain.ts'
import {
  Failure,
  type Family,
  formatMoney,
  type ImagePrices,
  type Model,
  type Plan,
  type PricedModel,
  type PriceList,
  type TierReach,
  type SizePrice,
} from '../kit/index.ts'

/** Sizes that callers ask for whatever the model: the squares and shapes of screens and photographs, small to large. */
const askedOften = [
  '512x512',
  '600x800',
  '1024x1024',
  '1024x1536',
  '1536x1024',
  '2048x1152',
  '2048x2048',
  '3840x2160',
] as const

const lists = new WeakMap<Plan, PriceList>()

/** The prices of every model on offer; computed once for a plan. */
export function priceList(plan: Plan): PriceList {
  let list = lists.get(plan)
  if (!list) {
    const offered = [...plan.models.values()].filter(model => model.enabled)
    list = { currency: plan.currency, models: offered.map(model => priceModel(plan, model)) }
    lists.set(plan, list)
  }
  return list
}

function priceModel(plan: Plan, model: Model): PricedModel {
  const { family } = model
  const operations = operationsOf(plan, family)
  const billing = family.facets.get('image-tier-billing') as BillingFacet | undefined
  const usage = family.facets.has('token-usage') ? usageRule(model, '1') : undefined
  return {
    name: model.name,
    family: family.name,
    operations,
    free: model.free,
    notes: family.notes,
    images: billing ? priceImages(plan, model, billing, operations) : null,
    units: (usage?.prices ?? []).map(({ unit, price, per }) => ({ unit, price: formatMoney(price), per })),
  }
}

/** A family that names no operations takes all. */
function operationsOf(plan: Plan, { forward }: Family): readonly string[] {
  const routed = new Set(plan.routes.filter(route => route.serve === undefined).map(route => route.operation))
  return [...routed].filter(operation => forward.size === 0 || forward.has(operation))
}

function priceImages(plan: Plan, model: Model, facet: BillingFacet, operations: readonly string[]): ImagePrices {
  const { family } = model
  const sizes = family.facets.get('size-normalize') as SizeFacet | undefined
  const nothing = { text: null, size: { kind: 'none' }, resolution: null, expected: null } as const
  const { rule } = quote({ facet, family, model, asked: nothing, n: 1 })
  const labels = sizes ? readRule(sizes).labels : []
  const known = sizes ? [...readRule(sizes).pixels.values()] : []
  const asked = [null, ...labels, ...askedOften]
  return {
    tiers: rule.tiers.map(({ tier, longEdgeMax, price }, i) => ({
      tier,
      longEdgeMax,
      price: formatMoney(price),
      reach: reachOf(facet, known, { tier, longEdgeMax, above: rule.tiers[i - 1]?.longEdgeMax ?? 0 }),
    })),
    tierFrom: facet.tier_from,
    otherwise: facet.otherwise,
    sizes: imageOperations
      .filter(operation => operations.includes(operation))
      .flatMap(operation => asked.map(size => priceSize(plan, model, operation, size))),
    labels,
  }
}

/** By the sizes of the family's table alone: `above` is the largest long edge of the tier before this one. */
function reachOf(
  facet: BillingFacet,
  known: readonly Size[],
  { tier, longEdgeMax, above }: { readonly tier: string; readonly longEdgeMax: number | null; readonly above: number },
): TierReach {
  if (facet.tier_from.includes('request') || tier === facet.otherwise || known.length === 0) return { kind: 'yes' }
  const shortest = Math.floor(Math.sqrt(Math.min(...known.map(({ width, height }) => width * height))))
  if (longEdgeMax !== null && longEdgeMax < shortest) return { kind: 'never', edge: shortest }
  const longest = Math.max(...known.map(({ width, height }) => Math.max(width, height)))
  return above >= longest ? { kind: 'rare', edge: longest } : { kind: 'yes' }
}

function priceSize(plan: Plan, model: Model, operation: string, asked: string | null): SizePrice {
  const request = { model: model.name, operation, size: asked ?? undefined, quality: undefined, n: 1 }
  try {
    const explained = explainRequest(plan, request)
    const { quote: quoted, warnings, mismatch } = explained
    return {
      operation,
      asked,
      comesBack: explained.expected_size,
      resolution: explained.expected_resolution,
      ratio: explained.expected_ratio,
      tier: quoted?.tier ?? null,
      price: quoted?.price ?? null,
      warning: warnings[0] ?? null,
      mismatch,
    }
  } catch (error) {
    // A family that refuses this size has no price for it; the reason is what a caller would read.
    if (!(error instanceof Failure)) throw error
    const none = { comesBack: null, resolution: null, ratio: null, tier: null, price: null, mismatch: null }
    return { operation, asked, ...none, warning: error.message }
  }
}
