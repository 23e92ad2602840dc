import type { LimitState } from '../kit/index.ts'
import { formatGoDuration } from './durations.ts'

/**
 * The limit headers of every style that has none of its own. Always with the kind at the end: the rerank style's SDK
 * takes an `X-RateLimit-Reset` without one for a time of the clock (`docs/wire.md#retries`).
 */
export function xRateLimitHeaders(limits: readonly LimitState[]): { readonly [name: string]: string } {
  const headers: { [name: string]: string } = {}
  for (const { kind, limit, remaining, resetMs } of limits) {
    headers[`x-ratelimit-limit-${kind}`] = String(limit)
    headers[`x-ratelimit-remaining-${kind}`] = String(remaining)
    headers[`x-ratelimit-reset-${kind}`] = formatGoDuration(resetMs)
  }
  return headers
}
