/**
 * How a request ended, for its caller. `failed`: an answer of 500 or more, or any error that an upstream answered with;
 * `refused`: the gateway refused it; the others did not end whole.
 */
export const logResults = ['succeeded', 'failed', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] as const
export type LogResult = (typeof logResults)[number]

/** What a filter may name: one result, or all of them but `succeeded`. */
export const wantedResults = [...logResults, 'unsuccessful'] as const
export type WantedResult = (typeof wantedResults)[number]

/** `outcome`: of a row of the log. */
type Facts = { readonly status: number | null; readonly outcome: string }

export function resultOf({ status, outcome }: Facts): LogResult {
  if (outcome === 'answered') return (status ?? 0) >= 400 ? 'failed' : 'succeeded'
  return outcome === 'refused' && (status ?? 0) >= 500 ? 'failed' : (outcome as LogResult)
}

export function isResult(facts: Facts, wanted: WantedResult): boolean {
  const result = resultOf(facts)
  return wanted === 'unsuccessful' ? result !== 'succeeded' : result === wanted
}
