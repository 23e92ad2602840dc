import type { Json, Usage } from '../domain/index.ts'

/**
 * The member of an object, or that member's own member `inner`; undefined if there is none. All answers are read in
 * this way, without a list of names.
 */
export function readMember(value: Json | undefined, name: string, inner?: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const member = (value as { readonly [name: string]: Json | undefined })[name]
  return inner === undefined ? member : readMember(member, inner)
}

/**
 * A count, however large: the caller, which has the request, decides whether it is plausible. Null if none is reported.
 * A zero is a report; a missing, negative, fractional or non-numeric value is not.
 */
export function readCount(value: Json | undefined, name: string, inner?: string): number | null {
  const count = readMember(value, name, inner)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}

/** A duration in seconds, whole or not; null if none is reported. */
export function readSeconds(value: Json | undefined, name: string, inner?: string): number | null {
  const seconds = readMember(value, name, inner)
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}

/** The sum of reported counts; null if none is reported. */
export function addCounts(...counts: readonly (number | null)[]): number | null {
  const known = counts.filter(count => count !== null)
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0)
}

/**
 * The usage of a token count, which reports the tokens of a request but uses none itself; null if nothing was counted.
 */
export function countingUsage(counted: number | null): Usage | null {
  return counted === null ? null : { counts: { input: 0, output: 0 }, facts: {} }
}
