import type { Marks } from './marks.ts'

/** Kinds of input tokens, which are parts of all input tokens. */
export type InputParts = {
  readonly cached: number
  /** Written to a cache, for any lifetime. */
  readonly written: number
  /** Of those, written for an hour. */
  readonly writtenHour: number
  readonly audio: number
}

/** What the marks of a prompt make of its input tokens: together never more than there are. */
export function inputPartsOf(input: number, marks: Marks): InputParts {
  const cached = Math.min(marks.cachedTokens, input)
  const written = Math.min(marks.writtenTokens, input - cached)
  const audio = Math.min(marks.audioTokens, input - cached - written)
  return { cached, written, writtenHour: Math.min(marks.writtenHourTokens, written), audio }
}
