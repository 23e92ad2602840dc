import type { Usage } from '../../src/kit/index.ts'

/** The later report stands in for the earlier one, member by member. */
export function mergeUsage(before: Usage | null, after: Usage | null): Usage | null {
  if (!before || !after) return after ?? before
  return {
    // What was put in does not shrink while the answer comes: a later report may leave out what was cached.
    inputTokens: larger(before.inputTokens, after.inputTokens),
    cachedInputTokens: larger(before.cachedInputTokens, after.cachedInputTokens),
    outputTokens: after.outputTokens ?? before.outputTokens,
    seconds: after.seconds ?? before.seconds,
    searchUnits: after.searchUnits ?? before.searchUnits,
  }
}

function larger(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}
