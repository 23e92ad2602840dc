import type { SizeFacet } from './schema.ts'
import { parseRatio, type Ratio, type Resolution } from './snap.ts'

export type Size = { readonly width: number; readonly height: number }

/** A facet ready for use. */
export type SizeRule = {
  readonly kind: 'ratio' | 'snap'
  readonly ratios: readonly Ratio[]
  readonly resolutions: readonly Resolution[]
  readonly labels: readonly string[]
  readonly pixelsMin: number
  /** The maximum relative difference of width/height from a ratio. */
  readonly within: number
  readonly otherwise: string | null
  readonly appliesTo: ReadonlySet<string>
  readonly send: ReadonlyMap<string, string>
  readonly pixels: ReadonlyMap<string, Size>
}

const rules = new WeakMap<SizeFacet, SizeRule>()

/** The rule of a checked facet; read once, because the facets of a plan are frozen. */
export function readRule(facet: SizeFacet): SizeRule {
  let rule = rules.get(facet)
  if (!rule) {
    rule = toRule(facet)
    rules.set(facet, rule)
  }
  return rule
}

function toRule(facet: SizeFacet): SizeRule {
  const resolutions = (facet.resolutions ?? []).map(({ label, long_edge_max }) => ({
    label,
    longEdgeMax: long_edge_max ?? null,
  }))
  return {
    kind: facet.rule,
    ratios: facet.ratios.map(parseRatio).filter(ratio => ratio !== undefined),
    resolutions,
    labels: resolutions.map(({ label }) => label),
    pixelsMin: facet.pixels_min ?? 0,
    within: (facet.within_percent ?? 1) / 100,
    otherwise: facet.otherwise ?? (facet.rule === 'snap' ? (resolutions.at(-1)?.label ?? null) : null),
    appliesTo: new Set(facet.applies_to),
    send: new Map(Object.entries(facet.send)),
    pixels: new Map(Object.entries(facet.pixels ?? {}).map(([shape, text]) => [shape, toSize(text)])),
  }
}

function toSize(text: string): Size {
  const [width, height] = text.split('x')
  return { width: Number(width), height: Number(height) }
}
