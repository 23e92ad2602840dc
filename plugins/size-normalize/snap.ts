/** A ratio as it is written and sent, `"19.5:9"`, and its value, width divided by height. */
export type Ratio = { readonly text: string; readonly value: number }

/** A resolution and its largest long edge; null for the last one, which has no maximum. */
export type Resolution = { readonly label: string; readonly longEdgeMax: number | null }

const ratioText = /^(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)$/

/** Reads `16:9` or `19.5:9`; undefined if it is not a ratio of two numbers above 0. */
export function parseRatio(text: string): Ratio | undefined {
  const match = ratioText.exec(text)
  const value = Number(match?.[1]) / Number(match?.[2])
  return value > 0 && value < Infinity ? { text, value } : undefined
}

/**
 * The ratio with the smallest |log(width/height) − log(ratio)|; of equal ones the first listed (`docs/rules.md#sizes`).
 */
export function nearestRatio(width: number, height: number, ratios: readonly Ratio[]): Ratio | undefined {
  const wanted = Math.log(width / height)
  let nearest: Ratio | undefined
  let least = Infinity
  for (const ratio of ratios) {
    const distance = Math.abs(wanted - Math.log(ratio.value))
    // Logarithms are rounded: a difference below their precision is a tie, which the first listed wins.
    if (distance < least - 1e-12) {
      nearest = ratio
      least = distance
    }
  }
  return nearest
}

/** The first resolution whose long edge this one does not exceed (`docs/rules.md#sizes`). */
export function resolutionOf(longEdge: number, resolutions: readonly Resolution[]): Resolution | undefined {
  return resolutions.find(({ longEdgeMax }) => longEdgeMax === null || longEdge <= longEdgeMax)
}
