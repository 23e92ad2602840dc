import type { ChargeItem, ResponseMetadata, ChargeItemFacts, TierRule } from '../../src/plugin-api/index.ts'
import { type Come, priceImage } from './price-image.ts'
import { rateTier } from './tier.ts'
import { rateLines, type Unplaced } from './rate-lines.ts'
import type { FoundImage } from './scan-result.ts'

/** Inputs for rating an image, in addition to the image. */
export type Rating = { readonly rule: TierRule; readonly n: number; readonly overReturn: 'bill' | 'cap' }

/**
 * The charge item of one returned image. `metadata`: the facts of the answer so far. Flags: `undecodable` if its bytes
 * are no readable image, with their type, or `implausible` if they cannot have the stated size; `over_return` if more
 * were returned than requested, `uncounted` if more than the vendor counts, and `capped` if such an image is not
 * charged; `larger_than_expected` if its tier is above the largest expected one.
 */
export function rateImage(image: FoundImage, rating: Rating, metadata?: ResponseMetadata): ChargeItem {
  const { rule } = rating
  const { label, source, price } = priceImage(rule, comeOf(image, metadata))
  const over = image.index >= rating.n
  const uncounted = isUncounted(image, metadata)
  const capped = (over || uncounted) && rating.overReturn === 'cap'
  const flags: string[] = []
  if (image.kind === 'bytes' && !image.size) flags.push('undecodable', ...(image.unread ?? []))
  if (over) flags.push('over_return')
  if (uncounted) flags.push('uncounted')
  if (capped) flags.push('capped')
  else if (isLarger(rule, image, metadata)) flags.push('larger_than_expected')
  const words = metadata && itemFactsOf(rule, image, metadata, source === 'told' || source === 'default')
  return {
    index: image.index,
    tier: label,
    source,
    width: image.size?.width ?? null,
    height: image.size?.height ?? null,
    price: capped ? 0 : price,
    flags,
    quantity: null,
    ...(words && { told: words }),
  }
}

/** Whether the returned tier is above the largest that the family expects. The hold covers a requested tier. */
function isLarger(rule: TierRule, image: FoundImage, metadata: ResponseMetadata | undefined): boolean {
  const { tiers, largestOutput } = rule
  if (largestOutput === undefined) return false
  const { tier, source } = rateTier(rule, image.size, metadata?.sizes.get(image.index) ?? null)
  const rankOf = (wanted: string): number => tiers.findIndex(one => one.tier === wanted)
  return (source === 'output' || source === 'told') && rankOf(tier) > rankOf(largestOutput)
}

/** The additional charges for an image; none if the image is not charged. */
export function rateWithImage(
  image: FoundImage,
  line: ChargeItem,
  { rule }: Rating,
  metadata?: ResponseMetadata,
): readonly Unplaced[] {
  return line.flags.includes('capped') ? [] : rateLines(rule, 'image', comeOf(image, metadata))
}

export function comeOf(
  { index, size }: Pick<FoundImage, 'index' | 'size'>,
  metadata: ResponseMetadata | undefined,
): Come {
  return { output: size, reported: metadata?.sizes.get(index) ?? null, facts: metadata && factsAt(metadata, index) }
}

/** The facts of the picture's own answer, if several answers were combined. */
function factsAt(metadata: ResponseMetadata, index: number): ReadonlyMap<string, string | number | boolean> {
  return metadata.factsAt.get(index) ?? metadata.facts
}

/** Whether an image exceeds the vendor's count. A count of 0 in an answer with an image is not valid. */
function isUncounted({ index }: FoundImage, metadata: ResponseMetadata | undefined): boolean {
  return metadata?.count !== undefined && metadata.count > 0 && index >= metadata.count
}

/** The facts of the answer that determined the price of this image. */
function itemFactsOf(
  rule: TierRule,
  { index }: FoundImage,
  metadata: ResponseMetadata,
  bySize: boolean,
): ChargeItemFacts | undefined {
  const size = bySize && rule.tierFrom.includes('told') ? metadata.sizes.get(index) : undefined
  const facts = factsOf(rule, factsAt(metadata, index))
  return size || facts
    ? { ...(size && { size: { width: size.width, height: size.height } }), ...(facts && { facts }) }
    : undefined
}

function factsOf({ by, times, facts }: TierRule, reportedFacts: ReturnType<typeof factsAt>): ChargeItemFacts['facts'] {
  if (!facts) return undefined
  const used = new Set([...(by ?? []), ...(times ?? []).flatMap(one => Object.keys(one.if))])
  const known = facts.filter(name => used.has(name) && reportedFacts.has(name))
  return known.length === 0 ? undefined : Object.fromEntries(known.map(name => [name, String(reportedFacts.get(name))]))
}
