/**
 * The result of a request for its client. `failed`: a status of 500 or more, or any error of an upstream. `refused`:
 * the gateway refused it. The other results are incomplete responses.
 */
export const logResults = ['succeeded', 'failed', 'refused', 'caller_gone', 'upstream_cut', 'deadline'] as const
export type LogResult = (typeof logResults)[number]

/** Filter values: one result, or all results except `succeeded`. */
export const wantedResults = [...logResults, 'unsuccessful'] as const
export type WantedResult = (typeof wantedResults)[number]

/** `outcome`: the log column. */
type Facts = { readonly status: number | null; readonly outcome: string }

export function resultOf({ status, outcome }: Facts): LogResult {
  if (outcome === 'answered') return (status ?? 0) >= 400 ? 'failed' : 'succeeded'
  return outcome === 'refused' && (status ?? 0) >= 500 ? 'failed' : (outcome as LogResult)
}

export function isResult(facts: Facts, wanted: WantedResult): boolean {
  const result = resultOf(facts)
  return wanted === 'unsuccessful' ? result !== 'succeeded' : result === wanted
}
