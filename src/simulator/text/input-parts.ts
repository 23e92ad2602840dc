import type { Marks } from './marks.ts'

/** Kinds of input tokens. Each is a part of all input tokens. */
export type InputParts = {
  readonly cached: number
  /** Written to a cache, for any lifetime. */
  readonly written: number
  /** The part of `written` with a lifetime of an hour. */
  readonly writtenHour: number
  readonly audio: number
}

/** Divides the input tokens into the kinds that the prompt demands; their sum is never more than `input`. */
export function inputPartsOf(input: number, marks: Marks): InputParts {
  const cached = Math.min(marks.cachedTokens, input)
  const written = Math.min(marks.writtenTokens, input - cached)
  const audio = Math.min(marks.audioTokens, input - cached - written)
  return { cached, written, writtenHour: Math.min(marks.writtenHourTokens, written), audio }
}
