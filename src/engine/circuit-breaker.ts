import type { Upstream } from '../domain/index.ts'

/** No upstream is paused for longer at its own request. */
const retryAfterMaxMs = 60_000

type State = { failures: number; openUntil: number; probing: boolean }

/**
 * The circuit breaker of each upstream. It opens after consecutive failures, or for as long as a refusal demands; the
 * upstream is then paused. Afterwards one request tries it: success closes the breaker, failure opens it again.
 */
export class CircuitBreaker {
  readonly #states = new Map<string, State>()

  /**
   * Whether a request may go there now. The first one after the pause is the trial, until it has succeeded or failed.
   */
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

  /**
   * No answer arrived, or one that reports that the upstream is unable; `retryAfterMs` if it also reports for how long.
   */
  failed(upstream: Upstream, nowMs: number, retryAfterMs?: number): void {
    const state = this.#states.get(upstream.name) ?? { failures: 0, openUntil: 0, probing: false }
    this.#states.set(upstream.name, state)
    state.failures++
    state.probing = false
    const { failures, forMs } = upstream.cooldown
    const requestedMs = Math.min(retryAfterMs ?? 0, retryAfterMaxMs)
    const rest = state.failures >= failures ? forMs : 0
    if (requestedMs > 0 || rest > 0) state.openUntil = nowMs + Math.max(requestedMs, rest)
  }

  /** The client left, or refused by itself: the trial proves nothing. */
  undecided(upstream: Upstream): void {
    const state = this.#states.get(upstream.name)
    if (state) state.probing = false
  }

  /** Whether no request is sent to the upstream. */
  isOpen(upstream: string, nowMs: number): boolean {
    return (this.#states.get(upstream)?.openUntil ?? 0) > nowMs
  }

  /** The remaining pause of an upstream; 0 if it accepts requests. */
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
