import type { Usage } from '../../src/kit/index.ts'

/** The later report stands in for the earlier one, member by member. */
export function mergeUsage(before: Usage | null, after: Usage | null): Usage | null {
  if (!before || !after) return after ?? before
  return {
    inputTokens: after.inputTokens ?? before.inputTokens,
    cachedInputTokens: after.cachedInputTokens ?? before.cachedInputTokens,
    outputTokens: after.outputTokens ?? before.outputTokens,
    seconds: after.seconds ?? before.seconds,
    searchUnits: after.searchUnits ?? before.searchUnits,
  }
}
