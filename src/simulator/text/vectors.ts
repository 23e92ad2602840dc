import { createHash } from 'node:crypto'

/** A vector of length one for a text: vectors of texts with common words have similar directions. */
export function vectorOf(text: string, dimensions: number): readonly number[] {
  const sum = new Float64Array(dimensions)
  for (const word of wordsOf(text)) {
    for (let block = 0; block * 32 < dimensions; block++) {
      const bytes = createHash('sha256').update(`${block} ${word}`).digest()
      for (let i = 0; i < 32 && block * 32 + i < dimensions; i++) sum[block * 32 + i]! += (bytes[i] ?? 0) - 127.5
    }
  }
  const length = Math.hypot(...sum) || 1
  // Rounded to 32-bit floats, so that the numbers are equal in both encodings.
  return Array.from(sum, value => Math.fround(value / length))
}

/** The share of the query's words in the document, from 0 to 1. */
export function overlap(query: string, document: string): number {
  const queryWords = new Set(wordsOf(query))
  const had = new Set(wordsOf(document))
  return queryWords.size === 0 ? 0 : queryWords.intersection(had).size / queryWords.size
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
