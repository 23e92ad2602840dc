import type { AskedSize } from '../../src/plugin-api/index.ts'
import type { SizeRule } from './read-rule.ts'
import { nearestRatio, resolutionOf } from './snap.ts'

/** The result for a size; null if the rule leaves the choice to the upstream. */
export type Shape = { readonly resolution: string | null; readonly ratio: string | null }

/** A tolerance for rounded divisions: a value exactly at the border is within it. */
const rounding = 1e-9

const unknown: Shape = { resolution: null, ratio: null }

/** The resolution and ratio for a size (`docs/rules.md#sizes`). */
export function chooseShape(rule: SizeRule, operation: string, size: AskedSize['size']): Shape {
  if (!rule.appliesTo.has(operation)) return unknown
  return rule.kind === 'snap' ? snappedShape(rule, size) : ratioShape(rule, size)
}

function snappedShape(rule: SizeRule, size: AskedSize['size']): Shape {
  if (size.kind === 'none') return { resolution: rule.otherwise, ratio: null }
  if (size.kind === 'label') return { resolution: size.label, ratio: null }
  if (size.kind === 'unread') return unknown
  return {
    resolution: resolutionOf(Math.max(size.width, size.height), rule.resolutions)?.label ?? null,
    ratio: nearestRatio(size.width, size.height, rule.ratios)?.text ?? null,
  }
}

function ratioShape(rule: SizeRule, size: AskedSize['size']): Shape {
  if (size.kind !== 'pixels') return unknown
  const { width, height } = size
  const nearest = nearestRatio(width, height, rule.ratios)
  const taken =
    nearest !== undefined &&
    Math.abs(width / height / nearest.value - 1) <= rule.within + rounding &&
    width * height >= rule.pixelsMin
  return { resolution: null, ratio: taken ? nearest.text : rule.otherwise }
}
