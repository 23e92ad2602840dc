import type { Json, Usage } from '../kit/index.ts'

/** The member of an object within objects, by the names on the way; undefined where there is none. */
export function readMember(value: Json | undefined, ...names: readonly string[]): Json | undefined {
  let at = value
  for (const name of names) {
    if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined
    at = (at as { readonly [name: string]: Json | undefined })[name]
  }
  return at
}

/**
 * A whole number of things counted, however large: whether it can be true, who knows the request decides. Null where none
 * is reported. A zero is a report; what is missing, negative, no whole number or no number is not.
 */
export function readCount(value: Json | undefined, ...names: readonly string[]): number | null {
  const count = readMember(value, ...names)
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null
}

/** A length of time, whole or not; null where none is reported. */
export function readSeconds(value: Json | undefined, ...names: readonly string[]): number | null {
  const seconds = readMember(value, ...names)
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0 ? seconds : null
}

/** The sum of what is reported; null when nothing of it is. */
export function addCounts(...counts: readonly (number | null)[]): number | null {
  const known = counts.filter(count => count !== null)
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0)
}

/** The members that are reported, as usage; null when none is. */
export function makeUsage(reported: Partial<Usage>): Usage | null {
  const {
    inputTokens = null,
    cachedInputTokens = null,
    outputTokens = null,
    seconds = null,
    searchUnits = null,
  } = reported
  const isNone =
    inputTokens === null &&
    cachedInputTokens === null &&
    outputTokens === null &&
    seconds === null &&
    searchUnits === null
  return isNone ? null : { inputTokens, cachedInputTokens, outputTokens, seconds, searchUnits }
}

/** A count of tokens tells what a request would take, and takes none itself; null where nothing was counted. */
export function countingUsage(counted: number | null): Usage | null {
  return counted === null ? null : makeUsage({ inputTokens: 0, outputTokens: 0 })
}
