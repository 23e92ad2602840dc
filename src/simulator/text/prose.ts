import type { Marks } from './marks.ts'
import { sampleOf } from './sample.ts'

/** The text of the simulated model: the same for the same prompt, cut at the maximum number of words. */
export type Prose = {
  /** The text in the pieces of a stream; joined, they are the text. */
  readonly words: readonly string[]
  readonly text: string
  /** True if the text was cut. */
  readonly truncated: boolean
}

/**
 * @param index number of this answer among several to one prompt
 * @param wordsMax undefined for no limit
 */
export function writeProse(marks: Marks, index: number, wordsMax: number | undefined): Prose {
  const opening = index === 0 ? 'simulated answer to:' : `simulated answer ${index + 1} to:`
  return splitProse(stretch(`${opening} ${marks.text || 'nothing'}`, marks.words), wordsMax)
}

/** JSON that satisfies a schema; without a schema, an object with the member `answer`. */
export function writeJson(schema: unknown, { text }: Marks, wordsMax: number | undefined): Prose {
  const value = sampleOf(schema ?? { properties: { answer: { type: 'string' } } }, text || 'nothing')
  return splitProse(JSON.stringify(value), wordsMax)
}

/** Splits a given text, such as JSON, into the pieces of a stream. */
export function splitProse(text: string, wordsMax: number | undefined): Prose {
  const words: readonly string[] = text.match(/\S+\s*/g) ?? []
  const kept = wordsMax === undefined ? words : words.slice(0, wordsMax)
  return { words: kept, text: kept.join('').trimEnd(), truncated: kept.length < words.length }
}

function stretch(text: string, count: number | undefined): string {
  if (count === undefined) return text
  const words = text.split(/\s+/)
  return Array.from({ length: count }, (_, i) => words[i % words.length]).join(' ')
}
