/** Outcomes without a response after which a request may be sent again. `reset`: the connection was lost. */
export const retryFaults = ['timeout', 'connect', 'reset'] as const
/** Statuses of responses after which a request may be sent again. */
export const retryStatuses = [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529] as const
export type RetryCause = number | (typeof retryFaults)[number]

/** The conditions and number of repetitions of a request. */
export type RetryPolicy = {
  readonly on: ReadonlySet<RetryCause>
  /** The maximum number of upstream requests for one client request, including the first. */
  readonly attempts: number
  /** The wait in milliseconds before all upstreams are tried again; it doubles each time. */
  readonly backoffMs: number
  /** The maximum wait, even if an upstream requests a longer one. */
  readonly waitMaxMs: number
  /** Requests that may have been sold are sent again too, which may cost twice. */
  readonly paysTwice: boolean
}

/** One of the upstream requests for a client request. */
export type AttemptRecord = {
  readonly upstream: string
  /** The name of the vendor key; null for an upstream without keys. */
  readonly key: string | null
  /** The fallback that was called; absent for the requested model. */
  readonly model?: string
  /** The status, or the error code if there was no response. */
  readonly answer: string
  /** Milliseconds from sending to the head of the response. */
  readonly ms: number
}
