import type { Json, Usage } from '../domain/index.ts'

/** The member of an object, or the one of that again; undefined where there is none. Every answer is read so: no list of names. */
export function readMember(value: Json | undefined, name: string, inner?: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const member = (value as { readonly [name: string]: Json | undefined })[name]
  return inner === undefined ? member : readMember(member, inner)
}

/**
 * A whole number of things counted, however large: whether it can be true, who knows the request decides. Null where none
 * is reported. A zero is a report; what is missing, negative, no whole number or no number is not.
 */
export function readCount(value: Json | undefined, name: string, inner?: string): number | null {
  const count = readMember(value, name, inner)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}

/** A length of time, whole or not; null where none is reported. */
export function readSeconds(value: Json | undefined, name: string, inner?: string): number | null {
  const seconds = readMember(value, name, inner)
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}

/** The sum of what is reported; null when nothing of it is. */
export function addCounts(...counts: readonly (number | null)[]): number | null {
  const known = counts.filter(count => count !== null)
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0)
}

/** A count of tokens is what a request would take, and takes none itself; null where nothing was counted. */
export function countingUsage(counted: number | null): Usage | null {
  return counted === null ? null : { counts: { input: 0, output: 0 }, facts: {} }
}
