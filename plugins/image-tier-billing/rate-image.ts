import type { TierRule, Line } from '../../src/kit/index.ts'
import { priceOf } from './quote.ts'
import type { FoundImage } from './scanned.ts'
import { rateTier } from './tier.ts'

/**
 * The line of one image that came back. Flags: `undecodable` when it has bytes that are no readable image, with the type
 * that they are of, or `implausible` when they cannot carry the size that they state;
 * `over_return` when more came than were asked for, and `capped` when that one is not charged.
 */
export function rateImage(
  image: FoundImage,
  charge: { readonly rule: TierRule; readonly n: number; readonly overReturn: 'bill' | 'cap' },
): Line {
  const { tier, source } = rateTier(charge.rule, image.size)
  const over = image.index >= charge.n
  const capped = over && charge.overReturn === 'cap'
  const flags: string[] = []
  if (image.kind === 'bytes' && !image.size) flags.push('undecodable', ...(image.unread ?? []))
  if (over) flags.push('over_return')
  if (capped) flags.push('capped')
  return {
    index: image.index,
    tier,
    source,
    width: image.size?.width ?? null,
    height: image.size?.height ?? null,
    price: capped ? 0 : priceOf(charge.rule, tier),
    flags,
    quantity: null,
  }
}
