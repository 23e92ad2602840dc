import type { Upstream } from '../domain/index.ts'

/** No upstream is paused for longer because it says so. */
const retryAfterMaxMs = 60_000

type State = { failures: number; openUntil: number; probing: boolean }

/**
 * The circuit breaker of each upstream. It opens after failures in a row, or for as long as a refusal demanded; the upstream
 * is then paused. When that time is over one request tries: its success closes the breaker, its failure opens it once more.
 */
export class CircuitBreaker {
  readonly #states = new Map<string, State>()

  /** Whether a request may go there now. The one that finds the time over is the trial, until it has succeeded or failed. */
  admits(upstream: Upstream, nowMs: number): boolean {
    const state = this.#states.get(upstream.name)
    if (!state || state.openUntil === 0) return true
    return nowMs >= state.openUntil && !state.probing
  }

  /** A request is about to be sent. */
  began(upstream: Upstream, nowMs: number): void {
    const state = this.#states.get(upstream.name)
    if (state && state.openUntil !== 0 && nowMs >= state.openUntil) state.probing = true
  }

  succeeded(upstream: Upstream): void {
    this.#states.delete(upstream.name)
  }

  /** No answer came, or one that says that the upstream cannot; `retryAfterMs` when it also said for how long. */
  failed(upstream: Upstream, nowMs: number, retryAfterMs?: number): void {
    const state = this.#states.get(upstream.name) ?? { failures: 0, openUntil: 0, probing: false }
    this.#states.set(upstream.name, state)
    state.failures++
    state.probing = false
    const { failures, forMs } = upstream.cooldown
    const asked = Math.min(retryAfterMs ?? 0, retryAfterMaxMs)
    const rest = state.failures >= failures ? forMs : 0
    if (asked > 0 || rest > 0) state.openUntil = nowMs + Math.max(asked, rest)
  }

  /** The caller left or refused by itself: the trial says nothing. */
  undecided(upstream: Upstream): void {
    const state = this.#states.get(upstream.name)
    if (state) state.probing = false
  }

  /** True while no request is sent to the upstream. */
  isOpen(upstream: string, nowMs: number): boolean {
    return (this.#states.get(upstream)?.openUntil ?? 0) > nowMs
  }

  /** How long an upstream stays paused yet; 0 when it takes requests. */
  restMs(upstream: string, nowMs: number): number {
    return Math.max(0, (this.#states.get(upstream)?.openUntil ?? 0) - nowMs)
  }

  /** Upstreams whose breaker is open now, for metrics. */
  countOpen(nowMs: number): number {
    let count = 0
    for (const state of this.#states.values()) if (state.openUntil > nowMs) count++
    return count
  }
}
