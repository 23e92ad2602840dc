import type { LimitState } from '../plugin-api/index.ts'

/**
 * The limit headers of styles that have none of their own. Their names always end with the kind: the rerank style's SDK
 * takes an `X-RateLimit-Reset` without it for a timestamp (`docs/wire.md#retries`).
 */
export function xRateLimitHeaders(limits: readonly LimitState[]): { readonly [name: string]: string } {
  const headers: { [name: string]: string } = {}
  for (const { kind, limit, remaining, resetMs } of limits) {
    const [ofLimit, ofRemaining, ofReset] = names[kind]
    headers[ofLimit] = String(limit)
    headers[ofRemaining] = String(remaining)
    headers[ofReset] = formatGoDuration(resetMs)
  }
  return headers
}

type Names = readonly [limit: string, remaining: string, reset: string]
const names: { readonly [kind in LimitState['kind']]: Names } = {
  requests: ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests'],
  tokens: ['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens', 'x-ratelimit-reset-tokens'],
}

/** A duration as the chat-completions style writes it in reset headers: `12ms`, `6s`, `6m0s`, `1h0m0s`. */
function formatGoDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.ceil(ms))}ms`
  const seconds = Math.ceil(ms / 1000)
  const rest = seconds % 60
  const minutes = Math.floor(seconds / 60) % 60
  const hours = Math.floor(seconds / 3600)
  if (hours > 0) return `${hours}h${minutes}m${rest}s`
  return minutes > 0 ? `${minutes}m${rest}s` : `${rest}s`
}
