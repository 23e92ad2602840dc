import {
  type Candidate,
  type Failure,
  type Json,
  readField,
  type RetryCause,
  type RetryPolicy,
  type SaleClass,
  type Upstream,
} from '../domain/index.ts'
import type { RequestContext, Target } from '../plugin-api/index.ts'
import { isForwarded } from './forwarded-fields.ts'

/** What became of a request to an upstream that has not served it. */
export type FailedAttempt = {
  readonly upstream: Upstream
  /** Undefined for what no policy names. */
  readonly cause: RetryCause | undefined
  readonly saleClass: SaleClass
  /** A plugin makes several requests of it, which may buy more than text. */
  readonly isSession: boolean
  /** Its body was a stream, and is gone. */
  readonly isSpent: boolean
  /** No other upstream is left in this round. */
  readonly isLast: boolean
}

type Around = {
  readonly nowTick: number
  /** The client waits, and the gateway is not stopping. */
  readonly isWanted: boolean
  /** At least 0, less than 1. */
  readonly unit: number
}

type Round = { readonly waitMs: number; readonly order: readonly Candidate[] }

/**
 * How often one request of a client is sent again: `retry_on` of its model. All attempts together have the time that
 * one may have (`timeouts.total` of the first upstream).
 */
export class Retries {
  readonly #policy: RetryPolicy
  readonly #isRepeatable: boolean
  /** By the clock's `tick`. */
  readonly endsAt: number
  #sent = 0
  #rounds = 0
  /** The end of an upstream's `Retry-After`. */
  readonly #notBefore = new Map<string, number>()
  #next: Round | undefined

  constructor(policy: RetryPolicy, context: RequestContext, target: Target, nowTick: number) {
    this.#policy = policy
    this.#isRepeatable = isRepeatable(context, target)
    this.endsAt = nowTick + target.upstream.timeouts.totalMs
  }

  /** A request is sent. */
  sent(): void {
    this.#sent++
  }

  /** An upstream must not be called before a moment of the clock's `tick`. */
  defer(upstream: string, untilTick: number): void {
    this.#notBefore.set(upstream, untilTick)
  }

  /** Whether the policy names a failure. */
  names(cause: RetryCause | undefined): boolean {
    return cause !== undefined && this.#policy.on.has(cause)
  }

  /** Whether a request is sent again after this outcome: to the next upstream at once, to the same ones after a wait. */
  allows(failed: FailedAttempt, order: readonly Candidate[], { nowTick, isWanted, unit }: Around): boolean {
    const { cause, saleClass, isLast } = failed
    const { attempts, backoffMs, waitMaxMs } = this.#policy
    if (!this.names(cause) || failed.isSpent || !isWanted) return false
    if (this.#sent >= attempts || nowTick >= this.endsAt) return false
    if (saleClass === 'final' || (saleClass === 'unknown' && !this.#mayRepeat(failed))) return false
    if (!isLast) return true
    const startTimes = order.map(one => this.#notBefore.get(one.upstream.name) ?? 0)
    const backoff = backoffMs * 2 ** this.#rounds * (0.75 + unit / 4)
    const waitMs = Math.max(backoff, Math.min(...startTimes) - nowTick)
    if (waitMs > Math.max(waitMaxMs, backoffMs) || nowTick + waitMs >= this.endsAt) return false
    this.#next = { waitMs, order: order.filter((_, i) => (startTimes[i] as number) <= nowTick + waitMs) }
    return true
  }

  #mayRepeat({ upstream, isSession }: FailedAttempt): boolean {
    return (this.#isRepeatable && !isSession) || this.#policy.paysTwice || upstream.paysTwice === true
  }

  /** The round that was allowed; undefined if none was. */
  nextRound(): Round | undefined {
    const next = this.#next
    this.#next = undefined
    if (next) this.#rounds++
    return next
  }
}

/** The cause of a failure without an answer. `isUntouched`: nothing was sent. */
export function causeOf({ code }: Failure, isUntouched: boolean): RetryCause | undefined {
  if (code === 'upstream_unreachable' || code === 'upstream_connect_timeout') return 'connect'
  if (code === 'upstream_timeout') return 'timeout'
  return code === 'upstream_cut' && !isUntouched ? 'reset' : undefined
}

/**
 * Whether a second answer is worth no more than text: by the operation, and by what the request contains. A tool that
 * the upstream runs may have been paid for.
 */
export function isRepeatable({ route }: Pick<RequestContext, 'route'>, target: Target): boolean {
  const { body, family, chargesItems } = target
  const { repeatable } = route
  if (!repeatable || chargesItems || body.kind !== 'json') return false
  const rule = family.forward.get(route.operation)
  if (body.json.declared.tools.some(({ field }) => isForwarded(rule, field))) return false
  return !repeatable.unless.some(path => {
    const [field = '', ...rest] = path.split('.')
    return isForwarded(rule, field) && isSet(rest.reduce<Json | undefined>(memberOf, readField(body, field)))
  })
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return (value as { readonly [member: string]: Json })[name]
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== ''
}
