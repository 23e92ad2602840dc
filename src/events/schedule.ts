const [second, minute, hour] = [1_000, 60_000, 3_600_000] as const

/** The waits before each retry (Standard Webhooks 1.0, "Retry schedule"). After the last the event is given up. */
export const retryMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

const laterMax = 24 * hour

/** When an event is retried after so many attempts; null: it is given up. A receiver may request a longer wait. */
export function nextTryAt(tries: number, now: number, requestedMs = 0): number | null {
  const wait = retryMs[tries - 1]
  return wait === undefined ? null : now + Math.max(wait, Math.min(requestedMs, laterMax))
}
